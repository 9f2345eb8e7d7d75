"""Human motion as rotations of a body: bones at rest, BVH files, SMPL body models."""
