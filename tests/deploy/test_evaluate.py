import dataclasses
import json

import numpy as np
import onnx
import pytest
import torch

from lagoon.bundle import write_bundle
from lagoon.bundle.playback import playback_graph, record, write_playback
from lagoon.deploy.config import EvaluateConfig
from lagoon.deploy.evaluate import evaluate, rollout
from lagoon.errors import BadInputError
from lagoon.motion.robot_motion import RobotMotion, resample
from lagoon.motion.rotations import angle_between, quat_from_yaw, quat_mul
from lagoon.sim.mujoco_backend import MujocoBackend

CONFIG = EvaluateConfig(trials=12, threads=1, stand_seconds=0.3)


@pytest.fixture(scope="module")
def stood(stand_bundle, stand, robot):
    return evaluate(stand_bundle, stand, robot, CONFIG, seed=0)


@pytest.fixture(scope="module")
def collapsing(robot, stand, tmp_path_factory):
    """A policy that folds every leg from tick 25 on, a little after 'motion' (ticks 20 to 59) begins."""
    targets = stand.joint_pos.copy()
    targets[25:, 1::3], targets[25:, 2::3] = 2.6, -2.7
    return write_playback(tmp_path_factory.mktemp("collapsing") / "bundle", robot, stand, "collapse", targets)


@pytest.fixture(scope="module")
def collapsed(collapsing, stand, robot):
    return evaluate(collapsing, stand, robot, CONFIG, seed=0)


def comparable(evaluation):
    values = evaluation.to_dict()
    for name in ("wall_seconds", "policy_seconds_p50"):
        values.pop(name)
    values["config"].pop("threads")
    return values


def test_a_quiet_stand_passes_with_everyone_standing(stood):
    assert stood.passed and stood.survived == 12 and stood.falls == ()
    assert stood.lines()[0].startswith("PASS: 12 of 12 trials survive (100 %, 95 % interval 76 to 100 %)")
    assert stood.metrics["joint_error"].mean < 0.08 and stood.metrics["tilt_error"].mean < 0.04
    assert 0.03 < stood.metrics["torque_share"].mean < 0.3 and stood.metrics["torque_saturated"].mean < 0.01
    assert stood.metrics["foot_slip"].mean < 0.02
    assert [(s.name, s.entered, s.survived) for s in stood.segments] == [
        ("stand", 12, 12),
        ("motion", 12, 12),
        ("lead_out", 12, 12),
        ("hold", 12, 12),
        ("end", 12, 12),
    ]


def test_a_wrong_pose_fails_and_the_segment_is_named(collapsed):
    assert not collapsed.passed and collapsed.survived == 0
    assert {fall.segment for fall in collapsed.falls} == {"motion"}
    assert all(0.5 < fall.seconds < 1.2 and 0.1 < fall.progress < 1.0 for fall in collapsed.falls)
    lines = collapsed.lines()
    assert lines[0].startswith("FAIL: 0 of 12")
    assert any(line.startswith("Falls in motion at ") and "12 trials" in line for line in lines)
    assert [(s.entered, s.survived) for s in collapsed.segments][:3] == [(12, 12), (12, 0), (0, 0)]
    assert sum(count for _, count in collapsed.histogram()) == 12


def test_ending_in_another_pose_is_no_survival(robot, stand, tmp_path):
    """Crouching is no fall, but the skill must hand over a robot that stands."""
    targets = stand.joint_pos.copy()
    targets[:, 1::3], targets[:, 2::3] = 1.17, -2.34
    motion = dataclasses.replace(stand, joint_pos=targets, root_pos_w=stand.root_pos_w - [0.0, 0.0, 0.1])
    bundle = write_playback(tmp_path / "bundle", robot, motion, "crouch")
    result = evaluate(bundle, motion, robot, dataclasses.replace(CONFIG, trials=4))
    assert not result.passed and result.survived == 0
    assert {fall.segment for fall in result.falls} == {"end"}
    assert "At the end: 4 trials ended with the joints more than 0.2 rad off the stand." in result.lines()
    assert [(s.name, s.entered, s.survived) for s in result.segments][-2:] == [("hold", 4, 4), ("end", 4, 0)]


