"""``lagoon suite``: many skills and training seeds on trial, with a report."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from lagoon.cli.config import SuiteVerb
from lagoon.cli.console import Terminal, duration, shown
from lagoon.cli.verb import Call, Verb
from lagoon.errors import LagoonError
from lagoon.skill import Skill

FOLDER = "suite"


def run(call: Call) -> int:
    """Evaluate every skill there is, make the missing ones if asked to; 1 when one fails or is missing."""
    from lagoon.deploy.suite import Results, summarise
    from lagoon.deploy.suite_page import page
    from lagoon.paths import write_text

    config: SuiteVerb = call.config
    screen, root = Terminal(), Path(config.skills_dir)
    results = Results.open(root / FOLDER / "results.json")
    missing: list[str] = []
    rows, training, videos = [], dict[tuple[str, int], str](), dict[tuple[str, int], str]()
    for command in config.commands:
        for seed in config.seeds:
            skill = _skill(config, command, seed)
            if config.make and "preview" not in skill.current():
                _make(config, command, seed, screen)
                skill = _skill(config, command, seed)
            if not skill.bundle_folder.is_dir():
                line = (
                    f"lagoon make {shlex.quote(command)} seed={seed} skills_dir={shlex.quote(str(skill.folder.parent))}"
                )
                missing.append(f"{command}, seed {seed}: there is no policy. Make it with: {line}")
                screen.say(missing[-1])
                continue
            try:
                rows += _evaluate(config, skill, seed, results, screen)
            except LagoonError as error:
                missing.append(f"{command}, seed {seed}: {error}")
                screen.say(missing[-1])
                continue
            training[command, seed] = _training(skill, seed)
            if (video := skill.folder / "preview.mp4").is_file():
                videos[command, seed] = Path(os.path.relpath(video, root / FOLDER)).as_posix()
    summaries = summarise(rows)
    target = root / FOLDER / "report.html"
    write_text(target, page(summaries, rows, missing, training, videos))
    for item in summaries:
        between = "" if item.interval is None else f", {item.interval[0]:.1%} to {item.interval[1]:.1%} over seeds"
        passed = f"{item.passed} of {len(item.seeds)} seeds pass"
        screen.say(f"{shown(item.command)}, {item.condition}: {item.survival:.1%}{between}; {passed}")
    screen.say(f"The report:  {target} (open in a browser)")
    screen.say(f"The numbers: {results.path}")
    return 1 if missing or not all(row.passed for row in rows) else 0


def _skill(config: SuiteVerb, command: str, seed: int) -> Skill:
    return Skill.new(Path(config.skills_dir) / f"seed{seed}", command, config.robot)


def _make(config: SuiteVerb, command: str, seed: int, screen: Terminal) -> None:
    """Run ``lagoon make``; a refused command or a failed stage is told and leaves the rest of the suite going."""
    from lagoon.cli.__main__ import INTERRUPTED, main

    folder = Path(config.skills_dir) / f"seed{seed}"
    screen.say(f"{shown(command)}, seed {seed}: make")
    words = ["make", "--", command, f"seed={seed}", f"robot={config.robot}", f"skills_dir={folder}"]
    if main(words) == INTERRUPTED:
        raise KeyboardInterrupt


def _evaluate(config: SuiteVerb, skill: Skill, seed: int, results: Any, screen: Terminal) -> list[Any]:
    """Results of one policy under every kind of trials; those that exist already are taken as they are."""
    from lagoon.cli.skill_files import bundle_of, reference_of
    from lagoon.deploy.evaluate import evaluate
    from lagoon.deploy.suite import Result, conditions, fingerprint_of

    bundle, (motion, robot) = bundle_of(skill), reference_of(skill)
    found = []
    for condition, settings in conditions(config.evaluate, config.trials).items():
        fingerprint = fingerprint_of(bundle.policy_sha256, settings, seed)
        result = results.find(fingerprint)
        if result is None:
            with screen.stage(f"{skill.command}, seed {seed}, {condition}") as progress:
                evaluation = evaluate(bundle, motion, robot, settings, seed, progress)
            result = Result.of(evaluation, seed, condition, fingerprint)
            results.add(result)
        found.append(result)
        screen.say(f"{shown(skill.command)}, seed {seed}, {condition}: {result.verdict[0]}")
    return found


def _training(skill: Skill, seed: int) -> str:
    """What the training of a skill took, in words; what export and trials took is not part of it."""
    record = skill.stages["train"]
    steps = [name.split("step_")[1].split(".")[0] for name in record.outputs if "step_" in name]
    words = f"{int(steps[0]) / 1e6:.1f} M steps" if steps and steps[0].isdigit() else "steps unknown"
    return f"seed {seed}: {words}, {duration(record.seconds)} in its last run"


VERB = Verb(
    name="suite",
    purpose="put many skills and training seeds on trial, and write a report",
    text="none",
    config=SuiteVerb,
    run=run,
    examples=(
        ("lagoon suite", "the listed commands that have been made, from skills/bench/seed0, seed1, ..."),
        ("lagoon suite make=true", "make the missing ones first; hours for the whole list"),
        ("lagoon suite 'commands=[wave hello,bow]' 'seeds=[0,1]'", "some of them"),
    ),
    main_options=("seeds", "trials", "make", "robot", "skills_dir"),
    details=(
        "The list is `commands`, sixteen by default (--cfg shows it). Each policy runs as nominal robot, as "
        "randomized robots, and as randomized robots in other physics. Results "
        "are kept as they come: Ctrl-C loses at most one evaluation, and the same line goes on. Exit code 1 says that "
        "a skill fails or is missing."
    ),
)
