"""The record of a ladder of remedies: what was tried for a skill, and how each attempt ended.

What enters: a skill whose evaluation just ended. What leaves: ladder.json, and lines for people and for the page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from lagoon.cli.skill_files import evaluation_of
from lagoon.errors import CorruptFileError
from lagoon.paths import write_text
from lagoon.skill import Skill

NAME = "ladder.json"
VERSION = 1
TELLING, UNMET = ("PASS", "FAIL", "Falls in ", "At the end:"), "(not met)"
"""Which lines of an evaluation's verdict say how it ended and why; the rest are numbers."""
NO_ERROR = 1e9
"""In place of a joint error that is not defined."""


@dataclass(frozen=True)
class Attempt:
    """How one rung, or the training that was asked for, ended."""

    policy_sha256: str
    passed: bool
    survival: float
    joint_error: float
    """[rad]"""
    verdict: tuple[str, ...]
    """What the evaluation said: the verdict, then where robots fall and why."""
    training: tuple[str, ...]
    """In which stretch robots fell in the last check of the training, and what was in the way."""
    steps: int
    """Of the training."""
    name: str = ""
    """Of the rung; empty for what was asked for."""
    words: str = "as asked for"
    changes: Mapping[str, Any] = field(default_factory=dict)
    """All settings, by dotted name, that differ from what was asked for."""

    @staticmethod
    def of(skill: Skill) -> Attempt:
        """Read how a skill's evaluation and training ended."""
        found = evaluation_of(skill)
        values = {check["name"]: check["value"] for check in found["checks"]}
        error = values.get("joint error [rad]")
        path = skill.train_folder / "checks.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        last = json.loads(lines[-1]) if lines else {}
        return Attempt(
            policy_sha256=str(found["policy_sha256"]),
            passed=bool(found["passed"]),
            survival=float(values.get("survival") or 0.0),
            joint_error=NO_ERROR if error is None else float(error),
            verdict=tuple(line for line in map(str, found["verdict"]) if line.startswith(TELLING) or UNMET in line),
            training=tuple(str(line) for line in last.get("reasons", ())),
            steps=int(last.get("steps", 0)),
        )

    @property
    def rank(self) -> tuple[bool, float, float]:
        """The greater, the better."""
        return self.passed, self.survival, -self.joint_error

    def line(self) -> str:
        """One line for people."""
        if not self.policy_sha256:
            return f"{self.words}: could not be done"
        steps = f" after {self.steps / 1e6:.1f} M steps" if self.steps else ""
        return f"{self.words}: {'PASS' if self.passed else 'FAIL'}, {self.survival:.1%} survive{steps}"


@dataclass
class Ladder:
    """What ladder.json holds."""

    settings: str
    """sha256 of what was asked for; other wishes begin another ladder."""
    attempts: list[Attempt] = field(default_factory=list)
    kept: int = 0
    """Index of the best attempt; the earlier one of two equals."""
    stored: int | None = None
    """Index of the attempt whose files are in best/."""
    holds_best: bool = True
    """False from the beginning of a rung until the skill's folder holds the files of the best attempt again."""
    current: tuple[str, str, dict[str, Any]] | None = None
    """Name, words and all changes of the rung that runs."""

    @staticmethod
    def open(folder: Path, settings: str = "") -> Ladder:
        """Read a skill's ladder; a fresh one where there is none, or where it was climbed for other settings.

        Raises:
            CorruptFileError: ladder.json cannot be read.
        """
        path = folder / NAME
        if not path.is_file():
            return Ladder(settings)
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw.pop("schema_version") != VERSION:
                raise ValueError("another schema_version")
            raw["attempts"] = [
                Attempt(**one | {"verdict": tuple(one["verdict"]), "training": tuple(one["training"])})
                for one in raw["attempts"]
            ]
            raw["current"] = raw["current"] and tuple(raw["current"])
            found = Ladder(**raw)
            found.attempts[found.kept : found.kept + 1][0].line()
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise CorruptFileError(
                f"{path} cannot be read ({' '.join(str(error).split())}). Delete it and type the same line again: the "
                "ladder of remedies then begins anew."
            ) from error
        return found if settings in ("", found.settings) else Ladder(settings)

    def save(self, folder: Path) -> None:
        """Write ladder.json whole or not at all."""
        write_text(folder / NAME, json.dumps({"schema_version": VERSION, **asdict(self)}, indent=2) + "\n")

    @property
    def tried(self) -> tuple[str, ...]:
        """Names of the rungs that ended."""
        return tuple(attempt.name for attempt in self.attempts if attempt.name)

    @property
    def best(self) -> Attempt:
        """The attempt that is kept."""
        return self.attempts[self.kept]

    @property
    def changes(self) -> dict[str, Any]:
        """What differs from what was asked for, in the rung that runs or in the attempt that is kept."""
        if self.current is not None:
            return dict(self.current[2])
        return dict(self.best.changes) if self.attempts else {}

    def begin(self, name: str, words: str, changes: Mapping[str, Any]) -> None:
        """Begin a rung, with the best so far in best/."""
        self.stored, self.holds_best = self.kept, False
        self.current = (name, words, {**self.best.changes, **changes})

    def refuse(self, why: str) -> None:
        """End a rung that could not be done."""
        assert self.current is not None
        name, words, changes = self.current
        self.attempts.append(Attempt("", False, 0.0, NO_ERROR, (why,), (), 0, name, words, changes))
        self.current = None

    def note(self, found: Attempt) -> None:
        """Take in how the skill stands now: the end of a rung, or another verdict on what is kept."""
        if self.current is not None:
            name, words, changes = self.current
            self.attempts.append(replace(found, name=name, words=words, changes=changes))
            self.current = None
            if self.attempts[-1].rank > self.best.rank:
                self.kept, self.holds_best = len(self.attempts) - 1, True
        elif not self.attempts or found.policy_sha256 != self.best.policy_sha256:
            self.attempts, self.kept, self.stored = [replace(found, changes=self.changes)], 0, None
        else:
            best = self.best
            self.attempts[self.kept] = replace(found, name=best.name, words=best.words, changes=best.changes)

    def numbers(self) -> dict[str, str]:
        """What was tried, for the page; nothing without a rung."""
        return {"remedies tried": "; ".join(attempt.line() for attempt in self.attempts)} if self.tried else {}

    def lines(self) -> list[str]:
        """What was tried, for people; nothing without a rung."""
        if not self.tried:
            return []
        rows = [f"  {one.line()}{'  (kept)' if index == self.kept else ''}" for index, one in enumerate(self.attempts)]
        if self.best.passed:
            return ["Tried:", *rows]
        return ["Tried, and none passes; the best policy is kept, marked FAIL:", *rows] + [
            f"  why: {line}" for line in (*self.best.verdict[1:], *self.best.training)
        ]
