"""A real ROS on the loopback interface: lagoon_policy in a process of its own, a fake Go2 and an operator here.

These tests need rclpy and run with ``make test-ros``, in an environment of its own. Elsewhere they are not even
collected. Who asks for them with ``-m ros`` and has no rclpy gets an error: it is no reason to skip.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import pytest

HAS_ROS = importlib.util.find_spec("rclpy") is not None
if not HAS_ROS:
    collect_ignore_glob = ["test_*.py"]

DISCOVERY = 30.0
"""Longest time until two processes have found each other [s]; they need two or three."""


def pytest_configure(config):
    if not HAS_ROS and config.option.markexpr.strip() == "ros":
        raise pytest.UsageError(f"{sys.executable} has no rclpy. make test-ros sets up an environment that has it.")


def pytest_collection_modifyitems(items):
    for item in items:
        if "/deploy/ros/" in str(item.path):
            item.add_marker(pytest.mark.ros)


@pytest.fixture(scope="session", autouse=True)
def loopback(tmp_path_factory):
    """Nothing leaves this computer, and no other ROS on it is met."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(20 + os.getpid() % 80)
    os.environ["ROS_LOG_DIR"] = str(tmp_path_factory.mktemp("ros-log"))


@pytest.fixture
def ros(loopback):
    import rclpy

    context = rclpy.Context()
    rclpy.init(context=context)
    yield context
    rclpy.try_shutdown(context=context)


class Operator:
    """A fake Go2, a client of the node's services, and a listener to what it tells."""

    def __init__(self, context, robot):
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.executors import SingleThreadedExecutor
        from std_msgs.msg import String

        from lagoon.deploy.config import FakeRobotConfig
        from lagoon.deploy.fake_robot import FakeRobot
        from lagoon.deploy.ros.fake import FakeGo2
        from lagoon.deploy.ros.node import LATCHED

        self.node = rclpy.create_node("operator", context=context)
        self.go2 = FakeGo2(FakeRobot(robot, FakeRobotConfig.perfect()), context=context)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.go2)
        self.states, self.events, self.diagnostics = [], [], []
        on = self.node.create_subscription
        on(String, "/lagoon_policy/state", lambda msg: self.states.append(msg.data), LATCHED)
        on(String, "/lagoon_policy/event", lambda msg: self.events.append(msg.data), 50)
        on(DiagnosticArray, "/diagnostics", self.diagnostics.append, 10)
        self.each_time = lambda: None
        """Called at every turn, for example to send a joystick's message."""

    def spin(self):
        self.go2.step()
        self.each_time()
        self.executor.spin_once(timeout_sec=0.002)

    def until(self, happened, seconds=60.0):
        patience = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < patience, (self.states, self.events[-5:])
            self.spin()

    def trips(self):
        return [event for event in map(json.loads, self.events) if event["kind"] == "trip"]

    def call(self, kind, name, request, seconds=30.0):
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready, DISCOVERY)
        future = client.call_async(request)
        self.until(future.done, seconds)
        self.node.destroy_client(client)
        return future.result()

    def ask(self, name):
        from std_srvs.srv import Trigger

        answer = self.call(Trigger, f"/lagoon_policy/{name}", Trigger.Request())
        return answer.success, answer.message

    def transit(self, name):
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        numbers = {"configure": 1, "cleanup": 2, "activate": 3, "deactivate": 4, "shutdown": 6}
        return self.call(
            ChangeState, "/lagoon_policy/change_state", ChangeState.Request(transition=Transition(id=numbers[name]))
        ).success

    def set(self, **parameters):
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        request = SetParameters.Request(
            parameters=[
                Parameter(name.replace("__", "."), value=value).to_parameter_msg() for name, value in parameters.items()
            ]
        )
        return [
            (result.successful, result.reason)
            for result in self.call(SetParameters, "/lagoon_policy/set_parameters", request).results
        ]


@pytest.fixture
def operator(ros, robot):
    made = Operator(ros, robot)
    yield made
    made.executor.shutdown()
    made.node.destroy_node()
    made.go2.destroy_node()


@pytest.fixture
def start(tmp_path):
    """Start the node as a user does; parameters as keywords, with __ for a dot."""
    running = []

    def run(**parameters):
        words = []
        for name, value in {"use_sim_time": True, **parameters}.items():
            text = str(value).lower() if isinstance(value, bool) else value
            words += ["-p", f"{name.replace('__', '.')}:={text}"]
        log = (tmp_path / f"node{len(running)}.log").open("w+")
        process = subprocess.Popen(
            [sys.executable, "-m", "lagoon.deploy.ros.node", "--ros-args", *words], stdout=log, stderr=subprocess.STDOUT
        )
        running.append((process, log))
        return process

    yield run
    for process, log in running:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        log.seek(0)
        print(log.read())
        log.close()
