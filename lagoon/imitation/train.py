"""Training one skill, or several with one policy: environment plus engine, checked by the policy that will be exported.

What enters: a RobotMotion or more, settings, a folder. What leaves: a checkpoint; ``checks.jsonl`` beside the
metrics says how the noise-free policy did from the start pose on the way there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
import yaml

from lagoon.engine.checkpoint import Checkpoint, latest_checkpoint, load_checkpoint
from lagoon.engine.hooks import IterationInfo
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.run import run
from lagoon.engine.session import MakeEnv
from lagoon.errors import BadInputError
from lagoon.imitation.base_policy import NONE, begin
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.env import MakeTrackingEnv, TrackingEnv
from lagoon.imitation.together import Learned, MakeTogetherEnv
from lagoon.imitation.trouble import Watch, stalled, told
from lagoon.motion.robot_motion import RobotMotion
from lagoon.paths import append_line, write_text
from lagoon.progress import Progress, silent
from lagoon.robot import RobotSpec

SETTLING_CHECKS = 0.5
"""Time between two checks once the schedules have run, in units of ``check_every``: they decide when to end."""


@dataclass(frozen=True)
class Check:
    """How the noise-free policy did from the start pose."""

    survival: float
    """Share of the robots that reached the end."""
    length: float
    """Mean share of the clip that was reached."""
    joint_error: float
    """Root mean square joint error while on the reference [rad]."""
    falls_at: tuple[float, ...]
    """Times at which robots fell, ascending [s]."""
    reasons: tuple[str, ...] = ()
    """In which stretch of the motion they fell and what was in the way, in words, the worst first."""


@torch.no_grad()
def check(policy: GaussianActorCritic, env: TrackingEnv) -> Check:
    """Run every robot of ``env``, whose episodes all begin at frame 0, once with the mean action."""
    obs = env.reset()
    alive = torch.ones(env.num_envs, dtype=torch.bool)
    fell = torch.full((env.num_envs,), torch.inf)
    errors = []
    strongest, fastest = (
        torch.tensor(limit, dtype=torch.float32) for limit in (env.robot.torque_limit, env.robot.joint_vel_limit)
    )
    watch = Watch(strongest, fastest, env.config.task.termination, env.robot.control_dt)
    for step in range(env.last_step):
        action = policy.actor(policy.normalizer["actor"](obs["actor"]))
        result = env.step(action)
        obs = result.obs
        fell[alive & result.terminated] = (step + 1) * env.robot.control_dt
        assert env.seen is not None
        watch.see(step + 1, alive & result.terminated, *env.seen)
        alive &= ~result.terminated
        errors.append(result.metrics["joint_error"])
        if not alive.any():
            break
    reached = torch.where(alive, torch.tensor(float(env.last_step)), fell / env.robot.control_dt)
    return Check(
        survival=alive.float().mean().item(),
        length=(reached / env.last_step).mean().item(),
        joint_error=float(np.mean(errors)),
        falls_at=tuple(round(value, 2) for value in fell[~alive].sort().values.tolist()),
        reasons=told(watch.falls, env.motion),
    )


@dataclass
class _Checks:
    """Checks the policy now and then, writes what it found, tells the progress line, and says when it is enough."""

    envs: tuple[TrackingEnv, ...]
    """One for each skill that is learned."""
    config: TrainConfig
    steps: int
    """Steps over which the schedules run."""
    folder: Path
    next_at: float = 0.0
    """Share of ``steps`` at which the next check is due."""
    survivals: list[float] = field(default_factory=list)
    """Of all checks so far."""
    lengths: list[float] = field(default_factory=list)
    """Shares of the clip reached in the checks while the schedules wait."""
    waiting: bool = False
    """The schedules wait until the motion is held."""
    settling: int = 0
    """Checks since the schedules have run."""
    words: str = "no check yet"

    def on_iteration(self, info: IterationInfo, policy: GaussianActorCritic) -> bool:
        """See lagoon.engine.hooks.Hooks; stops the run once the schedules have run and the policy is steady."""
        if info.begin is None and self.waiting:
            self.waiting, self.next_at = False, 0.0  # The time to wait is over.
        done = info.steps / self.steps if self.waiting else max(info.fraction, info.done)
        if done < self.next_at:
            return False
        every = self.config.check_every
        self.next_at = done + every if self.waiting else min(done + every, 1.0)
        if not self.waiting and done >= 1.0:
            self.next_at = done + SETTLING_CHECKS * every
        for env in self.envs:
            env.set_progress(info.fraction)
        each = [check(policy, env) for env in self.envs]
        found = min(each, key=lambda one: one.survival)
        line = {"steps": info.steps, "fraction": info.fraction, "ramp": self.envs[0].ramp, **asdict(found)}
        if len(each) > 1:
            line["each"] = [one.survival for one in each]
        append_line(self.folder / "checks.jsonl", json.dumps(line))
        least = " or more of each skill" if len(each) > 1 else ""
        self.words = f"{found.survival:.0%}{least} survive, joint error {found.joint_error:.3f} rad"
        numbers = {"survival": found.survival, "length": found.length, "joint_error": found.joint_error}
        info.notes.update({f"check/{name}": value for name, value in numbers.items()})
        if info.begin is not None:
            self.lengths.append(found.length)
            if found.survival >= self.config.start.held:
                info.begin()
                self.waiting, self.next_at = False, every
            return self.waiting and self._hopeless(self.lengths, len(self.lengths))
        self.survivals.append(found.survival)
        if done < 1.0:
            return False
        self.settling += 1
        latest = self.survivals[-2:]
        if sum(latest) / len(latest) >= self.config.steady:
            return True
        return self._hopeless(self.survivals, self.settling)

    def _hopeless(self, shares: Sequence[float], checks: int) -> bool:
        window = self.config.give_up
        if window and checks >= window and stalled(shares, window):
            self.words += "; it gets no better"
            return True
        return False


def train(
    motion: RobotMotion,
    robot: RobotSpec,
    config: TrainConfig,
    folder: Path,
    seed: int = 0,
    progress: Progress | None = None,
) -> Checkpoint:
    """Learn to imitate ``motion``; goes on from the newest checkpoint in ``folder`` if there is one.

    Args:
        motion: the reference, starting and ending in the stand.
        robot: who imitates.
        config: task, randomization, learning.
        folder: gets config.yaml, checkpoints/, metrics.jsonl, checks.jsonl, tensorboard/.
        seed: every draw follows from it.
        progress: told the share done and how the last check went.

    Returns:
        The final checkpoint. When the schedules have run, training goes on with them at their ends until the policy
        is ``steady`` or ``settle`` is used up.

    Raises:
        BadInputError: the motion does not fit the robot, or a setting cannot work.
        CorruptFileError: the folder's checkpoints are all damaged.
        KeyboardInterrupt: after a checkpoint was written.
    """
    chosen = begin(motion, robot, config).config
    make = MakeTrackingEnv(motion, robot, chosen)
    return learn(make, (Learned(motion),), chosen.ppo.total_steps, robot, chosen, folder, seed, progress or silent)


def train_together(
    skills: Sequence[Learned],
    robot: RobotSpec,
    config: TrainConfig,
    folder: Path,
    seed: int = 0,
    progress: Progress | None = None,
) -> Checkpoint:
    """Learn to imitate several motions with one policy, which is told by words which one; else as ``train``.

    The steps are those that the skills would get one by one, together. It ends when the worst of them is steady.

    Raises:
        BadInputError: fewer than two skills, words that do not tell them apart, or as ``train``.
        CorruptFileError: the folder's checkpoints are all damaged.
        KeyboardInterrupt: after a checkpoint was written.
    """
    make = MakeTogetherEnv(tuple(skills), robot, config)
    alone = replace(config, start=replace(config.start, policy=NONE))  # A base policy knows no words.
    total = sum(begin(skill.motion, robot, alone).config.ppo.total_steps for skill in skills)
    return learn(make, make.skills, total, robot, config, folder, seed, progress or silent)


def learn(
    make: MakeEnv,
    skills: Sequence[Learned],
    total: int,
    robot: RobotSpec,
    config: TrainConfig,
    folder: Path,
    seed: int,
    progress: Progress,
) -> Checkpoint:
    """Train on what ``make`` builds, checked on each skill alone; what ``train`` and others share.

    Args:
        make: builds the environment of a worker.
        skills: what is checked, and what the checks' environments show.
        total: environment steps over which the schedules run.
        robot: who imitates.
        config: task, randomization, learning.
        folder: as in ``train``.
        seed: every draw follows from it.
        progress: told the share done and how the last check went.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    write_text(folder / "config.yaml", yaml.safe_dump(_plain(asdict(config)), sort_keys=False))
    ppo = replace(config.ppo, total_steps=total, settle_steps=config.ppo.settle_steps or round(config.settle * total))
    trials = config.check_trials
    envs = tuple(
        TrackingEnv(one.motion, robot, config, trials, seed + 7919, start_share=1.0, words=one.told) for one in skills
    )
    checks = _Checks(envs, config, total, folder, survivals=_survivals(folder), waiting=ppo.wait_steps > 0)

    def tell(fraction: float, message: str = "") -> None:
        progress(fraction, f"{message}; {checks.words}" if message else checks.words)

    try:
        path = run(make, ppo, folder, seed, checks, tell)
        progress(1.0, checks.words)
        return load_checkpoint(path)
    finally:
        for env in envs:
            env.close()
        torch.set_num_threads(threads)


def _survivals(folder: Path) -> list[float]:
    """What the checks of a training that goes on found before: one lucky check is not enough to end it."""
    path, found = folder / "checks.jsonl", []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with suppress(ValueError, KeyError, TypeError):  # A line that somebody edited is no reason to stop.
            found.append(float(json.loads(line)["survival"]))
    return found


def trained(folder: Path) -> Checkpoint:
    """Return the newest whole checkpoint of a training folder.

    Raises:
        BadInputError: there is none.
        CorruptFileError: there are some and all are damaged.
    """
    checkpoint = latest_checkpoint(folder / "checkpoints")
    if checkpoint is None:
        raise BadInputError(f"There is no checkpoint in {folder}. Train first, with: lagoon train SKILL")
    return checkpoint


def _plain(value: object) -> object:
    """Return dataclass content as YAML knows it: lists instead of tuples."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
