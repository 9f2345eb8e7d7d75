"""When an episode has failed. Pure functions of tensors or numpy arrays.

What enters: tracking errors. What leaves: (N,) bool. Reaching the end of the clip is no failure; it
is a time-out, which bootstraps the value.
"""

from __future__ import annotations

from lagoon.imitation.arrays import Array
from lagoon.imitation.config import TerminationConfig
from lagoon.imitation.rewards import TrackingError


def failed(error: TrackingError, config: TerminationConfig) -> Array:
    """(N,) True where the robot has left the reference further than it can come back from."""
    return (
        (error.tilt > config.max_tilt)
        | (error.height > config.max_height_error)
        | (error.heading_sq > config.max_heading_error**2)
    )
