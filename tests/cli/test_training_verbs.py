"""train and export on a real, tiny training: one iteration of eight robots that stand."""

import shlex
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from lagoon.cli import __main__ as cli
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import load_robot
from lagoon.skill import Skill
from tests.robot_motions import still

TINY = (
    "train.ppo.num_envs=8",
    "train.ppo.horizon=8",
    "train.ppo.hidden=[8]",
    "train.check_trials=2",
    "train.workers=1",
    "train.tensorboard=false",
    "train.easy_share=1",
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skills = tmp_path_factory.mktemp("skills")
    skill = Skill.new(skills, "stand still", "go2")
    skill.save()
    still(load_robot("go2"), 20).save(skill.robot_path)
    assert cli.main(["train", "stand still", f"skills_dir={skills}", *TINY, "train.total_steps=64"]) == 0
    assert cli.main(["export", "stand still", f"skills_dir={skills}"]) == 0
    return skills


@pytest.fixture
def skill(trained: Path, tmp_path: Path) -> Skill:
    shutil.copytree(trained, tmp_path / "skills")
    return Skill.new(tmp_path / "skills", "stand still", "go2")


def test_a_share_of_the_steps_is_told(skill: Skill, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [word for word in TINY if not word.startswith("train.easy_share")]
    words = ["train", str(skill.folder), *settings, "train.total_steps=256"]
    assert cli.main(words) == 0
    assert "64 steps are enough, 0.25 of train.total_steps" in " ".join(capsys.readouterr().out.split())


def test_the_record_knows_the_checkpoint_and_the_bundle(skill: Skill) -> None:
    train, export = skill.stages["train"], skill.stages["export"]
    assert [Path(name).suffix for name in train.outputs] == [".json", ".safetensors"]
    assert "survive in training's physics" in train.result
    assert set(export.outputs) == {"bundle/policy.onnx", "bundle/bundle.yaml", "bundle/golden_io.npz"}
    assert set(train.outputs) < set(export.inputs) and export.config == train.config
    assert (skill.train_folder / "metrics.jsonl").exists() and (skill.train_folder / "config.yaml").exists()


def test_a_full_disk_under_a_checkpoint_is_told_and_costs_nothing(
    capsys: pytest.CaptureFixture[str], skill: Skill, small_disk: Callable[[int], AbstractContextManager[None]]
) -> None:
    saved = {path: path.read_bytes() for path in (skill.train_folder / "checkpoints").iterdir()}
    size = min(path.stat().st_size for path in saved if path.suffix == ".safetensors") - 1
    words = ["train", "stand still", f"skills_dir={skill.folder.parent}", *TINY]
    with small_disk(size):
        code = cli.main([*words, "train.total_steps=128", "seed=5"])
    err = capsys.readouterr().err
    assert code == 2 and err.count("\n") == 1 and "bug" not in err
    assert err.startswith("Error: Could not write ") and ".safetensors: File too large. Nothing was changed" in err
    kept = skill.train_folder.with_name("train-previous") / "checkpoints"
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == {p.name: data for p, data in saved.items()}


def test_finished_work_is_kept(capsys: pytest.CaptureFixture[str], skill: Skill) -> None:
    where = f"skills_dir={skill.folder.parent}"
    assert cli.main(["train", "stand still", where, *TINY, "train.total_steps=64"]) == 0
    assert cli.main(["export", "stand still", where]) == 0
    out = capsys.readouterr().out
    assert "train: unchanged, kept" in out and "export: unchanged, kept" in out


def test_a_corrupted_checkpoint_is_refused_by_name(capsys: pytest.CaptureFixture[str], skill: Skill) -> None:
    (weights,) = (skill.train_folder / "checkpoints").glob("*.safetensors")
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 1
    weights.write_bytes(data)
    before = (skill.bundle_folder / "policy.onnx").read_bytes()
    code = cli.main(["export", "stand still", f"skills_dir={skill.folder.parent}"])
    err = capsys.readouterr().err
    assert code == 2 and f"{weights} is damaged" in err and f"lagoon train {skill.folder} " in err
    assert err.count("\n") == 1 and "train.ppo.total_steps=64" in err
    assert (skill.bundle_folder / "policy.onnx").read_bytes() == before


def _damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_damaged_checkpoint_is_told_and_the_one_before_it_is_used(
    capsys: pytest.CaptureFixture[str], skill: Skill
) -> None:
    words = ["train", "stand still", f"skills_dir={skill.folder.parent}", *TINY, "train.checkpoint_seconds=0"]
    assert cli.main([*words, "train.total_steps=128"]) == 0
    last = skill.train_folder / "checkpoints" / "step_000000000128.safetensors"
    assert last.exists() and (last.parent / "step_000000000064.json").exists()
    _damage(last)
    capsys.readouterr()
    assert cli.main([*words, "train.total_steps=128"]) == 0
    out, err = capsys.readouterr()
    assert "(damaged: train/checkpoints/step_000000000128.safetensors)" in out and err == ""
    assert "step_000000000128.safetensors; using step_000000000064.json instead" in out
    assert "going on from step 64 (step_000000000064.json)" in out and "edited by hand" not in out
    assert (skill.train_folder / "damaged" / last.name).exists() and last.exists()
    assert cli.main([*words, "train.total_steps=128"]) == 0 and "unchanged, kept" in capsys.readouterr().out


def test_when_all_checkpoints_are_damaged_one_paragraph_says_so(
    capsys: pytest.CaptureFixture[str], skill: Skill
) -> None:
    words = ["train", "stand still", f"skills_dir={skill.folder.parent}", *TINY, "train.checkpoint_seconds=0"]
    assert cli.main([*words, "train.total_steps=128"]) == 0
    folder = skill.train_folder / "checkpoints"
    for path in folder.glob("*.json"):
        _damage(path)
    capsys.readouterr()
    assert cli.main([*words, "train.total_steps=128"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and f"All checkpoints in {folder} are damaged: " in err
    assert "step_000000000128.json, step_000000000064.json" in err and err.endswith(" --again\n")
    again = shlex.split(err[err.index("lagoon train") :])
    assert cli.main(again[1:]) == 0


def test_a_motion_that_changed_after_the_training_is_not_exported(
    capsys: pytest.CaptureFixture[str], skill: Skill
) -> None:
    before = (skill.bundle_folder / "policy.onnx").read_bytes()
    motion = RobotMotion.load(skill.robot_path)
    replace(motion, joint_pos=motion.joint_pos + 0.01).save(skill.robot_path)
    for words in (["export"], ["export", "--again"]):
        assert cli.main([words[0], str(skill.folder), *words[1:]]) == 2
        err = capsys.readouterr().err
        assert f"robot.npz changed after the training of {skill.folder}" in err and err.count("\n") == 1
        assert f"Train on it first: lagoon train {skill.folder} " in err
    assert (skill.bundle_folder / "policy.onnx").read_bytes() == before
    code = cli.main(["evaluate", str(skill.folder), "evaluate.trials=2"])
    err = capsys.readouterr().err
    assert code == 2 and "follows another motion than" in err and f"&& lagoon export {skill.folder}" in err
    motion.save(skill.robot_path)
    assert cli.main(["export", str(skill.folder)]) == 0


def test_a_damaged_bundle_is_exported_anew(capsys: pytest.CaptureFixture[str], skill: Skill) -> None:
    _damage(skill.bundle_folder / "policy.onnx")
    assert cli.main(["export", str(skill.folder)]) == 0
    assert "export: policy to a bundle for the robot (damaged: bundle/policy.onnx)" in capsys.readouterr().out


def test_changed_settings_start_afresh_and_keep_the_earlier_training(
    capsys: pytest.CaptureFixture[str], skill: Skill
) -> None:
    words = ["train", "stand still", f"skills_dir={skill.folder.parent}", *TINY, "train.total_steps=128"]
    assert cli.main(words) == 0
    assert "train.ppo.total_steps changed from 64 to 128" in capsys.readouterr().out
    checkpoints = [path.name for path in sorted(skill.folder.glob("train*/checkpoints/*.json"))]
    assert [int(name[len("step_") : -len(".json")]) for name in checkpoints] == [128, 64]
    assert (skill.folder / "train-previous" / "checkpoints").is_dir()


def test_a_setting_that_cannot_work_leaves_no_trace(capsys: pytest.CaptureFixture[str], skill: Skill) -> None:
    before = (skill.folder / "skill.yaml").read_bytes()
    assert cli.main(["train", "stand still", f"skills_dir={skill.folder.parent}", "train.clip=2"]) == 2
    assert "clip" in capsys.readouterr().err
    assert (skill.folder / "skill.yaml").read_bytes() == before


def test_settings_that_only_say_when_it_ends_go_on_from_the_checkpoint(skill: Skill) -> None:
    words = ["train", "stand still", f"skills_dir={skill.folder.parent}", *TINY, "train.total_steps=64"]
    assert cli.main([*words, "train.settle=2", "train.steady=0.99"]) == 0
    (last,) = [name for name in Skill.open(skill.folder).stages["train"].outputs if name.endswith(".json")]
    steps = int(Path(last).stem.removeprefix("step_"))
    assert 64 < steps <= 192 and not (skill.folder / "train-previous").exists()
    lines = (skill.train_folder / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == steps // 64, "the first training's rows are there still"
    assert (
        cli.main(["train", "stand still", f"skills_dir={skill.folder.parent}", *TINY, "train.total_steps=64", "seed=9"])
        == 0
    )
    assert (skill.folder / "train-previous").exists(), "another seed is another training"
