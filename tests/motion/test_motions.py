"""The two motion types: validation, files, velocities, time."""

import pickle
import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.robot_motion import RobotMotion, resample, velocity
from lagoon.motion.rotations import quat_from_rotvec, quat_from_yaw
from lagoon.motion.skeleton import BONES, JOINT_NAMES, MIRROR, PARENTS, body_height

STAND = np.stack([np.zeros(22), np.zeros(22), np.linspace(0.0, 1.7, 22)], axis=1)
"""One joint above the other: 2.0 m along the bones from foot to head."""


def human(frames=5, **changes):
    values = {
        "fps": 20.0,
        "joint_names": JOINT_NAMES,
        "joint_pos_w": np.tile(STAND, (frames, 1, 1)),
        "text": "wave \U0001f44b",
        "source": {"model": "m", "seed": "3"},
    }
    return HumanMotion(**{**values, **changes})


def spinning_robot(frames=101, fps=50.0, rate=1.5):
    t = np.arange(frames) / fps
    return RobotMotion(
        fps=fps,
        robot="go2",
        joint_names=("a", "b"),
        root_pos_w=np.stack([0.3 * t, 0 * t, 0 * t + 0.3], axis=-1),
        root_quat_w=quat_from_yaw(rate * t),
        joint_pos=np.stack([0.1 * t, np.sin(t)], axis=-1),
        foot_contact=np.ones((frames, 4), dtype=bool),
        segment_names=("lead_in", "motion"),
        segment_starts=(0, 20),
    )


def test_duration_is_frames_minus_one_over_fps():
    assert human(frames=41).duration == pytest.approx(2.0)
    assert spinning_robot(frames=101).duration == pytest.approx(2.0)


def test_human_file_round_trip_without_pickle(tmp_path):
    motion = human()
    motion.save(tmp_path / "human.npz")
    with np.load(tmp_path / "human.npz", allow_pickle=False) as archive:
        assert set(archive.files) == {"fps", "joint_names", "joint_pos_w", "text", "source"}
    back = HumanMotion.load(tmp_path / "human.npz")
    assert (back.text, back.source, back.joint_names) == (motion.text, motion.source, motion.joint_names)
    assert np.array_equal(back.joint_pos_w, motion.joint_pos_w)


def test_robot_file_round_trip(tmp_path):
    motion = spinning_robot()
    motion.save(tmp_path / "robot.npz")
    back = RobotMotion.load(tmp_path / "robot.npz")
    for name in motion.__dataclass_fields__:
        assert np.array_equal(np.asarray(getattr(back, name)), np.asarray(getattr(motion, name))), name
    assert back.segment_at(19) == "lead_in" and back.segment_at(20) == "motion"


def test_a_cut_file_is_refused_by_name(tmp_path):
    path = tmp_path / "human.npz"
    human().save(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(CorruptFileError, match=r"human\.npz cannot be read"):
        HumanMotion.load(path)


def _edited(path, **changes):
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez(path, **{name: value for name, value in {**arrays, **changes}.items() if value is not None})


def test_no_file_is_read_by_unpickling_and_nobody_is_told_to(tmp_path):
    good, path = tmp_path / "good.npz", tmp_path / "human.npz"
    human().save(good)
    objects = {"joint_pos_w": np.array([{"a": 1}], dtype=object)}
    damaged = bytearray(good.read_bytes())
    with zipfile.ZipFile(good) as archive:
        info = archive.getinfo("joint_pos_w.npy")
    damaged[info.header_offset + 30 + len(info.filename) + info.compress_size // 2] ^= 0xFF

    def write_objects():
        path.write_bytes(good.read_bytes())
        _edited(path, **objects)

    writers = {
        "objects": write_objects,
        "text": lambda: path.write_text("not an npz"),
        "pickle": lambda: path.write_bytes(pickle.dumps({"a": 1})),
        "one array": lambda: (np.save(tmp_path / "one.npy", np.zeros(3)), shutil.copy(tmp_path / "one.npy", path)),
        "empty": lambda: path.write_bytes(b""),
        "a byte": lambda: path.write_bytes(bytes(damaged)),
    }
    for name, write in writers.items():
        write()
        with pytest.raises(CorruptFileError) as caught:
            HumanMotion.load(path)
        text = str(caught.value)
        assert str(path) in text and "delete it and write it again with: lagoon generate COMMAND" in text, name
        assert "pickle" not in text and "load it unsafely" not in text, name


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"joint_pos_w": np.full((5, 22, 3), np.nan)}, "holds a value that is not finite, first in frame 0"),
        ({"joint_pos_w": np.zeros((5, 3, 3))}, "has shape"),
        ({"fps": np.array("fast")}, "holds values of a wrong type"),
        ({"fps": np.array([20.0, 20.0])}, "holds values of a wrong type"),
        ({"joint_names": np.array(3)}, "holds values of a wrong type"),
        ({"source": np.array("{")}, "the field 'source' is no JSON"),
        ({"source": np.array("3")}, "holds values of a wrong type"),
        ({"fps": None}, "lacks the field 'fps'"),
    ],
)
def test_a_bad_value_in_a_file_is_told_with_the_file_and_the_next_step(tmp_path, changes, words):
    path = tmp_path / "human.npz"
    human().save(path)
    _edited(path, **changes)
    with pytest.raises((BadInputError, CorruptFileError)) as caught:
        HumanMotion.load(path)
    assert str(path) in str(caught.value) and words in str(caught.value), str(caught.value)
    assert str(caught.value).endswith("write it again with: lagoon generate COMMAND")


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (100.0, " This looks like centimetres."),
        (1000.0, " This looks like millimetres."),
        (1 / 0.3048, " This looks like feet."),
        (1 / 0.0254, " This looks like inches."),
        (0.001, ""),
    ],
)
def test_a_motion_in_another_unit_than_metres_is_refused(tmp_path, factor, words):
    path = tmp_path / "human.npz"
    human(joint_pos_w=np.tile(factor * STAND, (5, 1, 1))).save(path)
    with pytest.raises(BadInputError) as caught:
        HumanMotion.load(path)
    assert f"expected 0.5 to 3 m.{words} Convert joint_pos_w to metres" in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_height_follows_the_bones_in_any_pose():
    turned = STAND[:, [2, 0, 1]] + [3.0, -2.0, 0.4]
    assert body_height(JOINT_NAMES, np.tile(turned, (4, 1, 1))) == pytest.approx(body_height(JOINT_NAMES, STAND[None]))
    assert body_height(("pelvis",), np.zeros((4, 1, 3))) is None


