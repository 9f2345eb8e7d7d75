"""Random numbers of the environment, drawn in blocks and handed out a few at a time.

What enters: a generator and how much of the randomization is in use. What leaves: noise of sensors, pushes, numbers for
the errors of an episode. A draw of a few numbers costs nearly what one of thousands costs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch

from lagoon.imitation.config import RandomizationConfig
from lagoon.imitation.randomization import body_features, draw_bodies
from lagoon.sim.backend import BodyParameters
from lagoon.sim.model import TRAINING

Array = np.ndarray

STEPS = 16
"""Control steps for which noise and pushes are drawn at once."""
BODIES = 64
"""Bodies that are drawn at once."""
EPISODES = 256
"""Episodes for which the numbers are drawn at once."""


class Rows:
    """An endless supply of random rows."""

    def __init__(self, draw: Callable[[int], Array], block: int) -> None:
        """Remember how to draw so many rows; nothing is drawn yet, and ``block`` rows or more at a time."""
        self._draw, self._block = draw, block
        self.clear()

    def clear(self) -> None:
        """Forget the rows that nobody has got yet."""
        self._rows, self._next = np.zeros((0, 0), np.float32), 0

    def take(self, count: int) -> Array:
        """Return the next rows (count, ...)."""
        begin, self._next = self._next, self._next + count
        if self._next > len(self._rows):
            self._rows = self._draw(max(self._block, count))
            begin, self._next = 0, count
        return self._rows[begin : self._next]


class Draws:
    """What is drawn step by step for N robots with J joints."""

    def __init__(
        self, config: RandomizationConfig, joints: int, num_envs: int, control_dt: float, generator: torch.Generator
    ) -> None:
        """Remember what to draw from; nothing is drawn yet.

        Args:
            config: sizes of noise and pushes.
            joints: J.
            num_envs: N.
            control_dt: [s].
            generator: source of randomness.
        """
        self._config, self._num_envs, self._generator = config, num_envs, generator
        self._ramp = 0.0
        self._chance = control_dt / config.push_interval
        sizes = (config.joint_pos_noise, config.joint_vel_noise, config.tilt_noise, config.ang_vel_noise)
        self._sizes = np.repeat(np.array(sizes, np.float32), (joints, joints, 3, 3))
        self._noise = Rows(self._draw_noise, STEPS * num_envs)
        self._episodes = Rows(lambda count: self._uniform(count, 2 * joints + 6), EPISODES)
        self._pushes: list[tuple[Array, Array]] = []
        self._joints, self._next_body = joints, 0
        self._bodies: tuple[BodyParameters, Array] | None = None

    def use(self, ramp: float) -> None:
        """Use another share of the randomization, in [0, 1], from now on."""
        if ramp != self._ramp:
            self._ramp = ramp
            self._noise.clear()
            self._bodies = None

    def clear(self) -> None:
        """Draw everything anew, for example since the generator was set to another state."""
        self._noise.clear()
        self._episodes.clear()
        self._pushes.clear()
        self._bodies = None

    def noise(self, count: int) -> Array:
        """(count, 2 J + 6) errors of one reading: joints [rad], their speeds [rad/s], tilt [rad], gyro [rad/s]."""
        return self._noise.take(count)

    def episodes(self, count: int) -> Array:
        """(count, 2 J + 6) numbers in [0, 1) for as many episodes."""
        return self._episodes.take(count)

    def bodies(self, count: int) -> tuple[BodyParameters, Array]:
        """Bodies of ``count`` robots, and (count, P) what the critic is told of them, without their delays."""
        begin, self._next_body = self._next_body, self._next_body + count
        if self._bodies is None or self._next_body > len(self._bodies[1]):
            drawn = max(BODIES, count)
            body = draw_bodies(drawn, self._joints, TRAINING.friction, self._config, self._ramp, self._generator)
            self._bodies = body, body_features(body, torch.zeros(drawn), self._config).numpy()
            begin, self._next_body = 0, count
        rows = slice(begin, self._next_body)
        return self._bodies[0].rows(rows), self._bodies[1][rows]

    def pushes(self) -> tuple[Array, Array]:
        """Ids (K,) of the robots that are pushed in this step, and changes of their velocities (K, 3) [m/s]."""
        if not self._pushes:
            self._draw_pushes()
        ids, unit = self._pushes.pop()
        return ids, unit * (self._ramp * self._config.push_speed)

    def _uniform(self, *shape: int) -> Array:
        return torch.rand(shape, generator=self._generator).numpy()

    def _draw_noise(self, count: int) -> Array:
        noise = torch.randn((count, len(self._sizes)), generator=self._generator).numpy()
        noise *= self._ramp * self._sizes
        return noise

    def _draw_pushes(self) -> None:
        steps, ids = np.nonzero(self._uniform(STEPS, self._num_envs) < self._chance)
        unit = 2.0 * self._uniform(len(ids), 3) - 1.0
        unit[:, 2] = 0.0
        bounds = np.searchsorted(steps, np.arange(STEPS + 1))
        self._pushes = [(ids[a:b], unit[a:b]) for a, b in pairwise(bounds)]
