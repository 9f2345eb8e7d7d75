"""The link over ROS topics: the newest measurements in, one motor command out.

What enters: joint_states, imu/data, battery_state. What leaves: motor_command, and RobotState for the
controller. Callbacks only keep the newest message; the control thread turns it into a state. With
``use_sim_time`` the link lives on the simulation's clock and waits for it.
"""

# pyright: reportMissingImports=false
# ROS has an environment of its own; see the Makefile.
from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import BatteryState, Imu, JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from lagoon.deploy.ros.messages import BadRosMessageError, JointReader, fill, label, state_of
from lagoon.deploy.transport.base import MotorCommand, RobotState
from lagoon.deploy.transport.links import Opener
from lagoon.errors import BadInputError
from lagoon.robot import RobotSpec

if TYPE_CHECKING:
    from lagoon.deploy.config import DeployConfig
    from lagoon.deploy.ros.node import LagoonPolicy

COMMAND_TOPIC = "motor_command"
NEWEST = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For measurements: a late reader gets the newest one, and a driver of either reliability matches."""
COMMAND_QOS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""For commands: readers of either reliability match."""
COMPLAIN_EVERY = 5.0
"""Shortest time between two warnings about messages that cannot be used [s]."""


def prepare_link(robot: RobotSpec, config: DeployConfig, host: LagoonPolicy | None = None) -> Opener:
    """Subscribe and announce on the node that steps the controller; see LINKS.

    Raises:
        BadInputError: there is no node.
    """
    if host is None:
        raise BadInputError(
            "The link 'ros' lives in a node that steps the controller itself. Start that: "
            "python -m lagoon.deploy.ros.node --ros-args -p skills:=[FOLDER]; docs/deploy_ros.md has the rest."
        )
    link = RosLink(host, robot)
    host.hold(link)
    return link.open


class RosLink:
    """See Transport."""

    def __init__(self, node: LifecycleNode, robot: RobotSpec) -> None:
        """Subscribe and announce, on a node that is being configured."""
        self.name, self.joint_names = f"ros:{node.get_fully_qualified_name()}", robot.joint_names
        self._node, self._clock = node, node.get_clock()
        self._sim = bool(node.get_parameter("use_sim_time").value)
        self.is_real = not self._sim
        self._joints = JointReader(robot.joint_names)
        self._joint_msg: JointState | None = None
        self._imu_msg: Imu | None = None
        self._battery_msg: BatteryState | None = None
        self._used: tuple[Any, ...] = ()
        self._state: RobotState | None = None
        self.others: tuple[str, ...] = ()
        """Other publishers of motor_command; see look_around."""
        self.dropped = 0
        """Pairs of messages that could not be used."""
        self._complained = -COMPLAIN_EVERY
        self._subscriptions = [
            node.create_subscription(JointState, "joint_states", self._on_joints, NEWEST),
            node.create_subscription(Imu, "imu/data", self._on_imu, NEWEST),
            node.create_subscription(BatteryState, "battery_state", self._on_battery, NEWEST),
        ]
        self._publisher: Any = node.create_publisher(Float64MultiArray, COMMAND_TOPIC, COMMAND_QOS)
        self._msg = Float64MultiArray()
        label(self._msg, MultiArrayDimension, robot.joint_names)
        self._ticked = threading.Condition()
        threshold = JumpThreshold(min_forward=Duration(nanoseconds=1), min_backward=None, on_clock_change=True)
        self._jumps = self._clock.create_jump_callback(threshold, post_callback=self._on_jump) if self._sim else None
        self._open = False

    def open(self) -> RosLink:
        """Begin, or begin again after ``close``; measurements from before are forgotten."""
        self._joint_msg = self._imu_msg = self._state = None
        self._used, self._open = (), True
        return self

    def _on_joints(self, msg: JointState) -> None:
        self._joint_msg = msg

    def _on_imu(self, msg: Imu) -> None:
        self._imu_msg = msg

    def _on_battery(self, msg: BatteryState) -> None:
        self._battery_msg = msg

    def _on_jump(self, _: object) -> None:
        with self._ticked:
            self._ticked.notify_all()

    def look_around(self) -> None:
        """Ask the graph who else publishes motor commands; for a slow timer."""
        found = self._node.get_publishers_info_by_topic(self._publisher.topic_name)
        names = [f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in found]
        own = self._node.get_fully_qualified_name()
        if own in names:
            names.remove(own)
        self.others = tuple(sorted(names))

    def now(self) -> float:
        """See Transport.now: monotonic time, or the simulation's."""
        return 1e-9 * self._clock.now().nanoseconds if self._sim else time.monotonic()

    def sleep_until(self, deadline: float) -> None:
        """See Transport.sleep_until; a simulated clock that stands still is waited for until the link is closed."""
        if not self._sim:
            wait = deadline - time.monotonic()
            if wait > 0.0:
                time.sleep(wait)
            return
        with self._ticked:
            while self._open and self.now() < deadline - 1e-6:
                self._ticked.wait(0.1)

    def read(self) -> RobotState | None:
        """See Transport.read."""
        parts = (self._joint_msg, self._imu_msg, self._battery_msg)
        new = not self._used or any(a is not b for a, b in zip(parts, self._used, strict=True))
        if new and parts[0] is not None and parts[1] is not None:
            self._used = parts
            try:
                self._state = state_of(self._joints, *parts)
            except BadRosMessageError as error:
                self.dropped += 1
                if time.monotonic() - self._complained >= COMPLAIN_EVERY:
                    self._complained = time.monotonic()
                    self._node.get_logger().error(str(error))
        if self._state is not None and self._state.other_publishers != self.others:
            self._state = replace(self._state, other_publishers=self.others)
        return self._state

    def write(self, command: MotorCommand) -> None:
        """See Transport.write."""
        fill(self._msg, command, self._clock.now().nanoseconds)
        self._publisher.publish(self._msg)

    def interrupt(self) -> None:
        """Wake a sleeper for good; a simulated clock may never tick again."""
        with self._ticked:
            self._open = False
            self._ticked.notify_all()

    def close(self) -> None:
        """See Transport.close; the topics stay until ``destroy``."""
        self.interrupt()

    def destroy(self) -> None:
        """Take the topics down."""
        self.interrupt()
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        if self._jumps is not None:
            self._jumps.unregister()
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
        self._subscriptions, self._publisher, self._jumps = [], None, None
