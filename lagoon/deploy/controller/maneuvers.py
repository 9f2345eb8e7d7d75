"""Movements outside the skills: to a posture, up from the floor, down to it.

What enters: the target at which a movement begins, states and times. What leaves: joint targets that
begin where the last ones ended, and at the end the word that it is done or a Trip that it is not.
"""

from __future__ import annotations

import numpy as np

from lagoon.deploy.controller.state_guard import Trip
from lagoon.deploy.controller_config import ControllerConfig
from lagoon.deploy.transport.base import Array, RobotState
from lagoon.robot import RobotSpec

FOLD_MARGIN = 0.1
"""Distance of a folded calf from its stop [rad]."""
CLEARLY = 1.2
"""How much further than every other joint a moved joint must have moved."""


def folded_posture(robot: RobotSpec) -> Array:
    """(J,) joint angles of a robot that lies on its belly: calves folded, every foot below its thigh joint [rad]."""
    pose = robot.default_joint_pos.copy()
    for leg in robot.legs:
        hip, thigh, calf = robot.joint_ids(list(leg.joints))
        pose[hip] = np.clip(0.0, robot.joint_lower[hip], robot.joint_upper[hip])
        bends_back = robot.default_joint_pos[calf] < 0.0
        pose[calf] = robot.joint_lower[calf] + FOLD_MARGIN if bends_back else robot.joint_upper[calf] - FOLD_MARGIN
        x, _, z = leg.foot_in_thigh(pose[calf])
        pose[thigh] = np.clip(np.arctan2(x, -z), robot.joint_lower[thigh], robot.joint_upper[thigh])
    return pose


class Glide:
    """From one posture to another with no jump in position, speed or acceleration."""

    def __init__(self, start: Array, end: Array, now: float, config: ControllerConfig) -> None:
        """Args: start and end: (J,) [rad]; now: when it begins [s]."""
        self.start, self.end, self.begin = start, end, now
        self.seconds = max(config.min_seconds, float(np.abs(end - start).max()) / config.speed)

    def target(self, now: float) -> Array:
        """(J,) [rad]; the end is held."""
        x = np.clip((now - self.begin) / self.seconds, 0.0, 1.0)
        return self.start + (self.end - self.start) * x**3 * (10.0 - 15.0 * x + 6.0 * x * x)

    def over(self, now: float) -> bool:
        """True from the end on."""
        return now >= self.begin + self.seconds


class Posture:
    """Glides to a posture and waits until the robot is there and quiet."""

    def __init__(self, name: str, start: Array, end: Array, now: float, config: ControllerConfig) -> None:
        """Args: name: for messages; start and end: (J,) [rad]; now: when it begins [s]."""
        self.phase, self._config, self._glide = name, config, Glide(start, end, now, config)
        self.done = False

    def step(self, state: RobotState, now: float) -> Array | Trip:
        """Next target (J,) [rad]; a Trip when the posture is not reached in time."""
        c, glide = self._config, self._glide
        if glide.over(now):
            error = float(np.abs(state.joint_pos - glide.end).mean())
            speed = float(np.abs(state.joint_vel).mean())
            self.done = error < c.reach_error and speed < c.reach_speed
            if not self.done and now > glide.begin + glide.seconds + c.reach_patience:
                return Trip(
                    "posture",
                    f"The robot did not reach '{self.phase}': mean joint error {error:.2f} rad at {speed:.1f} rad/s; "
                    f"expected below {c.reach_error:g} and {c.reach_speed:g}.",
                    {"phase": self.phase, "error": error, "speed": speed},
                )
        return glide.target(now)


class JointCheck:
    """Moves one joint after another a little and looks which one answers.

    It finds a motor that is wired, numbered or signed otherwise than its name says, before the robot stands.
    """

    def __init__(self, robot: RobotSpec, posture: Array, now: float, config: ControllerConfig) -> None:
        """Args: posture: (J,) in which the robot lies [rad]; now: when it begins [s]."""
        self._robot, self._posture, self._config = robot, posture, config
        middle = (robot.joint_lower + robot.joint_upper) / 2
        # Away from the nearer stop, so that the whole amplitude fits.
        self._sign = np.where(posture < middle, 1.0, -1.0)
        self._joint, self._begin = 0, now
        self._rest: Array | None = None
        self._answer = np.zeros(robot.num_joints)
        self.done = False

    @property
    def phase(self) -> str:
        """Which joint is being moved."""
        return f"check {self._robot.joint_names[min(self._joint, self._robot.num_joints - 1)]}"

    def step(self, state: RobotState, now: float) -> Array | Trip:
        """Next target (J,) [rad]; a Trip when another joint than the commanded one answers, or none."""
        c, j = self._config, self._joint
        if self._rest is None:
            self._rest, self._answer = state.joint_pos.copy(), np.zeros(len(self._posture))
        moved = state.joint_pos - self._rest
        self._answer = np.where(np.abs(moved) > np.abs(self._answer), moved, self._answer)
        target = self._posture.copy()
        # Up and down again within two thirds of the slot; the rest is for the answer to end.
        x = np.clip((now - self._begin) / (c.wiggle_seconds * 2 / 3), 0.0, 1.0)
        target[j] += self._sign[j] * c.wiggle * 0.5 * (1.0 - np.cos(2.0 * np.pi * x))
        if now < self._begin + c.wiggle_seconds:
            return target
        trip = self._judge(j)
        if trip is not None:
            return trip
        self._joint, self._begin, self._rest = j + 1, now, None
        self.done = self._joint == self._robot.num_joints
        return self._posture

    def _judge(self, j: int) -> Trip | None:
        c, names = self._config, self._robot.joint_names
        own = self._sign[j] * self._answer[j]
        others = np.abs(self._answer)
        others[j] = 0.0
        k = int(others.argmax())
        if own >= c.wiggle_answer * c.wiggle and own >= CLEARLY * others[k]:
            return None
        return Trip(
            "joint_order",
            f"{names[j]} was to move by {self._sign[j] * c.wiggle:+.2f} rad and moved by {self._answer[j]:+.3f}; "
            f"{names[k]} moved by {self._answer[k]:+.3f}. Check the order, sign and wiring of the motors.",
            {"joint": names[j], "answer": float(self._answer[j]), "other": names[k], "other_answer": float(others[k])},
        )


class StandUp:
    """Folds the legs, checks every joint, rises to the stand."""

    def __init__(self, robot: RobotSpec, start: Array, now: float, config: ControllerConfig) -> None:
        """Args: start: (J,) where the joints are [rad]; now: when it begins [s]."""
        self._robot, self._config = robot, config
        self._folded = folded_posture(robot)
        self._part: Posture | JointCheck = Posture("fold", start, self._folded, now, config)
        self.done = False

    @property
    def phase(self) -> str:
        """What it is doing."""
        return self._part.phase

    def step(self, state: RobotState, now: float) -> Array | Trip:
        """Next target (J,) [rad], or why it cannot go on."""
        target = self._part.step(state, now)
        if isinstance(target, Trip) or not self._part.done:
            return target
        if self._part.phase == "fold":
            self._part = JointCheck(self._robot, self._folded, now, self._config)
        elif isinstance(self._part, JointCheck):
            self._part = Posture("rise", target, self._robot.default_joint_pos, now, self._config)
        else:
            self.done = True
        return target
