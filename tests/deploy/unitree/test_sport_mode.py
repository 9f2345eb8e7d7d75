"""The call that ends the robot's own motion program, against a switcher made of the vendor's message types."""

import dataclasses
import json
import re
import threading
import time
from contextlib import closing

import numpy as np
import pytest

from lagoon.deploy.controller.maneuvers import folded_posture
from lagoon.deploy.unitree import api_idl, idl, sport_mode
from lagoon.deploy.unitree.channel import Participant
from lagoon.deploy.unitree.message import low_state
from lagoon.deploy.unitree.remote import BUTTONS, STOP, pressed
from lagoon.errors import StageFailedError


class Switcher:
    """Answers like the robot's motion_switcher, and sends states of a robot in some posture."""

    def __init__(self, domain, robot, pose, name="mcf", releases_needed=1, code=0, garbage=False, crc=True):
        self.name, self.releases_needed, self.code, self.garbage = name, releases_needed, code, garbage
        self.calls = []
        participant = Participant("lo", domain)
        self._requests = participant.reader(sport_mode.REQUEST_TOPIC, api_idl.Request, depth=8)
        self._responses = participant.writer(sport_mode.RESPONSE_TOPIC, api_idl.Response)
        self._states = participant.writer("rt/lowstate", idl.LowState)
        state = low_state()
        motors = robot.joint_ids(robot.motor_names)
        angles = robot.motor_sign[motors] * pose[motors] + robot.motor_offset[motors]
        state.fields["motor_state"]["q"][: robot.num_joints] = angles
        self._state = state.encode() if crc else state.encode()[:-4] + bytes(4)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._stop.is_set():
            self._states.write(self._state)
            for sample in self._requests.take():
                self._answer(api_idl.Request.deserialize(sample.data))
            time.sleep(0.01)

    def _answer(self, request):
        api = request.header.identity.api_id
        self.calls.append(api)
        if api == sport_mode.RELEASE_MODE:
            self.releases_needed -= 1
            self.name = self.name if self.releases_needed > 0 else ""
        data = "{" if self.garbage else json.dumps({"form": "0", "name": self.name})
        for number in (request.header.identity.id - 1, request.header.identity.id):  # Someone else's answer first.
            identity = api_idl.RequestIdentity(number, api)
            header = api_idl.ResponseHeader(identity, api_idl.ResponseStatus(self.code))
            self._responses.write(api_idl.Response(header, data, []).serialize(use_version_2=False))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def call(action, domain, capsys):
    code = sport_mode.main([action, "--interface", "lo", "--domain", str(domain)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_motion_program_is_named_and_ended(robot, domain, capsys) -> None:
    with Switcher(domain, robot, folded_posture(robot), releases_needed=2) as switcher:
        assert call("status", domain, capsys) == (0, "The motion program 'mcf' runs.\n", "")
        assert sport_mode.RELEASE_MODE not in switcher.calls
        code, out, err = call("release", domain, capsys)
        assert (code, out, err) == (
            0,
            "The motion program 'mcf' has ended. It comes back when the robot restarts.\n",
            "",
        )
        assert switcher.calls.count(sport_mode.RELEASE_MODE) == 2
        assert call("release", domain, capsys) == (0, "No motion program runs.\n", "")


def test_a_standing_robot_is_not_dropped(robot, domain, capsys) -> None:
    with Switcher(domain, robot, robot.default_joint_pos) as switcher:
        code, _, err = call("release", domain, capsys)
        assert code == 1 and "The robot does not lie: its thigh joints are 0.27 m above its feet" in err
        assert sport_mode.RELEASE_MODE not in switcher.calls


def test_a_posture_that_is_no_number_does_not_count_as_lying(robot, domain, capsys) -> None:
    with Switcher(domain, robot, np.full(robot.num_joints, np.nan)) as switcher:
        assert call("release", domain, capsys)[0] == 1
        assert sport_mode.RELEASE_MODE not in switcher.calls


def test_a_state_with_a_wrong_checksum_tells_nothing(robot, domain, capsys, monkeypatch) -> None:
    monkeypatch.setattr(sport_mode, "FIND_SECONDS", 0.5)
    with Switcher(domain, robot, folded_posture(robot), crc=False) as switcher:
        code, _, err = call("release", domain, capsys)
        assert code == 2
        assert re.search(
            r"No rt/lowstate with a right checksum \([1-9]\d* with a wrong one\) came in within 0.5 s", err
        )
        assert sport_mode.RELEASE_MODE not in switcher.calls


@pytest.mark.parametrize("lies", [True, False])
def test_lying_is_judged_by_the_joints_whatever_the_motors_count(robot, domain, lies) -> None:
    """With the bus's own numbers the folded legs of this robot look stretched, and stretched ones folded."""
    turned = dataclasses.replace(robot, motor_sign=np.tile([1.0, -1.0, -1.0], 4), motor_offset=np.full(12, 0.3))
    pose = folded_posture(robot) if lies else robot.default_joint_pos
    with Switcher(domain, turned, pose), closing(Participant("lo", domain)) as participant:
        if lies:
            sport_mode.check_lying(turned, participant)
            return
        with pytest.raises(StageFailedError, match=r"0\.27 m above its feet"):
            sport_mode.check_lying(turned, participant)


@pytest.mark.parametrize(
    ("fault", "says"),
    [({"code": 7004}, "refused call 1001 with code 7004"), ({"garbage": True}, "answered '{'; expected JSON")],
)
def test_odd_answers_are_told(robot, domain, capsys, fault, says) -> None:
    with Switcher(domain, robot, folded_posture(robot), **fault):
        code, _, err = call("status", domain, capsys)
        assert code == 2 and says in err


def test_no_service_is_told(domain, capsys, monkeypatch) -> None:
    monkeypatch.setattr(sport_mode, "FIND_SECONDS", 0.3)
    code, _, err = call("status", domain, capsys)
    assert code == 2 and "No motion switcher answers in the robot's network within 0.3 s" in err


def test_heights_of_the_legs_are_those_of_the_model(robot) -> None:
    """The stand's root height is foot radius above the feet; the thigh joints are as high as the base."""
    stand = sport_mode.leg_heights(robot, robot.default_joint_pos)
    assert stand == pytest.approx(robot.default_root_height - robot.foot_radius, abs=0.003)
    assert sport_mode.leg_heights(robot, folded_posture(robot)).max() < sport_mode.LYING_LEG


def test_buttons_have_the_vendors_bits() -> None:
    remote = np.zeros(40, dtype=np.uint8)
    assert pressed(remote) == frozenset()
    for k, name in enumerate(BUTTONS):
        remote[2:4] = (1 << k & 0xFF, 1 << k >> 8)
        assert pressed(remote) == {name}
    remote[2:4] = (0x20, 0x02)
    assert pressed(remote) == STOP
