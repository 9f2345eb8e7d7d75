"""The link to a fake robot in the same process: motors to joints and back.

What enters: a FakeRobot. What leaves: a Transport. With the virtual clock time passes as fast as it can be
simulated and a run is the same every time; with the wall clock it passes as on a robot.
"""

from __future__ import annotations

import time
from typing import Literal

from lagoon.deploy.fake_robot import FakeRobot, WireCommand
from lagoon.deploy.transport.base import MotorCommand, RobotState
from lagoon.deploy.transport.motors import MotorMap

CATCH_UP = 0.1
"""Time that is simulated in one go at most on the wall clock [s]: a computer too slow for it would otherwise simulate
longer and longer stretches and never end. The guards see old states and a gap, and trip."""


class InProcessTransport:
    """See Transport."""

    is_real = False

    def __init__(self, fake: FakeRobot, clock: Literal["virtual", "wall"] = "virtual") -> None:
        """Args: fake: the robot at the other end; clock: whose time passes."""
        robot = fake.robot
        self.name, self.fake = f"in-process ({clock} clock)", fake
        self.joint_names = robot.joint_names
        self._wall = clock == "wall"
        self._origin = time.perf_counter() - fake.time
        self._motors = MotorMap.of(robot)

    def now(self) -> float:
        """See Transport.now."""
        return time.perf_counter() - self._origin if self._wall else self.fake.time

    def sleep_until(self, deadline: float) -> None:
        """See Transport.sleep_until."""
        if self._wall:
            wait = deadline - self.now()
            if wait > 0.0:
                time.sleep(wait)
            deadline = min(self.now(), self.fake.time + CATCH_UP)
        self.fake.advance(deadline)

    def read(self) -> RobotState | None:
        """See Transport.read."""
        state = self.fake.receive()
        if state is None:
            return None
        motors = self._motors
        return RobotState(
            time=state.time,
            joint_pos=motors.angles(state.q),
            joint_vel=motors.turns(state.dq),
            joint_torque=motors.turns(state.tau),
            imu_quat=state.quat,
            imu_ang_vel=state.gyro,
            motor_temperature=motors.plain(state.temperature),
            battery=state.battery,
            other_publishers=self.fake.faults.other_publishers,
        )

    def write(self, command: MotorCommand) -> None:
        """See Transport.write."""
        c = self._motors.command(command)
        self.fake.send(WireCommand(q=c.joint_pos, dq=c.joint_vel, kp=c.kp, kd=c.kd, tau=c.torque))

    def close(self) -> None:
        """See Transport.close; the robot goes on lying where it is."""
