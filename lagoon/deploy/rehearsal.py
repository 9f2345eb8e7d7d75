"""A whole run over the fake robot in simulated time, what is measured in it, and how it looks.

What enters: a loaded bundle, a config, a seed. What leaves: the numbers that a verdict needs, the loop's report, and
a motion to draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from lagoon.bundle import PolicyBundle
from lagoon.deploy.config import DeployConfig
from lagoon.deploy.controller import Controller, Mode, Request
from lagoon.deploy.controller.envelope import UP, angle, up_b
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.loop import LoopReport, run_loop
from lagoon.deploy.sequence import SkillSequence
from lagoon.deploy.transport.base import Array, MotorCommand, RobotState
from lagoon.deploy.transport.in_process import InProcessTransport
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import RobotSpec

STRIKE_AT = 0.4
"""Share of the skill after which a misbehaviour begins."""


@dataclass
class RunTrace:
    """What happened in a simulated run, as far as a verdict needs it."""

    fake: FakeRobot
    controller: Controller
    joint_error: dict[str, float] = field(default_factory=dict)
    """Mean joint error at the last step of each stand [rad]."""
    height: dict[str, float] = field(default_factory=dict)
    """Height of the trunk then [m]."""
    max_tilt_error: float = 0.0
    """Largest angle between true gravity and the expected one while the skill ran [rad]."""
    max_fall: float = 0.0
    """Largest true tilt outside the skill [rad]."""

    def watch(self, state: RobotState | None, command: MotorCommand, now: float) -> None:
        """See Watcher in loop.py."""
        robot, controller = self.fake.robot, self.controller
        pos, quat, joints = self.fake.truth()
        if controller.mode is Mode.STAND:
            key = "after" if controller.skill else "before"
            self.joint_error[key] = float(np.abs(joints - robot.default_joint_pos).mean())
            self.height[key] = float(pos[2])
        up = up_b(quat)
        run = controller.skill_run
        if run is not None:
            self.max_tilt_error = max(self.max_tilt_error, run.envelope.error(run.runner.tick, up))
        else:
            self.max_fall = max(self.max_fall, angle(up, UP))


class Film:
    """Where the fake robot was, at the rate of the policy; see Watcher in loop.py."""

    def __init__(self, fake: FakeRobot, controller: Controller) -> None:
        """Args: fake: the robot that is filmed; controller: the one that steps it."""
        self._fake, self._controller = fake, controller
        self._every = max(1, round(fake.robot.control_dt / controller.config.command_dt))
        self._frames: list[tuple[Array, Array, Array]] = []
        self._modes: list[str] = []
        self._steps = 0

    def __call__(self, state: RobotState | None, command: MotorCommand, now: float) -> None:
        """Keep one frame, if it is time."""
        if self._steps % self._every == 0:
            self._frames.append(self._fake.truth())
            skill = self._controller.skill if self._controller.mode is Mode.POLICY else ""
            self._modes.append(skill or self._controller.mode.value)
        self._steps += 1

    def motion(self) -> RobotMotion:
        """What the robot did, as a motion whose stretches are the modes, and the skills by their names."""
        robot = self._fake.robot
        pos, quat, joints = (np.array(column) for column in zip(*self._frames, strict=True))
        starts = [k for k, mode in enumerate(self._modes) if k == 0 or mode != self._modes[k - 1]]
        return RobotMotion(
            fps=1.0 / robot.control_dt,
            robot=robot.name,
            joint_names=robot.joint_names,
            root_pos_w=pos,
            root_quat_w=quat,
            joint_pos=joints,
            foot_contact=np.ones((len(pos), len(robot.legs)), dtype=bool),
            segment_names=tuple(self._modes[k] for k in starts),
            segment_starts=tuple(starts),
        )


def simulate(
    bundle: PolicyBundle,
    robot: RobotSpec,
    config: DeployConfig,
    seed: int,
    strike: Callable[[FakeRobot], None] | None = None,
) -> tuple[RunTrace, LoopReport, SkillSequence]:
    """Stand up, run the skill, stand, sit down, over the fake robot on the virtual clock.

    Args:
        bundle: a loaded bundle.
        robot: which robot.
        config: controller and fake robot.
        seed: of noise and losses.
        strike: called with the fake robot once, in the midst of the skill, to make it misbehave.
    """
    controller = Controller(robot, [bundle], config.controller)
    fake = FakeRobot(robot, config.fake, seed)
    trace, sequence = RunTrace(fake, controller), SkillSequence([bundle.command])

    def operator(controller: Controller, now: float) -> Request | None:
        nonlocal strike
        if strike is not None and controller.progress >= STRIKE_AT:
            strike(fake)
            strike = None
        return sequence(controller, now)

    loop = run_loop(controller, InProcessTransport(fake), operator, trace.watch)
    return trace, loop, sequence
