"""Verbs on real files: a skill that needs no training, since its bundle plays the reference."""

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from lagoon import bundle
from lagoon.bundle.playback import write_playback
from lagoon.cli import __main__ as cli
from lagoon.cli.config import EvaluateVerb, RetargetVerb, TrainVerb
from lagoon.cli.stages import evaluate_stage, retarget_stage, train_stage
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.paths import sha256_of
from lagoon.robot import load_robot
from lagoon.skill import Skill
from tests.robot_motions import still

COMMAND = "stand still\n\x85\u2028 挥手 '[b]'"


def _reference() -> RobotMotion:
    return still(load_robot("go2"), 60, segment_names=("stand", "motion"), segment_starts=(0, 20))


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A skills folder with one skill, finished up to export by other means."""
    skills = tmp_path_factory.mktemp("skills")
    skill = Skill.new(skills, COMMAND, "go2")
    skill.save()
    height = np.linspace(0.0, 1.7, len(JOINT_NAMES))
    joints = np.stack([np.zeros(22), np.zeros(22), height], axis=1)
    HumanMotion(20.0, JOINT_NAMES, np.tile(joints, (16, 1, 1)), COMMAND).save(skill.human_path)
    _reference().save(skill.robot_path)
    write_playback(skill.bundle_folder, load_robot("go2"), _reference(), COMMAND)
    return skills


@pytest.fixture
def skills(ready: Path, tmp_path: Path) -> Path:
    shutil.copytree(ready, tmp_path / "skills")
    return tmp_path / "skills"


def _run(capsys: pytest.CaptureFixture[str], verb: str, skills: Path, *words: str) -> tuple[int, str, str]:
    code = cli.main([verb, COMMAND, f"skills_dir={skills}", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


def _skill(skills: Path) -> Skill:
    return Skill.new(skills, COMMAND, "go2")


def test_evaluate_then_preview_write_their_files_and_are_kept(capsys: pytest.CaptureFixture[str], skills: Path) -> None:
    code, out, err = _run(capsys, "evaluate", skills, "evaluate.trials=4")
    assert (code, err) == (0, "") and "PASS: 4 of 4 trials survive" in out
    found = json.loads(_skill(skills).evaluation_path.read_text())
    assert found["passed"] is True and found["command"] == COMMAND
    code, out, _ = _run(capsys, "evaluate", skills, "evaluate.trials=4", "evaluate.threads=1")
    assert code == 0 and "evaluate: unchanged, kept" in out
    code, out, err = _run(capsys, "preview", skills, "preview.video=false")
    assert (code, err) == (0, "") and "page without video" in out
    page = _skill(skills).preview_path.read_text(encoding="utf-8")
    assert "PASS" in page and "挥手" in page
    assert [_skill(skills).stages[name].state for name in ("evaluate", "preview")] == ["done", "done"]


def test_a_policy_that_falls_ends_with_the_phase_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], skills: Path
) -> None:
    robot, reference = load_robot("go2"), _reference()
    fall = reference.joint_pos.copy()
    fall[5:, 0::3] = 1.0  # All hips to one side at once: it rolls over.
    write_playback(_skill(skills).bundle_folder, robot, reference, COMMAND, joint_targets=fall)
    for _ in range(2):
        code, out, err = _run(capsys, "evaluate", skills, "evaluate.trials=4")
        cells = [line.split("│")[3].strip() for line in out.splitlines() if line.startswith("│")]
        flat = " ".join(cells)
        assert (code, err) == (1, "") and "FAIL: 0 of 4 trials survive" in flat and "Falls in " in flat
        assert "tensorboard --logdir" in out
    assert "evaluate: unchanged, kept" in out
    code, out, _ = _run(capsys, "preview", skills, "preview.video=false")
    assert code == 0 and "FAIL" in _skill(skills).preview_path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["policy.onnx", "bundle.yaml", "golden_io.npz"])
def test_a_bundle_with_a_changed_byte_is_refused_by_name(
    capsys: pytest.CaptureFixture[str], skills: Path, name: str
) -> None:
    path = _skill(skills).bundle_folder / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    code, _, err = _run(capsys, "evaluate", skills, "evaluate.trials=2")
    assert code == 2 and err.startswith("Error: ") and err.count("\n") == 1 and "bundle" in err, err
    assert "bug" not in err and not _skill(skills).evaluation_path.exists()
    assert _skill(skills).stages["evaluate"].state == "failed"


def test_a_bundle_for_another_joint_order_is_refused_by_name(capsys: pytest.CaptureFixture[str], skills: Path) -> None:
    facts = yaml.safe_load((_skill(skills).bundle_folder / "bundle.yaml").read_text(encoding="utf-8"))
    names = facts["joint_names"]
    facts["joint_names"] = [names[1], names[0], *names[2:]]
    (_skill(skills).bundle_folder / "bundle.yaml").write_text(yaml.safe_dump(facts), encoding="utf-8")
    code, _, err = _run(capsys, "evaluate", skills)
    assert code == 2 and "joint_names" in err and err.count("\n") == 1


def test_a_motion_cut_short_is_refused_by_name(capsys: pytest.CaptureFixture[str], skills: Path) -> None:
    path = _skill(skills).robot_path
    path.write_bytes(path.read_bytes()[:500])
    code, _, err = _run(capsys, "evaluate", skills)
    assert code == 2 and "robot.npz cannot be read as an npz file" in err and "delete it" in err


def test_a_full_disk_leaves_no_half_evaluation(
    capsys: pytest.CaptureFixture[str], skills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object) -> None:
        if str(target).endswith("evaluation.json"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    real = os.replace
    monkeypatch.setattr(os, "replace", full)
    code, _, err = _run(capsys, "evaluate", skills, "evaluate.trials=2")
    assert code == 2 and "evaluation.json: No space left on device. Nothing was changed there." in err
    assert "evaluation.json" not in [path.name for path in _skill(skills).folder.iterdir()]
    monkeypatch.undo()
    assert _run(capsys, "evaluate", skills, "evaluate.trials=2")[0] == 0


def test_preview_shows_what_there_is(capsys: pytest.CaptureFixture[str], skills: Path) -> None:
    skill = _skill(skills)
    shutil.rmtree(skill.bundle_folder)
    skill.robot_path.unlink()
    assert _run(capsys, "preview", skills, "preview.video=false")[0] == 0
    assert "wanted" not in skill.preview_path.read_text(encoding="utf-8").split("</style>")[0]


def test_play_hands_over_what_there_is(
    capsys: pytest.CaptureFixture[str], skills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lagoon.studio import play

    seen: list[tuple] = []
    monkeypatch.setattr(play, "serve", lambda *given: seen.append(given))
    assert _run(capsys, "play", skills, "play.port=9000")[0] == 0
    human, reference, policy, robot, config, _ = seen[0]
    assert human.text == COMMAND and reference.num_frames == 60 and policy is not None
    assert (robot.name, config.port) == ("go2", 9000)
    shutil.rmtree(_skill(skills).bundle_folder)
    assert _run(capsys, "play", skills)[0] == 0 and seen[1][2] is None


def _replace_motion(skill: Skill) -> None:
    """As long as before, so that only its checksum tells it from the one that the bundle follows."""
    motion = RobotMotion.load(skill.robot_path)
    replace(motion, joint_pos=motion.joint_pos + 0.01).save(skill.robot_path)


def test_no_verb_runs_a_bundle_against_another_motion(
    capsys: pytest.CaptureFixture[str], skills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lagoon.studio import play

    skill, seen = _skill(skills), list[tuple]()
    monkeypatch.setattr(play, "serve", lambda *given: seen.append(given))
    checksum, real = sha256_of(skill.robot_path), bundle.load
    monkeypatch.setattr(bundle, "load", lambda *given: replace(real(*given), motion_sha256=checksum))
    assert _run(capsys, "evaluate", skills, "evaluate.trials=2")[0] == 0
    assert _run(capsys, "preview", skills, "preview.video=false")[0] == 0
    assert "PASS" in skill.preview_path.read_text(encoding="utf-8")
    assert _run(capsys, "play", skills)[0] == 0 and seen[-1][2] is not None
    _replace_motion(skill)
    code, _, err = _run(capsys, "evaluate", skills, "evaluate.trials=2")
    assert code == 2 and "follows another motion than" in err and "Train on it and export: lagoon train " in err
    code, out, err = _run(capsys, "preview", skills, "preview.video=false")
    assert (code, err) == (0, "") and "the policy is left out: " in out
    assert "PASS" not in skill.preview_path.read_text(encoding="utf-8")
    code, out, _ = _run(capsys, "play", skills)
    assert code == 0 and "The policy is left out: " in out and seen[-1][2] is None and seen[-1][1] is not None
    for verb in ("check", "run"):
        code = cli.main(["deploy", verb, COMMAND, f"skills_dir={skills}", *(["--sim"] if verb == "run" else [])])
        err = capsys.readouterr().err
        assert code == 2 and "follows another motion than" in err, verb


def test_a_verdict_about_another_policy_is_not_shown(capsys: pytest.CaptureFixture[str], skills: Path) -> None:
    skill = _skill(skills)
    assert _run(capsys, "evaluate", skills, "evaluate.trials=2")[0] == 0
    found = json.loads(skill.evaluation_path.read_text())
    skill.evaluation_path.write_text(json.dumps(found | {"policy_sha256": "0" * 64}))
    assert _run(capsys, "preview", skills, "preview.video=false")[0] == 0
    assert "PASS" not in skill.preview_path.read_text(encoding="utf-8")
    skill.evaluation_path.write_text("{")
    code, out, _ = _run(capsys, "evaluate", skills, "evaluate.trials=2")
    assert code == 0 and "(damaged: evaluation.json)" in out
    assert json.loads(skill.evaluation_path.read_text())["policy_sha256"] == found["policy_sha256"]


def test_a_damaged_motion_of_the_users_own_is_refused_not_overwritten(
    capsys: pytest.CaptureFixture[str], skills: Path
) -> None:
    skill = _skill(skills)
    plan = retarget_stage(RetargetVerb().retarget, 0).plan(skill)
    skill.begin("retarget", plan)
    skill.finish("retarget", [skill.robot_path], "", 1.0)
    skill.robot_path.write_bytes(skill.robot_path.read_bytes()[:500])
    code, _, err = _run(capsys, "retarget", skills)
    assert code == 2 and f"{skill.robot_path} cannot be read as an npz file" in err and err.count("\n") == 1
    assert skill.robot_path.stat().st_size == 500


def test_how_often_to_save_does_not_make_a_training_stale(skills: Path) -> None:
    import dataclasses

    skill, config = _skill(skills), TrainVerb().train
    # What only other topologies read does not count, so that trainings from before they existed are still up to date.
    untouched = train_stage(config, 0).plan(skill).config["train"]["ppo"]
    assert "topology" not in untouched and "graph" not in untouched
    graph = replace(config, ppo=replace(config.ppo, topology="async"))
    assert train_stage(graph, 0).plan(skill).config["train"]["ppo"]["graph"]["max_staleness"] == 1
    # Nor does who may join, or whether the time is recorded.
    joined = replace(graph.ppo, profile=True, graph=replace(graph.ppo.graph, listen="tcp://127.0.0.1:5555"))
    assert (
        train_stage(replace(graph, ppo=joined), 0).plan(skill).fingerprint
        == train_stage(graph, 0).plan(skill).fingerprint
    )
    often = dataclasses.replace(config, ppo=dataclasses.replace(config.ppo, checkpoint_seconds=1.0, tensorboard=False))
    longer = dataclasses.replace(config, ppo=dataclasses.replace(config.ppo, total_steps=7))
    plans = [train_stage(c, 0).plan(skill) for c in (config, often, longer)]
    assert plans[0].fingerprint == plans[1].fingerprint != plans[2].fingerprint
    assert plans[2].config["train"]["ppo"]["total_steps"] == 7


def test_the_robots_description_is_an_input(skills: Path) -> None:
    inputs = evaluate_stage(EvaluateVerb().evaluate, 0).plan(_skill(skills)).inputs
    assert {"robots/go2/robot.xml", "robots/go2/robot.yaml", "robot.npz", "bundle/policy.onnx"} <= set(inputs)


def test_any_command_survives_in_a_bundle(skills: Path) -> None:
    assert bundle.load(_skill(skills).bundle_folder).command == COMMAND


def test_a_damaged_motion_says_how_it_came_to_be(capsys: pytest.CaptureFixture[str], skills: Path) -> None:
    from lagoon.cli.pipeline import Plan

    skill = _skill(skills)
    skill.human_path.write_bytes(b"no motion")
    assert "write it again with: lagoon generate 'stand still" in _run(capsys, "retarget", skills)[2]
    skill.begin("generate", Plan({"import": {}}, 0, {}))
    skill.finish("generate", [skill.human_path], "", 1.0)
    assert "write it again with: lagoon import FILE" in _run(capsys, "retarget", skills)[2]
