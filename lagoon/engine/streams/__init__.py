"""The edges of the worker graph: how observations, actions and trajectories travel."""
