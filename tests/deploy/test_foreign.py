"""Policy files of others, made here the way they write them; and our own."""

import onnx
import pytest
from onnx import TensorProto, helper

from lagoon.cli import __main__ as cli
from lagoon.deploy.foreign import NEEDED, NEVER_THERE, inspect
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.robot import load_robot

GO2 = load_robot("go2")


def csv(values, digits=3):
    return ",".join(f"{value:.{digits}f}" for value in values)


def like_mjlab(**changes):
    """Keys and rounding of mjlab's exporter; a value of None leaves a key out."""
    robot = changes.pop("robot", GO2)
    keys = {
        "run_path": "team/project/abc123",
        "joint_names": ",".join(robot.joint_names),
        "joint_stiffness": csv(0.25 * robot.kp),
        "joint_damping": csv(0.5 * robot.kd),
        "default_joint_pos": csv(robot.default_joint_pos),
        "command_names": "motion",
        "observation_names": "command,motion_anchor_ori_b,base_ang_vel,joint_pos,joint_vel,actions",
        "action_scale": csv([0.4] * robot.num_joints),
        "anchor_body_name": "base_link",
        "body_names": "base_link,FL_foot",
        **changes,
    }
    return {key: value for key, value in keys.items() if value is not None}


@pytest.fixture
def write(tmp_path):
    def make(metadata, inputs=(("obs", 154), ("time_step", 1)), outputs=(("actions", 12),)):
        ports = lambda pairs: [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, size]) for n, size in pairs]  # noqa: E731
        weight = helper.make_tensor("w", TensorProto.FLOAT, [1, outputs[0][1]], [0.0] * outputs[0][1])
        node = helper.make_node("Identity", ["w"], [outputs[0][0]])
        model = helper.make_model(helper.make_graph([node], "g", ports(inputs), ports(outputs), [weight]))
        helper.set_model_props(model, metadata)
        path = tmp_path / "policy.onnx"
        onnx.save(model, path)
        return path

    return make


def doubts(path, blocking=False):
    """What follows from each doubt, by what it is about."""
    found = inspect(path).doubts
    wanted = [doubt for doubt in found if doubt.blocks or not blocking]
    return {what: " ".join(d.follows for d in wanted if d.what == what) for what in {d.what for d in wanted}}


def test_a_whole_file_of_mjlab_is_read(write) -> None:
    found = inspect(write(like_mjlab()))
    assert (found.origin, found.complete) == ("mjlab or BeyondMimic", True) and "go2" in found.robots
    assert found.inputs == ("obs [1, 154]", "time_step [1, 1]") and found.outputs == ("actions [1, 12]",)
    assert found.facts["joint_names"] == list(GO2.joint_names)
    assert found.facts["kp"] == pytest.approx(0.25 * GO2.kp)
    assert found.facts["anchor_body_name"] == ["base_link"]
    noted = {doubt.what for doubt in found.doubts}
    assert noted >= set(NEVER_THERE) and "kp" in noted, "three decimals are told"


@pytest.mark.parametrize(
    ("key", "fact"),
    [
        ("joint_names", "joint_names"),
        ("joint_stiffness", "kp"),
        ("joint_damping", "kd"),
        ("default_joint_pos", "default_joint_pos"),
        ("action_scale", "action_scale"),
        ("observation_names", "observation_names"),
    ],
)
def test_what_is_missing_is_said_with_what_follows(write, key, fact) -> None:
    path = write(like_mjlab(**{key: None}))
    assert doubts(path, blocking=True)[fact] == NEEDED[fact] and not inspect(path).complete


@pytest.mark.parametrize(
    ("changes", "what", "says"),
    [
        ({"joint_stiffness": csv([20.0] * 11)}, "kp", "11 values for 12 joints"),
        ({"joint_damping": csv([0.5] * 11) + ",nan"}, "kd", "no number"),
        ({"joint_damping": "0.5,soft"}, "kd", "no number"),
        ({"joint_names": ",".join(["FL_hip_joint", *GO2.joint_names[:-1]])}, "joint_names", "twice: FL_hip_joint"),
        ({"observation_names": "base_lin_vel,joint_pos"}, "base_lin_vel", "no sensor of a robot measures"),
    ],
)
def test_what_does_not_fit_blocks(write, changes, what, says) -> None:
    assert says in doubts(write(like_mjlab(**changes)), blocking=True)[what]


