import dataclasses
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lagoon.bundle import Golden, PolicyBundle, check_robot, load, write_bundle
from lagoon.bundle.folder import check_description
from lagoon.bundle.playback import playback_graph, record, write_playback
from lagoon.errors import BadInputError, CorruptFileError, LagoonError, MissingExtraError, install_line


def rewrite(folder, policy=None, golden=None, **facts):
    """Replace parts of a bundle and make its hashes right again, as a careful forger would."""
    path = folder / "bundle.yaml"
    values = yaml.safe_load(path.read_text())
    if policy is not None:
        (folder / "policy.onnx").write_bytes(policy)
    if golden is not None:
        (folder / "golden_io.npz").write_bytes(golden)
    values |= facts
    values["policy_sha256"] = hashlib.sha256((folder / "policy.onnx").read_bytes()).hexdigest()
    values["golden_sha256"] = hashlib.sha256((folder / "golden_io.npz").read_bytes()).hexdigest()
    path.write_text(yaml.safe_dump(values))


def with_facts(folder, **facts):
    """Change facts in bundle.yaml and in the graph's metadata alike."""
    model = onnx.load_model(folder / "policy.onnx")
    for entry in model.metadata_props:
        if entry.key == "lagoon":
            entry.value = json.dumps(json.loads(entry.value) | facts)
    rewrite(folder, policy=model.SerializeToString(), **facts)


def test_written_bundle_loads_with_every_digit(bundle, robot, motion):
    assert isinstance(bundle, PolicyBundle)
    assert bundle.command == "sway" and bundle.joint_names == robot.joint_names
    for name in ("kp", "kd", "default_joint_pos", "joint_lower", "joint_upper", "joint_vel_limit", "torque_limit"):
        np.testing.assert_array_equal(getattr(bundle, name), getattr(robot, name))
    assert bundle.num_steps == motion.num_frames and bundle.golden.num_ticks == 50
    assert (
        bundle.segment_at(19) == "lead_in" and bundle.segment_at(20) == "motion" and bundle.segment_at(999) == "motion"
    )
    # The sway peaks at 0.1 rad in the second stretch too (minus a quarter period later).
    np.testing.assert_allclose(bundle.max_tilt, [0.1, 0.1], atol=1e-3)
    assert bundle.initial_state.shape == (1,) and not bundle.initial_state.any()


def test_metadata_carries_the_facts_and_the_keys_of_other_programs(pristine, robot):
    model = onnx.load_model(pristine / "policy.onnx")
    props = {entry.key: entry.value for entry in model.metadata_props}
    facts = yaml.safe_load((pristine / "bundle.yaml").read_text())
    assert {k: v for k, v in facts.items() if not k.endswith("_sha256") or k == "motion_sha256"} == json.loads(
        props["lagoon"]
    )
    assert props["joint_names"].split(",") == list(robot.joint_names)
    for key, wanted in (
        ("joint_stiffness", robot.kp),
        ("joint_damping", robot.kd),
        ("default_joint_pos", robot.default_joint_pos),
    ):
        np.testing.assert_array_equal([float(v) for v in props[key].split(",")], wanted)
    assert "action_scale" not in props


@pytest.mark.parametrize("name", ["policy.onnx", "golden_io.npz"])
def test_any_changed_byte_is_refused(folder, name):
    data = (folder / name).read_bytes()
    for position in np.random.default_rng(0).integers(0, len(data), size=20):
        spoilt = bytearray(data)
        spoilt[position] ^= 0x10
        (folder / name).write_bytes(bytes(spoilt))
        with pytest.raises(CorruptFileError, match=f"{name} has sha256 .* changed or damaged"):
            load(folder)


def test_a_changed_byte_in_the_facts_is_refused_or_means_the_same(folder, bundle):
    path = folder / "bundle.yaml"
    data, refused = path.read_bytes(), 0
    for position in np.random.default_rng(1).integers(0, len(data), size=60):
        spoilt = bytearray(data)
        spoilt[position] ^= 0x01
        path.write_bytes(bytes(spoilt))
        try:
            again = load(folder)
        except (CorruptFileError, BadInputError):
            refused += 1
        else:
            assert again.to_dict() == bundle.to_dict()
    assert refused > 45


def test_edited_gain_is_named(folder):
    facts = yaml.safe_load((folder / "bundle.yaml").read_text())
    rewrite(folder, kp=[facts["kp"][0] + 1e-9, *facts["kp"][1:]])
    with pytest.raises(CorruptFileError, match=r"differ in kp: 'kp' is \[80.000000001"):
        load(folder)


