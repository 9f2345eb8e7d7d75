"""Judges and limits what goes to the motors: finite, slow enough, inside the stops, inside the torque.

What enters: a wanted target and the newest state. What leaves: the target that may be sent, or a Trip. A
limiter that has to work without a pause is a fault of its own: something is blocked, or wrong.
"""

from __future__ import annotations

import numpy as np

from lagoon.deploy.controller.state_guard import Trip
from lagoon.deploy.controller_config import GuardConfig
from lagoon.deploy.transport.base import Array, MotorCommand, RobotState
from lagoon.robot import RobotSpec

RATTLE = 2.0
"""A target that asks for this many times the speed it may have counts as a fault if it goes on: a trained policy that
answers to noise with steps at the very limit is slowed down and no more."""
MISMATCH_FLOOR = 1.0
"""Difference of torques that is never a mismatch [Nm]: an encoder offset of 0.0125 rad at a gain of 80."""
MISMATCH_SECONDS = 0.25
"""Time constant over which torques are averaged before they are compared, and for which they must differ [s]."""


class CommandGuard:
    """Stands between every mode and the motors."""

    def __init__(self, robot: RobotSpec, config: GuardConfig) -> None:
        """Args: robot: limits; config: numbers."""
        self.robot, self.config = robot, config
        self._torque = robot.torque_limit * config.torque_share
        self._speed = robot.joint_vel_limit * config.target_speed_share
        self._believable = robot.joint_vel_limit * config.joint_vel_share
        self.projected_steps = self.limited_steps = 0
        """Steps since the start in which a torque or a target speed was limited."""
        self.restart(robot.default_joint_pos, 0.0)

    def restart(self, target: Array, now: float) -> None:
        """Begin at a target (J,) [rad], as when the motors are switched on."""
        self.target = np.array(target, dtype=np.float64)
        """(J,) the last target before its torque was limited [rad]."""
        self._changed = self._last_now = now
        self._wanted = self.target
        self._excess = np.zeros(self.robot.num_joints)
        self._saturated = np.zeros(self.robot.num_joints)
        self._too_fast = 0.0
        self._expected = np.zeros(self.robot.num_joints)
        self._reported = np.zeros(self.robot.num_joints)
        self._mismatched = 0.0

    @property
    def torque_fits(self) -> bool:
        """False while reported torques differ from the expected ones, however briefly so far."""
        return self._mismatched == 0.0

    def limit(
        self, wanted: Array, kp: Array, kd: Array, state: RobotState, now: float, period: float
    ) -> MotorCommand | Trip:
        """Turn a wanted target (J,) into a command.

        Args:
            wanted: (J,) [rad].
            kp: (J,) [Nm/rad].
            kd: (J,) [Nm s/rad].
            state: newest usable state.
            now: the caller's time [s].
            period: time over which a target may be held before it steps, the policy's period [s].
        """
        if not (np.isfinite(wanted).all() and np.isfinite(kp).all() and np.isfinite(kd).all()):
            return Trip("bad_output", "A joint target or a gain is not finite.")
        robot, dt = self.robot, now - self._last_now
        self._last_now = now
        wanted = np.clip(wanted, robot.joint_lower, robot.joint_upper)
        if not np.array_equal(wanted, self._wanted):
            # A target that was held between ticks of the policy may step by what the joint could move in that time.
            reach = self._speed * min(max(now - self._changed, dt), period)
            asked = np.abs(wanted - self.target)
            self.target = np.clip(wanted, self.target - reach, self.target + reach)
            self._excess, self._wanted, self._changed = asked / np.maximum(reach, 1e-9), wanted, now
        self.limited_steps += bool(self._excess.max() > 1.0 + 1e-9)
        self._too_fast = self._too_fast + dt if self._excess.max() > RATTLE else 0.0
        if self._too_fast > self.config.target_speed_patience:
            j = int(self._excess.argmax())
            return Trip(
                "target_speed",
                f"For {self._too_fast:.2f} s the targets, {robot.joint_names[j]} most, have asked for more than "
                f"{RATTLE:g} times the speed that a target may have.",
                {"joint": robot.joint_names[j], "seconds": self._too_fast, "times": float(self._excess[j])},
            )
        return self._projected(self.target, kp, kd, state, dt)

    def _projected(self, target: Array, kp: Array, kd: Array, state: RobotState, dt: float) -> MotorCommand | Trip:
        """Move the target so that |kp (target - q) - kd dq| stays within the motor's limit."""
        stiff = np.maximum(kp, 1e-9)
        # A faster joint is a spike of its sensor, and must not carry the target away before its guard trips.
        brake = kd * np.clip(state.joint_vel, -self._believable, self._believable)
        low = state.joint_pos + (brake - self._torque) / stiff
        high = state.joint_pos + (brake + self._torque) / stiff
        allowed = np.where(kp > 0.0, np.clip(target, low, high), target)
        saturated = allowed != target
        self.projected_steps += bool(saturated.any())
        self._saturated = np.where(saturated, self._saturated + dt, 0.0)
        j = int(self._saturated.argmax())
        if self._saturated[j] > self.config.torque_patience:
            return Trip(
                "torque",
                f"{self.robot.joint_names[j]} has asked for more than its {self._torque[j]:.1f} Nm for "
                f"{self._saturated[j]:.2f} s: it is blocked, or the wrong motor answers.",
                {"joint": self.robot.joint_names[j], "seconds": float(self._saturated[j])},
            )
        zeros = np.zeros(len(target))
        return MotorCommand(joint_pos=allowed, joint_vel=zeros, kp=kp.copy(), kd=kd.copy(), torque=zeros)

    def compare_torque(self, sent: MotorCommand, state: RobotState, seconds: float) -> Trip | None:
        """Compare the reported torques with those that the command asks for; call while the robot stands still.

        Args:
            sent: the command that the state shows the effect of.
            state: newest usable state.
            seconds: time since the call before [s].
        """
        if state.joint_torque is None:
            return None
        expected = sent.kp * (sent.joint_pos - state.joint_pos) - sent.kd * state.joint_vel
        weight = min(1.0, seconds / MISMATCH_SECONDS)
        self._expected += weight * (expected - self._expected)
        self._reported += weight * (state.joint_torque - self._reported)
        difference = np.abs(self._reported - self._expected)
        excess = difference - self.config.torque_mismatch * np.abs(self._expected) - MISMATCH_FLOOR
        j = int(excess.argmax())
        self._mismatched = self._mismatched + seconds if excess[j] > 0.0 else 0.0
        if self._mismatched <= MISMATCH_SECONDS:
            return None
        return Trip(
            "gains",
            f"{self.robot.joint_names[j]} reports {self._reported[j]:.1f} Nm where its gains ask for "
            f"{self._expected[j]:.1f}: the robot does not use the gains it was told.",
            {
                "joint": self.robot.joint_names[j],
                "reported": float(self._reported[j]),
                "expected": float(self._expected[j]),
            },
        )
