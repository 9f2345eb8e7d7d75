"""Binds the preview to files of a skill folder: whatever is there goes onto a page and into a video.

What enters: its settings. What leaves: a Stage for the pipeline, as in stages.py.
"""

from __future__ import annotations

import json
from typing import Any

from lagoon.cli.attempts import NAME as LADDER
from lagoon.cli.attempts import Ladder
from lagoon.cli.extras import need
from lagoon.cli.pipeline import Outcome, Stage, Task
from lagoon.cli.skill_files import (
    StaleBundleError,
    bundle_of,
    evaluation_of,
    not_an_evaluation,
    reference_of,
    source_of,
)
from lagoon.cli.stages import defaults_of, robot_checksums, settings_of
from lagoon.record import Plan
from lagoon.robot import load_robot
from lagoon.skill import Skill
from lagoon.studio.config import PreviewConfig


def preview_stage(config: PreviewConfig, seed: int) -> Stage:
    """Whatever is there to preview.html, and a video where the machine can render."""

    def plan(skill: Skill) -> Plan:
        later = (skill.robot_path, skill.bundle_folder, skill.evaluation_path, skill.folder / LADDER)
        inputs = skill.checksums([skill.source_path, *(path for path in later if path.exists())])
        return Plan(
            settings_of("preview", config), seed, inputs | robot_checksums(skill), defaults_of("preview", config)
        )

    def run(task: Task) -> Outcome:
        need("viewer")
        from lagoon.studio.preview import write_preview

        skill = task.skill
        human, robot = source_of(skill), load_robot(skill.robot)
        reference = reference_of(skill)[0] if skill.robot_path.exists() else None
        executed, policy = None, ""
        if reference is not None and skill.bundle_folder.exists():
            need("train")
            from lagoon.deploy.evaluate import rollout

            try:
                bundle = bundle_of(skill)
                executed, policy = rollout(bundle, reference, robot), bundle.policy_sha256
            except StaleBundleError as error:
                task.say(f"  the policy is left out: {error}")
        words = _preview_text(skill, policy)
        made = write_preview(skill.folder, human, reference, executed, robot, words, task.progress, config)
        if made.message:
            task.say(f"  {made.message}")
        files = [path for path in (made.page, made.video, made.poster) if path is not None]
        return Outcome(tuple(files), "page and video" if made.video else "page without video")

    return Stage("preview", "page and video", plan, run)


def _preview_text(skill: Skill, policy: str) -> Any:
    """The command, and the verdict and numbers of the evaluation if there is one of this policy."""
    from lagoon.studio.show import ShowText

    asked = _demands(skill)
    if not skill.evaluation_path.exists():
        return ShowText(command=skill.command, **asked)
    found = evaluation_of(skill)
    if found["policy_sha256"] != policy:
        return ShowText(command=skill.command, **asked)
    try:
        numbers = {
            check["name"]: f"{check['value']:.3g} (wanted {check['relation']} {check['threshold']:g})"
            for check in found["checks"]
            if check["value"] is not None
        }
        numbers |= Ladder.open(skill.folder).numbers()
        verdict = "PASS" if found["passed"] else "FAIL"
        return ShowText(skill.command, verdict, found["verdict"][0], numbers, **asked)
    except (KeyError, TypeError, IndexError) as error:
        raise not_an_evaluation(skill, error) from error


def _demands(skill: Skill) -> dict[str, Any]:
    """What retargeting said about the motion before any training, for the page; nothing if it said nothing."""
    if not skill.retarget_path.exists():
        return {}
    try:
        found = json.loads(skill.retarget_path.read_text(encoding="utf-8"))
        fps = float(found["fps"])
        reasons = [(r["start"] / fps, r["stop"] / fps, str(r["text"])) for r in found["verdict"]["reasons"]]
        fix = found.get("fix") or {"words": [], "table": [], "demands_before": {}}
        changed = [("changed", ", ".join(fix["words"])), *((name, f"{a} \u2192 {b}") for name, a, b in fix["table"])]
        return {
            "demands": {key: [float(v) for v in curve] for key, curve in found["demands"].items()},
            "reasons": reasons,
            "before": {key: [float(v) for v in curve] for key, curve in fix["demands_before"].items()},
            "fix": dict(changed) if fix["words"] else {},
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}  # Written by an earlier version, or by hand: the page does without.
