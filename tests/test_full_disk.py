"""Every file that lagoon writes, on a disk that is full: one clear error, and the old file as it was."""

import ast
from pathlib import Path

import numpy as np
import pytest
import torch

from lagoon.engine.checkpoint import load_checkpoint, save_checkpoint
from lagoon.errors import LagoonError
from lagoon.motion.robot_motion import RobotMotion
from lagoon.paths import append_line, write_text
from lagoon.text2motion import checkpoints
from lagoon.text2motion import train as text_training
from lagoon.text2motion.bank import CommandBank
from lagoon.text2motion.text_encoder import Encoding

LIMIT = 5000


def write_engine_checkpoint(folder: Path, size: int) -> None:
    save_checkpoint(folder, 7, {"policy/w": torch.ones(size)}, {}, keep=3)


def write_facts(folder: Path, size: int) -> None:
    """A checkpoint whose tensors fit, but not its JSON."""
    save_checkpoint(folder, 7, {"policy/w": torch.ones(3)}, {"note": "x" * size}, keep=3)


def write_text_checkpoint(folder: Path, size: int) -> None:
    module = torch.nn.Linear(size, 1)
    checkpoints.save_checkpoint(folder / "c.safetensors", {"m": module}, torch.optim.AdamW(module.parameters()), 3)


def write_bank(folder: Path, size: int) -> None:
    count = max(size // 400, 1)
    bank = CommandBank(
        tuple(f"text {k}" for k in range(count)),
        ("wave",) * count,
        np.ones(count),
        np.ones((count, 4)),
        np.ones((count, 384), np.int8),
    )
    bank.save(folder / "commands.safetensors")


def write_encodings(folder: Path, size: int) -> None:
    class Encoder:
        def encode(self, texts: list[str]) -> list[Encoding]:
            return [Encoding(np.ones((size // 10, 5), np.float32), np.ones(4, np.float32), ()) for _ in texts]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_training, "default_encoder", Encoder)
        text_training.encode_texts(["x" * size], folder / "texts.safetensors", lambda *_: None)


def write_motion(folder: Path, size: int) -> None:
    frames = max(size // 100, 2)
    RobotMotion(
        fps=50.0,
        robot="r",
        joint_names=("a",),
        root_pos_w=np.random.default_rng(0).random((frames, 3)),
        root_quat_w=np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1)),
        joint_pos=np.zeros((frames, 1)),
        foot_contact=np.ones((frames, 4), dtype=bool),
    ).save(folder / "robot.npz")


def write_words(folder: Path, size: int) -> None:
    write_text(folder / "words.json", "x" * size)


def write_log(folder: Path, size: int) -> None:
    append_line(folder / "log.jsonl", "x" * size)


WRITERS = (
    write_engine_checkpoint,
    write_facts,
    write_text_checkpoint,
    write_bank,
    write_encodings,
    write_motion,
    write_words,
    write_log,
)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_a_full_disk_is_told_and_leaves_the_old_file(write, tmp_path, small_disk):
    write(tmp_path, 10)
    before = files_of(tmp_path)
    with (
        small_disk(LIMIT),
        pytest.raises(LagoonError, match=r"Could not write .*: File too large\. .* run the same"),
    ):
        write(tmp_path, 20_000)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("write", [write_engine_checkpoint, write_facts])
def test_the_checkpoint_of_the_same_step_still_loads(write, tmp_path, small_disk):
    write_engine_checkpoint(tmp_path, 3)
    with small_disk(LIMIT), pytest.raises(LagoonError, match="File too large"):
        write(tmp_path, 20_000)
    assert load_checkpoint(tmp_path / "step_000000000007.json").group("policy")["w"].tolist() == [1.0, 1.0, 1.0]


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for write in (write_words, write_log):
        with pytest.raises(LagoonError, match=r"Could not write .*: (File exists|Not a directory)"):
            write(tmp_path / "file" / "folder", 1)


def test_only_pythons_files_are_written():
    """Writers with files of their own hide a full disk in errors of their own, which would pass for a bug."""
    for path in sorted((Path(__file__).parents[1] / "lagoon").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "name", "")
            assert name not in ("save_file", "save_model_to_file", "serialize_file"), path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert f"{node.value.id}.{node.attr}" not in ("torch.save", "onnx.save", "onnx.save_model"), path
