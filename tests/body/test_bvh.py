"""Written files are read back by a small reader of their own: the format's rules, nothing of the writer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lagoon.body.bvh import bvh_text, write_bvh
from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

from .conftest import rest_joints, tumbling


def read_bvh(text: str) -> tuple[float, list[str], list[int], np.ndarray, np.ndarray]:
    """Frame rate, names, parents, offsets, and joint positions (T, J, 3) in the file's units and axes."""
    head, body = text.split("MOTION\n")
    names: list[str] = []
    parents: list[int] = []
    offsets: list[list[float]] = []
    channels: list[list[str]] = []
    stack: list[int] = []
    end = False
    for words in (line.split() for line in head.splitlines()[1:]):
        if words[0] in ("ROOT", "JOINT"):
            parents.append(stack[-1] if stack else -1)
            names.append(words[1])
        elif words[0] == "End":
            end = True
        elif words[0] == "{":
            stack.append(len(names) - 1)
        elif words[0] == "}":
            stack.pop()
            end = False
        elif words[0] == "OFFSET" and not end:
            offsets.append([float(word) for word in words[1:]])
        elif words[0] == "CHANNELS":
            channels.append(words[2:])
            assert len(words[2:]) == int(words[1])
    lines = body.splitlines()
    frames, seconds = int(lines[0].split(":")[1]), float(lines[1].split(":")[1])
    rows = np.array([[float(word) for word in line.split()] for line in lines[2:]])
    assert rows.shape == (frames, sum(map(len, channels)))
    positions, matrices = np.zeros((frames, len(names), 3)), np.zeros((frames, len(names), 3, 3))
    column = 0
    for joint, parent in enumerate(parents):
        place, turn = np.tile(offsets[joint], (frames, 1)), np.tile(np.eye(3), (frames, 1, 1))
        for channel in channels[joint]:
            axis, value = "XYZ".index(channel[0]), rows[:, column]
            column += 1
            if channel.endswith("position"):
                place[:, axis] = value
                continue
            a, b = [(1, 2), (2, 0), (0, 1)][axis]
            c, s = np.cos(np.radians(value)), np.sin(np.radians(value))
            step = np.tile(np.eye(3), (frames, 1, 1))
            step[:, a, a] = step[:, b, b] = c
            step[:, b, a], step[:, a, b] = s, -s
            turn = turn @ step
        positions[:, joint], matrices[:, joint] = place, turn
        if parent >= 0:
            positions[:, joint] = positions[:, parent] + np.einsum("tij,tj->ti", matrices[:, parent], place)
            matrices[:, joint] = matrices[:, parent] @ turn
    return 1.0 / seconds, names, parents, np.array(offsets), positions


def _motions() -> dict[str, HumanMotion]:
    rigid = tumbling(rest_joints()[:22])
    rng = np.random.default_rng(1)
    loose = HumanMotion(30.0, JOINT_NAMES, rigid.joint_pos_w + 0.01 * rng.normal(size=rigid.joint_pos_w.shape))
    still = HumanMotion(20.0, JOINT_NAMES, np.repeat(rigid.joint_pos_w[:1], 2, axis=0))
    return {"rigid": rigid, "loose": loose, "still": still}


@pytest.mark.parametrize("name", ["rigid", "loose", "still"])
def test_joints_come_back(name: str, tmp_path: Path) -> None:
    motion = _motions()[name]
    write_bvh(tmp_path / "out.bvh", motion)
    fps, names, parents, _, found = read_bvh((tmp_path / "out.bvh").read_text())
    assert fps == pytest.approx(motion.fps, rel=1e-6) and sorted(names) == sorted(JOINT_NAMES)
    expected = [JOINT_NAMES[PARENTS[JOINT_NAMES.index(n)]] if parents[i] >= 0 else "" for i, n in enumerate(names)]
    assert [names[p] if p >= 0 else "" for p in parents] == expected
    order = [names.index(joint) for joint in JOINT_NAMES]
    z_up = found[:, order][..., [2, 0, 1]] / 100.0
    assert np.abs(z_up - motion.joint_pos_w).max() < 1e-5


def test_rigid_bones_need_angles_only_and_angles_do_not_jump() -> None:
    text = bvh_text(_motions()["rigid"])
    assert text.count("CHANNELS 6") == 1 and text.count("CHANNELS 3") == 21
    rows = np.array([line.split() for line in text.split("MOTION\n")[1].splitlines()[2:]], float)
    assert np.abs(np.diff(rows[:, 3:], axis=0)).max() < 120.0
    assert bvh_text(_motions()["loose"]).count("CHANNELS 6") > 10


def test_the_rest_pose_stands_with_arms_out() -> None:
    _, names, parents, offsets, _ = read_bvh(bvh_text(_motions()["rigid"]))
    rest = np.zeros_like(offsets)
    for joint, parent in enumerate(parents):
        rest[joint] = offsets[joint] + (rest[parent] if parent >= 0 else 0.0)
    at = dict(zip(names, rest, strict=True))
    assert at["head"][1] > at["neck"][1] > at["spine1"][1] > 0 > at["left_knee"][1] > at["left_ankle"][1]
    assert at["left_wrist"][0] > at["left_elbow"][0] > at["left_shoulder"][0] > 0 > at["right_wrist"][0]
    assert at["left_foot"][2] > at["left_ankle"][2]


def test_joints_on_one_spot_are_written_all_the_same() -> None:
    _, _, _, _, found = read_bvh(bvh_text(HumanMotion(20.0, JOINT_NAMES, np.ones((3, 22, 3)))))
    assert np.allclose(found, 100.0)


def test_another_skeleton_is_refused() -> None:
    with pytest.raises(BadInputError, match="has 2 joints"):
        bvh_text(HumanMotion(20.0, ("a", "b"), np.zeros((3, 2, 3))))
