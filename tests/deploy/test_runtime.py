import dataclasses
import subprocess
import sys

import numpy as np
import onnx
import pytest

from lagoon.bundle import write_bundle
from lagoon.bundle.playback import playback_graph, record, write_playback
from lagoon.deploy.runtime import BadPolicyOutputError, BadSensorError, PolicyRunner

SENSORS = ("joint_pos", "joint_vel", "imu_quat", "imu_ang_vel")
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


def sensors(robot, rows=None):
    values = (robot.default_joint_pos, np.zeros(12), LEVEL, np.zeros(3))
    return values if rows is None else tuple(np.tile(value, (rows, 1)) for value in values)


@pytest.fixture(scope="module")
def counting_bundle(robot, stand, stand_bundle, tmp_path_factory):
    """action = prev_action + 1, state_out = state + time_step; targets as in the stand."""
    model = onnx.load_model_from_string(playback_graph(stand.joint_pos))
    helper = onnx.helper
    del model.graph.node[-2:]
    model.graph.node.extend(
        [
            helper.make_node("Add", ["prev_action", "one"], ["action"]),
            helper.make_node("Add", ["state", "time_step"], ["state_out"]),
        ]
    )
    model.graph.initializer.append(helper.make_tensor("one", onnx.TensorProto.FLOAT, [1], [1.0]))
    policy = model.SerializeToString()
    golden = record(policy, stand_bundle, {name: stand_bundle.golden.inputs[name] for name in SENSORS})
    return write_bundle(tmp_path_factory.mktemp("counting") / "bundle", policy, stand_bundle, golden)


WITHOUT = """
import importlib.abc, sys

class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "mujoco", "hydra", "omegaconf", "scipy", "rich", "onnx", "safetensors"}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Block())
from pathlib import Path
import numpy as np
from lagoon.bundle import load
from lagoon.deploy.runtime import PolicyRunner
from lagoon.robot import load_robot
robot = load_robot("go2")
runner = PolicyRunner(load(Path(sys.argv[1]), robot))
while not runner.done:
    targets = runner.step(robot.default_joint_pos, np.zeros(12), [1, 0, 0, 0], np.zeros(3))
np.testing.assert_allclose(targets, robot.default_joint_pos, atol=1e-6)
print(*sorted({name.split(".")[0] for name in sys.modules} & {"numpy", "yaml", "onnxruntime"}))
"""


