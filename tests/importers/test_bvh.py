"""BVH as exporters write it, and where it is broken, by line."""

import re
from pathlib import Path

import numpy as np
import pytest
from motion_files import error, expected, walk_and_wave, write_bvh

from lagoon.errors import CorruptFileError, LagoonError
from lagoon.importers.bvh import read
from lagoon.importers.config import ImportConfig
from lagoon.importers.import_motion import import_motion

SECONDS = 1.5
WANT = expected(walk_and_wave(20.0, SECONDS))
BONE = """HIERARCHY
ROOT a
{
  OFFSET 1 2 3
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT b
  {
    OFFSET 0 10 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 5 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.05
0 0 0 0 0 0 0 0 0
4 5 6 90 0 0 0 90 0
"""


def walk(tmp_path: Path) -> Path:
    return write_bvh(tmp_path / "a.bvh", walk_and_wave(20.0, SECONDS))


def test_positions_by_hand(tmp_path: Path) -> None:
    (tmp_path / "a.bvh").write_text(BONE)
    raw = read(tmp_path / "a.bvh", ImportConfig())
    assert raw.names == ("a", "b", "b_end") and raw.parents == (-1, 0, 1)
    assert np.allclose(raw.pos[0], [[0, 0, 0], [0, 10, 0], [0, 15, 0]])
    # The root a quarter turn about Z: its Y points to -X; the joint a quarter turn about its X, which is world Y.
    assert np.allclose(raw.pos[1], [[4, 5, 6], [-6, 5, 6], [-6, 5, 11]])


@pytest.mark.parametrize(
    ("old", "new", "repair"),
    [
        ("Frames: 31", "Frames: 30", "The header tells of 30 frames, the file holds 31; all of them are read."),
        ("Frames: 31", "Frames: 32", "The header tells of 32 frames, the file holds 31; all of them are read."),
        ("Frames: 31\n", "", None),
        ("Frames: 31", "Frames:\t31", None),
        ("Frame Time: 0.05", "FRAME TIME:0.0500001", None),
        ("Frame Time: 0.05", "Frame Time: 0,05", None),
        ("MOTION\n", "\n MOTION \n\n", None),
        ("HIERARCHY", "# exported\n\nhierarchy", None),
        ("JOINT left_hip\n", "JOINT left_hip   {\n", None),
        ("ROOT pelvis", "root\tpelvis", None),
        ("JOINT left_knee", "JOINT Left Knee", None),
        ("End Site", "End site left_toe", None),
    ],
)
def test_oddities_that_are_accepted(tmp_path: Path, old: str, new: str, repair: str | None) -> None:
    path = walk(tmp_path)
    text = path.read_text().replace("Frame Time: 0.05000000", "Frame Time: 0.05")
    assert old in text
    text = text.replace(old, new, 1)
    if new.endswith("{\n"):  # The brace on the line of its joint.
        head, tail = text.split(new)
        text = head + new + tail.replace("{\n", "\n", 1)
    path.write_text(text.rstrip("\n"))
    motion, report = import_motion(path, ImportConfig())
    assert error(motion.joint_pos_w, WANT) < 0.001
    assert report.repairs == (() if repair is None else (repair,))


def test_a_last_line_that_is_cut_is_left_out_by_number(tmp_path: Path) -> None:
    path = walk(tmp_path)
    text = path.read_text().rstrip("\n")
    path.write_text(text[: text.rindex(" ", 0, len(text) - 40)])
    motion, report = import_motion(path, ImportConfig())
    assert motion.num_frames == len(WANT) - 1
    assert report.repairs[0] == f"Line {text.count(chr(10)) + 1}, the last one, is cut short; this frame is left out."


def test_frames_broken_over_lines_are_put_together(tmp_path: Path) -> None:
    path = walk(tmp_path)
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Frame Time")) + 1
    broken = [part for line in lines[first:] for part in re.findall(r"(?:\S+\s*){1,23}", line)]
    path.write_text("\n".join(lines[:first] + broken))
    assert error(import_motion(path, ImportConfig())[0].joint_pos_w, WANT) < 0.001


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("MOTION", "MOTIO", "a.bvh has no line MOTION; expected the part with the frames"),
        ("OFFSET 0 10 0", "OFFSET 0 ten 0", "a.bvh, line 8: 'ten' is no number; expected three lengths after OFFSET."),
        ("OFFSET 0 10 0", "OFFSET 0 inf 0", "the OFFSET of 'b' is not finite"),
        ("CHANNELS 3", "CHANNELS 4", "a.bvh, line 9: the channel 'end' is not known"),
        ("CHANNELS 3", "CHANNELS x", "a.bvh, line 9: CHANNELS 'x'; expected a number from 0 to 6."),
        ("3 Zrotation X", "3 Zrotation Z", "a.bvh, line 9: a channel stands twice"),
        ("  JOINT b", "  JOIN b", "a.bvh, line 6: 'JOIN' is not known here; expected OFFSET, CHANNELS, JOINT or }."),
        ("  JOINT b", "  JOINT", "a.bvh, line 6: JOINT without a name."),
        ("}\nMOTION", "MOTION", "line 15: 1 { are not closed before MOTION."),
        ("}\nMOTION", "}\n}\nMOTION", "a.bvh, line 16: a } without its {."),
        (
            "Frame Time: 0.05",
            "Frame Time: soon",
            "a.bvh, line 18: 'soon' is no number; expected a number after Frame Time.",
        ),
        ("Frame Time: 0.05", "Frame Time: -1", "a.bvh, line 18: Frame Time '-1'; expected seconds"),
        ("0 0 0 0 0 0 0 0 0\n", "0 0 0 0 0 0 0 0\n", "a.bvh, line 19: 8 numbers; the skeleton has 9 channels."),
        ("0 0 0 0 0 0 0 0 0\n", "0 0 0 0 0 0 0 0 O\n", "a.bvh, line 19: 'O' is no number; expected numbers only."),
    ],
)
def test_faults_name_the_line_and_what_was_expected(tmp_path: Path, old: str, new: str, text: str) -> None:
    assert old in BONE
    (tmp_path / "a.bvh").write_text(BONE.replace(old, new, 1))
    with pytest.raises(CorruptFileError) as caught:
        read(tmp_path / "a.bvh", ImportConfig())
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [("0", "does not say its frame rate"), ("900", "has 0.001111 frames per second"), ("1e-9", "has 1e+09 frames")],
)
def test_a_frame_time_that_nobody_has_is_refused(tmp_path: Path, seconds: str, text: str) -> None:
    path = walk(tmp_path)
    path.write_text(path.read_text().replace("Frame Time: 0.05000000", f"Frame Time: {seconds}"))
    with pytest.raises(LagoonError, match=re.escape(text) + ".*import.fps=30"):
        import_motion(path, ImportConfig())
    assert error(import_motion(path, ImportConfig(fps=20.0))[0].joint_pos_w, WANT) < 0.001
