"""Settings of each verb: a few of its own, and one section for each stage it runs.

What enters: nothing. What leaves: frozen dataclasses; a section has the same name in every verb, so an
override that works for ``make`` works for the verb alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lagoon.deploy.config import DeployConfig, EvaluateConfig
from lagoon.engine.scheduler.config import RayConfig, SlurmConfig
from lagoon.errors import BadInputError, BadSettingError
from lagoon.imitation.config import TrainConfig
from lagoon.importers.config import ImportConfig
from lagoon.retarget.config import RetargetConfig
from lagoon.studio.config import PlayConfig, PreviewConfig
from lagoon.text2motion.align.config import AlignConfig
from lagoon.text2motion.config import GenerateConfig

MAX_SEED = 2**32 - 1
"""The largest seed that every generator of random numbers below takes."""


def _check(seed: int | None, folder: str, name: str = "skills_dir") -> None:
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise BadInputError(f"seed={seed}: expected a whole number from 0 to {MAX_SEED}. Type seed=NUMBER.")
    if not folder.strip() or "\0" in folder:
        raise BadInputError(
            f"{name}={folder!r}: expected the name of a folder. Type {name}=PATH, or {name}=. for the current folder."
        )


@dataclass(frozen=True)
class NewSkill:
    """Settings of verbs that may begin a skill."""

    robot: str = "go2"
    """Robot that shall do it; lagoon doctor lists the known ones."""
    seed: int = 0
    """Seed of every random choice, 0 to 4294967295; another seed gives another motion."""
    skills_dir: str = "skills"
    """Folder that holds the skill folders."""

    def __post_init__(self) -> None:
        """Check seed and folder; robots are checked when they are loaded.

        Raises:
            BadInputError: the seed is out of range, or the folder has no name.
        """
        _check(self.seed, self.skills_dir)


@dataclass(frozen=True)
class OldSkill:
    """Settings of verbs that go on with a skill; null means: as the skill was made."""

    robot: str | None = None
    """Robot of the skill; needed only when one command exists for several robots."""
    seed: int | None = None
    """Seed of this stage, 0 to 4294967295; null takes the one that the motion was generated with."""
    skills_dir: str = "skills"
    """Folder that holds the skill folders."""

    def __post_init__(self) -> None:
        """Check seed and folder.

        Raises:
            BadInputError: the seed is out of range, or the folder has no name.
        """
        _check(self.seed, self.skills_dir)


@dataclass(frozen=True)
class GenerateVerb(NewSkill):
    """Settings of ``lagoon generate``."""

    generate: GenerateConfig = field(default_factory=GenerateConfig)
    """Words to human motion."""


@dataclass(frozen=True)
class ImportVerb(NewSkill):
    """Settings of ``lagoon import``."""

    caption: str | None = None
    """Text of the motion, which also names the skill; null takes the name of the file."""
    import_: ImportConfig = field(default_factory=ImportConfig)
    """Motion file to human motion."""


@dataclass(frozen=True)
class MakeVerb(GenerateVerb):
    """Settings of ``lagoon make``: those of every stage."""

    jobs: int = 0
    """Commands that run side by side with --each; 0 means as many as there are cores for."""
    motion: str | None = None
    """Motion file to import instead of generating from the words; null generates."""
    caption: str | None = None
    """With motion=FILE and no words: text of the motion, and name of the skill; null takes the name of the file."""
    import_: ImportConfig = field(default_factory=ImportConfig)
    """Motion file to human motion, with motion=FILE."""
    retarget: RetargetConfig = field(default_factory=RetargetConfig)
    """Human motion to robot motion."""
    train: TrainConfig = field(default_factory=TrainConfig)
    """Robot motion to policy."""
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    """Randomized trials of the exported policy."""
    preview: PreviewConfig = field(default_factory=PreviewConfig)
    """Page and video."""
    remedies: int = 6
    """Most remedies to try, one after another, when the verdict is FAIL: slower, with collisions, from nothing,
    aligned, longer, on four legs; the best policy is kept. Each may take as long as the first training, or longer.
    A training made shorter than usual tries none unless this is typed."""

    def __post_init__(self) -> None:
        """Check the number of remedies beside the rest.

        Raises:
            BadInputError: it is below 0.
        """
        super().__post_init__()
        if self.remedies < 0:
            raise BadInputError(f"remedies={self.remedies}: expected 0 (none) or more. Type remedies=NUMBER.")


@dataclass(frozen=True)
class RetargetVerb(OldSkill):
    """Settings of ``lagoon retarget``."""

    retarget: RetargetConfig = field(default_factory=RetargetConfig)
    """Human motion to robot motion."""


@dataclass(frozen=True)
class TrainVerb(OldSkill):
    """Settings of ``lagoon train``."""

    jobs: int = 0
    """Skills that run side by side where several are named; 0 means as many as there are cores for."""
    scheduler: Literal["local", "ray", "slurm"] = "local"
    """local: this machine. ray: the machines of a Ray cluster. slurm: a job script, queued where there is sbatch."""
    ray: RayConfig = field(default_factory=RayConfig)
    """Where the Ray cluster is."""
    slurm: SlurmConfig = field(default_factory=SlurmConfig)
    """What a SLURM cluster is asked for."""
    train: TrainConfig = field(default_factory=TrainConfig)
    """Robot motion to policy."""


@dataclass(frozen=True)
class TogetherVerb(OldSkill):
    """Settings of ``lagoon together``."""

    train: TrainConfig = field(default_factory=TrainConfig)
    """Robot motions to one policy."""
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    """Randomized trials of each skill's bundle."""
    preview: PreviewConfig = field(default_factory=PreviewConfig)
    """Page and video of each skill."""