@pytest.mark.parametrize("name", ["policy.onnx", "bundle.yaml", "golden_io.npz"])
def test_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(BadInputError, match=f"lacks {name}; it holds .*Copy it again from its skill folder"):
        load(folder)


def test_missing_folder(tmp_path):
    with pytest.raises(BadInputError, match="There is no bundle folder"):
        load(tmp_path / "none")


@pytest.mark.parametrize("text", ["[1, 2]", "", "a: [", "\x00"])
def test_unreadable_facts(folder, text):
    (folder / "bundle.yaml").write_text(text)
    with pytest.raises(CorruptFileError, match=r"bundle\.yaml"):
        load(folder)


def test_other_schema_version(folder):
    with_facts(folder, schema_version=2)
    with pytest.raises(CorruptFileError, match="schema_version 2; this lagoon reads version 1"):
        load(folder)


def test_wrong_table_is_refused(folder):
    values = yaml.safe_load((folder / "bundle.yaml").read_text())
    values["inputs"][0]["unit"] = "degrees"
    with_facts(folder, inputs=values["inputs"])
    with pytest.raises(CorruptFileError, match=r"table 'inputs'.*joint_pos \(batch, 12\)"):
        load(folder)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"kp": [float("nan")] + [80.0] * 11}, "kp of FL_hip_joint is nan; expected a finite number above 0"),
        ({"kd": [2.0] * 11 + [0.0]}, "kd of RR_calf_joint is 0.0; expected a finite number above 0"),
        ({"torque_limit": [23.7] * 11}, r"torque_limit is of shape \(11,\)"),
        ({"joint_lower": [2.0] * 12}, "joint_lower of FL_hip_joint is 2.0; expected < 1.0472"),
        ({"num_steps": 0}, "num_steps is 0; expected a number above 0"),
        ({"quaternion": "xyzw"}, "quaternion is xyzw; expected 'wxyz base->world'"),
        ({"joint_names": ["a"] * 12}, r"not twice: \['a'\]"),
        ({"segment_starts": [0, 400]}, "segment_starts"),
        ({"colour": "red"}, r"unknown \['colour'\]"),
    ],
)
def test_invalid_facts_are_named(folder, facts, words):
    values = yaml.safe_load((folder / "bundle.yaml").read_text()) | facts
    (folder / "bundle.yaml").write_text(yaml.safe_dump(values))
    with pytest.raises(CorruptFileError, match=words):
        load(folder)


def test_graph_without_metadata(folder, motion):
    rewrite(folder, policy=playback_graph(motion.joint_pos))
    with pytest.raises(CorruptFileError, match="no 'lagoon' metadata"):
        load(folder)


def test_file_that_is_no_graph(folder):
    rewrite(folder, policy=b"not a graph")
    with pytest.raises(CorruptFileError, match="not a graph that onnxruntime can read"):
        load(folder)


def renamed(folder, old, new):
    model = onnx.load_model(folder / "policy.onnx")
    for port in model.graph.input:
        if port.name == old:
            port.name = new
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name == old:
                node.input[i] = new
    return model.SerializeToString()


def test_other_input_name(folder):
    rewrite(folder, policy=renamed(folder, "imu_quat", "orientation"))
    with pytest.raises(CorruptFileError, match="inputs lack imu_quat and have beyond the table orientation"):
        load(folder)


@pytest.mark.parametrize(("axis", "size"), [(1, 13), (0, 1)])
def test_other_input_shape(folder, axis, size):
    model = onnx.load_model(folder / "policy.onnx")
    dim = next(port for port in model.graph.input if port.name == "joint_vel").type.tensor_type.shape.dim[axis]
    dim.ClearField("dim_param")
    dim.dim_value = size
    rewrite(folder, policy=model.SerializeToString())
    with pytest.raises(CorruptFileError, match=r"input 'joint_vel' is .* free batch axis"):
        load(folder)


def test_graph_of_other_numbers_fails_its_golden_record(folder, robot, motion, pristine):
    targets = motion.joint_pos.copy()
    targets[30, 7] += 0.01
    info = load(pristine)
    other = write_playback(folder.parent / "other", robot, motion, "sway", targets)
    rewrite(folder, policy=other.policy)
    with pytest.raises(
        CorruptFileError, match=r"output 'joint_pos_target' at tick 30, column 7 is .* recorded .*Do not run it"
    ):
        load(folder)
    assert info.policy != other.policy


