"""The link to a Go2: joint order to motor order, SI to the vendor's messages, and nobody else on the line.

What enters: MotorCommand and the robot's rt/lowstate. What leaves: rt/lowcmd with its checksum, and
RobotState. Before the first command it waits for the robot, and listens whether another program sends
commands; while it runs it goes on listening. Needs the extra ``unitree``.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from dataclasses import replace

import numpy as np

from lagoon.deploy.config import DeployConfig
from lagoon.deploy.transport.base import MotorCommand, RobotState
from lagoon.deploy.transport.links import Opener
from lagoon.deploy.transport.motors import MotorMap
from lagoon.deploy.unitree.channel import LinkError, Participant, Reader, Writer
from lagoon.deploy.unitree.config import LOOPBACK, UnitreeConfig
from lagoon.deploy.unitree.message import BadMessageError, low_cmd
from lagoon.deploy.unitree.remote import STOP
from lagoon.deploy.unitree.state import STATE_TOPIC, StateReader
from lagoon.robot import RobotSpec

COMMAND_TOPIC = "rt/lowcmd"
HEAD = (0xFE, 0xEF)
"""First bytes of a low-level command. Source: examples of unitree_sdk2."""
LOW_LEVEL = 0xFF
"""Value of level_flag in those examples."""
SERVO = 1
"""Motor mode in which a motor obeys; 0 disables it."""
NO_POSITION, NO_VELOCITY = 2.146e9, 16000.0
"""What the vendor's examples put into slots that are not used."""
FIELDS = {"q": "joint_pos", "dq": "joint_vel", "kp": "kp", "kd": "kd", "tau": "torque"}
"""Field of MotorCmd to that of MotorCommand."""
REMEMBER = 1.0
"""How long another sender counts after its last message [s]."""
LAST_WORDS = 10
"""Damping commands sent when the link is closed, since one could be lost."""
LAST_KD = 3.0
"""Their damping gain [Nm s/rad]; public Go2 controllers use 3 to 8."""


def prepare_link(robot: RobotSpec, config: DeployConfig, host: object = None) -> Opener:
    """Return what opens the link; see LINKS and UnitreeTransport."""
    return lambda: UnitreeTransport(robot, config.unitree)


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
        from lagoon.deploy.unitree import idl

        self.config, self.joint_names = config, robot.joint_names
        self.name = f"unitree:{config.interface}"
        self.is_real = config.interface != LOOPBACK
        self._motors = MotorMap.of(robot)
        self._cmd = low_cmd()
        self._targets = self._cmd.fields["motor_cmd"][: robot.num_joints]
        self._fill(robot.num_joints)
        self._newest: RobotState | None = None
        self._heard: dict[str, float] = {}
        self._has_sent = False
        with ExitStack() as opening:
            participant = opening.enter_context(closing(Participant(config.interface, config.domain)))
            self._states = StateReader(participant, robot, config.check_state_crc)
            self._others: Reader = participant.reader(COMMAND_TOPIC, idl.LowCmd, depth=4, ignore_own=True)
            self._find()
            self._listen()
            self._writer: Writer = participant.writer(COMMAND_TOPIC, idl.LowCmd)
            opening.callback(self._say_last_words)
            self._closing = opening.pop_all()

    def _fill(self, joints: int) -> None:
        fields = self._cmd.fields
        fields["head"], fields["level_flag"] = HEAD, LOW_LEVEL
        motors = fields["motor_cmd"]
        motors["mode"] = SERVO
        motors["q"][joints:], motors["dq"][joints:] = NO_POSITION, NO_VELOCITY

    @property
    def dropped(self) -> int:
        """States dropped for a wrong checksum."""
        return self._states.dropped

    @property
    def buttons(self) -> frozenset[str]:
        """Buttons of the robot's remote that are down, as of the newest state."""
        return self._states.buttons

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
        senders = ", ".join(self._states.senders())
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
        state = self._states.poll() or self._newest
        if state is not None and state.other_publishers != others:
            state = replace(state, other_publishers=others)
        self._newest = state
        return state

    def write(self, command: MotorCommand) -> None:
        """See Transport.write.

        Raises:
            BadMessageError: a value is not finite as a 32-bit number; nothing is sent.
            LinkError: the link is closed.
        """
        wanted, targets = self._motors.command(command), self._targets
        with np.errstate(over="ignore"):
            for name, field in FIELDS.items():
                targets[name] = getattr(wanted, field)
        for name, field in FIELDS.items():
            finite = np.isfinite(targets[name])
            if not finite.all():
                j = int(self._motors.joint_of[int(np.argmin(finite))])
                raise BadMessageError(
                    f"{name} of {self.joint_names[j]} is {getattr(command, field)[j]}, which must not reach a motor; "
                    "nothing was sent. Stop, and look at what computed it."
                )
        self._writer.write(self._cmd.encode())
        self._has_sent = True

    def close(self) -> None:
        """See Transport.close: damping, a few times over, and no more."""
        self._closing.close()

    def _say_last_words(self) -> None:
        targets = self._targets
        for name in FIELDS:
            targets[name] = 0.0
        targets["kd"] = LAST_KD
        for _ in range(LAST_WORDS if self._has_sent else 0):
            self._writer.write(self._cmd.encode())
            time.sleep(0.005)
