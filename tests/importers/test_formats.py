"""Every format but BVH and AMASS, which test_import_motion.py has: written here, read back, compared."""

import json
import pickle
import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from motion_files import (
    AT,
    error,
    expected,
    mimic_frames,
    mimic_positions,
    walk_and_wave,
    write_amc,
    write_bvh,
    write_csv,
    write_deepmimic,
)
from scipy.spatial.transform import Rotation

from lagoon.errors import BadInputError, CorruptFileError, LagoonError
from lagoon.importers.config import ImportConfig
from lagoon.importers.formats import sniff
from lagoon.importers.import_motion import import_motion
from lagoon.importers.smpl_pose import mean_offsets
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES

WANT = expected(walk_and_wave(20.0))
MEAN = mean_offsets()


def run(path: Path, **settings):
    return import_motion(path, ImportConfig(**settings))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_amc_finds_its_skeleton_and_comes_back(tmp_path: Path, end: str) -> None:
    path = write_amc(tmp_path, walk_and_wave(60.0), end=end)
    motion, report = run(path, fps=60.0)
    assert error(motion.joint_pos_w, WANT) < 0.001
    found = {d.what: d for d in report.decisions}
    assert found["joints"].why == "names as in CMU (ASF)" and found["unit"].why.startswith("the units in 07.asf")
    assert run(path)[1].decisions[1].why == "AMC does not tell; CMU records at 120, rarely at 60"


def test_amc_without_its_skeleton_says_what_to_type(tmp_path: Path) -> None:
    path = write_amc(tmp_path, walk_and_wave())
    shutil.move(tmp_path / "07.asf", tmp_path / "other.asf")
    assert error(run(path, fps=20.0)[0].joint_pos_w, WANT) < 0.001, "the only one there is taken"
    shutil.copy(tmp_path / "other.asf", tmp_path / "third.asf")
    with pytest.raises(
        BadInputError, match=r"several lie there \(other.asf, third.asf\). Name it: lagoon import SKELETON.asf"
    ):
        run(path)
    assert error(run(path, fps=20.0, skeleton=str(tmp_path / "third.asf"))[0].joint_pos_w, WANT) < 0.001


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("lfemur ", "lfemurr ", r"07_01.amc, line \d+: the bone 'lfemurr' is not in the skeleton"),
        (" lfemur", " lfemur 1", None),
        ("root ", "root 1 ", r"line 5: 7 numbers for root; its skeleton has 6"),
    ],
)
def test_amc_faults_name_the_line(tmp_path: Path, old: str, new: str, text: str | None) -> None:
    path = write_amc(tmp_path, walk_and_wave())
    path.write_text(path.read_text().replace(old, new, 1))
    if text is not None:
        with pytest.raises(CorruptFileError, match=text):
            run(path)


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"mark": ";", "comma": True},
        {"mark": "\t", "title": "{joint}.{axis}"},
        {"title": "{joint} {axis} [m]"},
        {"title": '"{joint}.position.{axis}"'},
        {"clock": False},
    ],
)
def test_tables_of_joints(tmp_path: Path, way: dict) -> None:
    path = write_csv(tmp_path / "a.csv", walk_and_wave(50.0), **way)
    if not way.get("clock", True):
        with pytest.raises(BadInputError, match=r"does not say its frame rate.*import.fps=30"):
            run(path)
    settings = {} if way.get("clock", True) else {"fps": 50.0}
    assert error(run(path, **settings)[0].joint_pos_w, WANT) < 0.001


def test_a_table_with_uneven_times_is_put_on_an_even_clock(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", walk_and_wave(100.0))
    lines = path.read_text().splitlines()
    random = np.random.default_rng(0)
    kept = [0, *(1 + i for i in range(400) if random.uniform() > 0.2), len(lines) - 1]
    path.write_text("\n".join(lines[i] for i in dict.fromkeys(kept)))
    motion, report = run(path)
    assert report.repairs[0] == "The times are uneven; the frames were put on an even clock."
    assert abs(motion.num_frames - len(WANT)) <= 1 and error(motion.joint_pos_w[:79], WANT[:79]) < 0.01


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("\n0.050000,", "\n0.050000,7,", r"a.csv, line 3: 68 cells; the header has 67"),
        ("\n0.050000,", "\n0.050000,abc", r"a.csv, line 3: 'abc.*' is no number; expected numbers only"),
        ("left_knee_x", "left_knee_y", r"line 1: the column 'left_knee_y' stands twice"),
        ("\n0.050000,", "\n0.000000,", r"Frame 0 lasts 0 s"),
        ("left_knee_x", "other", r"no joint was recognised as left_knee"),
    ],
)
def test_table_faults_name_the_line(tmp_path: Path, old: str, new: str, text: str) -> None:
    path = write_csv(tmp_path / "a.csv", walk_and_wave())
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(LagoonError, match=text):
        run(path)


