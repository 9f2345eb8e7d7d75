"""The tests of every link, over ROS topics: a real rclpy on the loopback interface, in step with a simulated clock."""

import sys
import time
from pathlib import Path

import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter

from lagoon.deploy.ros.fake import FakeGo2
from lagoon.deploy.ros.link import RosLink

sys.path.insert(0, str(Path(__file__).parents[1] / "transport"))
pytest.register_assert_rewrite("test_every_link")
from test_every_link import *  # noqa: F403, E402

PATIENCE = 30.0
"""Longest time for two nodes to find each other [s]."""
LOST = 2.0
"""Time after which a message counts as lost [s]; measurements are sent best-effort."""


class Lockstep(RosLink):
    """A link whose ``sleep_until`` moves the robot at its other end, in one thread."""

    def __init__(self, context, fake):
        node = LifecycleNode("link", context=context, parameter_overrides=[Parameter("use_sim_time", value=True)])
        super().__init__(node, fake.robot)
        self.node, self.go2 = node, FakeGo2(fake, patience=0.0, context=context)
        self.executor = SingleThreadedExecutor(context=context)
        for each in (self.node, self.go2):
            self.executor.add_node(each)
        go2 = self.go2
        out = (go2._joint_states, go2._imu, go2._battery, go2._clock_topic, self._publisher)
        assert self.until(lambda: all(topic.get_subscription_count() for topic in out), PATIENCE), "no discovery"
        self.open()

    def until(self, happened, seconds=LOST):
        patience = time.monotonic() + seconds
        while not happened() and time.monotonic() < patience:
            self.executor.spin_once(timeout_sec=0.005)
        return happened()

    def sleep_until(self, deadline):
        while self.now() < deadline:
            if self.go2.step():
                self.until(self.is_abreast)

    def is_abreast(self):
        """True once the clock and the state of this step have come through."""
        state = self.go2.fake.receive()
        if state is not None:
            for msg in (self._joint_msg, self._imu_msg):
                if msg is None or msg.header.stamp.sec * 10**9 + msg.header.stamp.nanosec != round(1e9 * state.time):
                    return False
        return self._clock.now().nanoseconds >= self.go2.time_ns

    def write(self, command):
        before = self.go2.obeyed
        super().write(command)
        assert self.until(lambda: self.go2.obeyed > before), "a reliable command did not arrive"


@pytest.fixture
def link(ros, fake):
    made = Lockstep(ros, fake)
    yield made
    made.close()
    made.destroy()
    made.executor.shutdown()
    made.node.destroy_node()
    made.go2.destroy_node()
