"""The robot's own motion program: which one runs, and how to end it before motor commands are sent.

What enters: a network interface. What leaves: the name of the program, or its end. While it runs it sends
rt/lowcmd itself, and two senders make the robot jerk. It also holds the robot up: once it is gone a standing
robot falls, so it is released only while the robot lies.

    python -m lagoon.deploy.unitree.sport_mode status --interface eth0
    python -m lagoon.deploy.unitree.sport_mode release --interface eth0

Service, api numbers and topics: ``MotionSwitcherClient`` of unitree_sdk2 (BSD-3-Clause).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from lagoon.deploy.unitree.channel import LinkError, Participant
from lagoon.deploy.unitree.state import STATE_TOPIC, StateReader
from lagoon.errors import LagoonError, StageFailedError
from lagoon.robot import RobotSpec, load_robot

REQUEST_TOPIC, RESPONSE_TOPIC = "rt/api/motion_switcher/request", "rt/api/motion_switcher/response"
CHECK_MODE, RELEASE_MODE = 1001, 1003
ANSWER_SECONDS = 2.0
"""Longest time until an answer [s]."""
FIND_SECONDS = 5.0
"""Longest time until the service and a state of the robot are found [s]."""
RELEASE_SECONDS = 10.0
"""Longest time until a released program has gone [s]."""
LYING_LEG = 0.17
"""Mean vertical distance from thigh joint to foot up to which the robot counts as lying [m]; it stands at 0.27."""


class MotionSwitcher:
    """Client of the robot's service."""

    def __init__(self, participant: Participant) -> None:
        """Announce the client; the service is looked for at the first call."""
        from lagoon.deploy.unitree import api_idl

        self._idl = api_idl
        self._requests = participant.writer(REQUEST_TOPIC, api_idl.Request)
        self._responses = participant.reader(RESPONSE_TOPIC, api_idl.Response, depth=8)

    def mode(self) -> str:
        """Name of the motion program that runs, for example ``normal`` or ``mcf``; empty for none.

        Raises:
            LinkError: no answer, or one that cannot be read.
        """
        answer = self._call(CHECK_MODE)
        try:
            return str(json.loads(answer)["name"])
        except (ValueError, KeyError, TypeError) as error:
            raise LinkError(
                f"The motion switcher answered {answer[:80]!r}; expected JSON with a 'name'. "
                "The robot's firmware may be newer than this program; release its motion program with the app."
            ) from error

    def release(self) -> None:
        """End the motion program, and wait until it has gone.

        Raises:
            LinkError: no answer, or it is still there.
        """
        deadline = time.monotonic() + RELEASE_SECONDS
        while name := self.mode():
            if time.monotonic() > deadline:
                raise LinkError(
                    f"The motion program '{name}' is still there {RELEASE_SECONDS:g} s after it was told to end. "
                    "Restart the robot, let it lie, and try again."
                )
            self._call(RELEASE_MODE)
            time.sleep(0.2)

    def _call(self, api: int) -> str:
        idl, number = self._idl, time.monotonic_ns()
        header = idl.RequestHeader(
            idl.RequestIdentity(number, api), idl.RequestLease(0), idl.RequestPolicy(0, noreply=False)
        )
        deadline = time.monotonic() + FIND_SECONDS
        while not (self._requests.num_readers and self._responses.senders()):
            if time.monotonic() > deadline:
                raise LinkError(
                    f"No motion switcher answers in the robot's network within {FIND_SECONDS:g} s. Check the interface "
                    "and the cable; a simulator has no such service and needs no release."
                )
            time.sleep(0.01)
        self._requests.write(idl.Request(header, "{}", []).serialize(use_version_2=False))
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            for sample in self._responses.take():
                response: Any = idl.Response.deserialize(sample.data)
                if response.header.identity.id != number:
                    continue
                if response.header.status.code != 0:
                    raise LinkError(
                        f"The motion switcher refused call {api} with code {response.header.status.code}. "
                        "Restart the robot and try again."
                    )
                return response.data
            time.sleep(0.005)
        raise LinkError(f"The motion switcher did not answer call {api} within {ANSWER_SECONDS:g} s. Try again.")


def leg_heights(robot: RobotSpec, joint_pos: np.ndarray) -> np.ndarray:
    """(F,) vertical distance from thigh joint to foot while the trunk is level and the hips are straight [m].

    Args:
        robot: lengths of its legs.
        joint_pos: (J,) [rad].
    """
    heights = []
    for leg in robot.legs:
        _, thigh, calf = joint_pos[robot.joint_ids(leg.joints)]
        x, _, z = leg.foot_in_thigh(calf)
        heights.append(np.sin(thigh) * x - np.cos(thigh) * z)
    return np.array(heights)


def check_lying(robot: RobotSpec, participant: Participant) -> None:
    """Refuse to let a standing robot fall.

    Raises:
        StageFailedError: it does not lie.
        LinkError: its state does not arrive.
    """
    states = StateReader(participant, robot)
    deadline = time.monotonic() + FIND_SECONDS
    while time.monotonic() < deadline:
        state = states.poll()
        if state is None:
            time.sleep(0.01)
            continue
        height = float(leg_heights(robot, state.joint_pos).mean())
        if not height <= LYING_LEG:
            raise StageFailedError(
                f"The robot does not lie: its thigh joints are {height:.2f} m above its feet, {LYING_LEG:g} or "
                "less is lying. It would fall. Make it lie down with its remote, then try again."
            )
        return
    dropped = f" with a right checksum ({states.dropped} with a wrong one)" if states.dropped else ""
    raise LinkError(
        f"No {STATE_TOPIC}{dropped} came in within {FIND_SECONDS:g} s, so it is not known whether the robot lies. "
        "Check the cable and the interface, or release the motion program with the app."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell or end the robot's motion program."""
    parser = argparse.ArgumentParser(
        prog="python -m lagoon.deploy.unitree.sport_mode", description="The Go2's own motion program."
    )
    parser.add_argument("action", choices=("status", "release"))
    parser.add_argument("--interface", required=True, help="network interface of the robot, for example eth0")
    parser.add_argument("--domain", type=int, default=0, help="DDS domain; a Go2 uses 0")
    args = parser.parse_args(arguments)
    try:
        with closing(Participant(args.interface, args.domain)) as participant:
            switcher = MotionSwitcher(participant)
            name = switcher.mode()
            if args.action == "release" and name:
                check_lying(load_robot("go2"), participant)
                switcher.release()
                print(f"The motion program '{name}' has ended. It comes back when the robot restarts.")
            else:
                print(f"The motion program '{name}' runs." if name else "No motion program runs.")
    except LagoonError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
