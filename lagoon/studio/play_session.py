"""The live part of the viewer, without a browser: clock, physics, policy, pushes.

What enters: wall time, and what a person clicks. What leaves: a Snapshot of everything to draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.quadruped_motion import QuadrupedMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.rotations import quat_slerp
from lagoon.robot import RobotSpec
from lagoon.sim.model import CHECKING, Addresses, PhysicsConfig, build_model
from lagoon.studio.falls import has_fallen
from lagoon.studio.show import human_time

Array = NDArray[np.float64]
STAND_SECONDS = 0.5
"""Time under the joint controller before the policy takes over, as in evaluation [s]."""
MOST_BEHIND = 0.25
"""When the machine cannot keep up, more than this is dropped instead of caught up with [s]."""


class PolicyStepper(Protocol):
    """What runs the policy; lagoon.deploy.runtime.PolicyRunner is one."""

    def reset(self) -> None:
        """Go back to the first control tick."""
        ...

    def step(self, joint_pos: Array, joint_vel: Array, imu_quat: Array, imu_ang_vel: Array) -> Sequence[float] | Array:
        """Return (J,) joint targets [rad] from (J,) [rad], (J,) [rad/s], (4,) wxyz and (3,) [rad/s]."""
        ...


@dataclass(frozen=True)
class RobotPose:
    """Configuration of a robot."""

    root_pos_w: Array
    """(3,) [m]"""
    root_quat_w: Array
    """(4,) wxyz"""
    joint_pos: Array
    """(J,) [rad], RobotSpec order."""


@dataclass(frozen=True)
class Snapshot:
    """Everything to draw at one moment."""

    time: float
    """Time in the clip [s]."""
    duration: float
    """Length of the clip [s]."""
    segment: str
    """Name of the stretch of the reference."""
    human_time: float | None
    """Time in the person's own clip [s]."""
    reference: RobotPose | None
    policy: RobotPose | None
    joint_error: float | None
    """Mean absolute difference of the joint angles between policy and reference [rad]."""
    fell_at: float | None
    """Time of the fall [s], None while standing."""
    finished: bool
    """True from the end of the clip, or from a fall, until the restart."""
    push: Array | None
    """(2,) direction and size [m/s] in the ground plane of a push less than half a second ago."""


class PlaySession:
    """Plays a clip: the person and the reference as recorded, the policy live in physics."""

    def __init__(
        self,
        human: HumanMotion | QuadrupedMotion | None,
        reference: RobotMotion | None,
        stepper: PolicyStepper | None,
        robot: RobotSpec,
        physics: PhysicsConfig = CHECKING,
        loop: bool = True,
        pause_at_end: float = 1.5,
    ) -> None:
        """Build the physics, if there is a policy, and go to the start.

        Args:
            human: what the person does.
            reference: what the robot should do; its first frame is where the policy starts.
            stepper: runs the policy; when it has a ``bundle``, the bundle's gains drive the joints.
            robot: which robot.
            physics: solver options and collision shapes.
            loop: start again after the end or a fall.
            pause_at_end: seconds before that.

        Raises:
            BadInputError: nothing to play, or a policy without the reference that it follows.
        """
        if human is None and reference is None:
            raise BadInputError("There is nothing to play: no human motion and no robot reference. Generate one first.")
        if stepper is not None and reference is None:
            raise BadInputError("A policy can only be played beside its reference. Retarget the motion first.")
        self.human, self.reference, self.stepper, self.robot = human, reference, stepper, robot
        self.loop, self.pause_at_end = loop, pause_at_end
        self.playing, self.speed = True, 1.0
        clip = reference or human
        self.duration = clip.duration if clip is not None else 0.0
        self._live = None if stepper is None else _LivePolicy(stepper, robot, physics)
        self.restart()

    def restart(self) -> None:
        """Go to the start: the robot stands, the policy is reset."""
        self.time, self._behind, self._waited = 0.0, 0.0, 0.0
        self.fell_at: float | None = None
        self._push: tuple[Array, float] | None = None
        if self._live is not None and self.reference is not None:
            self._live.stand(_pose_at(self.reference, 0.0))

    def push(self, speed: float, direction: float) -> None:
        """Push the policy's robot.

        Args:
            speed: sudden change of its velocity [m/s].
            direction: where to, from world +X toward +Y [rad].
        """
        vector = speed * np.array([np.cos(direction), np.sin(direction)])
        if self._live is not None:
            self._live.data.qvel[0:2] += vector
            self._push = (vector, self.time)

    @property
    def finished(self) -> bool:
        """True from the end of the clip, or from a fall, until the restart."""
        return self.fell_at is not None or self.time >= self.duration - 1e-9

    def step(self, dt: float) -> None:
        """Let dt seconds of wall time pass; slow motion and pause apply.

        Physics runs on after the end and after a fall, so that one sees how it goes on.
        """
        if not self.playing:
            return
        self._behind = min(self._behind + dt * self.speed, MOST_BEHIND)
        period = self.robot.control_dt
        # A hair of tolerance, since thirds of a second do not add up to whole ticks exactly.
        while self._behind >= period - 1e-9:
            self._behind = max(self._behind - period, 0.0)
            self._tick(period)
        if self.finished and self.loop:
            self._waited += dt
            if self._waited >= self.pause_at_end:
                self.restart()

    def _tick(self, period: float) -> None:
        self.time = min(self.time + period, self.duration)
        if self._live is None or self.reference is None:
            return
        self._live.tick()
        now, wanted = self._live.pose(), _pose_at(self.reference, self.time)
        fallen = has_fallen(now.root_pos_w, now.root_quat_w, wanted.root_pos_w, wanted.root_quat_w)
        if self.fell_at is None and (bool(fallen) or self._live.broken):
            self.fell_at = self.time

    def snapshot(self) -> Snapshot:
        """What to draw now; between two control ticks poses are interpolated, so that motion looks even."""
        share = self._behind / self.robot.control_dt if self.playing else 0.0
        shown = self.time if self.finished else min(self.time + self._behind - self.robot.control_dt, self.duration)
        shown = max(shown, 0.0)
        reference = None if self.reference is None else _pose_at(self.reference, shown)
        policy, error = None, None
        if self._live is not None and self.reference is not None:
            policy = self._live.pose(min(share, 1.0))
            wanted = _pose_at(self.reference, self.time)
            error = float(np.abs(self._live.pose().joint_pos - wanted.joint_pos).mean())
        push = None
        if self._push is not None and self.time - self._push[1] < 0.5:
            push = self._push[0]
        segment = "motion"
        if self.reference is not None:
            segment = self.reference.segment_at(min(round(shown * self.reference.fps), self.reference.num_frames - 1))
        person = None if self.human is None else float(human_time(shown, self.reference, self.human))
        return Snapshot(
            time=shown,
            duration=self.duration,
            segment=segment.replace("_", " "),
            human_time=person,
            reference=reference,
            policy=policy,
            joint_error=error,
            fell_at=self.fell_at,
            finished=self.finished,
            push=push,
        )