def test_same_seed_same_result_on_any_number_of_threads(stand_bundle, stand, robot, stood):
    again = evaluate(stand_bundle, stand, robot, dataclasses.replace(CONFIG, threads=2), seed=0)
    assert comparable(again) == comparable(stood)
    other = evaluate(stand_bundle, stand, robot, CONFIG, seed=1)
    assert comparable(other)["metrics"] != comparable(stood)["metrics"]


def test_result_does_not_depend_on_the_heading(stand_bundle, stand, robot):
    calm = EvaluateConfig(
        trials=4, threads=1, joint_vel_noise=0.0, heading_drift=0.0, pushes=(0, 0), start_heading=(0.0, 0.0)
    )
    turned = dataclasses.replace(calm, start_heading=(2.0, 2.0))
    first, second = (evaluate(stand_bundle, stand, robot, config) for config in (calm, turned))
    for name, metric in first.metrics.items():
        if name != "foot_slip":
            assert second.metrics[name].mean == pytest.approx(metric.mean, abs=2e-3), name
    assert first.metrics["heading_error"].mean < 0.02


def orientation_policy(bundle, stand, component, folder):
    """The stand, plus 2 rad on the thighs times the square of (component of imu_quat minus its level value)."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    model = onnx.load_model_from_string(playback_graph(stand.joint_pos))
    for node in model.graph.node:
        node.input[:] = ["plain" if name == "joint_pos_target" else name for name in node.input]
        node.output[:] = ["plain" if name == "joint_pos_target" else name for name in node.output]
    level = 1.0 if component == 0 else 0.0
    offset = np.zeros((1, 12), dtype=np.float32)
    offset[0, 1::3] = 2.0
    model.graph.initializer.extend(
        [
            helper.make_tensor("component", onnx.TensorProto.INT64, [1], [component]),
            helper.make_tensor("level", kind, [1], [level]),
            onnx.numpy_helper.from_array(offset, "offset"),
        ]
    )
    model.graph.node.extend(
        [
            helper.make_node("Gather", ["imu_quat", "component"], ["part"], axis=1),
            helper.make_node("Sub", ["part", "level"], ["off"]),
            helper.make_node("Mul", ["off", "off"], ["square"]),
            helper.make_node("Mul", ["square", "offset"], ["change"]),
            helper.make_node("Add", ["plain", "change"], ["joint_pos_target"]),
        ]
    )
    policy = model.SerializeToString()
    names = ("joint_pos", "joint_vel", "imu_quat", "imu_ang_vel")
    golden = record(policy, bundle, {name: bundle.golden.inputs[name] for name in names})
    return write_bundle(folder, policy, bundle, golden)


def test_a_policy_that_needs_a_compass_is_found_out(stand_bundle, stand, robot, tmp_path):
    """The mistake is invisible while every trial faces the same way."""
    bundle = orientation_policy(stand_bundle, stand, 3, tmp_path / "bundle")
    facing_north = dataclasses.replace(CONFIG, start_heading=(0.0, 0.0))
    assert evaluate(bundle, stand, robot, facing_north).survival == 1.0
    assert evaluate(bundle, stand, robot, CONFIG).survival < 0.8


def test_a_policy_that_needs_one_quaternion_sign_is_found_out(stand_bundle, stand, robot, tmp_path):
    bundle = orientation_policy(stand_bundle, stand, 0, tmp_path / "bundle")
    facing_north = dataclasses.replace(CONFIG, start_heading=(0.0, 0.0))
    assert 0.1 < evaluate(bundle, stand, robot, facing_north).survival < 0.9


def test_pushes_show_up(stand_bundle, stand, robot):
    quiet = dataclasses.replace(CONFIG, pushes=(0, 0))
    shoved = dataclasses.replace(quiet, pushes=(2, 2), push_speed=(0.6, 0.6))
    calm, rough = (evaluate(stand_bundle, stand, robot, config) for config in (quiet, shoved))
    assert rough.metrics["tilt_error"].mean > 1.1 * calm.metrics["tilt_error"].mean


def test_thresholds_decide(stand_bundle, stand, robot):
    strict = dataclasses.replace(CONFIG, trials=4, max_joint_error=1e-4)
    result = evaluate(stand_bundle, stand, robot, strict)
    assert result.survived == 4 and not result.passed
    assert [check.passed for check in result.checks] == [True, False]
    assert any("wanted <= 0.0001 (not met)" in line for line in result.lines())


def test_report_is_saved_as_json_without_nan(collapsed, tmp_path):
    collapsed.save(tmp_path / "evaluation.json")
    text = (tmp_path / "evaluation.json").read_text()
    values = json.loads(text)
    assert "NaN" not in text and values["passed"] is False and values["schema_version"] == 1
    assert values["end_heading_drift"] is None
    assert values["config"]["friction"] == [0.5, 1.2] and values["physics"]["cone"] == "elliptic"
    assert values["verdict"][0] == collapsed.lines()[0] and len(values["falls"]) == 12


def test_progress_is_told(stand_bundle, stand, robot):
    told = []
    evaluate(
        stand_bundle,
        stand,
        robot,
        dataclasses.replace(CONFIG, trials=2),
        progress=lambda fraction, message="": told.append((fraction, message)),
    )
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and told[-1][1].endswith("2 of 2 standing")


def test_rollout_records_one_undisturbed_run(stand_bundle, stand, robot):
    motion = rollout(stand_bundle, stand, robot, start_heading=1.0)
    assert isinstance(motion, RobotMotion) and motion.num_frames == stand.num_frames
    assert motion.segment_names == stand.segment_names and motion.joint_names == stand.joint_names
    assert np.abs(motion.joint_pos - stand.joint_pos).mean() < 0.06 and motion.foot_contact.mean() > 0.95
    wanted = quat_mul(quat_from_yaw(1.0 - 0.7), stand.root_quat_w)
    assert angle_between(motion.root_quat_w, wanted).max() < 0.06
    again = rollout(stand_bundle, stand, robot, start_heading=1.0)
    np.testing.assert_array_equal(motion.joint_pos, again.joint_pos)


def test_rollout_shows_a_fall(collapsing, stand, robot):
    motion = rollout(collapsing, stand, robot)
    assert motion.num_frames == stand.num_frames
    assert motion.root_pos_w[-1, 2] < motion.root_pos_w[30, 2] - 0.05


def test_pieces_that_do_not_belong_together_are_refused(stand_bundle, stand, robot):
    short = dataclasses.replace(
        stand,
        **{name: getattr(stand, name)[:70] for name in ("root_pos_w", "root_quat_w", "joint_pos", "foot_contact")},
    )
    with pytest.raises(BadInputError, match="motion has 70 frames; the bundle's reference has 80"):
        evaluate(stand_bundle, short, robot, CONFIG)
    with pytest.raises(BadInputError, match="motion has 30 frames per second; the bundle runs at 50"):
        evaluate(stand_bundle, resample(stand, 30.0), robot, CONFIG)
    with pytest.raises(BadInputError, match="The motion is for robot 'a1'"):
        rollout(stand_bundle, dataclasses.replace(stand, robot="a1"), robot)


def test_physics_that_breaks_in_the_stand_is_refused_with_a_reason(stand_bundle, stand, robot, monkeypatch):
    monkeypatch.setattr(MujocoBackend, "step", lambda self, targets: torch.ones(self.num_envs, dtype=torch.bool))
    with pytest.raises(BadInputError, match="broke loose while it only stood, with the bundle's gains kp up to 80"):
        evaluate(stand_bundle, stand, robot, dataclasses.replace(CONFIG, trials=2))


def test_broken_physics_costs_its_own_trial_only(stand_bundle, stand, robot, monkeypatch):
    """A robot whose state is no longer a number is counted as fallen; the others end as they would have."""
    calls, real = [], MujocoBackend.step

    def step(self, targets):
        diverged = real(self, targets)
        calls.append(None)
        if len(calls) == 60:
            self._qvel[1, 0] = np.nan
            diverged[1] = True
        return diverged

    monkeypatch.setattr(MujocoBackend, "step", step)
    result = evaluate(stand_bundle, stand, robot, dataclasses.replace(CONFIG, trials=4))
    assert result.survived == 3
    assert [(fall.trial, fall.cause) for fall in result.falls] == [(1, "numbers that are not finite")]
    assert all(np.isfinite(metric.mean) for metric in result.metrics.values())
