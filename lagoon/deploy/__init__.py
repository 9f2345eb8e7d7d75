"""Policy bundle to robot: runtime, evaluation in other physics."""