def test_npz_of_joints_with_names_in_any_order(tmp_path: Path) -> None:
    order = np.random.default_rng(3).permutation(22)
    clip = walk_and_wave(30.0)
    names = [JOINT_NAMES[i].replace("left_", "L ").replace("right_", "R ") for i in order]
    np.savez(tmp_path / "a.npz", positions=clip.pos[:, order], names=names, fps=30)
    assert error(run(tmp_path / "a.npz")[0].joint_pos_w, WANT) < 0.001
    np.savez(tmp_path / "b.npz", positions=clip.pos[:, :20], fps=30)
    with pytest.raises(BadInputError, match="20 joints without names; expected joint_names"):
        run(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", other=np.zeros(3))
    with pytest.raises(BadInputError, match=r"no joint positions \(it has other \(3,\)\)"):
        run(tmp_path / "c.npz")


def test_a_motion_of_lagoon_comes_back_as_it_is(tmp_path: Path) -> None:
    HumanMotion(20.0, JOINT_NAMES, WANT, "walk").save(tmp_path / "human.npz")
    motion, report = run(tmp_path / "human.npz")
    assert error(motion.joint_pos_w, WANT) < 1e-6
    assert next(d.value for d in report.decisions if d.what == "up axis") == "z"


def features(pos: np.ndarray) -> np.ndarray:
    """HumanML3D's features of (T, 22, 3), Y up, as far as they are read: by the definition, not by the reader."""
    across = pos[:, 1] - pos[:, 2] + pos[:, 16] - pos[:, 17]
    ahead = np.cross(across, [0.0, 1.0, 0.0])
    angle = np.arctan2(ahead[:, 0], ahead[:, 2])
    to_heading = Rotation.from_euler("y", -angle[:, None])
    out = np.zeros((len(pos), 263))
    turn = np.diff(np.unwrap(angle)) / 2
    out[:-1, 0] = -turn
    step = to_heading[1:].apply(np.diff(pos[:, 0], axis=0))
    out[:-1, 1:3] = step[:, [0, 2]]
    out[:, 3] = pos[:, 0, 1]
    local = pos[:, 1:] - pos[:, :1] * [1.0, 0.0, 1.0]
    out[:, 4:67] = np.stack([to_heading.apply(local[:, j]) for j in range(21)], axis=1).reshape(len(pos), -1)
    return out


def test_humanml3d_joints_and_features(tmp_path: Path) -> None:
    clip = walk_and_wave(20.0)
    np.save(tmp_path / "joints.npy", clip.pos.astype(np.float32))
    np.save(tmp_path / "features.npy", features(clip.pos))
    for name in ("joints", "features"):
        motion, report = run(tmp_path / f"{name}.npy")
        assert error(motion.joint_pos_w, WANT) < 0.001, name
        assert report.decisions[1].why == "HumanML3D has 20"
    mean = features(clip.pos).mean(axis=0)
    np.save(tmp_path / "normalised.npy", features(clip.pos) - mean)
    with pytest.raises(BadInputError, match=r"the features are normalised.*Std.npy"):
        run(tmp_path / "normalised.npy")
    np.save(tmp_path / "kit.npy", np.zeros((10, 251)))
    with pytest.raises(BadInputError, match=r"shape \(10, 251\); expected \(frames, 22, 3\)"):
        run(tmp_path / "kit.npy")


def test_mdm_results_by_number(tmp_path: Path) -> None:
    one, two = walk_and_wave(20.0).pos, walk_and_wave(20.0).pos[::-1]
    content = {
        "motion": np.stack([two.transpose(1, 2, 0), one.transpose(1, 2, 0)]),
        "text": ["a person walks back", "a person walks"],
        "lengths": np.array([40, len(one)]),
        "num_samples": 2,
    }
    np.save(tmp_path / "results.npy", content, allow_pickle=True)
    motion, report = run(tmp_path / "results.npy", clip=1)
    assert error(motion.joint_pos_w, WANT) < 0.001
    assert report.decisions[0].value == "MDM results.npy, motion 1 of 2: 'a person walks'"
    assert run(tmp_path / "results.npy")[0].num_frames == 40
    with pytest.raises(BadInputError, match=r"holds 2 motions; import.clip=2 is not one of 0 to 1"):
        run(tmp_path / "results.npy", clip=2)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_aist_dances(tmp_path: Path, protocol: int) -> None:
    clip = walk_and_wave(60.0, offsets=MEAN)
    poses = np.concatenate([clip.rotvec, np.zeros((len(clip.root), 2, 3))], axis=1).reshape(len(clip.root), -1)
    content = {"smpl_poses": poses, "smpl_trans": clip.root * 93.5, "smpl_scaling": np.array([93.5]), "smpl_loss": 1.5}
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(content, protocol=protocol))
    motion, report = run(tmp_path / "a.pkl")
    assert error(motion.joint_pos_w, expected(walk_and_wave(20.0, offsets=MEAN))) < 0.001
    assert report.decisions[1].why == "AIST++ has 60"


