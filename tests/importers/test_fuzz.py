"""Damaged text files: a clear error or a sound motion, never a traceback, a hang or quiet nonsense."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from motion_files import error, mimic_frames, walk_and_wave, write_amc, write_bvh, write_csv, write_deepmimic
from quadruped_files import dog_frames, rows_of, trot, write_dog, write_rows

from lagoon.errors import LagoonError
from lagoon.importers.config import ImportConfig
from lagoon.importers.import_motion import import_motion
from lagoon.importers.quadruped import import_quadruped
from lagoon.importers.repair import FASTEST_JOINT
from lagoon.importers.units import SHORTEST, TALLEST, height_of
from lagoon.motion.bones import bone_lengths

FEW, MANY = 50, 500
ODD = (
    "nan",
    "inf",
    "-1e999",
    "1e308",
    "1,5",
    "--",
    "}",
    "{",
    "End Site",
    "JOINT x",
    "\x00",
    "\x1b[2J",
    "99999999999",
    "0",
    "",
)
CLIP = walk_and_wave(20.0, seconds=1.0)
WRITERS: dict[str, Callable[[Path], Path]] = {
    "bvh": lambda folder: write_bvh(folder / "a.bvh", CLIP),
    "asf": lambda folder: write_amc(folder, CLIP).with_name("07.asf"),
    "amc": lambda folder: write_amc(folder, CLIP),
    "txt": lambda folder: write_deepmimic(folder / "a.txt", mimic_frames(20.0, 1.0)),
    "csv": lambda folder: write_csv(folder / "a.csv", CLIP),
    "robot": lambda folder: write_rows(folder / "a.txt", rows_of(trot(fps=30.0, cycles=2.0)), 30.0),
    "dog": lambda folder: write_dog(folder / "a.txt", dog_frames(30.0, 1.0)),
}
QUADRUPEDS = ("robot", "dog")


def mutated(data: bytes, random: np.random.Generator) -> bytes:
    """Data with one to three faults of the kinds that editors, exporters and bad disks make."""
    for _ in range(random.integers(1, 4)):
        kind = random.integers(9)
        at = int(random.integers(max(len(data), 1)))
        lines = data.split(b"\n")
        n = int(random.integers(len(lines)))
        words = lines[n].split()
        word = ODD[random.integers(len(ODD))].encode()
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + data[at + int(random.integers(1, 200)) :]
        elif kind == 2:
            data = data[:at] + bytes([random.integers(256)]) + data[at + 1 :]
        elif kind == 3:
            data = b"\n".join(lines[:n] + lines[n + 1 :])
        elif kind == 4:
            data = b"\n".join(lines[:n] + [lines[n]] * int(random.integers(2, 5)) + lines[n + 1 :])
        elif kind == 5:
            m = int(random.integers(len(lines)))
            lines[n], lines[m] = lines[m], lines[n]
            data = b"\n".join(lines)
        elif words:
            i = int(random.integers(len(words)))
            if kind == 6:
                words[i] = word
            elif kind == 7:
                words.insert(i, word)
            else:
                words[i] = words[i][::-1]
            data = b"\n".join([*lines[:n], b" ".join(words), *lines[n + 1 :]])
    return data


def check(name: str, folder: Path, count: int) -> tuple[int, int]:
    """Import so many damaged files; returns how many gave a motion, and how many of those the right one."""
    path = WRITERS[name](folder)
    motion_file = path.with_name("07_01.amc") if name == "asf" else path
    config = ImportConfig(fps=20.0) if name in ("asf", "amc") else ImportConfig()
    read: Callable = import_quadruped if name in QUADRUPEDS else import_motion
    good = path.read_bytes()
    whole = read(motion_file, config)[0]
    taken = same = 0
    for seed in range(count):
        random = np.random.default_rng([seed, len(name), ord(name[0])])
        path.write_bytes(mutated(good, random))
        began = time.process_time()
        try:
            motion, report = read(motion_file, config)
        except LagoonError as refused:
            text = str(refused)
            assert text.isprintable() and 20 < len(text) < 1500 and (". " in text or "; " in text), (seed, text)
        else:
            taken += 1
            (sound_animal if name in QUADRUPEDS else sound)(motion.joint_pos_w, report.repairs, f"{name} {seed}")
            same += error(motion.joint_pos_w, whole.joint_pos_w) < 0.001
        assert time.process_time() - began < 2.0, f"{name} {seed} took too long"
    return taken, same


def sound(pos: np.ndarray, repairs: tuple[str, ...], which: str) -> None:
    """A motion that a person could make, or one whose oddity was named."""
    assert np.isfinite(pos).all() and len(pos) >= 2, which
    assert np.ptp(bone_lengths(pos), axis=0).max() < 0.001, which
    assert SHORTEST * 0.99 < height_of(pos) < TALLEST * 1.01, which
    assert abs(pos[..., 2].min()) < 1e-9 and abs(pos[0, 0, :2]).max() < 1e-9, which
    speed = np.linalg.norm(np.diff(pos, axis=0), axis=-1).max() * 20.0 / height_of(pos)
    assert speed < 1.2 * FASTEST_JOINT or any("jumps faster" in text for text in repairs), (which, speed)


def sound_animal(pos: np.ndarray, repairs: tuple[str, ...], which: str) -> None:
    """A motion that an animal could make, or one whose oddity was named."""
    legs = pos.reshape(len(pos), 4, 3, 3)
    assert np.isfinite(pos).all() and len(pos) >= 2, which
    assert abs(legs[0, :, 0, :2].mean(axis=0)).max() < 1e-9, which
    assert -0.5 < np.percentile(legs[:, :, 2, 2].min(axis=1), 5) < 0.5, which
    speed = np.linalg.norm(np.diff(pos, axis=0), axis=-1).max() * 30.0
    assert speed < 40.0 or any("jumps faster" in text for text in repairs), (which, speed)


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_files(tmp_path: Path, name: str) -> None:
    taken, _ = check(name, tmp_path, FEW)
    assert 0 < taken < FEW, "some faults are harmless, some are not"


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_many_damaged_files(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, MANY)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ten_minutes_of_bvh_at_120_hz(tmp_path: Path) -> None:
    few = walk_and_wave(120.0, seconds=2.0)
    many = replace(few, rotvec=np.tile(few.rotvec, (300, 1, 1)), root=np.tile(few.root, (300, 1)))
    began = time.process_time()
    motion, _ = import_motion(write_bvh(tmp_path / "long.bvh", many), ImportConfig())
    assert motion.duration > 590 and time.process_time() - began < 120
