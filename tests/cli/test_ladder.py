"""The ladder of remedies, on stages that write small files: what is tried, what is kept, what Ctrl-C costs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lagoon.cli import ladder as module
from lagoon.cli.attempts import Attempt, Ladder
from lagoon.cli.config import MakeVerb
from lagoon.cli.ladder import changed, climb
from lagoon.cli.make import _rungs
from lagoon.cli.pipeline import Outcome, Row, Stage, Task
from lagoon.cli.verb import Call
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.record import Plan
from lagoon.skill import Skill
from tests.cli.test_pipeline import Lines

Judge = Callable[[dict[str, Any]], float]
"""Survival by what a policy was made with: speed, alignment, settle, map."""


class Bench:
    """A skill whose policies are as good as ``judge`` says."""

    def __init__(self, folder: Path, judge: Judge, rungs: int = 4) -> None:
        self.folder, self.judge, self.rungs = folder, judge, rungs
        self.config = changed(MakeVerb(), {"train.task.self_collisions": True})  # One rung less.
        self.trained: list[dict[str, Any]] = []
        self.stop_at: int | None = None
        self.refused: list[dict[str, Any]] = []

    def make(self) -> tuple[Skill, str, list[Row]]:
        skill, screen = Skill.new(self.folder, "do a cartwheel", "go2"), Lines()
        rows = climb(skill, self.config, self.rungs, self._stages, screen)
        return Skill.open(skill.folder), "\n".join(screen.lines), rows

    def _stages(self, config: MakeVerb) -> list[Stage]:
        speed, alignment = config.retarget.speed or 1.0, config.train.task.alignment.share
        made = {
            "speed": speed,
            "alignment": alignment,
            "settle": config.train.settle,
            "map": config.retarget.morphology,
        }

        def retarget(task: Task) -> Outcome:
            task.skill.robot_path.write_text(f"{speed} {made['map']}")
            body = "upright" if made["map"] == "auto" else made["map"]
            task.skill.retarget_path.write_text(json.dumps({"speed": speed, "morphology": body}))
            return Outcome((task.skill.robot_path, task.skill.retarget_path), "done")

        def train(task: Task) -> Outcome:
            self.trained.append(made)
            task.skill.train_folder.mkdir(exist_ok=True)
            policy = task.skill.train_folder / "policy.json"
            policy.write_text(json.dumps(made))
            if made in self.refused:
                raise BadInputError("Nobody can do this.")
            if len(self.trained) == self.stop_at:
                raise KeyboardInterrupt
            line = {"steps": 6_000_000, "reasons": ["3 falls in motion: torque"]}
            (task.skill.train_folder / "checks.jsonl").write_text(json.dumps(line) + "\n")
            return Outcome((policy,), "trained")

        def export(task: Task) -> Outcome:
            task.skill.bundle_folder.mkdir(exist_ok=True)
            target = task.skill.bundle_folder / "policy.onnx"
            target.write_text((task.skill.train_folder / "policy.json").read_text())
            return Outcome((target,), "exported")

        def evaluate(task: Task) -> Outcome:
            policy = (task.skill.bundle_folder / "policy.onnx").read_text()
            survival = self.judge(json.loads(policy))
            verdict = "PASS" if survival >= 0.95 else "FAIL"
            content = {
                "passed": verdict == "PASS",
                "verdict": [verdict, "Falls in motion at 38 %", "power: 37 W"],
                "policy_sha256": policy,
                "checks": [{"name": "survival", "value": survival}, {"name": "joint error [rad]", "value": 0.1}],
            }
            task.skill.evaluation_path.write_text(json.dumps(content))
            return Outcome((task.skill.evaluation_path,), f"{verdict} {survival:.0%}")

        task = {"alignment": {"share": alignment}, "self_collisions": config.train.task.self_collisions}
        learning = {"train": {"settle": config.train.settle, "task": task}}

        def stage(name: str, work: Callable[[Task], Outcome], settings: dict[str, Any], *reads: str) -> Stage:
            def plan(skill: Skill) -> Plan:
                return Plan(settings, 0, skill.checksums(skill.folder / name for name in reads))

            return Stage(name, name, plan, work)

        return [
            stage("retarget", retarget, {"speed": speed, "map": made["map"]}),
            stage("train", train, learning, "robot.npz"),
            stage("export", export, learning, "train/policy.json"),
            stage("evaluate", evaluate, {"trials": config.evaluate.trials}, "bundle"),
        ]


def made_with(skill: Skill) -> dict[str, Any]:
    """What the policy in the folder was made with; bundle, training and record have to agree."""
    policy = json.loads((skill.bundle_folder / "policy.onnx").read_text())
    assert policy == json.loads((skill.train_folder / "policy.json").read_text())
    assert skill.current() == ["retarget", "train", "export", "evaluate"]
    assert not any(skill.edited(name) for name in skill.current())
    return policy


def test_a_skill_that_passes_at_once_climbs_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda made: 1.0)
    skill, out, rows = bench.make()
    assert len(bench.trained) == 1 and "Remedy" not in out and [row.failed for row in rows] == [False] * 4
    assert not (skill.folder / "ladder.json").exists() and not (skill.folder / "best").exists()


def test_all_rungs_are_tried_each_on_the_best_so_far_and_the_best_stays(tmp_path: Path) -> None:
    def judge(made: dict[str, Any]) -> float:
        return 0.3 + 0.3 * (made["alignment"] > 0) - 0.1 * (made["speed"] < 1) - 0.2 * (made["map"] == "four_legged")

    bench = Bench(tmp_path, judge)
    skill, out, rows = bench.make()
    tried = [(one["speed"], one["alignment"], one["settle"], one["map"]) for one in bench.trained]
    assert tried == [
        (1.0, 0.0, 1.0, "auto"),
        (0.7, 0.0, 1.0, "auto"),
        (1.0, 0.5, 1.0, "auto"),  # Slower was worse, and is not built on.
        (1.0, 0.5, 2.0, "auto"),
        (1.0, 0.5, 1.0, "four_legged"),  # Longer was no better.
    ]
    assert made_with(skill) == bench.trained[2] and rows[-1].result == "FAIL 60%" and rows[-1].failed
    for number, words in enumerate(("slower", "half of the reward", "longer", "on four legs"), 1):
        assert f"Remedy {number} of at most 4: {words}" in out
    assert "none passes" in out and out.count("(kept)") == 1 and "why: 3 falls in motion: torque" in out
    assert "why: Falls in motion at 38 %" in out and "37 W" not in out
    assert "half of the reward forgives being early or late: FAIL, 60.0% survive after 6.0 M steps  (kept)" in out
    assert not (skill.folder / "best").exists() and len(Ladder.open(skill.folder).tried) == 4
    assert "60.0%" in Ladder.open(skill.folder).numbers()["remedies tried"]

    bench.trained.clear()
    again, out, rows = bench.make()
    assert bench.trained == [] and made_with(again)["alignment"] == 0.5 and all(row.kept for row in rows)


def test_a_rung_that_passes_is_the_last(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda made: 0.97 if made["speed"] < 1 else 0.2)
    skill, out, rows = bench.make()
    assert len(bench.trained) == 2 and made_with(skill)["speed"] == 0.7 and not rows[-1].failed
    assert "Tried:" in out and "none passes" not in out


def test_a_skill_that_nearly_passes_trains_longer_first(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda made: 0.96 if made["settle"] > 1 else 0.9)
    _, out, _ = bench.make()
    assert [one["settle"] for one in bench.trained] == [1.0, 2.0] and "Remedy 1 of at most 4: longer" in out


def test_the_number_of_rungs_is_a_limit_that_can_be_raised_later(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda made: 0.1, rungs=1)
    bench.make()
    assert len(bench.trained) == 2
    bench.rungs = 2
    bench.make()
    assert len(bench.trained) == 3 and bench.trained[2]["alignment"] == 0.5 and bench.trained[2]["speed"] == 1.0


def test_after_ctrl_c_in_a_rung_the_same_line_goes_on_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda made: 0.5 - 0.1 * (made["speed"] < 1))
    bench.stop_at = 3
    with pytest.raises(KeyboardInterrupt):
        bench.make()
    _, out, _ = bench.make()
    assert [one["alignment"] for one in bench.trained[:4]] == [0.0, 0.0, 0.5, 0.5], "the rung that was cut short"
    assert len(bench.trained) == 6 and "Remedy 1" not in out and "Remedy 3" in out


def test_after_ctrl_c_in_a_rung_no_remedies_gives_the_best_so_far(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda made: 0.5)
    bench.stop_at = 2
    with pytest.raises(KeyboardInterrupt):
        bench.make()
    assert (
        json.loads((Skill.new(tmp_path, "do a cartwheel", "go2").folder / "train" / "policy.json").read_text())["speed"]
        == 0.7
    )
    bench.rungs = 0
    skill, _, rows = bench.make()
    assert len(bench.trained) == 2 and made_with(skill)["speed"] == 1.0 and rows[-1].result == "FAIL 50%"


def test_ctrl_c_while_the_best_is_brought_back_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, lambda made: 0.5 - 0.1 * (made["speed"] < 1), rungs=1)
    copy, calls = module._copy, []

    def interrupted(source: Path, target: Path) -> None:
        calls.append(target)
        if source.parent.name == "best" and source.name == "train":
            raise KeyboardInterrupt
        copy(source, target)

    monkeypatch.setattr(module, "_copy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.make()
    monkeypatch.undo()
    skill, _, _ = bench.make()
    assert calls and made_with(skill)["speed"] == 1.0 and len(bench.trained) == 2


def test_a_rung_that_cannot_be_done_does_not_end_the_ladder(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda made: 0.5, rungs=2)
    bench.refused.append({"speed": 0.7, "alignment": 0.0, "settle": 1.0, "map": "auto"})
    skill, out, rows = bench.make()
    assert [one["speed"] for one in bench.trained] == [1.0, 0.7, 1.0] and made_with(skill)["alignment"] == 0.0
    assert "slower, at 0.7 of the person's speed: could not be done" in out and rows[-1].result == "FAIL 50%"
    bench.make()
    assert len(bench.trained) == 3


def test_other_wishes_begin_another_ladder(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda made: 0.97 if made["speed"] < 1 else 0.2)
    bench.make()
    bench.config = changed(bench.config, {"train.settle": 0.5})
    skill, _, _ = bench.make()
    assert [one["speed"] for one in bench.trained] == [1.0, 0.7, 1.0, 0.7] and made_with(skill)["settle"] == 0.5
    before = bench.config
    bench.config, bench.judge = changed(before, {"train.settle": 0.7}), lambda made: 0.99
    skill, _, _ = bench.make()
    assert not (skill.folder / "ladder.json").exists(), "nothing was tried this time"
    bench.trained = bench.trained[:4]
    bench.config = changed(bench.config, {"evaluate.trials": 64})
    bench.make()
    assert len(bench.trained) == 4, "how a policy is looked at does not change what is learned"


def test_a_damaged_ladder_is_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda made: 0.2, rungs=1)
    skill, _, _ = bench.make()
    for text in ("no json", "[]", '{"schema_version": 1}', '{"schema_version": 9, "attempts": []}'):
        (skill.folder / "ladder.json").write_text(text)
        with pytest.raises(CorruptFileError, match=r"ladder\.json cannot be read"):
            bench.make()


def test_a_training_cut_short_tries_no_remedies_unless_asked(tmp_path: Path) -> None:
    usual, short = MakeVerb(), changed(MakeVerb(), {"train.ppo.total_steps": 1000})
    timed = changed(MakeVerb(), {"train.ppo.minutes": 5.0})
    assert [_rungs(config, Call("bow", config, frozenset())) for config in (usual, short, timed)] == [6, 0, 0]
    assert _rungs(short, Call("bow", short, frozenset({"remedies"}))) == 6
    with pytest.raises(BadInputError, match="remedies=-1"):
        MakeVerb(remedies=-1)


def test_of_two_equals_the_earlier_one_is_kept() -> None:
    one = Attempt("a", False, 0.5, 0.1, (), (), 0)
    ladder = Ladder("x")
    ladder.note(one)
    ladder.begin("slower", "slower", {"retarget.speed": 0.7})
    ladder.note(Attempt("b", False, 0.5, 0.1, (), (), 0))
    assert ladder.best.policy_sha256 == "a" and not ladder.holds_best and ladder.changes == {}
