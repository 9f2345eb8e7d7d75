"""A fake Go2 on the wire: the simulated robot behind rt/lowcmd and rt/lowstate, as choosy as the real one.

What enters: rt/lowcmd on the loopback interface. What leaves: rt/lowstate with its checksum, 500 times a
second. A command is obeyed only if it is whole, fresh, of the right checksum, and has every motor enabled;
the others are counted by what was wrong with them. The robot's own tests run against this, and so may yours:

    python -m lagoon.deploy.unitree.fake --domain 1
    python -m lagoon.deploy.unitree.fake --domain 1 --delay 0.004 --loss 0.01 --fault cut=true@20-20.2
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from lagoon.deploy import fake_process
from lagoon.deploy.config import DeployConfig
from lagoon.deploy.fake_robot import FakeRobot, WireCommand, WireState
from lagoon.deploy.unitree.channel import Participant, Sample, Writer
from lagoon.deploy.unitree.config import LOOPBACK
from lagoon.deploy.unitree.message import BadMessageError, low_cmd, low_state
from lagoon.deploy.unitree.state import STATE_TOPIC, TICK
from lagoon.deploy.unitree.transport import COMMAND_TOPIC, FIELDS, HEAD, LOW_LEVEL, SERVO
from lagoon.errors import BadInputError, LagoonError

PERIOD = 0.002
"""Time between two states [s]."""
REPORT = 5.0
"""Time between two lines that tell what happened [s]."""
STALE = 0.1
"""Age at which a command is no longer obeyed [s]."""


class WireGo2:
    """One fake robot in one DDS domain; loopback only, so that it never meets a real one."""

    def __init__(self, fake: FakeRobot, domain: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Join the domain.

        Args:
            fake: the robot behind the wire; delays and losses of its own come on top of the network's.
            domain: DDS domain.
            clock: what the robot's time follows [s]; any origin.
        """
        from lagoon.deploy.unitree import idl

        self.fake = fake
        self.counts: Counter[str] = Counter()
        """Commands by what became of them: obeyed, foreign, checksum, mode, stale."""
        self.remote = bytes(40)
        """What the hand-held remote says."""
        self._joints = fake.robot.num_joints
        self._participant = Participant(LOOPBACK, domain)
        self._commands = self._participant.reader(COMMAND_TOPIC, idl.LowCmd, depth=8)
        self._states = self._participant.writer(STATE_TOPIC, idl.LowState)
        self._cmd, self._state = low_cmd(), low_state()
        self._sent: WireState | None = None
        self._domain = domain
        self._second: Writer | None = None
        self.tick = -1
        """Stamp of the state sent last [ms]."""
        self._clock, self._origin = clock, clock() - fake.time

    def step(self) -> None:
        """Obey what has arrived, simulate up to now, tell the state."""
        for sample in self._commands.take():
            verdict = self._judge(sample)
            self.counts[verdict] += 1
            if verdict == "obeyed":
                motors = self._cmd.fields["motor_cmd"][: self._joints]
                values = {name: motors[name].astype(np.float64) for name in FIELDS}
                self.fake.send(WireCommand(**values))
        if self.fake.faults.other_publishers:
            self._interrupt()
        self.fake.advance(self._clock() - self._origin)
        state = self.fake.receive()
        if state is not None and state is not self._sent:
            self._sent = state
            self._states.write(self._told(state))

    def _interrupt(self) -> None:
        """Be another program that commands the motors, and brakes them."""
        if self._second is None:
            from lagoon.deploy.unitree import idl

            self._second = Participant(LOOPBACK, self._domain).writer(COMMAND_TOPIC, idl.LowCmd)
        braking = low_cmd()
        braking.fields["motor_cmd"]["mode"], braking.fields["motor_cmd"]["kd"] = SERVO, 3.0
        self._second.write(braking.encode())

    def _judge(self, sample: Sample) -> str:
        try:
            right = self._cmd.decode(sample.data)
        except BadMessageError:
            return "foreign"
        if not right:
            return "checksum"
        if (self._cmd.fields["motor_cmd"]["mode"][: self._joints] != SERVO).any():
            return "mode"
        return "stale" if 1e-9 * (time.time_ns() - sample.sent_ns) > STALE else "obeyed"

    def _told(self, state: WireState) -> bytes:
        fields = self._state.fields
        fields["head"], fields["level_flag"] = HEAD, LOW_LEVEL
        fields["tick"] = self.tick = round(state.time / TICK) % 2**32
        fields["imu_state"]["quaternion"] = state.quat
        fields["imu_state"]["gyroscope"] = state.gyro
        motors = fields["motor_state"][: self._joints]
        motors["mode"] = SERVO
        motors["q"], motors["dq"], motors["tau_est"] = state.q, state.dq, state.tau
        motors["temperature"] = state.temperature
        fields["bms_state"]["soc"] = round(100.0 * state.battery)
        fields["wireless_remote"] = np.frombuffer(self.remote, dtype=np.uint8)
        data = self._state.encode()
        return data[:-4] + bytes(4) if self.fake.faults.checksum else data

    def run(self, stop: Callable[[], bool]) -> None:
        """Step at the robot's rate until told to stop."""
        deadline = time.monotonic()
        while not stop():
            self.step()
            deadline = max(deadline + PERIOD, time.monotonic() - 0.1)
            time.sleep(max(0.0, deadline - time.monotonic()))


def command_line(config: DeployConfig) -> list[str]:
    """Return what this program must hear to meet the link of these settings.

    Raises:
        BadInputError: the link leads out of this computer.
    """
    if config.unitree.interface != LOOPBACK:
        raise BadInputError(
            f"--sim stays on this computer, and deploy.unitree.interface is '{config.unitree.interface}'. Leave "
            f"--sim out to reach a robot, or the interface to reach a fake one on '{LOOPBACK}'."
        )
    return ["--domain", str(config.unitree.domain)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a fake Go2 until interrupted."""
    parser = fake_process.arguments("lagoon.deploy.unitree.fake", "A Go2 that is not there.")
    parser.add_argument("--domain", type=int, default=1, help="DDS domain; a real Go2 uses 0")
    args = parser.parse_args(arguments)
    try:
        fake, misbehaviour = fake_process.make(args)
        go2 = WireGo2(fake, args.domain)
    except LagoonError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    print(f"A fake Go2 lies in DDS domain {args.domain} on '{LOOPBACK}'. Stop it with Ctrl-C.", flush=True)
    end = time.monotonic() + args.seconds
    told = time.monotonic() + REPORT

    def stop() -> bool:
        nonlocal told
        misbehaviour.update()
        now = time.monotonic()
        if now >= told:
            told = now + REPORT
            height = float(go2.fake.truth()[0][2])
            print(f"trunk at {height:.2f} m; commands {dict(go2.counts) or 'none'}", flush=True)
        return now >= end or fake_process.is_orphan(args)

    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        go2.run(stop)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
