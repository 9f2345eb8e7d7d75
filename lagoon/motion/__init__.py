"""The vocabulary layer: rotations, skeletons and the two motion types, in numpy only."""