def test_a_robot_needs_numpy_pyyaml_and_onnxruntime_only(stand_bundle):
    """The packages that docs/bundle.md names for a robot's computer are enough to load and run a bundle."""
    words = [sys.executable, "-c", WITHOUT, str(stand_bundle.folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["numpy", "onnxruntime", "yaml"]


def test_action_state_and_tick_are_fed_back(counting_bundle, robot):
    runner = PolicyRunner(counting_bundle)
    for k in range(5):
        assert runner.tick == k
        runner.step(*sensors(robot))
    np.testing.assert_array_equal(runner._prev_action, np.full((1, 12), 5.0))
    np.testing.assert_array_equal(runner._state, [[0 + 1 + 2 + 3 + 4]])
    runner.reset()
    assert runner.tick == 0 and not runner._prev_action.any() and not runner._state.any()


def test_golden_record_is_reproduced_by_the_runner(counting_bundle):
    runner, golden = PolicyRunner(counting_bundle), counting_bundle.golden
    for k in range(golden.num_ticks):
        runner.step(*(golden.inputs[name][k] for name in SENSORS))
        np.testing.assert_array_equal(runner._prev_action[0], golden.outputs["action"][k])
        np.testing.assert_array_equal(runner._state[0], golden.outputs["state_out"][k])


def test_one_robot_and_many_get_the_same_targets(robot, stand_bundle, stand):
    one, many = PolicyRunner(stand_bundle), PolicyRunner(stand_bundle, batch=3)
    for _ in range(3):
        target, targets = one.step(*sensors(robot)), many.step(*sensors(robot, 3))
        assert target.shape == (12,) and targets.shape == (3, 12)
        np.testing.assert_array_equal(targets, np.tile(target, (3, 1)))
    np.testing.assert_allclose(target, stand.joint_pos[2], atol=1e-6)


def test_done_and_segment_follow_the_ticks(robot, stand_bundle):
    runner = PolicyRunner(stand_bundle)
    names = []
    while not runner.done:
        names.append(runner.segment)
        runner.step(*sensors(robot))
    assert len(names) == 80 and [names.count(n) for n in ("stand", "motion", "lead_out")] == [20, 40, 20]
    runner.step(*sensors(robot))
    assert runner.done and runner.segment == "lead_out"


def test_targets_are_clipped_to_the_limits(robot, stand, tmp_path):
    wild = np.tile(robot.default_joint_pos, (80, 1))
    wild[:, 2], wild[:, 3] = -9.0, 9.0
    runner = PolicyRunner(write_playback(tmp_path / "bundle", robot, stand, "wild", wild))
    target = runner.step(*sensors(robot))
    assert target[2] == robot.joint_lower[2] and target[3] == robot.joint_upper[3]
    assert runner.clipped_share == pytest.approx(2 / 12)


@pytest.mark.parametrize(
    ("index", "value", "words"),
    [
        (0, np.zeros(11), r"'joint_pos' has shape \(11,\); expected \(12,\).*FL_hip_joint, FL_thigh_joint"),
        (0, np.zeros((1, 12)), r"'joint_pos' has shape \(1, 12\)"),
        (0, np.r_[np.zeros(4), np.nan, np.zeros(7)], "'joint_pos' holds nan at FR_thigh_joint"),
        (1, np.full(12, np.inf), "'joint_vel' holds inf at FL_hip_joint"),
        (1, np.full(12, 1e300), "'joint_vel' holds inf at FL_hip_joint"),
        (2, np.zeros(4), r"'imu_quat' has norm 0\.0000"),
        (2, 1.2 * LEVEL, r"'imu_quat' has norm 1\.2000.*ordered w, x, y, z"),
        (3, np.array([0.0, 0.0, np.nan]), "'imu_ang_vel' holds nan at component 2"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_bad_sensors_are_named_and_take_no_tick(robot, stand_bundle, index, value, words):
    runner = PolicyRunner(stand_bundle)
    values = list(sensors(robot))
    values[index] = value
    with pytest.raises(BadSensorError, match=words):
        runner.step(*values)
    assert runner.tick == 0


def test_bad_row_is_named(robot, stand_bundle):
    values = sensors(robot, 4)
    values[0][2, 5] = np.nan
    with pytest.raises(BadSensorError, match="of robot 2 holds nan at FR_calf_joint"):
        PolicyRunner(stand_bundle, batch=4).step(*values)


def test_slightly_off_quaternion_is_normalised(robot, counting_bundle):
    PolicyRunner(counting_bundle).step(robot.default_joint_pos, np.zeros(12), 1.01 * LEVEL, np.zeros(3))


@pytest.fixture(scope="module")
def dividing_bundle(stand, stand_bundle, tmp_path_factory):
    """Targets divided by (1 - gyro x): not finite for the robot whose gyro reads 1."""
    model = onnx.load_model_from_string(playback_graph(stand.joint_pos))
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    gather = next(node for node in model.graph.node if node.op_type == "Gather")
    gather.output[0] = "plain"
    sub = next(node for node in model.graph.node if node.op_type == "Sub")
    sub.input[0] = "plain"
    index = helper.make_tensor("index", onnx.TensorProto.INT64, [1], [0])
    model.graph.initializer.extend([index, helper.make_tensor("one", kind, [1], [1.0])])
    model.graph.node.extend(
        [
            helper.make_node("Gather", ["imu_ang_vel", "index"], ["gyro_x"], axis=1),
            helper.make_node("Sub", ["one", "gyro_x"], ["rest"]),
            helper.make_node("Div", ["plain", "rest"], ["joint_pos_target"]),
        ]
    )
    policy = model.SerializeToString()
    golden = record(policy, stand_bundle, {name: stand_bundle.golden.inputs[name] for name in SENSORS})
    return write_bundle(tmp_path_factory.mktemp("dividing") / "bundle", policy, stand_bundle, golden)


def test_output_that_is_not_finite_stops_the_skill(robot, dividing_bundle):
    runner = PolicyRunner(dividing_bundle)
    runner.step(*sensors(robot))
    with pytest.raises(BadPolicyOutputError, match=r"not finite at tick 1 \(stand\).*Go to damping"):
        runner.step(robot.default_joint_pos, np.zeros(12), LEVEL, np.array([1.0, 0.0, 0.0]))


def test_one_bad_robot_of_many_is_marked_and_stands(robot, dividing_bundle):
    runner, values = PolicyRunner(dividing_bundle, batch=3), sensors(robot, 3)
    values[3][1, 0] = 1.0
    targets = runner.step_all(*values)
    assert runner.bad_rows.tolist() == [False, True, False]
    np.testing.assert_allclose(targets[1], robot.default_joint_pos)
    assert np.isfinite(runner._prev_action).all()
    with pytest.raises(BadPolicyOutputError, match="for robot 1"):
        runner.step(*values)


def test_a_tick_costs_far_less_than_the_control_period(robot, stand_bundle):
    runner = PolicyRunner(stand_bundle)
    assert runner.timing() == {"p50": 0.0, "p99": 0.0, "max": 0.0}
    for _ in range(200):
        runner.step(*sensors(robot))
    timing = runner.timing()
    assert 0.0 < timing["p50"] <= timing["p99"] <= timing["max"]
    assert timing["p50"] < 0.1 * stand_bundle.control_dt


def test_runs_the_checked_bytes_even_if_the_file_changes_later(robot, stand, tmp_path):
    bundle = write_playback(tmp_path / "bundle", robot, stand, "stand")
    (tmp_path / "bundle" / "policy.onnx").write_bytes(b"")
    assert np.isfinite(PolicyRunner(dataclasses.replace(bundle)).step(*sensors(robot))).all()
