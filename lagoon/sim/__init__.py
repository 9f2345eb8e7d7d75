"""Physics: one backend protocol, MuJoCo on the CPU, and the looks (viewer, offscreen renderer)."""