def test_deepmimic_clips(tmp_path: Path) -> None:
    frames = mimic_frames(30.0)
    motion, report = run(write_deepmimic(tmp_path / "a.txt", frames))
    want = {name: path[..., [2, 0, 1]] for name, path in mimic_positions(mimic_frames(20.0)).items()}
    # Up to where it stands and faces: compare all distances between joints.
    names = [name for name in want if name in AT]
    got = np.stack([motion.joint(name) for name in names], axis=1)
    ref = np.stack([want[name] for name in names], axis=1)
    pair = lambda p: np.linalg.norm(p[:, :, None] - p[:, None], axis=-1)  # noqa: E731
    assert len(names) >= 13 and np.abs(pair(got) - pair(ref)).max() < 0.002
    assert np.abs(got[..., 2] - ref[..., 2] - (got[0, 0, 2] - ref[0, 0, 2])).max() < 0.002
    ahead = motion.joint_pos_w[-1, 0] - motion.joint_pos_w[0, 0]
    assert abs(ahead[0] - 2.4) < 0.1 and abs(ahead[1]) < 0.3, "it walks ahead"
    left_first = motion.joint("left_hip")[0] - motion.joint("right_hip")[0]
    assert left_first[1] > 0.1, "left is left"
    assert next(d for d in report.decisions if d.what == "left and right").why == "the toes point ahead"


def test_deepmimic_faults_are_named(tmp_path: Path) -> None:
    path = write_deepmimic(tmp_path / "a.txt", mimic_frames())
    text = path.read_text()
    path.write_text(text.replace("]\n}", "\n}"))
    with pytest.raises(CorruptFileError, match=r"a.txt, line \d+: no JSON here"):
        run(path)
    path.write_text(text.replace("[0.0333333, ", "[0.0333333, 1.0, ", 1))
    with pytest.raises(BadInputError, match="frame 0 has 45 numbers; expected 44 of DeepMimic's humanoid"):
        run(path)
    path.write_text(json.dumps({"Frames": []}))
    with pytest.raises(CorruptFileError, match='no list "Frames"'):
        run(path)
    path.write_text("[" * 100000)
    with pytest.raises(LagoonError):
        run(path, format="deepmimic")


