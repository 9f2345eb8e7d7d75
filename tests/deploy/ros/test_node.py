"""The node as a user meets it: real processes, real services, a robot that obeys nothing but its messages."""

import json
import signal
import time

import numpy as np
import pytest

from lagoon.deploy.controller.envelope import up_b
from lagoon.deploy.recording.bag import read_bag
from lagoon.deploy.recording.replay import replay

READY = pytest.mark.timeout(240)


@READY
def test_from_lying_through_an_upright_wave_and_back_by_services(operator, start, robot, wave, tmp_path) -> None:
    start(skills=f"[{wave.folder}]", record=tmp_path / "bags")
    fake, pitch = operator.go2.fake, []
    height = lambda: float(fake.truth()[0][2])  # noqa: E731
    joint_error = lambda: float(np.abs(fake.truth()[2] - robot.default_joint_pos).mean())  # noqa: E731
    operator.each_time = lambda: pitch.append(up_b(fake.truth()[1])[0])
    assert operator.ask("stand_up") == (False, "The node is not active. Configure and activate it first.")
    assert operator.transit("configure")
    assert operator.transit("activate")
    operator.until(lambda: operator.go2.obeyed > 20)
    assert operator.ask("run")[0] is False
    assert operator.ask("stand_up") == (True, "The robot is in 'stand_up'.")
    operator.until(lambda: operator.states[-1] == "stand")
    assert height() == pytest.approx(robot.default_root_height, abs=0.03) and joint_error() < 0.1

    # A lifecycle manager shall not drop the robot.
    assert not operator.transit("deactivate")
    assert operator.states[-1] == "stand"

    assert operator.ask("run") == (True, f"'{wave.command}' begins when the robot stands steadily.")
    operator.until(lambda: operator.states[-1] == "policy")
    operator.until(lambda: operator.states[-1] == "settle", 120.0)
    assert max(pitch) > 0.95, "it stood on its hind legs"
    operator.until(lambda: operator.states[-1] == "stand")
    assert height() == pytest.approx(robot.default_root_height, abs=0.03) and joint_error() < 0.1
    assert operator.ask("sit_down")[0]
    operator.until(lambda: operator.states[-1] == "damping")
    assert height() < 0.15
    seen = [
        s for s in operator.states if s in ("stand_up", "stand", "policy", "settle", "sit_down", "damping", "fault")
    ]
    assert seen == ["damping", "stand_up", "stand", "policy", "settle", "stand", "sit_down", "damping"]
    assert operator.transit("deactivate") and operator.transit("cleanup")
    assert operator.go2.refused == 0
    operator.until(lambda: list((tmp_path / "bags").glob("2*")))
    (bag,) = (tmp_path / "bags").glob("2*")
    found = replay(bag, wave)
    assert found.passed and [run.ticks for run in found.runs] == [wave.num_steps]
    kinds = {json.loads(event)["kind"] for event in operator.events}
    assert "trip" not in kinds and {"mode", "refused"} <= kinds
    operator.until(lambda: operator.diagnostics)
    levels = {array.status[0].level for array in operator.diagnostics}
    assert b"\x02" not in levels


@READY
def test_stops_resets_and_locks(operator, start, stand_bundle) -> None:
    start(skills=f"[{stand_bundle.folder}]", joy__stop_button=1, joy__deadman_button=4)
    assert operator.set(controller__speed=1.2) == [(True, "")]
    assert operator.transit("configure") and operator.transit("activate")
    (ok, reason), (chosen, unknown) = operator.set(controller__speed=3.0, skill="no such skill")
    assert (ok, reason) == (
        False,
        "Parameter controller.speed is locked from configure on. Clean the node up first, then set it.",
    )
    assert (chosen, unknown) == (False, f"Skill 'no such skill' is not loaded. Loaded: {stand_bundle.command}.")
    assert operator.set(skill=stand_bundle.command) == [(True, "")]

    operator.until(lambda: operator.go2.obeyed > 20)
    assert operator.ask("stand_up")[0]
    operator.until(lambda: operator.states[-1] == "stand")
    assert operator.ask("run") == (False, "The dead-man button is not held; hold it, then start.")

    joy = Joystick(operator)
    joy.press(4)
    operator.until(lambda: operator.ask("run")[0])
    operator.until(lambda: operator.states[-1] == "policy")
    joy.press()  # Let go: back to the stand, softly, before the skill is over.
    operator.until(lambda: sum("was stopped" in event for event in operator.events) == 1)
    operator.until(lambda: operator.states[-1] == "stand")

    joy.press(4)
    operator.until(lambda: operator.ask("run")[0])
    operator.until(lambda: operator.states[-1] == "policy")
    operator.each_time = lambda: None  # A joystick that has gone counts as released.
    operator.until(lambda: sum("was stopped" in event for event in operator.events) == 2)
    operator.until(lambda: operator.states[-1] == "stand")

    operator.each_time = joy.send
    joy.press(1)
    operator.until(operator.trips)
    assert operator.trips()[-1]["guard"] == "operator"
    joy.press()
    ok, why = operator.ask("stand_up")
    assert not ok and "in fault" in why
    operator.until(lambda: operator.ask("reset")[0])
    operator.until(lambda: operator.states[-1] == "damping")

    assert operator.ask("estop")[0]
    operator.until(lambda: operator.states[-1] == "fault")