class _LivePolicy:
    """One robot in physics under one policy."""

    def __init__(self, stepper: PolicyStepper, robot: RobotSpec, physics: PhysicsConfig) -> None:
        bundle: Any = getattr(stepper, "bundle", None)
        if bundle is not None:
            robot = replace(robot, kp=bundle.kp, kd=bundle.kd)
        self.stepper, self.robot = stepper, robot
        self.model = build_model(robot, physics)
        self.data = mujoco.MjData(self.model)
        self.at = Addresses.of(self.model, robot)
        self.substeps = physics.substeps(robot.control_dt)
        self.broken = False
        self._before = self._now = np.array(self.data.qpos)

    def stand(self, pose: RobotPose) -> None:
        """Put the robot into a pose, let it settle under its joint controller, and reset the policy."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[0:3], self.data.qpos[3:7] = pose.root_pos_w, pose.root_quat_w
        self.data.qpos[self.at.joint_qpos] = pose.joint_pos
        self.data.ctrl[self.at.actuator] = pose.joint_pos
        mujoco.mj_step(self.model, self.data, round(STAND_SECONDS / self.model.opt.timestep))
        self.stepper.reset()
        self.broken = False
        self._before = self._now = np.array(self.data.qpos)

    def tick(self) -> None:
        """One control period: measure, ask the policy, step physics."""
        if self.broken:
            return
        qpos, qvel = self.data.qpos, self.data.qvel
        targets = self.stepper.step(
            qpos[self.at.joint_qpos], qvel[self.at.joint_dof], np.array(qpos[3:7]), np.array(qvel[3:6])
        )
        self.data.ctrl[self.at.actuator] = np.asarray(targets, float)
        mujoco.mj_step(self.model, self.data, self.substeps)
        if not np.isfinite(qpos).all() or np.abs(qvel).max() > 1e3:
            # Diverged physics is a fall; the last finite pose is held.
            self.broken = True
            return
        self._before, self._now = self._now, np.array(qpos)

    def pose(self, share: float = 1.0) -> RobotPose:
        """The configuration between the tick before (0) and the last tick (1)."""
        a, b = self._before, self._now
        mixed = a + share * (b - a)
        return RobotPose(mixed[0:3], quat_slerp(a[3:7], b[3:7], share), mixed[self.at.joint_qpos])


def _pose_at(motion: RobotMotion, time: float) -> RobotPose:
    """The configuration of a motion at a time [s], held beyond both ends: linear, and slerp in orientation."""
    x = min(max(time * motion.fps, 0.0), motion.num_frames - 1.0)
    low = min(int(x), motion.num_frames - 2)
    t = x - low
    return RobotPose(
        motion.root_pos_w[low] * (1 - t) + motion.root_pos_w[low + 1] * t,
        quat_slerp(motion.root_quat_w[low], motion.root_quat_w[low + 1], t),
        motion.joint_pos[low] * (1 - t) + motion.joint_pos[low + 1] * t,
    )