def test_a_file_of_another_kind_names_the_missing_field(tmp_path):
    human().save(tmp_path / "human.npz")
    with pytest.raises(CorruptFileError, match="lacks the field 'robot' of RobotMotion"):
        RobotMotion.load(tmp_path / "human.npz")


def test_bad_fields_are_named():
    nan = np.zeros((5, len(JOINT_NAMES), 3))
    nan[3, 2, 1] = np.nan
    with pytest.raises(BadInputError, match="first in frame 3"):
        human(joint_pos_w=nan)
    with pytest.raises(BadInputError, match="shape"):
        human(joint_pos_w=np.zeros((5, 3, 3)))
    with pytest.raises(BadInputError, match="norm is off"):
        human(joint_quat_w=np.ones((5, len(JOINT_NAMES), 4)))
    with pytest.raises(BadInputError, match="fps"):
        human(fps=0)


def test_arrays_cannot_be_changed_afterwards():
    with pytest.raises(ValueError, match="read-only"):
        human().joint_pos_w[0, 0, 0] = 1.0


def test_velocity_of_a_known_motion():
    motion = spinning_robot(rate=1.5)
    speed = velocity(motion)
    assert np.allclose(speed.root_lin_vel_w, [0.3, 0, 0])
    assert np.allclose(speed.root_ang_vel_b, [0, 0, 1.5])
    assert np.allclose(speed.joint_vel[:, 0], 0.1)
    t = np.arange(motion.num_frames) / motion.fps
    assert np.allclose(speed.joint_vel[1:-1, 1], np.cos(t)[1:-1], atol=1e-4)


def test_angular_velocity_is_in_the_base_frame():
    pitched = quat_from_rotvec(np.array([0.0, -np.pi / 2, 0.0]))  # base X points up
    yaw = quat_from_yaw(0.5 * np.arange(3) / 50.0)
    from lagoon.motion.rotations import quat_mul

    motion = spinning_robot(frames=3)
    upright = replace(motion, root_quat_w=quat_mul(yaw, pitched), segment_names=("m",), segment_starts=(0,))
    # Turning about world Z is turning about base X when base X points up.
    assert np.allclose(velocity(upright).root_ang_vel_b, [0.5, 0, 0], atol=1e-9)


def test_resample_keeps_time_and_values():
    motion = spinning_robot()
    slow = resample(motion, 25.0)
    assert slow.duration == pytest.approx(motion.duration)
    assert np.allclose(slow.joint_pos, motion.joint_pos[::2])
    assert np.allclose(slow.root_quat_w, motion.root_quat_w[::2])
    assert slow.segment_starts.tolist() == [0, 10]


def test_skeleton_is_a_tree_and_mirror_is_an_involution():
    assert all(parent < child for child, parent in enumerate(PARENTS))
    assert len(BONES) == len(JOINT_NAMES) - 1
    assert [MIRROR[MIRROR[i]] for i in range(len(MIRROR))] == list(range(len(MIRROR)))
    assert JOINT_NAMES[MIRROR[JOINT_NAMES.index("left_wrist")]] == "right_wrist"


def test_a_motion_prints_as_one_line():
    human = HumanMotion(20.0, ("a", "b"), np.zeros((11, 2, 3)), text="x" * 300)
    assert repr(human) == f"HumanMotion('{'x' * 57}...', 11 frames at 20 Hz = 0.50 s, 2 joints)"
    shown = repr(spinning_robot())
    assert "\n" not in shown and "at 50 Hz" in shown and "segments:" in shown and len(shown) < 200
