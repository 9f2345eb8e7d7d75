"""``serve``: a browser page with the person, the reference and the live policy side by side.

What enters: two motions and something that runs the policy. What leaves: a page on a local port, until
Ctrl-C. One loop with absolute deadlines runs the physics and draws.
"""

from __future__ import annotations

import contextlib
import errno
import io
import socket
import threading
import time
from collections.abc import Callable

from lagoon.errors import BadInputError, require
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.quadruped_motion import QuadrupedMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import RobotSpec
from lagoon.studio.config import PlayConfig
from lagoon.studio.play_scene import PlayScene
from lagoon.studio.play_session import PlaySession, PolicyStepper


def serve(
    human: HumanMotion | QuadrupedMotion | None,
    reference: RobotMotion | None,
    policy_stepper: PolicyStepper | None,
    robot: RobotSpec,
    config: PlayConfig | None = None,
    say: Callable[[str], object] = print,
    stop: threading.Event | None = None,
) -> None:
    """Serve the viewer until Ctrl-C, or until ``stop`` is set; whatever is None is left out.

    Args:
        human: what the person does.
        reference: what the robot should do.
        policy_stepper: runs the policy, for example ``PolicyRunner(lagoon.bundle.load(folder))``; needs the reference.
        robot: which robot.
        config: address, rate, sizes.
        say: told the address to open.
        stop: ends the viewer when set.

    Raises:
        BadInputError: nothing to play, or the port cannot be used.
        MissingExtraError: viser is not installed.
    """
    config = config or PlayConfig()
    viser = require("viser", "viewer")
    session = PlaySession(human, reference, policy_stepper, robot, loop=config.loop, pause_at_end=config.pause_at_end)
    check_port(config.host, config.port)
    # viser prints a box with its addresses; one line that says what to do is enough.
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=config.host, port=config.port, label="lagoon", verbose=False)
    try:
        # Between the check and the start another program may have been faster; viser then takes another port.
        shown = "127.0.0.1" if config.host in ("0.0.0.0", "") else config.host
        say(f"Open http://{shown}:{server.get_port()} in a browser. Ctrl-C ends it.")
        run_loop(session, PlayScene(server, session, human, robot, config), config.fps, stop or threading.Event())
    except KeyboardInterrupt:
        say("Stopped.")
    finally:
        # viser announces its end from another thread; the line above has said it.
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


def run_loop(session: PlaySession, scene: PlayScene, fps: float, stop: threading.Event) -> None:
    """Step and draw ``fps`` times a second until ``stop`` is set, or KeyboardInterrupt."""
    period = 1.0 / fps
    deadline = last = time.perf_counter()
    while not stop.is_set():
        while scene.commands:
            scene.commands.popleft()(session)
        now = time.perf_counter()
        session.step(now - last)
        last = now
        scene.update(session.snapshot())
        # Deadlines are absolute, so errors of sleeping do not add up; after a stall the beat starts anew.
        deadline += period
        wait = deadline - time.perf_counter()
        if wait > 0:
            stop.wait(wait)
        elif wait < -10 * period:
            deadline = time.perf_counter()


def check_port(host: str, port: int) -> None:
    """Refuse a port that cannot be listened on; viser would quietly take another one.

    Raises:
        BadInputError: the port is in use, not allowed, or the host is not an address of this machine.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                reason = "is in use by another program"
            elif error.errno == errno.EACCES:
                reason = "is reserved for the system"
            else:
                reason = f"cannot be used ({error.strerror or error})"
            other = port + 1 if 1024 <= port < 65535 else 8080
            raise BadInputError(f"Port {port} of {host} {reason}. Choose another one with play.port={other}") from error
