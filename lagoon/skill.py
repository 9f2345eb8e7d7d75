"""Skill: the folder that holds one command's files, and the record of how each came to be.

What enters: a command, the settings of each stage, the files a stage read and wrote. What leaves:
``skill.yaml``, from which a later run knows what is finished, unchanged, or must be done again.
Only the command line touches skill folders; stages are functions that know nothing of them.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import yaml

from lagoon import __version__
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.paths import sha256_of, write_text, yaml_text
from lagoon.record import SCHEMA_VERSION, Plan, StageRecord, difference, git_revision, hash_of

STAGES = ("generate", "retarget", "train", "export", "evaluate", "preview")
OWN_FILES = ("human.npz", "quadruped.npz", "robot.npz", "retarget.json", "train", "bundle", "evaluation.json")
"""What one stage writes and another reads, by its first name in the folder; other inputs lie elsewhere."""
STATES = ("pending", "running", "done", "failed")
_SLUG_WORDS = 31
_SLUG_HASH = 8


def slug(command: str, robot: str) -> str:
    """Return the folder name of a command on a robot: at most 40 characters of ``a-z0-9-``.

    The readable part is cut and may be empty of letters (then it is ``skill``); the hash of the full
    text and the robot makes the name unique, so that no two commands share a folder.
    """
    plain = unicodedata.normalize("NFKD", command).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_SLUG_WORDS].strip("-")
    text = json.dumps([command, robot])
    return f"{words or 'skill'}-{hashlib.sha256(text.encode()).hexdigest()[:_SLUG_HASH]}"


@dataclass
class Skill:
    """One command on one robot, and its folder. A new skill is on disk only after its first stage begins."""

    folder: Path
    command: str
    """The text in full, whatever it holds."""
    robot: str
    stages: dict[str, StageRecord] = field(default_factory=lambda: {name: StageRecord() for name in STAGES})

    @property
    def human_path(self) -> Path:
        """HumanMotion, written by generate."""
        return self.folder / "human.npz"

    @property
    def quadruped_path(self) -> Path:
        """QuadrupedMotion, written by an import in place of human.npz."""
        return self.folder / "quadruped.npz"

    @property
    def source_path(self) -> Path:
        """What retargeting reads: human.npz, or quadruped.npz where the motion is an animal's."""
        return self.quadruped_path if self.is_quadruped else self.human_path

    @property
    def is_quadruped(self) -> bool:
        """True when the motion that was imported last is an animal's or a robot's on four legs."""
        return self.quadruped_path.name in self.stages["generate"].outputs

    @property
    def candidates_path(self) -> Path:
        """Scores of all motions that were sampled for the command; the motions lie beside it, as npz."""
        return self.folder / "candidates.json"

    @property
    def robot_path(self) -> Path:
        """RobotMotion, written by retarget."""
        return self.folder / "robot.npz"

    @property
    def retarget_path(self) -> Path:
        """Quality report of retargeting."""
        return self.folder / "retarget.json"

    @property
    def train_folder(self) -> Path:
        """Settings, metrics, TensorBoard events and checkpoints."""
        return self.folder / "train"

    @property
    def bundle_folder(self) -> Path:
        """PolicyBundle, written by export: what a robot runs."""
        return self.folder / "bundle"

    @property
    def evaluation_path(self) -> Path:
        """Verdict and numbers of the randomized trials."""
        return self.folder / "evaluation.json"

    @property
    def preview_path(self) -> Path:
        """Preview page; a video of the same stem lies beside it where the machine can render."""
        return self.folder / "preview.html"

    @property
    def seed(self) -> int:
        """Seed the motion was generated with."""
        return self.stages["generate"].seed

    @staticmethod
    def new(skills_dir: Path, command: str, robot: str) -> Skill:
        """Return the skill of a command: as on disk, or a fresh one that is not on disk yet.

        Raises:
            CorruptFileError: the folder exists and its skill.yaml is damaged or belongs to another command.
        """
        folder = skills_dir / slug(command, robot)
        if not (folder / "skill.yaml").exists():
            return Skill(folder, command, robot)
        skill = Skill.open(folder)
        if (skill.command, skill.robot) != (command, robot):
            raise CorruptFileError(
                f"{folder} holds the command {skill.command!r} for robot '{skill.robot}', not {command!r} for "
                f"'{robot}'. It was renamed or edited. Move it away, or use another folder with skills_dir=PATH."
            )
        return skill

    @staticmethod
    def open(folder: Path) -> Skill:
        """Read a skill folder.

        Raises:
            BadInputError: there is no skill.yaml.
            CorruptFileError: skill.yaml is not readable or of another schema version.
        """
        path = folder / "skill.yaml"
        if not path.is_file():
            raise BadInputError(
                f'{folder} is not a skill folder: it has no skill.yaml. Make one: lagoon make "COMMAND"'
            )
        advice = f"Delete {path} to run all stages again, or restore the file."
        try:
            raw = yaml.safe_load(path.read_text(encoding="utf-8"))
            version = raw["schema_version"]
            if version != SCHEMA_VERSION:
                raise CorruptFileError(
                    f"{path} has schema_version {version!r}; this lagoon reads {SCHEMA_VERSION}. {advice}"
                )
            stages = {name: StageRecord(**raw["stages"].get(name, {})) for name in STAGES}
            strays = {name: record.state for name, record in stages.items() if record.state not in STATES}
            if strays:
                raise CorruptFileError(
                    f"{path} has unknown stage states {strays}; known: {', '.join(STATES)}. {advice}"
                )
            return Skill(folder, str(raw["command"]), str(raw["robot"]), stages)
        except (OSError, yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
            cause = " ".join(str(error).split())
            raise CorruptFileError(f"{path} cannot be read as a skill record ({cause}). {advice}") from error

    def save(self) -> None:
        """Write skill.yaml whole or not at all."""
        content = {
            "schema_version": SCHEMA_VERSION,
            "command": self.command,
            "slug": self.folder.name,
            "robot": self.robot,
            "stages": {name: asdict(record) for name, record in self.stages.items()},
        }
        write_text(self.folder / "skill.yaml", yaml_text(content))

    def checksums(self, paths: Iterable[Path]) -> dict[str, str]:
        """Return sha256 by path relative to the folder; a folder stands for every file in it.

        Raises:
            BadInputError: a file is missing; the text names the stage that writes it.
        """
        files: list[Path] = []
        for path in paths:
            if path.is_dir():
                files += sorted(file for file in path.rglob("*") if file.is_file())
            elif path.is_file():
                files.append(path)
            else:
                raise BadInputError(f"{path} does not exist yet. {self._writer_of(path)}")
        return {file.relative_to(self.folder).as_posix(): sha256_of(file) for file in files}

    def staleness(self, stage: str, plan: Plan) -> str | None:
        """Say why a stage has to run, in a few words; None when it is finished and unchanged.

        A file that was edited or replaced by hand after the stage is kept, and what reads it runs again.
        """
        record = self.stages[stage]
        if record.state != "done":
            return {"pending": "not run yet", "running": "was interrupted", "failed": "failed before"}[record.state]
        if not plan.repeats(record):
            return difference(record, plan)
        missing = [name for name in record.outputs if not (self.folder / name).is_file()]
        return f"{missing[0]} is missing" if missing else None

    def edited(self, stage: str) -> list[str]:
        """Names of the files that a stage wrote and that hold something else now."""
        outputs = self.stages[stage].outputs
        paths = {name: self.folder / name for name in outputs}
        return [name for name, path in paths.items() if path.is_file() and sha256_of(path) != outputs[name]]

    def current(self) -> list[str]:
        """Names of the finished stages, in order, of which nothing in this folder that they read has changed since."""

        def reads_the_same(record: StageRecord) -> bool:
            own = {name: sha256 for name, sha256 in record.inputs.items() if name.partition("/")[0] in OWN_FILES}
            return all(self._sha256(name) == sha256 for name, sha256 in own.items())

        return [name for name, record in self.stages.items() if record.state == "done" and reads_the_same(record)]

    def _sha256(self, name: str) -> str:
        path = self.folder / name
        return sha256_of(path) if path.is_file() else ""

    def begin(self, stage: str, plan: Plan) -> None:
        """Record that a stage starts."""
        self.stages[stage] = StageRecord(
            state="running",
            fingerprint=plan.fingerprint,
            config_sha256=hash_of(dict(plan.config)),
            config=dict(plan.config),
            seed=plan.seed,
            inputs=dict(plan.inputs),
            started=_now(),
            lagoon_version=__version__,
            git_revision=git_revision(),
        )
        self.save()

    def finish(self, stage: str, outputs: Iterable[Path], result: str, seconds: float) -> None:
        """Record that a stage ended, with the checksums of what it wrote."""
        record = self.stages[stage]
        record.outputs = self.checksums(outputs)
        record.state, record.result, record.error = "done", result, ""
        record.finished, record.seconds = _now(), round(seconds, 3)
        self.save()

    def fail(self, stage: str, error: str, seconds: float) -> None:
        """Record that a stage failed; what earlier stages wrote stays usable."""
        record = self.stages[stage]
        record.state, record.error = "failed", error
        record.finished, record.seconds = _now(), round(seconds, 3)
        self.save()

    def _writer_of(self, path: Path) -> str:
        name = path.relative_to(self.folder).parts[0] if path.is_relative_to(self.folder) else path.name
        if name == self.quadruped_path.name:
            return "It came from a file: lagoon import FILE"
        writers = {"human.npz": "generate", "robot.npz": "retarget", "train": "train", "bundle": "export"}
        if name not in writers:
            return "Check the path."
        what = shlex.quote(str(self.folder))
        if name == "human.npz":  # This stage alone takes the words, not the folder.
            first = "-- " if self.command.startswith("-") else ""
            what = f"{first}{shlex.quote(self.command)} {shlex.quote(f'skills_dir={self.folder.parent}')}"
        return f"The stage '{writers[name]}' writes it: lagoon {writers[name]} {what}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
