"""The record of a stage: what it ran with, and whether a plan would do it again.

What enters: settings, seed, checksums of the files that a stage reads. What leaves: fingerprints, and what differs.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1
"""Of skill.yaml."""


def hash_of(value: Any) -> str:
    """Return the sha256 of plain data (mappings, lists, numbers, text), independent of key order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=True).encode()).hexdigest()


@cache
def git_revision() -> str:
    """Return the commit of the checkout lagoon runs from, ``-dirty`` if edited; ``unknown`` when installed."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return "unknown"
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


@dataclass(frozen=True)
class Plan:
    """All that decides what a stage writes; two equal plans need not run twice.

    lagoon's version is recorded beside it but is not part of it: a newer lagoon keeps finished stages,
    since weights hours old are worth more than a rerun that nobody asked for (``--again`` forces one). For the same
    reason a setting that is new and at its default makes no stage stale.
    """

    config: Mapping[str, Any]
    """Settings as plain data."""
    seed: int
    inputs: Mapping[str, str]
    """sha256 by name of each file read: skill files, the robot's description, the text model's weights."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """What ``config`` is where nothing was chosen; no part of the fingerprint."""

    def repeats(self, record: StageRecord) -> bool:
        """True when a stage that ran with ``record`` need not run again.

        A setting that lagoon got since then, and that is at its default, changes nothing: it is left out.
        """
        known = replace(self, config=_as_known(self.config, record.config, self.defaults))
        return record.fingerprint in (self.fingerprint, known.fingerprint)

    @property
    def fingerprint(self) -> str:
        """sha256 over settings, seed, inputs and the schema version."""
        return hash_of([SCHEMA_VERSION, dict(self.config), self.seed, dict(self.inputs)])


@dataclass
class StageRecord:
    """What skill.yaml says about one stage."""

    state: str = "pending"
    """pending, running (or interrupted, if no process holds the lock), done, failed."""
    result: str = ""
    """A few words for the summary, for example a verdict."""
    error: str = ""
    """Why it failed; empty otherwise."""
    fingerprint: str = ""
    """sha256 of the plan it ran with."""
    config_sha256: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    """The settings it ran with, in full."""
    seed: int = 0
    inputs: dict[str, str] = field(default_factory=dict)
    """sha256 of each file read."""
    outputs: dict[str, str] = field(default_factory=dict)
    """sha256 of each file written, by path relative to the skill folder."""
    started: str = ""
    """UTC, ISO 8601."""
    finished: str = ""
    seconds: float = 0.0
    """Time it took [s]; of the last run only, if it was interrupted before."""
    lagoon_version: str = ""
    git_revision: str = ""


def difference(record: StageRecord, plan: Plan) -> str:
    """Say what a plan that does not repeat a record has that is not as it was then, in a few words."""
    before, now = flat(record.config), flat(_as_known(plan.config, record.config, plan.defaults))
    for key in sorted(before.keys() | now.keys()):
        if before.get(key) != now.get(key):
            return f"{key} changed from {before.get(key)} to {now.get(key)}"
    if record.seed != plan.seed:
        return f"seed changed from {record.seed} to {plan.seed}"
    for name in sorted(record.inputs.keys() | plan.inputs.keys()):
        if record.inputs.get(name) != plan.inputs.get(name):
            return f"{name} changed"
    return "written by another version of skill.yaml"


def _as_known(now: Mapping[str, Any], before: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``now`` without what ``before`` has no word of and what is as in ``defaults``, at any depth."""
    kept: dict[str, Any] = {}
    for key, value in now.items():
        if key not in before and key in defaults and value == defaults[key]:
            continue
        earlier, usual = before.get(key, {}), defaults.get(key, {})
        if isinstance(value, Mapping) and isinstance(earlier, Mapping) and isinstance(usual, Mapping):
            value = _as_known(value, earlier, usual)
        kept[key] = value
    return kept


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one, with dotted keys."""
    found: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            found |= flat(item, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = item
    return found
