"""Synthetic people for the tests of text to motion: nothing here comes from the data folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from lagoon.motion.axes import to_y_up
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS


def write_set(folder: Path, name: str, clips: list[tuple[str, list[str], np.ndarray]], license: str = "CC0") -> None:
    """Write clips in the layout of the data folder: y-up, short joint names."""
    y_up = [to_y_up(motion) for _, _, motion in clips]
    names = [n.replace("left_", "l_").replace("right_", "r_") for n in JOINT_NAMES]
    lengths = np.array([len(m) for m in y_up])
    flat = np.concatenate(y_up)
    np.savez(
        folder / f"{name}.npz",
        root=flat[:, 0].astype(np.float32),
        local=(flat[:, 1:] - flat[:, :1]).astype(np.float16),
        start=np.concatenate([[0], np.cumsum(lengths)[:-1]]),
        length=lengths,
        ids=np.array([i for i, _, _ in clips]),
        joint_names=np.array(names),
        parents=np.array(PARENTS),
        fps=np.array(20),
    )
    lines = [
        json.dumps({"id": i, "source": "synthetic", "license": license, "frames": len(m), "captions": c})
        for i, c, m in clips
    ]
    (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture(autouse=True)
def one_torch_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def people(people: dict) -> dict:
    """The makers of synthetic motions, by name, and the writer of a data set."""
    return people | {"write_set": write_set}


@pytest.fixture
def data_folder(tmp_path: Path, people: dict) -> Path:
    """A tiny data folder with two sets."""
    walking, waving, squatting = people["walking"], people["waving"], people["squatting"]
    folder = tmp_path / "data"
    folder.mkdir()
    write_set(
        folder,
        "permissive",
        [
            ("a/walk_0", ["walk", "a person walks"], walking(60)),
            ("a/walk_1", ["walk", "a person walks and turns left"], walking(70, turn=0.4)),
        ],
    )
    write_set(
        folder,
        "authored",
        [
            ("b/wave_0", ["wave", "wave the right hand"], waving(60, 3)),
            ("b/wave_1", ["wave", "wave the right hand"], waving(70, 4)),
            ("b/squat_0", ["squat", "a person squats"], squatting(80, 2)),
            ("b/squat_1", ["squat", "a person squats"], squatting(90, 3)),
        ],
    )
    return folder
