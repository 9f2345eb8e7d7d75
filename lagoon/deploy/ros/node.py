"""The lifecycle node ``lagoon_policy``: the controller behind standard messages and services.

What enters: parameters, services, a joystick; measurements through the link. What leaves: motor commands
through the link, the mode as a latched topic, events, diagnostics. configure loads and checks everything,
activate starts the control thread, which brakes until it is asked to stand up. deactivate is refused while
the robot stands: a lifecycle manager shall not drop it. However the node ends, it ends in damping.
"""

# pyright: reportMissingImports=false
# ROS has an environment of its own; see the Makefile.
from __future__ import annotations

import json
import shlex
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from sensor_msgs.msg import Joy
from std_msgs.msg import String
from std_srvs.srv import Trigger

from lagoon.bundle import PolicyBundle
from lagoon.deploy.check_report import FILE, require_check
from lagoon.deploy.config import DeployConfig
from lagoon.deploy.controller import Action, Controller, Event, Kind, Request
from lagoon.deploy.controller.controller import PASSIVE
from lagoon.deploy.loop import run_loop
from lagoon.deploy.recording.recorder import Recorder
from lagoon.deploy.ros import parameters
from lagoon.deploy.ros.desk import Desk, JoyConfig
from lagoon.deploy.ros.diagnostics import LoopMeter, report
from lagoon.deploy.ros.link import NEWEST, RosLink
from lagoon.deploy.transport.base import MotorCommand, RobotState, Transport
from lagoon.deploy.transport.links import Opener, find_link
from lagoon.errors import LagoonError
from lagoon.robot import load_robot

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For the state: who comes late gets the last one."""
SERVICES = {
    "stand_up": Action.STAND_UP,
    "run": Action.START,
    "stop": Action.STOP,
    "sit_down": Action.SIT_DOWN,
    "estop": Action.DAMP,
    "reset": Action.RESET,
}
"""Name of the std_srvs/Trigger service to what it asks for."""
JOIN_SECONDS = 5.0
"""Longest time for the control thread to say goodbye [s]."""


class LagoonPolicy(LifecycleNode):
    """See the module."""

    def __init__(self, **kwargs: Any) -> None:
        """Declare parameters and offer the services; nothing else happens before configure."""
        super().__init__("lagoon_policy", **kwargs)
        parameters.declare(self)
        parameters.lock(self, lambda: self._controller is not None, self._known_skills)
        self._controller: Controller | None = None
        self._bundles: list[PolicyBundle] = []
        self._link: RosLink | None = None
        self._open: Opener | None = None
        self._settings = DeployConfig()
        self._transport: Transport | None = None
        self._thread: threading.Thread | None = None
        self._writing: threading.Thread | None = None
        self._recorder: Recorder | None = None
        self._ending = False
        self._desk, self._meter = Desk(), LoopMeter()
        self._told = ""
        self._state = self.create_publisher(String, "~/state", LATCHED)
        self._events = self.create_publisher(String, "~/event", 50)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        # A call waits for the control thread, which may wait for messages: it must not keep them from coming in.
        group = ReentrantCallbackGroup()
        self._offered = [
            self.create_service(Trigger, f"~/{name}", self._service(action), callback_group=group)
            for name, action in SERVICES.items()
        ]
        self._choice = self.create_subscription(String, "~/skill", self._on_skill, 1)
        self._joy = self.create_subscription(Joy, "joy", self._on_joy, NEWEST)
        # Not the node's clock: diagnostics go on while a simulated clock stands still.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._regular = [
            self.create_timer(1.0, self._on_second, clock=steady),
            self.create_timer(0.1, self._look_around, clock=steady),
        ]
        self._say("unconfigured")

    # Lifecycle ------------------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and check everything."""
        try:
            robot = load_robot(self.get_parameter("robot").value)
            bundles = parameters.load_skills(self)
            controller = Controller(robot, bundles, parameters.controller_config(self))
            parameters.check_record(self)
            skill = self.get_parameter("skill").value
            if skill and skill not in controller.skills:
                known = ", ".join(controller.skills) or "none"
                raise LagoonError(f"Parameter skill is '{skill}', which is not loaded. Loaded: {known}.")
            self._desk = Desk(parameters.read(self, JoyConfig, "joy"))
            name = self.get_parameter("transport").value
            self._settings = parameters.deploy_config(self)
            self._open = find_link(name, "the parameter transport")(robot, self._settings, self)
        except LagoonError as error:
            self.get_logger().error(str(error))
            self._take_down()
            return TransitionCallbackReturn.FAILURE
        self._controller, self._bundles = controller, bundles
        self.get_logger().info(f"Skills: {', '.join(controller.skills) or 'none'}.")
        self._say("inactive")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the link and start the control thread; the robot is in damping."""
        assert self._controller is not None and self._open is not None
        if self._writing is not None and self._writing.is_alive():
            # Writing beside the control thread would hold it up.
            self.get_logger().error("The recording of the last activation is still being written. Activate again soon.")
            return TransitionCallbackReturn.FAILURE
        try:
            self._transport = self._open()
            if self._transport.is_real and not self.get_parameter("dry_run").value:
                self._require_checks(self._settings)
        except LagoonError as error:
            self.get_logger().error(str(error))
            self._close_link()
            return TransitionCallbackReturn.FAILURE
        self._ending = False
        self._desk, self._meter = Desk(self._desk.joy), LoopMeter()
        self._recorder = None
        if self.get_parameter("record").value:
            seconds = self.get_parameter("record_seconds").value
            self._recorder = Recorder(self._controller, self._bundles, self._transport.name, seconds)
        self._thread = threading.Thread(target=self._control, name="control")
        self._thread.start()
        self._say(self._controller.mode.value)
        return TransitionCallbackReturn.SUCCESS

    def hold(self, link: RosLink) -> None:
        """Look after a link that lives in this node, until it is taken down."""
        self._link = link

    def _require_checks(self, settings: DeployConfig) -> None:
        """Refuse to move a machine with a bundle that has not passed its check on this computer.

        Raises:
            LagoonError: a check is missing or does not hold.
        """
        for bundle in self._bundles:
            require_check(bundle.folder.parent / FILE, bundle, settings, shlex.quote(str(bundle.folder)))

    def _close_link(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the control thread, unless the robot stands."""
        controller = self._controller
        if controller is not None and controller.mode not in PASSIVE and self._is_running():
            self.get_logger().error(
                f"The robot is in '{controller.mode.value}' and would fall. Call ~/sit_down first, or ~/estop."
            )
            return TransitionCallbackReturn.FAILURE
        self.end()
        self._say("inactive")
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the skills; parameters can be set again."""
        self._take_down()
        self._say("unconfigured")
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Damping, whatever the robot does."""
        self._take_down()
        self._say("finalized")
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Damping, and back to unconfigured."""
        self._take_down()
        self._say("unconfigured")
        return TransitionCallbackReturn.SUCCESS

    def end(self) -> None:
        """Stop the control thread; its last commands are damping."""
        self._ending = True
        self._desk.close()
        if self._link is not None:
            self._link.interrupt()
        if self._thread is not None:
            self._thread.join(JOIN_SECONDS)
            self._writing = self._thread
        self._thread = None

    def _take_down(self) -> None:
        self.end()
        if self._link is not None:
            self._link.destroy()
        self._controller, self._link, self._open, self._transport = None, None, None, None

    # The control thread -----------------------------------------------------------------------------------

    def _control(self) -> None:
        controller, transport, desk, recorder = self._controller, self._transport, self._desk, self._recorder
        meter = self._meter

        def watch(state: RobotState | None, command: MotorCommand, now: float) -> None:
            meter(state, command, now)
            if recorder is not None:
                recorder(state, command, now)

        assert controller is not None and transport is not None
        try:
            dry = bool(self.get_parameter("dry_run").value)
            run_loop(controller, transport, desk, watch=watch, tell=self._tell, dry_run=dry)
        except Exception as error:  # Whatever it was, the loop has sent damping; the node lives on to tell it.
            self.get_logger().fatal(f"The control thread has ended: {type(error).__name__}: {error}")
        finally:
            desk.settle_accounts()
        if recorder is not None:
            self._save(recorder)

    def _save(self, recorder: Recorder) -> None:
        """Write the bag of this activation, after the last words."""
        try:
            path = recorder.save(Path(self.get_parameter("record").value).expanduser())
        except LagoonError as error:
            self.get_logger().error(str(error))
        else:
            self.get_logger().info(f"What was read and sent: {path or 'nothing'}")

    def _tell(self, event: Event) -> None:
        self._desk.tell(event)
        # One line for each: rclpy allows one severity a line.
        if event.kind is Kind.TRIP:
            self.get_logger().error(event.text)
        elif event.kind is Kind.MODE:
            self.get_logger().info(event.text)
        else:
            self.get_logger().warning(event.text)
        self._events.publish(String(data=json.dumps(event.to_dict())))
        self._say(event.mode.value)

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    # Callbacks of the executor ----------------------------------------------------------------------------

    def _service(self, action: Action) -> Callable[..., Any]:
        async def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            if not self._is_running():
                response.success = False
                response.message = "The node is not active. Configure and activate it first."
                return response
            future: Any = Future(executor=self.executor)
            skill = self._chosen_skill() if action is Action.START else ""
            self._desk.ask(Request(action, skill), lambda granted, text: future.set_result((granted, text)))
            response.success, response.message = await future
            return response

        return serve

    def _chosen_skill(self) -> str:
        chosen, known = self.get_parameter("skill").value, self._known_skills()
        return chosen or (known[0] if known else "")

    def _known_skills(self) -> tuple[str, ...]:
        return () if self._controller is None else self._controller.skills

    def _on_skill(self, msg: String) -> None:
        result = self.set_parameters([rclpy.Parameter("skill", rclpy.Parameter.Type.STRING, msg.data)])[0]
        if not result.successful:
            self.get_logger().warning(result.reason)

    def _on_joy(self, msg: Joy) -> None:
        self._desk.on_joy(msg.buttons)

    def _on_second(self) -> None:
        hardware = "" if self._transport is None else self._transport.name
        msg = report(self._controller, self._meter, hardware, self._is_running())
        msg.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(msg)

    def _look_around(self) -> None:
        if self._link is not None:
            self._link.look_around()
        if self._thread is not None and not self._thread.is_alive() and not self._ending:
            self._say("stopped")

    def _say(self, what: str) -> None:
        if what != self._told:
            self._told = what
            self._state.publish(String(data=what))


def main(args: list[str] | None = None) -> int:
    """Run the node until Ctrl-C, SIGTERM or a closed terminal; then damping, and only then ROS is shut down."""
    # The default handlers would take the context down first, and the last words with it.
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    try:
        node, executor = LagoonPolicy(), SingleThreadedExecutor()
    except ParameterException as error:
        print(f"Error: {error}", file=sys.stderr)
        rclpy.try_shutdown()
        return 2
    executor.add_node(node)
    try:
        if node.get_parameter("autostart").value:
            configured = node.trigger_configure() is TransitionCallbackReturn.SUCCESS
            if not (configured and node.trigger_activate() is TransitionCallbackReturn.SUCCESS):
                return 2
        while not ended.is_set():
            executor.spin_once(timeout_sec=0.1)
    finally:
        node.end()
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
