"""Bags of runs over a robot that does what it is told, without physics: a whole run takes a second."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from lagoon.deploy.controller import Controller, ControllerConfig, Mode
from lagoon.deploy.controller.maneuvers import folded_posture
from lagoon.deploy.dry_run import Obedient, plan
from lagoon.deploy.loop import run_loop
from lagoon.deploy.recording import bag
from lagoon.deploy.recording.bag import MODES, read_bag, write_bag
from lagoon.deploy.recording.recorder import Recorder
from lagoon.deploy.recording.replay import replay
from lagoon.deploy.ros.messages import command_of
from lagoon.deploy.sequence import SkillSequence
from lagoon.deploy.transport.base import COMMANDED, RobotState
from lagoon.errors import BadInputError, CorruptFileError, LagoonError

QUICK = ControllerConfig(speed=4.0, min_seconds=0.1, wiggle_seconds=0.06, steady_seconds=0.3)


def lying(robot, **changes):
    fields = {"time": 0.0, "joint_pos": folded_posture(robot) + 0.02, "joint_vel": np.zeros(12), "battery": 0.9}
    fields |= {"imu_quat": np.array([1.0, 0.0, 0.0, 0.0]), "imu_ang_vel": np.zeros(3)}
    return RobotState(**{**fields, **changes})


def record(robot, bundle, times=1, seconds=60.0):
    """Stand up, the skill some times, sit down; return the recorder and the commands that were sent."""
    controller, sent = Controller(robot, [bundle], QUICK), []
    recorder = Recorder(controller, [bundle], "a link", seconds)

    def watch(state, command, now):
        recorder(state, command, now)
        sent.append((state, command, controller.mode))

    sequence = SkillSequence([bundle.command] * times)
    run_loop(controller, Obedient(robot, lying(robot)), sequence, watch)
    assert sequence.problem == ""
    return recorder, sent


@pytest.fixture(scope="session")
def run(robot, stand_bundle):
    return record(robot, stand_bundle, times=2)


@pytest.fixture(scope="session")
def recorded(run, tmp_path_factory):
    return run[0].save(tmp_path_factory.mktemp("bags"))


@pytest.fixture(scope="session")
def content(recorded):
    return read_bag(recorded)


@pytest.fixture
def edited(content, tmp_path):
    """Write the bag again with changed steps."""

    def write(change, **info):
        about, steps = content[0], change(content[1].copy())
        write_bag(tmp_path / "edited", {**about, **info}, steps)
        return tmp_path / "edited"

    return write


def test_a_bag_holds_what_was_read_in_every_step(run, content):
    info, steps = content
    sent = run[1]
    assert info["link"] == "a link" and info["forgotten_steps"] == 0
    assert len(steps) == len(sent) > 300 and steps["has_state"].all()
    for row, (state, _, mode) in zip(steps, sent, strict=True):
        np.testing.assert_array_equal(row["joint_pos"], state.joint_pos)
        np.testing.assert_array_equal(row["imu_quat"], state.imu_quat)
        assert MODES[row["mode"]] == mode.value
    assert np.diff(steps["ns"]) == pytest.approx(5e6, abs=2)
    runs = steps["ticks"][steps["ticked"]]
    assert list(runs) == [*range(1, 81), *range(1, 81)], "both runs, from the first tick to the last"


def test_standard_messages_with_names_and_the_command_as_a_driver_reads_it(run, recorded, robot):
    from rosbags.highlevel import AnyReader

    commands, kinds = [], {}
    with AnyReader([recorded]) as reader:  # With the definitions in the bag, as another program reads it.
        for connection, _, raw in reader.messages():
            msg = reader.deserialize(raw, connection.msgtype)
            kinds[connection.topic] = connection.msgtype
            if connection.topic == "/motor_command":
                commands.append(command_of(msg, robot.motor_names)[0])
            elif connection.msgtype.endswith("JointState"):
                assert tuple(msg.name) == robot.joint_names
    assert kinds == bag.TYPES
    assert recorded.name.endswith("Z") and len(commands) == len(run[1])
    order = robot.joint_ids(robot.motor_names)
    for found, (_, command, _) in zip(commands, run[1], strict=True):
        for name in COMMANDED:
            np.testing.assert_array_equal(getattr(found, name), getattr(command, name)[order])


def test_a_replay_finds_no_difference(recorded, stand_bundle):
    found = replay(recorded, stand_bundle)
    assert found.passed and [run.ticks for run in found.runs] == [80, 80]
    assert max(run.largest for run in found.runs) == 0.0 and found.headless == found.others == 0
    assert replay(next(recorded.glob("*.mcap")), stand_bundle) == found


def test_the_first_mismatch_is_named(edited, stand_bundle, robot):
    def change(steps):
        at = np.flatnonzero(steps["ticked"] & (steps["ticks"] == 31))[1]
        steps["target"][at, 7] += 0.01
        change.ns = int(steps["ns"][at] - steps["ns"][0])
        steps["target"][at + 40, 3] = np.where(steps["ticked"][at + 40], np.nan, 0.0)
        return steps

    found = replay(edited(change), stand_bundle)
    first, second = found.runs
    assert not found.passed and first.mismatch is None
    assert (second.mismatch.tick, second.mismatch.joint) == (30, robot.joint_names[7])
    assert second.mismatch.time == pytest.approx(1e-9 * change.ns)
    assert second.mismatch.recorded - second.mismatch.recomputed == pytest.approx(0.01, abs=1e-6)
    assert np.isinf(second.largest), "a target that is no number is the largest difference"


def test_memory_is_bounded_and_a_run_without_its_beginning_is_not_compared(robot, stand_bundle, tmp_path):
    recorder, sent = record(robot, stand_bundle, seconds=1.0)
    assert len(recorder._steps) == 200 and len(sent) > 200
    info, steps = read_bag(recorder.save(tmp_path))
    assert len(steps) == 200 and info["forgotten_steps"] == len(sent) - 200
    np.testing.assert_array_equal(steps["joint_pos"][-1], sent[-1][0].joint_pos)
    short = Recorder(Controller(robot, [stand_bundle], QUICK), [stand_bundle], "a link", 1.0)
    assert short.save(tmp_path) is None, "no step, no bag"


def test_headless_ticks_are_counted(edited, stand_bundle):
    def cut(steps):
        return steps[np.flatnonzero(steps["ticked"])[30] :]

    found = replay(edited(cut), stand_bundle)
    assert found.headless == 50 and [run.ticks for run in found.runs] == [80] and found.passed


def test_a_bag_with_a_gap_is_damaged(edited, stand_bundle):
    def gap(steps):
        return np.delete(steps, np.flatnonzero(steps["ticked"])[10])

    with pytest.raises(CorruptFileError, match="lacks tick 10 of 'stand still'"):
        replay(edited(gap), stand_bundle)


def test_a_bag_of_another_bundle_is_refused(recorded, edited, stand_bundle):
    other = dataclasses.replace(stand_bundle, command="something else")
    with pytest.raises(BadInputError, match=r"holds no run of 'something else'\. Its skills: 'stand still'"):
        replay(recorded, other)
    with pytest.raises(BadInputError, match="another bundle of 'stand still': sha256 0123456789ab"):
        replay(edited(lambda steps: steps, bundles={"stand still": "0123456789abcdef"}), stand_bundle)


def test_damaged_and_foreign_bags_get_an_error(recorded, edited, stand_bundle, tmp_path):
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    size = next(recorded.glob("*.mcap")).stat().st_size
    for name, harm in {
        "cut": lambda path: path.write_bytes(path.read_bytes()[: size // 2]),
        "empty": lambda path: path.write_bytes(b""),
        "metadata": lambda path: (path.parent / "metadata.yaml").write_text("{"),
        "gone": lambda path: path.unlink(),
    }.items():
        folder = shutil.copytree(recorded, tmp_path / name)
        harm(next(folder.glob("*.mcap")))
        with pytest.raises(CorruptFileError, match="is damaged"):
            read_bag(folder)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(CorruptFileError, match="is damaged or no rosbag2 bag"):
        read_bag(tmp_path / "nothing")
    with pytest.raises(BadInputError, match="There is no bag"):
        read_bag(tmp_path / "nowhere")
    with pytest.raises(CorruptFileError, match="its format is not 1"):
        read_bag(edited(lambda steps: steps, format=99))
    store = get_typestore(Stores.ROS2_JAZZY)
    with Writer(tmp_path / "foreign", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        writer.add_connection("/chatter", "std_msgs/msg/String", typestore=store)
    with pytest.raises(BadInputError, match=r"is no recording of lagoon: it lacks .* and holds /chatter"):
        read_bag(tmp_path / "foreign")


def test_a_bag_whose_bytes_were_changed_is_refused_or_says_the_same(recorded, content, tmp_path):
    path = next(recorded.glob("*.mcap"))
    data, refused = path.read_bytes(), 0
    for at in np.linspace(20, len(data) - 20, 6).astype(int):
        (tmp_path / "x.mcap").write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        try:
            info, steps = read_bag(tmp_path / "x.mcap")
        except (BadInputError, CorruptFileError):
            refused += 1
        else:
            assert info == content[0] and (steps["target"] == content[1]["target"]).all()
    assert refused >= 2


def test_states_that_cannot_be_kept_are_left_out_and_raise_nothing(robot, stand_bundle, tmp_path):
    controller = Controller(robot, [stand_bundle])
    recorder = Recorder(controller, [stand_bundle], "a link", 1.0)
    states = [
        None,
        lying(robot),
        lying(robot, joint_pos=np.zeros(11)),
        lying(robot, imu_quat=None),
        lying(robot, time=float("nan"), joint_pos=np.full(12, np.inf)),
        lying(robot, time=1e30),
    ]
    for k, state in enumerate(states):
        recorder(state, controller.step(None, _nothing(), 0.005 * k), 0.005 * k)
    _, steps = read_bag(recorder.save(tmp_path))
    assert list(steps["has_state"]) == [False, True, False, True, True, True]
    assert np.isnan(steps["imu_quat"][3]).all()
    assert np.isinf(steps["joint_pos"][4]).all() and steps["stamp"][5] == 0.0


def test_a_clock_that_goes_wrong_raises_nothing(robot, stand_bundle, tmp_path):
    controller = Controller(robot, [stand_bundle])
    recorder = Recorder(controller, [stand_bundle], "a link", 1.0)
    for now in (float("nan"), 5.0, 5.005, 4.0, float("inf"), 1e300, 5.01):
        recorder(lying(robot), controller.step(None, _nothing(), now), now)
    _, steps = read_bag(recorder.save(tmp_path))
    assert len(steps) == 7 and (np.diff(steps["ns"]) > 0).all()


def _nothing():
    from lagoon.deploy.controller import NOTHING

    return NOTHING


def test_a_bag_is_written_whole_or_not_at_all(run, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bag, "_write", full)
    with pytest.raises(LagoonError, match="could not be written: No space left on device"):
        run[0].save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_step_costs_little_of_its_period(robot, stand_bundle, run):
    import time

    controller = Controller(robot, [stand_bundle])
    recorder, (state, command, _) = Recorder(controller, [stand_bundle], "a link", 10.0), run[1][100]
    spent = []
    for k in range(500):
        begin = time.perf_counter()
        recorder(state, command, 0.005 * k)
        spent.append(time.perf_counter() - begin)
    assert np.median(spent) < 0.0005


def test_the_plan_of_a_dry_run_is_the_stand_up_and_the_skill(robot, stand_bundle):
    state = lying(robot)
    found = plan(robot, [stand_bundle], QUICK, state)
    assert found.problem == "" and 0.5 < found.up_seconds < 10.0
    np.testing.assert_allclose(found.first, state.joint_pos, atol=0.01)
    inside = (found.up_lower <= robot.default_joint_pos + 1e-6) & (found.up_upper >= robot.default_joint_pos - 1e-6)
    assert inside.all(), "it ends in the stand"
    np.testing.assert_allclose(found.skills[0].lower, robot.default_joint_pos, atol=0.01)


def test_the_info_is_plain_data(run):
    assert json.loads(json.dumps(run[0].info)) == run[0].info and Mode.DAMPING.value == MODES[0]