def test_golden_with_nan(folder, bundle):
    inputs = {name: array.copy() for name, array in bundle.golden.inputs.items()}
    inputs["imu_ang_vel"][12, 1] = np.nan
    rewrite(folder, golden=Golden(inputs, bundle.golden.outputs).to_bytes())
    with pytest.raises(CorruptFileError, match="golden input 'imu_ang_vel' holds nan in row 12, column 1"):
        load(folder)


def test_golden_with_pickle_is_not_opened(folder):
    np.savez(folder / "golden_io.npz", in_time_step=np.array([{"a": 1}], dtype=object))
    rewrite(folder)
    with pytest.raises(CorruptFileError, match="cannot be read as an npz file of numbers"):
        load(folder)


def test_other_joint_order_is_refused_by_name(bundle, robot):
    names = list(robot.joint_names)
    names[0], names[3] = names[3], names[0]
    with pytest.raises(
        BadInputError,
        match="another order: index 0: FL_hip_joint instead of FR_hip_joint; 3: FR_hip_joint instead of FL_hip_joint",
    ):
        check_robot(bundle, dataclasses.replace(robot, joint_names=tuple(names)))


def test_missing_and_extra_joints_are_named(bundle, robot):
    names = ("tail_joint", *robot.joint_names[1:])
    with pytest.raises(BadInputError, match="lacks tail_joint and has beyond them FL_hip_joint"):
        check_robot(bundle, dataclasses.replace(robot, joint_names=names))


def test_other_robot_period_and_limits(bundle, robot):
    with pytest.raises(BadInputError, match="for robot 'go2'; this robot is 'a1'"):
        check_robot(bundle, dataclasses.replace(robot, name="a1"))
    with pytest.raises(BadInputError, match=r"control_dt is 0.02 s; robot 'go2' runs at 0.01"):
        check_robot(bundle, dataclasses.replace(robot, control_dt=0.01))
    with pytest.raises(BadInputError, match=r"torque_limit of FL_hip_joint is 23.7, beyond the robot's 11.85"):
        check_robot(bundle, dataclasses.replace(robot, torque_limit=robot.torque_limit / 2))
    check_robot(bundle, robot)


