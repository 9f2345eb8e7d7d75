"""Trains a base policy: one network that learns many motions at once, for trainings to begin with.

What enters: a folder of skills that were retargeted. What leaves: a policy with its facts and a card, for
assets/policies. It is told the motion by the reference that it sees ahead, and by nothing else.

Usage: python -m lagoon.imitation.pretrain SKILLS_DIR OUT [--start SKILL] [--steps 5e6] [--seed 0] [--robot go2]

It begins with the policy of one skill that was learned alone: to balance is learned sooner on one motion than on many.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from lagoon.engine.checkpoint import Checkpoint, save_checkpoint
from lagoon.errors import BadInputError
from lagoon.imitation.base_policy import is_level, named, started, task_facts
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.together import Learned, TogetherEnv, shared_out
from lagoon.imitation.train import learn
from lagoon.motion.robot_motion import RobotMotion
from lagoon.paths import write_text
from lagoon.progress import Progress, silent
from lagoon.robot import RobotSpec, load_robot
from lagoon.skill import Skill

CHECK_TRIALS = 12
"""Robots of each motion in a check."""
STD_START = 0.15
"""Noise to begin with where one skill is known: more than for one more motion, since there are many to learn."""


@dataclass(frozen=True)
class MakeBaseEnv:
    """Builds the environment of one worker; picklable."""

    motions: tuple[RobotMotion, ...]
    robot: RobotSpec
    config: TrainConfig

    def __call__(self, rank: int, num_envs: int, seed: int) -> TogetherEnv:
        """Return the environment of worker ``rank``."""
        sizes = shared_out(num_envs, len(self.motions))
        return TogetherEnv(
            [
                TrackingEnv(motion, self.robot, self.config, size, (seed * 1009 + rank) * 1009 + k)
                for k, (motion, size) in enumerate(zip(self.motions, sizes, strict=True))
            ]
        )


def motions_of(skills_dir: Path, robot: RobotSpec) -> dict[str, RobotMotion]:
    """Return the motions of all retargeted skills in a folder that need balance, by command.

    Raises:
        BadInputError: there are fewer than two.
    """
    found = {}
    for path in sorted(skills_dir.glob("*/robot.npz")):
        skill, motion = Skill.open(path.parent), RobotMotion.load(path)
        if motion.robot == robot.name and not is_level(motion):
            found[skill.command] = motion
    if len(found) < 2:
        raise BadInputError(
            f"{skills_dir} holds {len(found)} motions of the {robot.name} that need balance; expected two or more. "
            f"Make some: lagoon generate COMMAND skills_dir={skills_dir}, then lagoon retarget"
        )
    return found


def pretrain(
    motions: dict[str, RobotMotion],
    robot: RobotSpec,
    config: TrainConfig,
    folder: Path,
    seed: int = 0,
    progress: Progress | None = None,
) -> Checkpoint:
    """Learn all motions with one policy; goes on from the newest checkpoint in ``folder`` if there is one."""
    make = MakeBaseEnv(tuple(motions.values()), robot, config)
    skills = [Learned(motion) for motion in motions.values()]
    return learn(make, skills, config.ppo.total_steps, robot, config, folder, seed, progress or silent)


def write_base(
    checkpoint: Checkpoint,
    commands: Sequence[str],
    robot: RobotSpec,
    config: TrainConfig,
    out: Path,
    notes: Sequence[str] = (),
) -> None:
    """Write the policy alone, without what only its own training needs, and its card with further lines."""
    tensors = {name: tensor for name, tensor in checkpoint.tensors.items() if name.startswith("policy/")}
    step = int(checkpoint.facts["step"])
    facts = {
        "name": out.name,
        "policy": checkpoint.facts["policy"],
        "task": task_facts(robot, config.task),
        "commands": list(commands),
        "seed": checkpoint.facts.get("seed", 0),
    }
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out) as place:
        path = save_checkpoint(Path(place), step, tensors, facts, keep=1)
        path.with_suffix(".safetensors").replace(out / "policy.safetensors")
        path.replace(out / "policy.json")
    write_text(out / "MODEL_CARD.md", card(out.name, commands, robot, config, step, notes))


def card(
    name: str, commands: Sequence[str], robot: RobotSpec, config: TrainConfig, step: int, notes: Sequence[str] = ()
) -> str:
    """What the policy is, as Markdown."""
    known = ", ".join(f"'{command}'" for command in commands)
    return "\n".join(
        [
            f"# {name}",
            "",
            f"A policy of the {robot.name} that learned {len(commands)} motions on two legs at once, for trainings to "
            "begin with (`train.start.policy`). It is no skill: `lagoon train` makes one out of it.",
            "",
            f"- Motions: {known}; generated by lagoon's own text-to-motion weights; data and licences in their card.",
            f"- Training: {step:,} environment steps with the default task and randomization, {config.ppo.num_envs} "
            "robots, shared out evenly; `python -m lagoon.imitation.pretrain`, see docs/imitation.md.",
            f"- Networks: {list(config.ppo.hidden)}, {config.ppo.activation}; actor, critic, the normalisers of both.",
            *(f"- {note}" for note in notes),
            "- Licence: Apache-2.0, as lagoon.",
            "- Limits: one body, flat floor, two legs. What it gains is measured in benchmarks/README.md.",
            "",
        ]
    )


def learned_words(folder: Path, commands: Sequence[str]) -> str:
    """What the last check of a pretraining found for each motion, in words."""
    last = json.loads((folder / "checks.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    shares = ", ".join(f"{command} {share:.0%}" for command, share in zip(commands, last["each"], strict=True))
    return f"Noise-free robots that reached the end in the last check, {CHECK_TRIALS} each: {shares}."


def main() -> None:
    """Train, or go on; then write the policy."""
    from rich.progress import Progress as Bar

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skills_dir", type=Path)
    parser.add_argument("out", type=Path, help="for example assets/policies/go2-upright")
    parser.add_argument("--start", type=Path, help="folder of a trained skill to begin with")
    parser.add_argument("--steps", type=float, default=5e6)
    parser.add_argument("--envs", type=int, default=384)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--robot", default="go2")
    options = parser.parse_args()
    robot, config = load_robot(options.robot), TrainConfig()
    ppo = replace(config.ppo, total_steps=round(options.steps), num_envs=options.envs, workers=options.workers)
    config = replace(config, ppo=ppo, settle=0.0, check_trials=CHECK_TRIALS)
    if options.start:
        config = started(config, named(options.start), STD_START)
    motions = motions_of(options.skills_dir, robot)
    with Bar() as bar:
        task = bar.add_task(f"{len(motions)} motions", total=1.0)
        checkpoint = pretrain(
            motions,
            robot,
            config,
            options.skills_dir / "pretrain",
            options.seed,
            lambda fraction, message="": bar.update(task, completed=fraction, description=message),
        )
    notes = [learned_words(options.skills_dir / "pretrain", list(motions))]
    if options.start:
        skill = Skill.open(options.start)
        notes.append(f"Began with: the policy of '{skill.command}', seed {skill.stages['train'].seed}.")
    write_base(checkpoint, list(motions), robot, config, options.out, notes)


if __name__ == "__main__":
    main()