class Joystick:
    def __init__(self, operator):
        from sensor_msgs.msg import Joy

        self._joy = Joy
        self._publisher = operator.node.create_publisher(Joy, "joy", 1)
        self._buttons = [0] * 6
        operator.each_time = self.send
        operator.until(lambda: self._publisher.get_subscription_count())

    def press(self, *buttons):
        self._buttons = [int(k in buttons) for k in range(6)]

    def send(self):
        self._publisher.publish(self._joy(buttons=self._buttons))


@READY
def test_measurements_that_stop_end_in_damping(operator, start, stand_bundle) -> None:
    start(skills=f"[{stand_bundle.folder}]", autostart=True)
    operator.until(lambda: operator.go2.obeyed > 20)
    assert operator.ask("stand_up")[0]
    operator.until(lambda: operator.states[-1] == "stand")
    operator.go2.fake.faults.silence = True
    operator.go2._publish = lambda: operator.go2._clock_topic.publish(_clock(operator.go2.time_ns))
    operator.until(operator.trips)
    assert operator.trips()[-1]["guard"] == "stale"
    operator.until(lambda: operator.states[-1] == "fault")


def _clock(nanoseconds):
    from rclpy.time import Time
    from rosgraph_msgs.msg import Clock

    return Clock(clock=Time(nanoseconds=nanoseconds).to_msg())


@READY
def test_a_second_publisher_trips(operator, start) -> None:
    from std_msgs.msg import Float64MultiArray

    start(autostart=True)
    operator.until(lambda: operator.go2.obeyed > 20)
    assert operator.ask("stand_up")[0]
    operator.until(lambda: operator.states[-1] == "stand")
    operator.node.create_publisher(Float64MultiArray, "motor_command", 1)
    operator.until(operator.trips)
    trip = operator.trips()[-1]
    assert (trip["guard"], trip["values"]["who"]) == ("other_publisher", ["/operator"])


@READY
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGHUP], ids=["ctrl-c", "terminal"])
def test_however_it_is_ended_damping_is_last_and_a_bag_is_left(operator, start, tmp_path, how) -> None:
    process = start(autostart=True, record=tmp_path / "bags", record_seconds=2.0)
    operator.until(lambda: operator.go2.obeyed > 20)
    assert operator.ask("stand_up")[0]
    operator.until(lambda: operator.states[-1] == "stand")
    sent = []
    operator.go2.fake.send = sent.append
    process.send_signal(how)
    operator.until(lambda: process.poll() is not None)
    assert process.returncode == 0
    (bag,) = (tmp_path / "bags").iterdir()
    info, steps = read_bag(bag)
    assert len(steps) == 400 and info["forgotten_steps"] > 400 and steps["has_state"].all()
    for _ in range(50):
        operator.executor.spin_once(timeout_sec=0.01)
    assert (sent[-1].kp == 0.0).all() and (sent[-1].kd > 0.0).all()


@READY
def test_a_machine_is_not_moved_without_a_passed_check(start, stand_bundle, tmp_path) -> None:
    """A link on the computer's own time leads to a machine; dry, it may be looked at."""
    process = start(autostart=True, use_sim_time=False, skills=f"[{stand_bundle.folder}]")
    assert process.wait(60) == 2
    said = (tmp_path / "node0.log").read_text().replace("\n", " ")
    assert "A real robot is only commanded after a passed check. Run: lagoon deploy check" in said
    start(autostart=True, use_sim_time=False, dry_run=True, skills=f"[{stand_bundle.folder}]")
    patience = time.monotonic() + 60.0
    while "Skills: " not in (said := (tmp_path / "node1.log").read_text()):
        assert time.monotonic() < patience, said
        time.sleep(0.1)
    time.sleep(1.0)
    assert "passed check" not in (tmp_path / "node1.log").read_text()


@READY
@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"skills": "[/no/such/folder]"}, "/no/such/folder"),
        ({"robot": "go3"}, "Robot 'go3' is not known"),
        ({"transport": "carrier_pigeon"}, "Link 'carrier_pigeon' is not known. Known: ros, unitree. Choose"),
        ({"record": "/etc/passwd"}, "/etc/passwd is a file; bags go into a folder"),
        ({"skill": "backflip"}, "Parameter skill is 'backflip', which is not loaded"),
        ({"controller__speed": 40}, "speed is 40.0; expected 0.2 to 4"),
        ({"joy__timeout": "soon"}, "Parameter joy.timeout is 'soon'; expected a number, such as 0.5"),
        ({"skills": "/no/list"}, "'skills'"),
    ],
    ids=["folder", "robot", "transport", "record", "skill", "speed", "number", "list"],
)
def test_what_cannot_work_is_said_and_ends(start, parameters, says, tmp_path) -> None:
    process = start(autostart=True, **parameters)
    assert process.wait(60) == 2
    assert says in (tmp_path / "node0.log").read_text()
