"""rt/lowstate as it comes in: checked, by joint, on one clock that never turns over.

What enters: a participant of the robot's network. What leaves: RobotState, and what the remote says. Whoever
wants to know how the robot is asks this, the link and the release of its motion program alike.
"""

from __future__ import annotations

import numpy as np

from lagoon.deploy.transport.base import RobotState
from lagoon.deploy.transport.motors import MotorMap
from lagoon.deploy.unitree.channel import Participant
from lagoon.deploy.unitree.message import BadMessageError, low_state
from lagoon.deploy.unitree.remote import pressed
from lagoon.robot import RobotSpec

STATE_TOPIC = "rt/lowstate"
TICK = 1e-3
"""Unit of LowState.tick [s]."""


class StateReader:
    """The newest state of one robot. One with a wrong checksum, or another message, is no state."""

    def __init__(self, participant: Participant, robot: RobotSpec, check_crc: bool = True) -> None:
        """Subscribe.

        Args:
            participant: member of the robot's domain.
            robot: its joints and motors.
            check_crc: False takes states with any checksum.
        """
        from lagoon.deploy.unitree import idl

        self._reader = participant.reader(STATE_TOPIC, idl.LowState)
        self._check_crc, self._map = check_crc, MotorMap.of(robot)
        self._message = low_state()
        self._motors = self._message.fields["motor_state"][: robot.num_joints]
        self._imu = self._message.fields["imu_state"]
        self._bms = self._message.fields["bms_state"]
        self._turns = 0
        self.tick = -1
        """Stamp of the newest state [ms]."""
        self.dropped = 0
        """States dropped for a wrong checksum."""
        self.buttons: frozenset[str] = frozenset()
        """Buttons of the robot's remote that are down, as of the newest state."""

    def poll(self) -> RobotState | None:
        """Return the newest state that has come in since the last call; None if none has."""
        newest = None
        for sample in self._reader.take():
            try:
                right = self._message.decode(sample.data) or not self._check_crc
            except BadMessageError:
                right = False
            if right:
                newest = self._measured()
            else:
                self.dropped += 1
        return newest

    def senders(self) -> tuple[str, ...]:
        """Who announces states."""
        return tuple(self._reader.senders().values())

    def _measured(self) -> RobotState:
        fields, motors, by = self._message.fields, self._motors, self._map
        tick = int(fields["tick"])
        # The counter is 32 bits of milliseconds: it turns over after 49 days.
        self._turns += self.tick - tick > 2**31
        self.tick = tick
        self.buttons = pressed(fields["wireless_remote"])
        return RobotState(
            time=(self._turns * 2**32 + tick) * TICK,
            joint_pos=by.angles(motors["q"].astype(np.float64)),
            joint_vel=by.turns(motors["dq"].astype(np.float64)),
            joint_torque=by.turns(motors["tau_est"].astype(np.float64)),
            imu_quat=self._imu["quaternion"].astype(np.float64),
            imu_ang_vel=self._imu["gyroscope"].astype(np.float64),
            motor_temperature=by.plain(motors["temperature"].astype(np.float64)),
            battery=self._charge(),
        )

    def _charge(self) -> float | None:
        """State of charge in [0, 1]; None if nothing at all is told of the battery, as by simulators."""
        return float(self._bms["soc"]) / 100.0 if any(self._bms.tobytes()) else None
