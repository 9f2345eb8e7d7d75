import shlex
from pathlib import Path

import pytest

from lagoon.cli import __main__ as cli
from lagoon.cli.arguments import split
from lagoon.cli.compose import compose_config
from lagoon.cli.config import EvaluateVerb, MakeVerb
from lagoon.cli.lines import longer_line, stage_line
from lagoon.cli.schema import to_plain
from lagoon.cli.verb import Call
from lagoon.record import Plan
from lagoon.skill import Skill


def _call(*words: str) -> Call:
    arguments = split(words[1:], words[0], takes_text=True)
    config = MakeVerb if words[0] == "make" else EvaluateVerb
    composed = compose_config(words[0], config, arguments.overrides)
    return Call(arguments.text or "", composed.config, composed.given, words=("lagoon", *words), typed=composed.typed)


def _skill(folder: Path, call: Call, seed: int = 0) -> Skill:
    """A skill whose stages ran with a make call's settings."""
    skill = Skill.new(folder, call.text, "go2")
    for stage in ("generate", "train", "evaluate"):
        skill.begin(stage, Plan({stage: to_plain(getattr(call.config, stage))}, seed, {}))
    return skill


def _accepted(capsys: pytest.CaptureFixture[str], line: str) -> None:
    for part in line.split(" && "):
        words = shlex.split(part)
        assert words[0] == "lagoon" and cli.main([*words[1:], "--cfg"]) == 0, part
    capsys.readouterr()


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("make 'wave hello'", "lagoon make 'wave hello' train.total_steps=12000000"),
        (
            "make bow retarget=four_legged seed=3 train.total_steps=5e6 generate.duration=4 --force --again",
            "lagoon make bow retarget=four_legged seed=3 generate.duration=4 train.total_steps=10000000 --force",
        ),
        (
            "make bow train.ppo.total_steps=100 'train.hidden=[8, 8]' skills_dir='my skills' train.total_steps=200",
            "lagoon make bow 'train.hidden=[8, 8]' 'skills_dir=my skills' train.total_steps=400",
        ),
        (
            "make bow train.minutes=5 train.lr=2e-3",
            "lagoon make bow train.lr=2e-3 train.total_steps=12000000 train.minutes=10.0",
        ),
        ("make -- '-5 steps; rm -rf $HOME'", "lagoon make -- '-5 steps; rm -rf $HOME' train.total_steps=12000000"),
        ("make train.total_steps=7", "lagoon make train.total_steps=7 train.total_steps=12000000"),
    ],
)
def test_after_make_the_longer_training_is_the_typed_line_with_another_budget(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, typed: str, wanted: str
) -> None:
    call = _call(*shlex.split(typed))
    line = longer_line(_skill(tmp_path, call), call)
    assert line == wanted
    _accepted(capsys, line)


def test_after_another_verb_the_record_tells_what_was_typed_for_each_stage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = _call("make", "bow", "train.total_steps=100", "train.history=2", "evaluate.trials=7", "train.hidden=[8]")
    skill = _skill(tmp_path / "a folder", made)
    line = longer_line(skill, _call("evaluate", "bow", "evaluate.trials=7"))
    folder = shlex.quote(str(skill.folder))
    assert line == (
        f"lagoon train {folder} train.task.history=2 'train.ppo.hidden=[8]' train.ppo.total_steps=200"
        f" && lagoon export {folder} && lagoon evaluate {folder} evaluate.trials=7"
    )
    _accepted(capsys, line)


def test_without_a_record_the_defaults_of_today_count(tmp_path: Path) -> None:
    call = _call("make", "bow")
    skill = Skill.new(tmp_path, "bow", "go2")
    assert longer_line(skill, call) == f"lagoon make bow train.total_steps={2 * MakeVerb().train.ppo.total_steps}"
    assert stage_line(skill, "train") == f"lagoon train {skill.folder}"


def test_the_seed_of_a_stage_is_kept_where_it_differs_from_the_motions(tmp_path: Path) -> None:
    call = _call("make", "bow")
    skill = _skill(tmp_path, call, seed=3)
    assert " seed=" not in stage_line(skill, "train")
    skill.begin("train", Plan({"train": to_plain(call.config.train)}, 5, {}))
    assert stage_line(skill, "train") == f"lagoon train {skill.folder} seed=5"