@dataclass(frozen=True)
class ExportVerb(OldSkill):
    """Settings of ``lagoon export``: what to export is fixed by the training."""


@dataclass(frozen=True)
class EvaluateVerb(OldSkill):
    """Settings of ``lagoon evaluate``."""

    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    """Randomized trials of the exported policy."""


@dataclass(frozen=True)
class SuiteVerb:
    """Settings of ``lagoon suite``."""

    commands: tuple[str, ...] = (
        "wave hello",
        "wave on four legs",
        "bow",
        "sit down",
        "stretch",
        "kick",
        "punch",
        "walk forward",
        "turn around",
        "jump",
        "hop",
        "march",
        "dance",
        "do a handstand",
        "do a cartwheel",
        "do a backflip",
    )
    """Commands of the skills."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds; the skill of seed N lies in skills_dir/seedN/."""
    trials: int = 256
    """Robots in each kind of trials, in place of evaluate.trials."""
    make: bool = False
    """Make skills that are missing or unfinished, as lagoon make does."""
    robot: str = "go2"
    """Robot of the skills."""
    skills_dir: str = "skills/bench"
    """Folder with a folder of skills for each seed; the report goes to suite/ in it."""
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    """Randomized trials of the exported policies."""

    def __post_init__(self) -> None:
        """Check folder, seeds and trials.

        Raises:
            BadInputError: there is nothing to do, or a seed is out of range.
        """
        for name in ("commands", "seeds"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
            if not getattr(self, name):
                raise BadInputError(f"{name}=[]: expected one or more. Type {name}=[...], or leave it out.")
        for seed in self.seeds:
            _check(seed, self.skills_dir)
        if self.trials < 1:
            raise BadInputError(f"trials={self.trials}: expected at least 1. Type trials=NUMBER.")


@dataclass(frozen=True)
class AlignVerb:
    """Settings of ``lagoon align``."""

    out: str = "aligned"
    """Folder of the run; gets train/ and model/."""
    robot: str = "go2"
    """Robot that the motions are for."""
    seed: int = 0
    """Seed of everything that is drawn, 0 to 4294967295."""
    judge_step: float = 0.05
    """Time between two poses of the robot that the judge solves [s]; a skill has the robot's control period, 0.02 s."""
    align: AlignConfig = field(default_factory=AlignConfig)
    """Fine-tuning of the generator."""
    retarget: RetargetConfig = field(default_factory=lambda: RetargetConfig(passes=1, iterations=4))
    """Human motion to robot motion, as the judge does it: coarser than for a skill, and several times as fast."""

    def __post_init__(self) -> None:
        """Check folder, seed and step.

        Raises:
            BadInputError: the seed or the step is out of range, or the folder has no name.
        """
        _check(self.seed, self.out, "out")
        if not 0.005 <= self.judge_step <= 0.1:
            raise BadInputError(f"judge_step={self.judge_step}: expected 0.005 to 0.1 s. Type judge_step=SECONDS.")


@dataclass(frozen=True)
class PreviewVerb(OldSkill):
    """Settings of ``lagoon preview``."""

    preview: PreviewConfig = field(default_factory=PreviewConfig)
    """Page and video."""


@dataclass(frozen=True)
class DeployInspectVerb:
    """Settings of ``lagoon deploy inspect``; there are none."""


@dataclass(frozen=True)
class DeployReplayVerb:
    """Settings of ``lagoon deploy replay``."""

    bundle: str = ""
    """Folder of the bundle that ran; empty for the one beside the bag's recordings/."""


@dataclass(frozen=True)
class ConvertVerb:
    """Settings of ``lagoon convert``."""

    to: str = ""
    """File to write, .bvh or .npz; empty writes human.bvh into the skill's folder."""
    body: str = ""
    """SMPL body model (.npz) that you have a licence for; needed for .npz."""
    robot: str | None = None
    """Robot of the skill; needed only when one command exists for several robots."""
    skills_dir: str = "skills"
    """Folder that holds the skill folders."""


@dataclass(frozen=True)
class PlayVerb(OldSkill):
    """Settings of ``lagoon play``."""

    play: PlayConfig = field(default_factory=PlayConfig)
    """Browser viewer."""


@dataclass(frozen=True)
class JoinVerb:
    """Settings of ``lagoon join``."""

    actors: int = 0
    """Processes; 0 means one per core that may be used."""
    ring: int = 2
    """Environments per process."""
    patience: float = 10.0
    """How long a trainer that does not answer is waited for [min]."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadInputError: a value cannot work.
        """
        for name, low in (("actors", 0), ("ring", 1), ("patience", 0)):
            if getattr(self, name) < low:
                raise BadSettingError("JoinVerb", name, getattr(self, name), f"{low} or more")


@dataclass(frozen=True)
class ListVerb:
    """Settings of ``lagoon list``."""

    skills_dir: str = "skills"
    """Folder that holds the skill folders."""

    def __post_init__(self) -> None:
        """Check the folder.

        Raises:
            BadInputError: it has no name.
        """
        _check(None, self.skills_dir)


@dataclass(frozen=True)
class DoctorVerb:
    """Settings of ``lagoon doctor``: none yet."""


@dataclass(frozen=True)
class RobotListVerb:
    """Settings of ``lagoon robot list``: none yet."""


@dataclass(frozen=True)
class RobotCheckVerb:
    """Settings of ``lagoon robot check``: none yet."""


@dataclass(frozen=True)
class RobotInitVerb:
    """Settings of ``lagoon robot init``."""

    name: str = ""
    """Name of the new robot; empty takes the name of the file."""
    robots_dir: str = "robots"
    """Folder that gets the new robot's folder; robots/ of the working folder is where lagoon looks for robots."""
    lock: tuple[str, ...] = ()
    """Joints to hold still at zero, such as those of an arm: lock=[arm_1,arm_2]."""
    licence: str = ""
    """A line for the files about where the numbers come from and under which licence."""


@dataclass(frozen=True)
class DeployCheckVerb(OldSkill):
    """Settings of ``lagoon deploy check``."""

    deploy: DeployConfig = field(default_factory=DeployConfig)
    """Checking for a robot, and running on one."""


@dataclass(frozen=True)
class DeployRunVerb(OldSkill):
    """Settings of ``lagoon deploy run``."""

    deploy: DeployConfig = field(default_factory=DeployConfig)
    """Checking for a robot, and running on one."""
