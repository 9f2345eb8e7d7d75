"""Human motion to robot motion: morphology maps, inverse kinematics, lead-in and lead-out, quality report."""