def test_another_order_of_the_joints_is_told(write) -> None:
    """Gains in actuator order were how a policy met the wrong joints on a real robot."""
    path = write(like_mjlab(joint_names=",".join(GO2.motor_names)))
    assert "the motor bus's order" in doubts(path)["joint order"] and "go2" in inspect(path).robots


def test_gains_far_beyond_the_robots_are_told(write) -> None:
    stiff = GO2.kp.copy()
    stiff[GO2.joint_names.index("RR_calf_joint")] *= 100.0
    assert " times the gains that " in doubts(write(like_mjlab(joint_stiffness=csv(stiff, 6))))["kp"]


def test_a_robot_we_do_not_know_is_a_note(write) -> None:
    names = ",".join(f"joint_{j}" for j in range(12))
    path = write(like_mjlab(joint_names=names))
    assert "no robot here has these joints" in doubts(path)["robot"] and inspect(path).complete


def test_ports_are_compared_with_the_joints(write) -> None:
    path = write(like_mjlab(), inputs=(("obs", 154),), outputs=(("actions", 29),))
    found = doubts(path)
    assert "29 values for 12 joints" in found["output 'actions'"]
    assert "not inside the graph" in found["reference motion"]


def test_a_file_without_metadata_lacks_everything(write) -> None:
    found = inspect(write({}, inputs=(("obs", 48),), outputs=(("actions", 12),)))
    assert found.origin == "unlabelled" and {d.what for d in found.doubts if d.blocks} == set(NEEDED)


def test_weights_in_another_file_are_told_and_not_opened(write) -> None:
    path = write(like_mjlab())
    model = onnx.load(path)
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL
    entry = model.graph.initializer[0].external_data.add()
    entry.key, entry.value = "location", "/etc/hostname"
    path.write_bytes(model.SerializeToString())
    assert "1 of them lie in another file" in doubts(path)["weights"]


def test_our_own_is_complete_and_in_full_precision(stand_bundle) -> None:
    found = inspect(stand_bundle.folder / "policy.onnx")
    assert (found.origin, found.robots, found.doubts, found.unread) == ("lagoon", ("go2",), (), ())
    assert found.facts["kp"] == GO2.kp.tolist() and found.facts["control_dt"] == GO2.control_dt
    assert found.facts["observation_names"][0] == "joint_pos" and found.facts["command_names"] == ["motion"]


@pytest.mark.parametrize("own", ["{", "null", "[]", '{"joint_names": 5, "kp": {"a": 1}}', '{"kp": [null, [], "x"]}'])
def test_damaged_metadata_of_ours_is_no_crash(write, own) -> None:
    found = inspect(write({**like_mjlab(), "lagoon": own}))
    assert found.origin == "lagoon" and "kd" in found.facts


def test_what_is_no_model_is_an_error(tmp_path) -> None:
    for name, content in (("empty.onnx", b""), ("text.onnx", b"hello"), ("zeros.onnx", bytes(100))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CorruptFileError, match="is not an ONNX model"):
            inspect(tmp_path / name)
    for path in (tmp_path / "none.onnx", tmp_path):
        with pytest.raises(BadInputError, match=r"Name an \.onnx file|is a folder; a policy is an"):
            inspect(path)


def test_the_command_line_shows_it(write, capsys, stand_bundle) -> None:
    assert cli.main(["deploy", "inspect", str(write(like_mjlab(joint_names=None)))]) == 1
    shown = capsys.readouterr().out
    assert "mjlab or BeyondMimic" in shown and "cannot be run on a robot from this file alone" in shown
    assert cli.main(["deploy", "inspect", str(stand_bundle.folder / "policy.onnx")]) == 0
    assert "an ONNX policy, lagoon, for go2" in capsys.readouterr().out
    assert cli.main(["deploy", "inspect"]) == 2
    assert "The file is missing. For example: lagoon deploy inspect policy.onnx" in capsys.readouterr().err
