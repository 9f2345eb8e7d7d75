"""A fake Go2 on ROS topics: the simulated robot as a driver would show it, with a clock of its own.

What enters: motor_command. What leaves: joint_states in the motors' order, imu/data with x, y, z, w,
battery_state and /clock. In step with the controller, time goes on only when the answer to the last state has
come, or after some patience, so that a busy computer makes a run slower and changes nothing else.

    python -m lagoon.deploy.ros.fake
    python -m lagoon.deploy.ros.node --ros-args -p use_sim_time:=true -p autostart:=true -p skills:=[FOLDER]
"""

# pyright: reportMissingImports=false
# ROS has an environment of its own; see the Makefile.
from __future__ import annotations

import sys
import time
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.time import Time
from rclpy.utilities import remove_ros_args
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import BatteryState, Imu, JointState
from std_msgs.msg import Float64MultiArray

from lagoon.deploy import fake_process
from lagoon.deploy.fake_robot import FakeRobot, WireCommand
from lagoon.deploy.ros.link import COMMAND_TOPIC, NEWEST
from lagoon.deploy.ros.messages import BadRosMessageError, command_of
from lagoon.deploy.transport.motors import MotorMap
from lagoon.errors import LagoonError

PERIOD_NS = 5_000_000
"""Time between two messages [ns]; a step of the controller."""
PATIENCE = 0.25
"""Real time that an answer may take before simulated time goes on without it [s]; and then goes on in real time,
until there is an answer again."""


class FakeGo2(Node):
    """See the module. ``spin_once`` it; each call takes at most one step."""

    def __init__(self, fake: FakeRobot, patience: float = PATIENCE, **kwargs: Any) -> None:
        """Args: fake: the robot; patience: see PATIENCE; kwargs: those of Node."""
        super().__init__("fake_go2", **kwargs)
        self.fake, self._patience, self._motors = fake, patience, MotorMap.of(fake.robot)
        self.time_ns = 0
        self.obeyed, self.refused = 0, 0
        """Motor commands taken, and those that could not be read."""
        self._answered_ns, self._in_step = -1, False
        self._second: Any = None
        self._sent_at = 0.0
        self._joint_states = self.create_publisher(JointState, "joint_states", 10)
        self._imu = self.create_publisher(Imu, "imu/data", 10)
        self._battery = self.create_publisher(BatteryState, "battery_state", 10)
        self._clock_topic = self.create_publisher(Clock, "/clock", 10)
        self._commands = self.create_subscription(Float64MultiArray, COMMAND_TOPIC, self._on_command, NEWEST)

    def _on_command(self, msg: Float64MultiArray) -> None:
        try:
            command, stamp = command_of(msg, self.fake.robot.joint_names)
        except BadRosMessageError as error:
            self.refused += 1
            self.get_logger().error(str(error))
            return
        self.obeyed += 1
        self._answered_ns, self._in_step = max(self._answered_ns, round(stamp * 1e9)), True
        c = self._motors.command(command)
        self.fake.send(WireCommand(q=c.joint_pos, dq=c.joint_vel, kp=c.kp, kd=c.kd, tau=c.torque))

    def step(self) -> bool:
        """Go on by one period if it is time to; True if so."""
        if self._answered_ns < self.time_ns:
            if time.monotonic() - self._sent_at < (self._patience if self._in_step else 1e-9 * PERIOD_NS):
                return False
            self._in_step = False
        if self.fake.faults.other_publishers and self._second is None:
            self._second = self.create_publisher(Float64MultiArray, COMMAND_TOPIC, 1)
        self.time_ns += PERIOD_NS
        self.fake.advance(1e-9 * self.time_ns)
        self._publish()
        self._sent_at = time.monotonic()
        return True

    def _publish(self) -> None:
        state, robot = self.fake.receive(), self.fake.robot
        stamp = Time(nanoseconds=self.time_ns).to_msg()
        if state is not None:
            measured = Time(nanoseconds=round(1e9 * state.time)).to_msg()
            # Angles are those of the joints, as every driver tells them; the order is the bus's, as many do.
            joints, motors = JointState(name=list(robot.motor_names)), self._motors
            joints.header.stamp = measured
            joints.position = motors.angles(state.q)[motors.joint_of].tolist()
            joints.velocity = motors.turns(state.dq)[motors.joint_of].tolist()
            joints.effort = motors.turns(state.tau)[motors.joint_of].tolist()
            imu: Any = Imu()
            imu.header.stamp, imu.header.frame_id = measured, robot.base_body
            w, x, y, z = state.quat.tolist()
            imu.orientation.w, imu.orientation.x, imu.orientation.y, imu.orientation.z = w, x, y, z
            gyro = imu.angular_velocity
            gyro.x, gyro.y, gyro.z = state.gyro.tolist()
            self._joint_states.publish(joints)
            self._imu.publish(imu)
            self._battery.publish(BatteryState(percentage=state.battery))
        self._clock_topic.publish(Clock(clock=stamp))


def main(args: list[str] | None = None) -> int:
    """Run a fake Go2 until interrupted; ROS's own arguments come after --ros-args."""
    words = remove_ros_args(sys.argv if args is None else ["fake", *args])[1:]
    options = fake_process.arguments("lagoon.deploy.ros.fake", "A Go2 on ROS topics that is not there.").parse_args(
        words
    )
    try:
        fake, misbehaviour = fake_process.make(options)
    except LagoonError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    rclpy.init(args=args)
    node = FakeGo2(fake)
    node.get_logger().info("A fake Go2 lies there. Stop it with Ctrl-C.")
    try:
        began = time.monotonic()
        while rclpy.ok() and time.monotonic() - began < options.seconds and not fake_process.is_orphan(options):
            misbehaviour.update(lambda text: node.get_logger().error(text))
            # No faster than real time, so that a person can watch.
            if 1e-9 * node.time_ns > time.monotonic() - began or not node.step():
                rclpy.spin_once(node, timeout_sec=0.001)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
