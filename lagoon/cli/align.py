"""``lagoon align``: fine-tune the generator on what the words ask for and on what the robot can do."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lagoon.cli.config import AlignVerb
from lagoon.cli.console import Terminal
from lagoon.cli.verb import Call, Verb
from lagoon.retarget.config import RetargetConfig
from lagoon.robot import load_robot


@dataclass(frozen=True)
class RobotAppraiser:
    """Makes the function that tells what a motion costs on a robot; pickled into the processes that judge.

    This is the one place where the generator's fine-tuning and retargeting meet.
    """

    robot: str
    step: float
    """Time between two poses [s]."""
    config: RetargetConfig

    def __call__(self) -> Callable[[Any], float]:
        """Load the robot."""
        from lagoon.motion.human_motion import HumanMotion
        from lagoon.motion.skeleton import JOINT_NAMES
        from lagoon.retarget.appraise import appraise
        from lagoon.text2motion.config import FPS

        robot = replace(load_robot(self.robot), control_dt=self.step)
        return lambda joint_pos_w: appraise(HumanMotion(FPS, JOINT_NAMES, joint_pos_w), robot, self.config)


def run(call: Call) -> int:
    """Train, write the model's folder, say what it brought and how to use it."""
    from lagoon.cli.extras import need

    need("text2motion")
    config: AlignVerb = call.config
    load_robot(config.robot)
    appraiser = None
    if config.align.robot > 0:
        need("retarget")
        appraiser = RobotAppraiser(config.robot, config.judge_step, config.retarget)
    from lagoon.text2motion.align.align import align

    screen, folder = Terminal(), Path(config.out)
    with screen.stage("align") as progress:
        aligned = align(config.align, folder, config.seed, appraiser, progress)
    screen.say("Mean reward, 0 at best, first and last updates:")
    for name, before in aligned.before.items():
        screen.say(f"  {name:<7} {before:7.3f} -> {aligned.after[name]:7.3f}")
    screen.say(f"Curves:    tensorboard --logdir {shlex.quote(str(folder / 'train'))}")
    command = shlex.quote(config.align.commands[0])
    screen.say(f"Use it:    lagoon generate {command} generate.model={shlex.quote(str(aligned.model))}")
    return 0


VERB = Verb(
    name="align",
    purpose="fine-tune the generator on words and robot, with reinforcement learning",
    text="none",
    config=AlignVerb,
    run=run,
    examples=(
        ("lagoon align out=aligned", "the commands of the settings; hours on two cores"),
        ("lagoon align 'align.commands=[wave hello,bow]' align.ppo.minutes=30", "two commands, half an hour"),
        ("lagoon align align.robot=0 align.ppo.total_steps=2000", "for words and person only: minutes"),
    ),
    main_options=(
        "out",
        "robot",
        "seed",
        "align.commands",
        "align.model",
        "align.words",
        "align.person",
        "align.robot",
        "align.ppo.total_steps",
        "align.ppo.minutes",
        "align.ppo.batch",
        "align.ppo.rollout.max_staleness",
        "align.ppo.rollout.reward_workers",
        "judge_step",
    ),
    details=(
        "Motions are drawn, judged and learned from at the same time, by processes of their own; judging on the robot "
        "takes most of the time and gets the cores that are left (align.ppo.rollout.reward_workers). The folder "
        "resumes: Ctrl-C saves first, and the same line goes on. The weights it begins with stay as they are."
    ),
)
