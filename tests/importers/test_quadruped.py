"""Clips of quadrupeds: what the layouts mean, what is found out about them, what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from quadruped_files import (
    A1,
    BUS,
    DOG_FEET,
    GO2,
    LEGS,
    Trot,
    dog_frames,
    dog_positions,
    rows_of,
    trot,
    write_dog,
    write_rows,
)

from lagoon.errors import BadInputError, LagoonError
from lagoon.importers.config import ImportConfig
from lagoon.importers.formats import is_quadruped, read, sniff
from lagoon.importers.quadruped import import_quadruped
from lagoon.motion.quadruped_motion import QuadrupedMotion
from lagoon.motion.rotations import quat_rotate, quat_yaw


def run(path: Path, **settings):
    return import_quadruped(path, ImportConfig(**settings), "trot")


def expected(clip: Trot) -> tuple[np.ndarray, np.ndarray]:
    """Hips and feet (T, 4, 3) that the import should make of a clip: over the origin, facing +X, on the floor."""
    c, s = np.cos(-clip.yaw[0]), np.sin(-clip.yaw[0])
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    hips, feet = clip.world(clip.hips_b) @ turn.T, clip.feet @ turn.T
    middle = hips[0].mean(axis=0)
    origin = np.array([middle[0], middle[1], np.percentile(feet[..., 2].min(axis=1), 5)])
    return hips - origin, feet - origin


def found(motion: QuadrupedMotion) -> tuple[np.ndarray, np.ndarray]:
    legs = motion.joint_pos_w.reshape(motion.num_frames, 4, 3, 3)
    return legs[:, :, 0], legs[:, :, 2]


def same(motion: QuadrupedMotion, clip: Trot, within: float = 1e-4) -> bool:
    return all(
        a.shape == b.shape and np.abs(a - b).max() < within for a, b in zip(found(motion), expected(clip), strict=True)
    )


def decisions(report) -> dict[str, str]:
    return {d.what: d.value for d in report.decisions}


def test_a_clip_of_laikago_gives_its_feet(tmp_path: Path) -> None:
    clip = trot(turn=0.5)
    path = write_rows(tmp_path / "a.txt", rows_of(clip), 60.0)
    assert sniff(path) == "quadruped" and is_quadruped(path, ImportConfig())
    motion, report = run(path)
    assert same(motion, clip)
    assert (motion.fps, motion.text, report.repairs) == (60.0, "trot", ())
    assert decisions(report)["body"] == "Laikago" and decisions(report)["legs"] == "FR, FL, RR, RL"
    assert all(d.why for d in report.decisions)
    assert motion.source["file"] == "a.txt" and len(motion.source["file_sha256"]) == 64
    assert quat_yaw(motion.trunk_quat_w)[-1] == pytest.approx(0.5 * motion.duration, abs=1e-4)
    assert quat_rotate(motion.trunk_quat_w, np.array([0.0, 0.0, 1.0]))[:, 2].min() > 0.9999
    legs = motion.joint_pos_w.reshape(-1, 4, 3, 3)
    assert np.ptp(np.linalg.norm(legs[:, :, 2] - legs[:, :, 1], axis=-1)) < 1e-4, "a shank keeps its length"
    assert (legs[:, [0, 2], :, 1] > legs[:, [1, 3], :, 1])[0].all(), "left is on the left"


@pytest.mark.parametrize(
    ("body", "way", "words"),
    [
        (None, {"motors": True}, "Laikago, angles of its motors"),
        (A1, {"y_up_base": False}, "A1"),
    ],
    ids=["motor angles", "a1"],
)
def test_other_bodies_are_told_by_axes_and_by_where_their_feet_are(tmp_path: Path, body, way, words) -> None:
    clip = trot(*([body] if body else []))
    motion, report = run(write_rows(tmp_path / "a.txt", rows_of(clip, **way), 60.0))
    assert same(motion, clip) and decisions(report)["body"] == words


def test_a_duration_before_and_velocities_after_are_left_out(tmp_path: Path) -> None:
    clip = trot()
    rows = rows_of(clip)
    before = np.concatenate([np.full((len(rows), 1), 1 / 60), rows], axis=1)
    assert same(run(write_rows(tmp_path / "a.txt", before, 60.0))[0], clip)
    after = np.concatenate([rows, np.ones((len(rows), 42))], axis=1)
    assert same(run(write_rows(tmp_path / "b.txt", after, 60.0))[0], clip)


def test_a_robot_that_lagoon_knows_can_be_named(tmp_path: Path) -> None:
    clip = trot(GO2)
    path = write_rows(tmp_path / "a.txt", rows_of(clip, y_up_base=False), 60.0)
    motion, report = run(path, body="go2")
    assert same(motion, clip, 2e-3) and decisions(report)["body"] == "go2"
    with pytest.raises(BadInputError, match=r"Body 'gox' is not known. Known: a1, go1, go2, laikago"):
        run(path, body="gox")


def test_the_dog_of_deepmimic(tmp_path: Path) -> None:
    frames = dog_frames()
    motion, report = run(write_dog(tmp_path / "a.txt", frames))
    want = dog_positions(frames)
    feet = np.stack([want[name] for name in DOG_FEET.values()], axis=1)[..., [0, 2, 1]] * [1.0, -1.0, 1.0]
    got = found(motion)[1]
    shift = feet[0] - got[0]
    assert np.ptp(shift, axis=0).max() < 1e-8 and np.abs(feet - got - shift[0]).max() < 1e-8
    assert decisions(report)["format"] == "DeepMimic txt of the dog" and motion.fps == 60.0
    rise = np.ptp(got[..., 2], axis=0)
    assert rise.argmax() == LEGS.index("FL"), "the leg that is lifted the most is the left front one"
    assert np.abs(motion.trunk_quat_w[:, 1:]).max() < 1e-6, "level, though its shoulders are lower than its hips"


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("yaw", [0.4, 0.4 + np.pi])
def test_the_same_clip_at_any_rate_and_heading_is_the_same_motion(tmp_path: Path, fps: float, yaw: float) -> None:
    motion, _ = run(write_rows(tmp_path / "a.txt", rows_of(trot(fps=fps, yaw=yaw)), fps))
    want = run(write_rows(tmp_path / "b.txt", rows_of(trot(fps=60.0)), 60.0))[0]
    each = [m.joint_pos_w[:: max(1, round(m.fps / 30))] for m in (motion, want)]
    assert np.abs(each[0] - each[1]).max() < 1e-4


def test_legs_in_another_order_are_noticed(tmp_path: Path) -> None:
    clip = trot(speed=0.0, turn=2.0)
    path = write_rows(tmp_path / "a.txt", rows_of(clip, order=LEGS), 60.0)
    with pytest.raises(BadInputError, match=r"feet slide over the floor at .*Type import.legs=\[FL,FR,RL,RR\]"):
        run(path)
    assert same(run(path, legs=LEGS)[0], clip)
    assert not same(run(path, legs=BUS)[0], clip), "asked for, it is done"


def test_a_body_that_would_hang_in_the_air_is_refused(tmp_path: Path) -> None:
    clip = trot()
    rows = rows_of(clip)
    rows[:, 2] += 0.5
    with pytest.raises(BadInputError, match=r"the feet are at 0.50 m as laikago.*the floor at 0.*import.body="):
        run(write_rows(tmp_path / "a.txt", rows, 60.0))
    rows = rows_of(clip)
    rows[:, 3:7] = rows[:, [6, 3, 4, 5]]  # wxyz
    with pytest.raises(BadInputError, match="expected a body that stands"):
        run(write_rows(tmp_path / "a.txt", rows, 60.0))
    rows = rows_of(clip)
    rows[:, 7:] = np.degrees(rows[:, 7:])
    with pytest.raises(BadInputError, match="expected a body that stands"):
        run(write_rows(tmp_path / "a.txt", rows, 60.0))


def test_a_cycle_goes_on_from_where_it_ended(tmp_path: Path) -> None:
    long, one = trot(cycles=6.0, turn=0.4), trot(cycles=1.0, turn=0.4)
    path = write_rows(tmp_path / "a.txt", rows_of(one), 60.0, "Wrap", turns=True)
    motion, report = run(path)
    assert decisions(report)["cycle"] == "6 times" and same(motion, long, 0.004)
    assert decisions(run(path, repeat=1)[1])["cycle"] == "once" or run(path, repeat=1)[0].num_frames == 31
    assert run(path, repeat=2)[0].num_frames == 61
    broken = trot(cycles=0.75)
    once, report = run(write_rows(tmp_path / "b.txt", rows_of(broken), 60.0, "Wrap"))
    cycle = next(d for d in report.decisions if d.what == "cycle")
    assert cycle.value == "once" and "its ends are" in cycle.why and same(once, broken)


def with_word(path: Path, frame: int, word: str) -> Path:
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("  ["))
    cells = lines[first + frame].split(", ")
    cells[9] = word
    lines[first + frame] = ", ".join(cells)
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_frames_without_numbers_are_named(tmp_path: Path, word: str) -> None:
    path = with_word(with_word(write_rows(tmp_path / "a.txt", rows_of(trot()), 60.0), 0, word), 40, word)
    motion, report = run(path)
    assert report.repairs == ("Frames 0, 40 hold no finite positions: 1 at the ends left out and 1 bridged.",)
    assert motion.num_frames == 120
    with pytest.raises(BadInputError, match="Frames 0, 40 hold no finite positions"):
        run(path, repair=False)


@pytest.mark.parametrize(
    ("count", "text"), [(0, 'has no list "Frames"'), (1, "holds 1 frame; a motion needs at least")]
)
def test_no_frame_and_one_frame_are_refused(tmp_path: Path, count: int, text: str) -> None:
    with pytest.raises(LagoonError, match=text):
        run(write_rows(tmp_path / "a.txt", rows_of(trot())[:count], 60.0), format="quadruped")


def test_ten_minutes_are_taken_with_a_word_of_warning(tmp_path: Path) -> None:
    rows = np.tile(rows_of(trot(fps=20.0, cycles=10.0, speed=0.0))[:-1], (120, 1))
    motion, report = run(write_rows(tmp_path / "a.txt", rows, 20.0))
    assert motion.duration == pytest.approx(600.0, abs=0.1) and "training on it takes long" in report.repairs[-1]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"up": "z"}, "import.up means nothing for a clip of a quadruped"),
        ({"mirror": "names"}, "import.mirror means nothing"),
        (
            {"legs": ("FL", "FL", "RL", "RR")},
            r"import.legs is \[FL,FL,RL,RR\]; expected FL, FR, RL and RR in some order",
        ),
        ({"repeat": 0}, "import.repeat is 0; expected 1 to 100"),
    ],
)
def test_settings_that_do_not_fit(tmp_path: Path, settings: dict, text: str) -> None:
    path = write_rows(tmp_path / "a.txt", rows_of(trot(cycles=1.0)), 60.0)
    with pytest.raises(BadInputError, match=text):
        run(path, **settings)


@pytest.mark.parametrize("duration", ["0", '"x"', "true", "null", "-1"])
def test_without_a_frame_rate_one_is_asked_for(tmp_path: Path, duration: str) -> None:
    clip = trot(cycles=1.0)
    path = tmp_path / "a.txt"
    path.write_text(f'{{"FrameDuration": {duration}, "Frames": {json.dumps(rows_of(clip).tolist())}}}')
    with pytest.raises(BadInputError, match=r"does not say its frame rate.*import.fps=30"):
        run(path)
    assert same(run(path, fps=60.0)[0], clip)
    with pytest.raises(BadInputError, match=r"import.body=dog is DeepMimic's, with 84 numbers a frame"):
        run(path, body="dog")


def test_people_and_animals_are_not_taken_for_each_other(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.txt", rows_of(trot(cycles=1.0)), 60.0)
    with pytest.raises(BadInputError, match="is the motion of a quadruped, not of a person"):
        read(path, ImportConfig())
    with pytest.raises(BadInputError, match=r"frame 0 has 19 numbers; expected 44 of DeepMimic's humanoid.*quadruped"):
        read(path, ImportConfig(format="deepmimic"))
    person = tmp_path / "b.txt"
    person.write_text(json.dumps({"Loop": "none", "Frames": [[0.1] * 44] * 3}))
    assert sniff(person) == "deepmimic"
    with pytest.raises(BadInputError, match=r"frame 0 has 44 numbers; expected 19 of .*import.format=deepmimic"):
        run(person, format="quadruped")


def test_it_comes_back_from_its_file(tmp_path: Path) -> None:
    motion, _ = run(write_rows(tmp_path / "a.txt", rows_of(trot(cycles=1.0)), 60.0))
    motion.save(tmp_path / "quadruped.npz")
    again = QuadrupedMotion.load(tmp_path / "quadruped.npz")
    assert np.array_equal(again.joint_pos_w, motion.joint_pos_w) and again.source == motion.source
    assert again.leg("FL").shape == (31, 3, 3)
    with pytest.raises(BadInputError, match="Leg 'XL' is not in this motion"):
        again.leg("XL")
