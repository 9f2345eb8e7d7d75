"""The link to a Go2: joint order to motor order, SI to the vendor's messages, and nobody else on the line.

What enters: MotorCommand and the robot's rt/lowstate. What leaves: rt/lowcmd with its checksum, and
RobotState. Before the first command it waits for the robot, and listens whether another program sends
commands; while it runs it goes on listening. Needs the extra ``unitree``.
"""

from __future__ import annotations

import time

import numpy as np

from lagoon.deploy.config import DeployConfig
from lagoon.deploy.transport.base import MotorCommand, RobotState
from lagoon.deploy.unitree.channel import LinkError, Participant, Reader, Writer
from lagoon.deploy.unitree.config import LOOPBACK, UnitreeConfig
from lagoon.deploy.unitree.message import BadMessageError, low_cmd, low_state
from lagoon.deploy.unitree.remote import STOP, pressed
from lagoon.robot import RobotSpec

COMMAND_TOPIC, STATE_TOPIC = "rt/lowcmd", "rt/lowstate"
HEAD = (0xFE, 0xEF)
"""First bytes of a low-level command. Source: examples of unitree_sdk2."""
LOW_LEVEL = 0xFF
"""Value of level_flag in those examples."""
SERVO = 1
"""Motor mode in which a motor obeys; 0 disables it."""
NO_POSITION, NO_VELOCITY = 2.146e9, 16000.0
"""What the vendor's examples put into slots that are not used."""
REMEMBER = 1.0
"""How long another sender counts after its last message [s]."""
TICK = 1e-3
"""Unit of LowState.tick [s]."""
LAST_WORDS = 10
"""Damping commands sent when the link is closed, since one could be lost."""
LAST_KD = 3.0
"""Their damping gain [Nm s/rad]; public Go2 controllers use 3 to 8."""


def open_link(robot: RobotSpec, config: DeployConfig) -> UnitreeTransport:
    """Open the link as ``lagoon deploy run`` does; see UnitreeTransport."""
    return UnitreeTransport(robot, config.unitree)


