"""Actors on other machines: they join a training that runs, and may leave at any time."""