@pytest.mark.parametrize("name", ["kp", "kd", "default_joint_pos"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_description_revised_since_is_refused_with_both_numbers(bundle, robot, name, sign):
    wanted = getattr(robot, name).copy()
    wanted[4] += sign * 1e-5
    had = getattr(robot, name)[4]
    pattern = f"{name} of {robot.joint_names[4]} is {had:.9g} .*; the robot's is {wanted[4]:.9g}. .* has changed since"
    with pytest.raises(BadInputError, match=f"{pattern}.*lagoon train SKILL, then lagoon export SKILL --again"):
        check_description(bundle, dataclasses.replace(robot, **{name: wanted}))
    wanted[4] = had + sign * 1e-7
    check_description(bundle, dataclasses.replace(robot, **{name: wanted}))


@pytest.mark.parametrize(("name", "wider"), [("joint_lower", -1.0), ("joint_upper", 1.0), ("joint_vel_limit", 1.0)])
def test_limits_may_be_narrower_than_the_robots_but_not_wider(bundle, robot, name, wider):
    roomy, tight = getattr(robot, name) + 0.1 * wider, getattr(robot, name) - 1e-5 * wider
    check_robot(bundle, dataclasses.replace(robot, **{name: roomy}))
    with pytest.raises(BadInputError, match=f"{name} of FL_hip_joint is .*, beyond the robot's {tight[0]:.9g}"):
        check_robot(bundle, dataclasses.replace(robot, **{name: tight}))


@pytest.mark.parametrize("damage", ["flip", "remove", "text"])
def test_the_advice_for_damage_is_a_line_that_works(pristine, tmp_path, damage):
    """In a skill folder export takes a damaged file for an edited one and keeps it, unless told --again."""
    skill = tmp_path / "my skill"
    folder = shutil.copytree(pristine, skill / "bundle")
    path = folder / "golden_io.npz"
    {
        "flip": lambda: path.write_bytes(path.read_bytes()[:-1] + b"!"),
        "remove": path.unlink,
        "text": lambda: (folder / "bundle.yaml").write_text("a: ["),
    }[damage]()
    with pytest.raises(LagoonError, match=r"Copy it again from its skill folder; there, lagoon export SKILL --again"):
        load(folder)
    (skill / "skill.yaml").touch()
    with pytest.raises(LagoonError) as error:
        load(folder)
    assert str(error.value).endswith(f"Write it anew with: lagoon export '{skill}' --again")


def test_load_checks_the_robot_when_given(pristine, robot):
    load(pristine, robot)
    with pytest.raises(BadInputError, match="this robot is 'a1'"):
        load(pristine, dataclasses.replace(robot, name="a1"))
    with pytest.raises(BadInputError, match="kd of FL_hip_joint"):
        load(pristine, dataclasses.replace(robot, kd=robot.kd + 1.0))


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("existing", [False, True])
def test_full_disk_leaves_nothing_half_written(tmp_path, bundle, motion, monkeypatch, failing, existing):
    target = tmp_path / "skill" / "bundle"
    policy = playback_graph(motion.joint_pos)
    if existing:
        write_bundle(target, policy, bundle, bundle.golden)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    calls, real = [], os.fsync

    def fsync(handle):
        calls.append(handle)
        if len(calls) == failing + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(
        LagoonError, match=r"Could not write the bundle .*: No space left on device\. Nothing was changed"
    ):
        write_bundle(target, policy, dataclasses.replace(bundle, command="other"), bundle.golden)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert [path.name for path in (tmp_path / "skill").iterdir()] == (["bundle"] if existing else [])


def test_failed_rename_puts_the_old_bundle_back(tmp_path, bundle, motion, monkeypatch):
    target, policy = tmp_path / "bundle", playback_graph(motion.joint_pos)
    write_bundle(target, policy, bundle, bundle.golden)
    calls, real = [], os.rename

    def rename(source, destination):
        calls.append(source)
        if len(calls) == 2:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        real(source, destination)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(LagoonError, match="Permission denied"):
        write_bundle(target, policy, bundle, bundle.golden)
    monkeypatch.undo()
    assert load(target).command == "sway" and [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_graph_that_misses_its_record_is_never_published(tmp_path, bundle, motion):
    with pytest.raises(CorruptFileError, match="does not reproduce its golden record"):
        write_bundle(tmp_path / "bundle", playback_graph(motion.joint_pos + 0.1), bundle, bundle.golden)
    assert list(tmp_path.iterdir()) == []


def test_weights_in_another_file_are_refused(tmp_path, bundle, motion):
    model = onnx.load_model_from_string(playback_graph(motion.joint_pos))
    table = next(tensor for tensor in model.graph.initializer if tensor.name == "table")
    onnx.external_data_helper.set_external_data(table, location="weights.bin")
    with pytest.raises(CorruptFileError, match="keeps 1 weights in another file"):
        write_bundle(tmp_path / "bundle", model.SerializeToString(), bundle, bundle.golden)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_command_survives_the_round_trip(tmp_path, bundle, motion, command):
    info = dataclasses.replace(bundle, command=command)
    assert write_bundle(tmp_path / "bundle", playback_graph(motion.joint_pos), info, bundle.golden).command == command


def test_state_that_is_not_fed_back_the_same_way_is_noticed(tmp_path, bundle, motion, robot):
    """A record whose ticks were not consecutive agrees tick for tick but not in closed loop."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    model = onnx.load_model_from_string(playback_graph(motion.joint_pos))
    model.graph.node[-1].CopyFrom(helper.make_node("Add", ["state", "one"], ["state_out"]))
    model.graph.initializer.append(helper.make_tensor("one", kind, [1], [1.0]))
    policy = model.SerializeToString()
    sensors = {n: bundle.golden.inputs[n] for n in ("joint_pos", "joint_vel", "imu_quat", "imu_ang_vel")}
    golden = record(policy, bundle, sensors)
    np.testing.assert_array_equal(golden.outputs["state_out"][:, 0], np.arange(1, 51))
    write_bundle(tmp_path / "bundle", policy, bundle, golden)
    take = np.r_[0:20, 25:50]
    torn = Golden({n: a[take] for n, a in golden.inputs.items()}, {n: a[take] for n, a in golden.outputs.items()})
    with pytest.raises(CorruptFileError, match=r"'state_out' at tick 25, column 0 is 21 \(tick by tick\); recorded 26"):
        write_bundle(tmp_path / "torn", policy, bundle, torn)


def test_missing_onnxruntime_says_what_to_install(pristine, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("deploy"))):
        load(pristine)


def test_importing_needs_neither_torch_nor_onnx():
    code = (
        "import sys, lagoon.bundle, lagoon.deploy.runtime\n"
        "print([m for m in ('torch', 'mujoco', 'onnx', 'onnxruntime') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_bundle_may_be_moved(pristine, tmp_path):
    moved = shutil.copytree(pristine, tmp_path / "elsewhere" / "b")
    assert load(moved).folder == moved