@pytest.mark.parametrize(
    ("name", "content", "format_"),
    [
        ("a.txt", b"\xef\xbb\xbfHIERARCHY\nROOT x", "bvh"),
        ("a", b"# exported\r\n  hierarchy\r\n", "bvh"),
        ("a.dat", b"#!OML:ASF x\n:FULLY-SPECIFIED\n", "amc"),
        ("a.txt", b'{ "Loop": "wrap", "Frames": [[1]]}', "deepmimic"),
        ("a.txt", b"x_x,x_y,x_z\n1,2,3\n", "csv"),
        ("a.pkl", b"\x80\x03}.", "aist"),
        ("a.bvh", "HIERARCHY\n".encode("utf-16"), "bvh"),
    ],
)
def test_a_format_is_told_by_its_content(tmp_path: Path, name: str, content: bytes, format_: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert sniff(tmp_path / name) == format_


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (b"Kaydara FBX Binary  \x00", "it is binary FBX"),
        (b"\x1f\x8b\x08", "it is gzip: unpack it first"),
        (b"\x01\x02\x00\x03", "it is binary"),
        (b"Dear diary", "it begins with 'Dear diary'"),
    ],
)
def test_what_is_no_motion_is_refused_with_the_formats(tmp_path: Path, content: bytes, fact: str) -> None:
    (tmp_path / "x.abc").write_bytes(content)
    with pytest.raises(
        BadInputError, match=re.escape(f"x.abc is in no format that lagoon reads: {fact}. It reads BVH,")
    ):
        sniff(tmp_path / "x.abc")


def test_utf16_and_latin1_names_are_read(tmp_path: Path) -> None:
    path = write_bvh(tmp_path / "a.bvh", walk_and_wave())
    text = path.read_text()
    path.write_bytes(text.encode("utf-16"))
    assert error(run(path)[0].joint_pos_w, WANT) < 0.001
    path.write_bytes(text.replace("JOINT head", "JOINT Kopf_\u00fc").encode("latin-1"))
    motion, report = run(path)
    assert error(motion.joint_pos_w, WANT) < 0.001, "the joint at the end of the neck is the head, whatever its name"
    assert next(d.value for d in report.decisions if d.what == "joints") == "21 of 22 by name"


def test_a_file_larger_than_is_sensible_is_refused_with_numbers(tmp_path: Path) -> None:
    path = tmp_path / "large.bvh"
    with path.open("wb") as file:
        file.write(b"HIERARCHY\n")
        file.truncate(3 * 2**30)  # A hole: takes no room on the disk.
    with pytest.raises(BadInputError, match=r"large.bvh is 3,072 MiB; lagoon reads at most 512 MiB"):
        run(path)


def test_an_npz_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, joint_pos=np.zeros((4, 22, 3)), fps=20)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"(4, 22, 3)", b"(4, 22,99)"))
    with pytest.raises(CorruptFileError, match=r"does not fit|Bad CRC"):
        run(path)
    path.write_bytes(data[:-40])
    with pytest.raises(CorruptFileError, match="cannot be read as a numpy file"):
        run(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "x" + " " * 10**6 + "y,b,c\n1,2,3\n"),
        ("a.csv", ",".join("._" * 10**5 + axis for axis in "xyz") + "\n1,2,3\n"),
        ("a.bvh", "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS " + "9" * 10**5 + "\n}\nMOTION\n"),
        ("a.bvh", "HIERARCHY\n" + "ROOT a {\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n" * 10**4 + "MOTION\n1\n1\n"),
        ("a.bvh", "MOTION\n" * 10**5),
        ("a.txt", '{"Frames": [[' + "1" * 10**5 + "]]}"),
        ("a.txt", '{"Frames": ' + "[" * 10**5),
        ("a.amc", "1\nroot " + "1 " * 10**5),
        ("a.asf", ":root\n" * 10**5),
    ],
)
def test_files_made_to_take_for_ever_do_not(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    began = time.process_time()
    with pytest.raises(LagoonError) as caught:
        run(tmp_path / name)
    assert time.process_time() - began < 2.0 and len(str(caught.value)) < 1500


def test_quaternions_of_odd_length_are_made_unit_and_told(tmp_path: Path) -> None:
    frames = mimic_frames()
    want = run(write_deepmimic(tmp_path / "a.txt", frames))[0].joint_pos_w
    frames[10:20, 16:20] *= 0.6
    motion, report = run(write_deepmimic(tmp_path / "b.txt", frames))
    assert error(motion.joint_pos_w, want) < 1e-4
    assert report.repairs == ("Quaternions whose length is off by a tenth or more, in 10 of 91 frames: made unit.",)
