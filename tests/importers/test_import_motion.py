"""The same clip, written in many ways, must come out the same; what is bad must be named."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from motion_files import AT, OFFSETS, error, expected, walk_and_wave, write_amass, write_bvh
from scipy.spatial.transform import Rotation

from lagoon.body.bvh import write_bvh as write_lagoons_bvh
from lagoon.errors import BadInputError, LagoonError
from lagoon.importers.config import ImportConfig
from lagoon.importers.import_motion import import_motion
from lagoon.importers.smpl_pose import mean_offsets
from lagoon.motion.bones import bone_lengths
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES, MIRROR, PARENTS

WANT = expected(walk_and_wave(20.0))
MIXAMO = {
    "pelvis": "mixamorig:Hips",
    "spine1": "mixamorig:Spine",
    "spine2": "mixamorig:Spine1",
    "spine3": "mixamorig:Spine2",
    "neck": "mixamorig:Neck",
    "head": "mixamorig:Head",
}
for _side in ("left", "right"):
    _parts = {"hip": "UpLeg", "knee": "Leg", "ankle": "Foot", "foot": "ToeBase", "collar": "Shoulder"}
    _parts |= {"shoulder": "Arm", "elbow": "ForeArm", "wrist": "Hand"}
    MIXAMO |= {f"{_side}_{joint}": f"mixamorig:{_side.capitalize()}{word}" for joint, word in _parts.items()}


def run(path: Path, **settings):
    return import_motion(path, ImportConfig(**settings))


def turned(clip, degrees: float):
    """The clip with the person starting turned about the vertical."""
    turn = Rotation.from_euler("y", degrees, degrees=True)
    rotvec = clip.rotvec.copy()
    rotvec[:, 0] = (turn * Rotation.from_rotvec(rotvec[:, 0])).as_rotvec()
    return replace(clip, rotvec=rotvec, root=turn.apply(clip.root))


@pytest.mark.parametrize("fps", [20.0, 30.0, 60.0, 120.0])
@pytest.mark.parametrize("unit", [1.0, 100.0, 1 / 0.0254])
@pytest.mark.parametrize("z_up", [False, True])
def test_the_same_clip_in_any_unit_axes_and_rate_is_the_same_motion(
    tmp_path: Path, fps: float, unit: float, z_up: bool
) -> None:
    clip = turned(walk_and_wave(fps), 180.0 if z_up else 0.0)
    motion, report = run(write_bvh(tmp_path / "a.bvh", clip, unit=unit, z_up=z_up))
    assert error(motion.joint_pos_w, WANT) < 0.001
    assert (motion.fps, motion.joint_names) == (20.0, JOINT_NAMES)
    found = {decision.what: decision.value for decision in report.decisions}
    assert found["unit"] == {1.0: "m", 100.0: "cm"}.get(unit, "inch") and found["up axis"] == ("z" if z_up else "y")
    assert found["frame rate"] == f"{fps:g} Hz" and report.repairs == ()
    assert all(decision.why for decision in report.decisions)
    lengths = bone_lengths(motion.joint_pos_w)
    assert np.ptp(lengths, axis=0).max() < 0.001


@pytest.mark.parametrize("fps", [24.0, 30000 / 1001, 50.0, 119.88, 240.0])
def test_odd_rates_keep_time(tmp_path: Path, fps: float) -> None:
    motion, _ = run(write_bvh(tmp_path / "a.bvh", walk_and_wave(fps)))
    frames = min(len(WANT), motion.num_frames)
    assert len(WANT) - frames <= 1 and error(motion.joint_pos_w[:frames], WANT[:frames]) < 0.002


@pytest.mark.parametrize("order", ["XYZ", "ZYX", "YXZ", "ZXY", "YZX", "XZY"])
def test_any_order_of_channels(tmp_path: Path, order: str) -> None:
    motion, report = run(write_bvh(tmp_path / "a.bvh", walk_and_wave(), order=order))
    assert error(motion.joint_pos_w, WANT) < 0.001
    assert next(d.value for d in report.decisions if d.what == "rotations") == order


@pytest.mark.parametrize(
    "way",
    [{"six": True}, {"end": "\r\n", "tab": "  "}, {"end": "\r"}, {"right_first": True}, {"names": MIXAMO}],
    ids=["six channels", "crlf", "cr", "right side first", "mixamo"],
)
def test_ways_to_write_the_same_file(tmp_path: Path, way: dict) -> None:
    assert error(run(write_bvh(tmp_path / "a.bvh", walk_and_wave(), **way))[0].joint_pos_w, WANT) < 0.001


@pytest.mark.parametrize("joints", [52, 55, 24, 22], ids=["smpl-h", "smpl-x", "smpl", "22 joints"])
@pytest.mark.parametrize("rate", ["mocap_framerate", "mocap_frame_rate"])
def test_amass_comes_back_within_a_millimetre(tmp_path: Path, joints: int, rate: str) -> None:
    clip = walk_and_wave(60.0, offsets=mean_offsets())
    motion, _ = run(write_amass(tmp_path / "a.npz", clip, rate, joints))
    assert error(motion.joint_pos_w, expected(walk_and_wave(20.0, offsets=mean_offsets()))) < 0.001


def test_amass_over_a_body_model_has_that_persons_joints(tmp_path: Path) -> None:
    rest = np.zeros((22, 3))
    for j in range(1, 22):
        rest[j] = rest[PARENTS[j]] + OFFSETS[j]
    shapes = np.zeros((22, 3, 10))
    shapes[:, :, 0] = rest * 0.1  # The first shape number makes the person a tenth larger.
    model = tmp_path / "model.npz"
    np.savez(
        model,
        v_template=rest,
        shapedirs=shapes,
        posedirs=np.zeros((22, 3, 9 * 21)),
        J_regressor=np.eye(22),
        weights=np.eye(22),
        kintree_table=np.array([PARENTS, range(22)]),
        f=np.zeros((0, 3), int),
    )
    path = write_amass(tmp_path / "a.npz", walk_and_wave(20.0))
    assert error(run(path, body_model=str(model))[0].joint_pos_w, WANT) < 0.001
    with np.load(path) as old:
        np.savez(path, **{**dict(old), "betas": np.array([1.0] + [0.0] * 15)})
    tall = run(path, body_model=str(model))[0]
    assert np.allclose(bone_lengths(tall.joint_pos_w)[0], 1.1 * bone_lengths(WANT)[0], atol=1e-3)


def test_pose_body_with_root_orient_is_the_same(tmp_path: Path) -> None:
    path = write_amass(tmp_path / "a.npz", walk_and_wave(20.0, offsets=mean_offsets()))
    with np.load(path) as old:
        poses, rest = old["poses"], {k: old[k] for k in ("trans", "betas", "mocap_framerate")}
    np.savez(tmp_path / "b.npz", root_orient=poses[:, :3], pose_body=poses[:, 3:66], **rest)
    assert np.allclose(run(tmp_path / "b.npz")[0].joint_pos_w, run(path)[0].joint_pos_w, atol=1e-9)


def test_a_shape_without_motion_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "shape.npz", betas=np.zeros(16), gender=np.array("male"))
    with pytest.raises(BadInputError, match=r"a body shape without motion \(it has betas, gender\).*_poses.npz"):
        run(tmp_path / "shape.npz")


def swapped_names() -> dict[str, str]:
    return {name: JOINT_NAMES[MIRROR[i]] for i, name in enumerate(JOINT_NAMES)}


def test_swapped_names_are_refused_and_can_be_swapped_back(tmp_path: Path) -> None:
    path = write_bvh(tmp_path / "a.bvh", walk_and_wave(), names=swapped_names())
    with pytest.raises(BadInputError, match=r"left and right are swapped.*import.mirror=names.*import.mirror=axes"):
        run(path)
    assert error(run(path, mirror="names")[0].joint_pos_w, WANT) < 0.001
    kept = run(path, mirror="keep")[0]
    assert error(kept.joint_pos_w, WANT) > 0.1


def test_left_handed_axes_are_refused_and_can_be_mirrored(tmp_path: Path) -> None:
    clip = walk_and_wave()
    flip = np.array([-1.0, 1.0, 1.0])
    left_handed = replace(
        clip, root=clip.root * flip, offsets=clip.offsets * flip, rotvec=clip.rotvec * np.array([1.0, -1.0, -1.0])
    )
    path = write_bvh(tmp_path / "a.bvh", left_handed)
    with pytest.raises(BadInputError, match="left and right are swapped"):
        run(path)
    assert error(run(path, mirror="axes")[0].joint_pos_w, WANT) < 0.001
    with pytest.raises(BadInputError, match="would mirror a person whose left and right are right"):
        run(write_bvh(tmp_path / "b.bvh", clip), mirror="axes")


def test_a_map_that_would_mirror_is_refused(tmp_path: Path) -> None:
    path = write_bvh(tmp_path / "a.bvh", walk_and_wave(), names=MIXAMO)
    (tmp_path / "map.yaml").write_text("left_hip: 'mixamorig:RightUpLeg'\n")
    with pytest.raises(BadInputError, match="would mirror the person: 'mixamorig:RightUpLeg' is on the right"):
        run(path, map=str(tmp_path / "map.yaml"))


def test_names_of_ones_own_need_a_map(tmp_path: Path) -> None:
    own = {name: f"j{i}" for i, name in enumerate(JOINT_NAMES)}
    path = write_bvh(tmp_path / "a.bvh", walk_and_wave(), names=own)
    with pytest.raises(BadInputError, match=r"no joint was recognised as left_hip.*'left_hip: NAME_IN_THE_FILE'"):
        run(path)
    (tmp_path / "map.yaml").write_text("".join(f"{name}: {word}\n" for name, word in own.items()))
    assert error(run(path, map=str(tmp_path / "map.yaml"))[0].joint_pos_w, WANT) < 0.001


@pytest.mark.parametrize("fps", [20.0, 30.0, 60.0, 120.0])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("away", [False, True], ids=["in place", "at the origin"])
def test_a_t_pose_before_the_motion_is_left_out_by_name(tmp_path: Path, fps: float, count: int, away: bool) -> None:
    clip = walk_and_wave(fps)
    here = clip.root[:1] + ([0.0, 0.0, 0.0] if not away else [2.0, 0.0, 1.0])
    rotvec = np.concatenate([np.zeros((count, 22, 3)), clip.rotvec])
    path = write_bvh(
        tmp_path / "a.bvh", replace(clip, rotvec=rotvec, root=np.concatenate([here] * count + [clip.root]))
    )
    motion, report = run(path)
    assert error(motion.joint_pos_w, WANT) < 0.001
    which = "Frame 0 is" if count == 1 else "Frames 0-2 are"
    assert report.repairs == (f"{which} a pose that jumps into the motion, such as a T-pose: left out.",)
    with pytest.raises(BadInputError, match=f"{which} a pose that jumps"):
        run(path, repair=False)


def with_numbers(path: Path, frames: slice | list[int], word: str) -> Path:
    """Replace the first numbers of frames of a BVH file."""
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Frame Time")) + 1
    for i in range(len(lines) - first)[frames] if isinstance(frames, slice) else frames:
        words = lines[first + i].split()
        words[4] = word
        lines[first + i] = " ".join(words)
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("word", ["nan", "inf", "-nan(ind)", "1.#QNAN", "1e300"])
def test_a_first_frame_without_numbers_is_left_out_by_name(tmp_path: Path, word: str) -> None:
    path = with_numbers(write_bvh(tmp_path / "a.bvh", walk_and_wave(60.0)), [0], word)
    if word == "1e300":
        path = with_numbers(path, [0], "inf")
    motion, report = run(path)
    assert report.repairs == ("Frame 0 holds no finite positions: 1 at the ends left out.",)
    later = replace(walk_and_wave(60.0), rotvec=walk_and_wave(60.0).rotvec[1:], root=walk_and_wave(60.0).root[1:])
    want = run(write_bvh(tmp_path / "b.bvh", later))[0]
    assert error(motion.joint_pos_w, want.joint_pos_w) < 1e-9


def test_short_gaps_are_bridged_and_long_ones_refused_by_number(tmp_path: Path) -> None:
    path = with_numbers(write_bvh(tmp_path / "a.bvh", walk_and_wave(60.0)), [30, 31, 32, 90], "nan")
    motion, report = run(path)
    assert report.repairs == ("Frames 30-32, 90 hold no finite positions: 4 bridged.",)
    assert error(motion.joint_pos_w, WANT) < 0.01
    path = with_numbers(write_bvh(tmp_path / "a.bvh", walk_and_wave(60.0)), slice(30, 60), "nan")
    with pytest.raises(BadInputError, match=r"Frames 30-59 hold.*30 in a row are 0.50 s.*import.start="):
        run(path)
    with pytest.raises(BadInputError, match=r"Frames 0-240 hold no finite positions, 241 of 241"):
        run(with_numbers(path, slice(None), "nan"))


def test_a_joint_that_flies_off_for_a_frame_is_bridged(tmp_path: Path) -> None:
    path = with_numbers(write_bvh(tmp_path / "a.bvh", walk_and_wave(60.0)), [100], "0")
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Frame Time")) + 1
    words = lines[first + 100].split()
    words[0] = "900000"
    lines[first + 100] = " ".join(words)
    path.write_text("\n".join(lines))
    motion, report = run(path)
    assert report.repairs == ("Frame 100 flies off for one frame: bridged.",)
    assert error(motion.joint_pos_w, WANT) < 0.01


@pytest.mark.parametrize(
    ("frames", "text"), [(0, "no frames after MOTION"), (1, "holds 1 frame; a motion needs at least 2")]
)
def test_no_frame_and_one_frame_are_refused(tmp_path: Path, frames: int, text: str) -> None:
    path = write_bvh(tmp_path / "a.bvh", walk_and_wave())
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Frame Time")) + 1
    path.write_text("\n".join(lines[: first + frames]))
    with pytest.raises(LagoonError, match=text):
        run(path)


def test_ten_minutes_are_taken_with_a_word_of_warning(tmp_path: Path) -> None:
    # AMASS, since writing ten minutes of BVH takes longer than reading them; the slow test does that.
    clip = walk_and_wave(30.0, seconds=600.0, offsets=mean_offsets())
    motion, report = run(write_amass(tmp_path / "long.npz", clip, joints=22))
    assert motion.duration == pytest.approx(600.0)
    assert report.repairs == (
        "The clip lasts 600 s; training on it takes long. Cut it with import.start= and import.end=.",
    )
    cut = run(tmp_path / "long.npz", start=10.0, end=12.0)[0]
    assert cut.duration == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"start": 5.0}, r"lasts 4.00 s; import.start=5"),
        ({"facing": "y"}, "import.facing=y is the up axis"),
        ({"unit": "100"}, None),
    ],
)
def test_settings_that_do_not_fit_the_clip(tmp_path: Path, settings: dict, text: str | None) -> None:
    path = write_bvh(tmp_path / "a.bvh", walk_and_wave())
    if text is None:
        motion = run(path, **settings)[0]
        assert motion.joint_pos_w[0, AT["head"], 2] > 1000, "a unit that was typed is taken as it is"
        return
    with pytest.raises(BadInputError, match=text):
        run(path, **settings)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"unit": "furlong"}, "import.unit is 'furlong'; expected auto, m, cm, mm, inch, ft, or metres"),
        ({"height": 17.0}, "import.height is 17; expected 0.3 to 3 m"),
        ({"fps": 0.5}, "import.fps is 0.5; expected 5 to 1000 Hz"),
        ({"order": "XYY"}, "import.order is 'XYY'; expected auto or X, Y, Z in some order"),
        ({"clip": -1}, "import.clip is -1"),
        ({"start": 2.0, "end": 1.0}, "import.start is 2 and import.end 1.0"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict, text: str) -> None:
    with pytest.raises(BadInputError, match=re.escape(text)):
        ImportConfig(**settings)


def test_each_guess_can_be_replaced(tmp_path: Path) -> None:
    path = write_bvh(tmp_path / "a.bvh", walk_and_wave(20.0))
    motion, report = run(path, fps=40.0, height=1.0, up="y", facing="z")
    found = {d.what: d for d in report.decisions}
    assert motion.duration == pytest.approx(2.0)
    assert found["frame rate"].why == "import.fps was given" and found["up axis"].why == "import.up was given"
    ratio = bone_lengths(motion.joint_pos_w)[0] / bone_lengths(WANT)[0]
    assert np.allclose(ratio, ratio[0]) and ratio[0] < 0.6
    # The file's z is ahead now: the person, who walks off at 0.4 to 0.5 rad from it, does so here too.
    ahead = motion.joint_pos_w[10, 0] - motion.joint_pos_w[0, 0]
    assert np.arctan2(ahead[1], ahead[0]) == pytest.approx(0.45, abs=0.1)


def test_a_size_that_fits_nobody_is_refused_with_numbers(tmp_path: Path) -> None:
    path = write_bvh(tmp_path / "a.bvh", walk_and_wave(), unit=8.0)
    with pytest.raises(
        BadInputError, match=r"14.17 units tall, which fits a person in no unit \(14.17 m as m, 0.14 m as cm"
    ):
        run(path)
    assert error(run(path, unit="0.125")[0].joint_pos_w, WANT) < 0.001


def test_what_was_decided_is_kept_with_the_motion(tmp_path: Path) -> None:
    motion, report = run(write_bvh(tmp_path / "a.bvh", walk_and_wave()))
    assert motion.source["file"] == "a.bvh" and len(motion.source["file_sha256"]) == 64
    assert motion.source["unit"] == "cm" and motion.source["up_axis"] == "y"
    assert json.loads(json.dumps(report.to_dict()))["decisions"][0]["what"] == "format"


def test_what_lagoon_writes_as_bvh_comes_back(tmp_path: Path) -> None:
    askew = Rotation.from_euler("z", 0.8, degrees=True).apply(WANT.reshape(-1, 3)).reshape(WANT.shape)
    write_lagoons_bvh(tmp_path / "human.bvh", HumanMotion(20.0, JOINT_NAMES, askew, "walk"))
    motion, report = run(tmp_path / "human.bvh")
    assert error(motion.joint_pos_w, WANT) < 1e-6 and report.repairs == (), "turned to face +X, and nothing else"
    motion, _ = run(tmp_path / "human.bvh", facing="z")
    assert error(motion.joint_pos_w, askew) < 1e-6