class UnitreeTransport:
    """See Transport. Open and listening when it is constructed."""

    def __init__(self, robot: RobotSpec, config: UnitreeConfig) -> None:
        """Find the robot and make sure that nobody else commands it.

        Args:
            robot: its joints, and the order of its motors.
            config: where it is.

        Raises:
            MissingExtraError: cyclonedds is not installed.
            BadInputError: no such interface.
            LinkError: no state arrives, or another program sends motor commands. Nothing was sent.
        """
        self.config, self.joint_names = config, robot.joint_names
        self.name = f"unitree:{config.interface}"
        self.is_real = config.interface != LOOPBACK
        self._to_motor = robot.joint_ids(robot.motor_names)
        self._to_joint = self._to_motor.argsort()
        joints = robot.num_joints
        self._state = low_state()
        self._motors = self._state.fields["motor_state"][:joints]
        self._imu = self._state.fields["imu_state"]
        self._cmd = low_cmd()
        self._fill(joints)
        self._targets = self._cmd.fields["motor_cmd"][:joints]
        self._newest: RobotState | None = None
        self._last_tick, self._turns = -1, 0
        self._heard: dict[str, float] = {}
        self.dropped = 0
        """States dropped for a wrong checksum."""
        self.buttons: frozenset[str] = frozenset()
        """Buttons of the robot's remote that are down, as of the newest state."""
        participant = Participant(config.interface, config.domain)
        from lagoon.deploy.unitree import idl

        self._states: Reader = participant.reader(STATE_TOPIC, idl.LowState)
        self._others: Reader = participant.reader(COMMAND_TOPIC, idl.LowCmd, depth=4, ignore_own=True)
        self._find()
        self._listen()
        self._writer: Writer | None = participant.writer(COMMAND_TOPIC, idl.LowCmd)
        self._participant: Participant | None = participant
        self._has_sent = False

    def _fill(self, joints: int) -> None:
        fields = self._cmd.fields
        fields["head"], fields["level_flag"] = HEAD, LOW_LEVEL
        motors = fields["motor_cmd"]
        motors["mode"] = SERVO
        motors["q"][joints:], motors["dq"][joints:] = NO_POSITION, NO_VELOCITY

    @property
    def stop_pressed(self) -> bool:
        """See HasStopButton: L2 and B of the robot's remote together."""
        return self.buttons >= STOP

    # Before the first command ---------------------------------------------------------------------------

    def _find(self) -> None:
        deadline = self.now() + self.config.find_seconds
        while self.read() is None:
            if self.now() > deadline:
                raise LinkError(self._nothing_found())
            time.sleep(0.005)

    def _nothing_found(self) -> str:
        where, seconds = f"interface '{self.config.interface}'", self.config.find_seconds
        if self.dropped:
            return (
                f"{self.dropped} states came in on {where}, and not one has a right checksum. "
                "A simulator that sends none needs deploy.unitree.check_state_crc=false; a robot should not."
            )
        senders = ", ".join(self._states.senders().values())
        seen = f"someone announces {STATE_TOPIC} ({senders}) but sends nothing" if senders else "nobody announces it"
        return (
            f"No {STATE_TOPIC} came in on {where}, DDS domain {self.config.domain}, for {seconds:g} s; {seen}. "
            "Check the cable, that this computer has an address in the robot's network (192.168.123.x), and that "
            "'ping 192.168.123.161' answers; docs/deploy_unitree.md has the steps."
        )

    def _listen(self) -> None:
        """Refuse to be a second voice.

        Raises:
            LinkError: commands from another program were heard.
        """
        deadline = self.now() + self.config.listen_seconds
        while self.now() < deadline:
            others = self.read_others()
            if others:
                raise LinkError(
                    f"Another program sends {COMMAND_TOPIC} on interface '{self.config.interface}' "
                    f"({', '.join(others)}). Two senders make the robot jerk, so nothing was sent. If it is the "
                    "robot's own sport mode: let the robot lie down, then type "
                    f"'python -m lagoon.deploy.unitree.sport_mode release --interface {self.config.interface}'. "
                    "Otherwise stop that program."
                )
            time.sleep(0.01)

    def read_others(self) -> tuple[str, ...]:
        """Who else has sent motor commands within the last second. A writer that is silent does not count."""
        samples, now = self._others.take(), self.now()
        if samples:
            names = self._others.senders()
            for sample in samples:
                self._heard[names.get(sample.sender, f"sender {sample.sender:x}, gone by now")] = now
        if not self._heard:
            return ()
        self._heard = {name: at for name, at in self._heard.items() if now - at <= REMEMBER}
        return tuple(self._heard)

    # Transport ------------------------------------------------------------------------------------------

    def now(self) -> float:
        """See Transport.now."""
        return time.monotonic()

    def sleep_until(self, deadline: float) -> None:
        """See Transport.sleep_until."""
        wait = deadline - time.monotonic()
        if wait > 0.0:
            time.sleep(wait)

    def read(self) -> RobotState | None:
        """See Transport.read; a state with a wrong checksum, or of another robot, is no state."""
        others = self.read_others()
        arrived = False
        for sample in self._states.take():
            try:
                arrived = self._state.decode(sample.data) or not self.config.check_state_crc
            except BadMessageError:
                arrived = False
            self.dropped += not arrived
        if arrived:
            self._newest = self._measured(others)
        elif self._newest is not None and self._newest.other_publishers != others:
            self._newest = RobotState(**{**vars(self._newest), "other_publishers": others})
        return self._newest

    def _measured(self, others: tuple[str, ...]) -> RobotState:
        fields, motors, order = self._state.fields, self._motors, self._to_joint
        tick = int(fields["tick"])
        # The counter is 32 bits of milliseconds: it turns over after 49 days.
        self._turns += self._last_tick - tick > 2**31
        self._last_tick = tick
        self.buttons = pressed(fields["wireless_remote"])
        return RobotState(
            time=(self._turns * 2**32 + tick) * TICK,
            joint_pos=motors["q"][order].astype(np.float64),
            joint_vel=motors["dq"][order].astype(np.float64),
            joint_torque=motors["tau_est"][order].astype(np.float64),
            imu_quat=self._imu["quaternion"].astype(np.float64),
            imu_ang_vel=self._imu["gyroscope"].astype(np.float64),
            motor_temperature=motors["temperature"][order].astype(np.float64),
            battery=float(fields["bms_state"]["soc"]) / 100.0,
            other_publishers=others,
        )

    def write(self, command: MotorCommand) -> None:
        """See Transport.write.

        Raises:
            BadMessageError: a value is not finite as a 32-bit number; nothing is sent.
            LinkError: the link is closed.
        """
        if self._writer is None:
            raise LinkError(f"The link {self.name} is closed; nothing is sent.")
        order, targets = self._to_motor, self._targets
        fields = {
            "q": command.joint_pos,
            "dq": command.joint_vel,
            "kp": command.kp,
            "kd": command.kd,
            "tau": command.torque,
        }
        with np.errstate(over="ignore"):
            for name, values in fields.items():
                targets[name] = np.asarray(values)[order]
        for name in fields:
            finite = np.isfinite(targets[name])
            if not finite.all():
                j = int(order[int(np.argmin(finite))])
                raise BadMessageError(
                    f"{name} of {self.joint_names[j]} is {fields[name][j]}, which must not reach a motor; nothing was "
                    "sent. Stop, and look at what computed it."
                )
        self._has_sent = True
        self._writer.write(self._cmd.encode())

    def close(self) -> None:
        """See Transport.close: damping, a few times over, and no more."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        targets = self._targets
        for name in ("q", "dq", "kp", "tau"):
            targets[name] = 0.0
        targets["kd"] = LAST_KD
        for _ in range(LAST_WORDS if self._has_sent else 0):
            writer.write(self._cmd.encode())
            time.sleep(0.005)
        self._participant = None
