"""What a check found, as a file that a later run can trust to be unchanged.

What enters: findings and timings. What leaves: deploy_check.json with the bundle's sha256, versions, host,
verdict, and a digest over all of it. The digest tells an edited report, not a forger.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import lagoon
from lagoon.bundle import PolicyBundle
from lagoon.bundle.folder import FACTS, GOLDEN, POLICY
from lagoon.deploy.config import DeployConfig
from lagoon.errors import BadInputError
from lagoon.paths import sha256_of, write_text

SCHEMA_VERSION = 1
FILE = "deploy_check.json"
WITHOUT_EFFECT = ("link", "unitree", "seed", "clock", "video", "dry_seconds", "record", "record_seconds")
"""Settings of deployment that a check does not depend on."""
PACKAGES = ("numpy", "onnxruntime", "mujoco")


@dataclass(frozen=True)
class Finding:
    """One line of a check."""

    name: str
    passed: bool
    text: str
    """What was measured, with its limit."""
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckReport:
    """A whole check of one bundle on one computer."""

    command: str
    robot: str
    bundle_sha256: str
    findings: tuple[Finding, ...]
    timing: dict[str, Any]
    """Quantiles of policy and loop [ms]."""
    config: dict[str, Any]
    """Settings that the check depends on."""
    versions: dict[str, str]
    host: dict[str, Any]
    created: str
    """UTC."""

    @property
    def passed(self) -> bool:
        """True when every finding is good."""
        return all(finding.passed for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the digest last."""
        content = {"schema_version": SCHEMA_VERSION, "verdict": "PASS" if self.passed else "FAIL", **asdict(self)}
        content["findings"] = [asdict(finding) for finding in self.findings]
        return {**content, "digest": digest_of(content)}

    def save(self, path: Path) -> None:
        """Write it whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n")


def digest_of(content: dict[str, Any]) -> str:
    """Sha256 over everything but the digest, in a fixed notation."""
    rest = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def bundle_sha256(folder: Path) -> str:
    """One sha256 over the three files of a bundle."""
    digest = hashlib.sha256()
    for name in (POLICY, FACTS, GOLDEN):
        digest.update(f"{name}:{sha256_of(folder / name)}\n".encode())
    return digest.hexdigest()


def versions_here() -> dict[str, str]:
    """Versions of what computes: another one may round, schedule or step otherwise."""
    found = {"lagoon": lagoon.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def host_here() -> dict[str, Any]:
    """This computer, as far as timing depends on it."""
    return {
        "name": platform.node(),
        "machine": platform.machine(),
        "kernel": platform.release(),
        "cores": os.cpu_count(),
    }


def now_utc() -> str:
    """Time stamp of a report."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def checked_settings(config: DeployConfig) -> dict[str, Any]:
    """Settings that a check depends on, as plain data: movements, guards, thresholds, the fake robot."""
    return {key: value for key, value in asdict(config).items() if key not in WITHOUT_EFFECT}


def require_check(path: Path, bundle: PolicyBundle, config: DeployConfig, shown: str) -> None:
    """Refuse to go near a real robot without a passed, unchanged check of this very bundle on this computer.

    Args:
        path: the report.
        bundle: about to be run.
        config: settings about to be used; a check with other ones, laxer thresholds for example, does not count.
        shown: how to name the skill in the command to type.

    Raises:
        BadInputError: there is none, or it does not hold; the reason is told.
    """
    again = f"Run: lagoon deploy check {shown}"
    if not path.is_file():
        raise BadInputError(f"There is no {path}. A real robot is only commanded after a passed check. {again}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadInputError(f"{path} cannot be read ({error}). {again}") from error
    if not isinstance(content, dict) or content.get("schema_version") != SCHEMA_VERSION:
        raise BadInputError(f"{path} is not a report of schema {SCHEMA_VERSION}. {again}")
    try:
        unchanged = content.get("digest") == digest_of(content)
    except ValueError:
        unchanged = False
    if not unchanged:
        raise BadInputError(f"{path} was changed after it was written. {again}")
    differences = {
        "the bundle": (content["bundle_sha256"], bundle_sha256(bundle.folder)),
        "the computer": (content["host"], host_here()),
        "the versions": (content["versions"], versions_here()),
        "the settings": (content["config"], checked_settings(config)),
    }
    for what, (checked, present) in differences.items():
        if checked != present:
            raise BadInputError(
                f"The check in {path} is for another state of {what}: {_first(checked, present)}. {again}"
            )
    if content["verdict"] != "PASS":
        failed = [finding["name"] for finding in content["findings"] if not finding["passed"]]
        raise BadInputError(f"The check in {path} ended with FAIL: {', '.join(failed)}. Mend that first. {again}")


def _first(checked: Any, present: Any) -> str:
    """The first difference in words."""
    if isinstance(checked, dict) and isinstance(present, dict):
        key = next(key for key in sorted({*checked, *present}) if checked.get(key) != present.get(key))
        if isinstance(checked.get(key), dict) and isinstance(present.get(key), dict):
            return _first(checked[key], present[key])
        return f"{key} was {checked.get(key)} and is {present.get(key)}"
    return f"it was {str(checked)[:16]} and is {str(present)[:16]}"
