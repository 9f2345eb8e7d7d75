"""Writing and loading of a bundle folder: policy.onnx, bundle.yaml, golden_io.npz.

What enters: the graph's bytes, the facts and the golden ticks, or a folder. What leaves: a PolicyBundle
whose every byte was checked. A folder is written whole or not at all, and only after it has been loaded
back successfully.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from lagoon.bundle.advice import again
from lagoon.bundle.contract import BundleInfo, RobotFacts
from lagoon.bundle.golden import Floats, Golden
from lagoon.bundle.graph import check_metadata, check_ports, open_session, short, with_metadata
from lagoon.errors import BadInputError, CorruptFileError, LagoonError
from lagoon.paths import yaml_text

SAME = 1e-6
"""Largest difference between a number of a bundle and the robot's that counts as none."""
POLICY, FACTS, GOLDEN = "policy.onnx", "bundle.yaml", "golden_io.npz"


@dataclass(frozen=True, kw_only=True)
class PolicyBundle(BundleInfo):
    """A loaded and verified bundle: the facts, the graph's bytes and the golden ticks."""

    policy: bytes = field(repr=False)
    """The ONNX file that was checked; running these bytes, not the file, keeps the check valid."""
    policy_sha256: str
    golden: Golden = field(repr=False)
    folder: Path
    """Where it was loaded from."""

    def session(self, threads: int = 1) -> Any:
        """Return a new onnxruntime session of the graph on ``threads`` threads.

        Raises:
            MissingExtraError: onnxruntime is not installed.
        """
        return open_session(self.policy, str(self.folder / POLICY), threads)


def load(folder: Path, robot: RobotFacts | None = None) -> PolicyBundle:
    """Read a bundle folder and verify it whole; see docs/bundle.md for what is checked.

    Args:
        folder: the bundle folder.
        robot: when given, the bundle must also fit this robot (check_robot), as it is described now
            (check_description).

    Raises:
        BadInputError: the folder or one of its files does not exist, or the bundle is for another robot.
        CorruptFileError: something in it does not fit; the text names it.
        MissingExtraError: onnxruntime is not installed.
    """
    if not folder.is_dir():
        raise BadInputError(f"There is no bundle folder {folder}. Write it with: lagoon export SKILL")
    missing = [name for name in (POLICY, FACTS, GOLDEN) if not (folder / name).is_file()]
    if missing:
        present = sorted(path.name for path in folder.iterdir())
        raise BadInputError(
            f"The bundle {folder} lacks {', '.join(missing)}; it holds {', '.join(present) or 'nothing'}. "
            f"{again(folder)}"
        )
    try:
        bundle = _load(folder, folder)
    except CorruptFileError as error:
        raise CorruptFileError(f"{error} {again(folder)}") from error
    if robot is not None:
        check_robot(bundle, robot)
        check_description(bundle, robot)
    return bundle


def _load(folder: Path, shown: Path) -> PolicyBundle:
    """Load from ``folder``, calling it ``shown`` in errors and in the result; errors come without advice."""
    facts = _read_facts(folder / FACTS, shown / FACTS)
    policy_sha256, golden_sha256 = (str(facts.pop(key, "missing")) for key in ("policy_sha256", "golden_sha256"))
    info = BundleInfo.from_dict(facts, str(shown / FACTS))
    policy = _read_unchanged(folder / POLICY, policy_sha256, shown)
    golden = Golden.from_bytes(_read_unchanged(folder / GOLDEN, golden_sha256, shown), str(shown / GOLDEN))
    session = open_session(policy, str(shown / POLICY))
    check_metadata(session, facts, str(shown))
    check_ports(session, info, str(shown / POLICY))
    names = [port.name for port in info.outputs]

    def infer(inputs: Mapping[str, Floats]) -> dict[str, Floats]:
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))

    golden.check(info, infer)
    values = {item.name: getattr(info, item.name) for item in fields(BundleInfo)}
    return PolicyBundle(**values, policy=policy, policy_sha256=policy_sha256, golden=golden, folder=shown)


def _read_unchanged(path: Path, sha256: str, shown: Path) -> bytes:
    """Read a file's bytes and compare their hash with the one that bundle.yaml gives."""
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise CorruptFileError(
            f"{shown / path.name} has sha256 {found[:12]}..., but {FACTS} says {sha256[:12]}...: one of the two was "
            "changed or damaged after export. Do not run it on a robot."
        )
    return data


def write_bundle(folder: Path, onnx_bytes: bytes, info: BundleInfo, golden: Golden) -> PolicyBundle:
    """Write a bundle folder whole or not at all, replacing one of the same name.

    The facts go into the graph's metadata as JSON under ``lagoon``, and the keys that mjlab and BeyondMimic
    programs read as comma lists in full precision. The folder takes its name only once it has been loaded
    back, so a graph that does not reproduce ``golden`` is never published.

    Args:
        folder: where; its parent is created.
        onnx_bytes: the graph, with its weights inside.
        info: the facts.
        golden: ticks recorded from the policy that was exported, not from this graph.

    Returns:
        The bundle as loaded back.

    Raises:
        CorruptFileError: the graph does not fulfil the contract or the golden record.
        LagoonError: the operating system refused to write; nothing was changed.
        MissingExtraError: onnx or onnxruntime is not installed.
    """
    golden.check_shape(info)
    policy, record = with_metadata(onnx_bytes, info), golden.to_bytes()
    facts = {
        **info.to_dict(),
        "policy_sha256": hashlib.sha256(policy).hexdigest(),
        "golden_sha256": hashlib.sha256(record).hexdigest(),
    }
    text = yaml_text(facts, width=110, flow=None)
    temporary: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        for name, data in ((POLICY, policy), (GOLDEN, record), (FACTS, text.encode("utf-8"))):
            _write_synced(temporary / name, data)
        _load(temporary, folder)
        temporary.chmod(0o755)
        _replace_folder(temporary, folder)
    except OSError as error:
        raise LagoonError(
            f"Could not write the bundle {folder}: {error.strerror or error}. Nothing was changed there. "
            "Free some space or choose another folder with skills_dir=PATH, then run the same command again."
        ) from error
    except CorruptFileError as error:
        raise CorruptFileError(f"{error} Nothing was written. 'lagoon doctor' shows what is installed here.") from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    return load(folder)


def check_robot(info: BundleInfo, robot: RobotFacts) -> None:
    """Check that a bundle is for this robot: name, joints, their order, and limits no wider than the robot's.

    Narrower limits are safe, since graph and runner keep to the bundle's.

    Raises:
        BadInputError: it is not; the joints and numbers that differ are named.
    """
    hint = f"Choose the robot the bundle was made for with robot={info.robot}, or export for '{robot.name}'."
    if info.robot != robot.name:
        raise BadInputError(f"The bundle is for robot '{info.robot}'; this robot is '{robot.name}'. {hint}")
    missing = [name for name in robot.joint_names if name not in info.joint_names]
    extra = [name for name in info.joint_names if name not in robot.joint_names]
    if missing or extra:
        raise BadInputError(
            f"The bundle's joints are not those of robot '{robot.name}': it lacks {', '.join(missing) or 'none'} "
            f"and has beyond them {', '.join(extra) or 'none'}. {hint}"
        )
    pairs = zip(info.joint_names, robot.joint_names, strict=True)
    moved = [f"{j}: {have} instead of {want}" for j, (have, want) in enumerate(pairs) if have != want]
    if moved:
        raise BadInputError(
            f"The bundle has the joints of robot '{robot.name}' in another order: index {'; '.join(moved)}. "
            f"Expected {', '.join(robot.joint_names)}. {hint}"
        )
    if abs(info.control_dt - robot.control_dt) > SAME:
        raise BadInputError(
            f"The bundle's control_dt is {info.control_dt} s; robot '{robot.name}' runs at {robot.control_dt} s. {hint}"
        )
    for name, side in (("joint_lower", -1), ("joint_upper", 1), ("joint_vel_limit", 1), ("torque_limit", 1)):
        have, want = getattr(info, name), getattr(robot, name)
        for j in np.flatnonzero(side * (have - want) > SAME):
            raise BadInputError(
                f"The bundle's {name} of {robot.joint_names[j]} is {have[j]:.9g}, beyond the robot's {want[j]:.9g}. "
                f"A bundle may only narrow a robot's limits. {_revised(robot)}"
            )


def check_description(info: BundleInfo, robot: RobotFacts) -> None:
    """Check that gains and stand of a bundle are those that the robot's description gives now, to 1e-6.

    The policy learned with its own, and a reader may take them from either side. A controller that takes all of
    them from the bundle does not need this.

    Raises:
        BadInputError: one differs; the joint and both numbers are named.
    """
    for name, unit in (("kp", "Nm/rad"), ("kd", "Nm s/rad"), ("default_joint_pos", "rad")):
        have, want = getattr(info, name), getattr(robot, name)
        for j in np.flatnonzero(np.abs(have - want) > SAME):
            raise BadInputError(
                f"The bundle's {name} of {robot.joint_names[j]} is {have[j]:.9g} {unit}; the robot's is {want[j]:.9g}. "
                f"{_revised(robot)}"
            )


def _revised(robot: RobotFacts) -> str:
    return (
        f"The description of '{robot.name}' has changed since this policy was trained, or one of the two was edited. "
        "Take the description it was trained with, or train again: lagoon train SKILL, then lagoon export SKILL --again"
    )


def _read_facts(path: Path, shown: Path) -> dict[str, Any]:
    try:
        facts = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CorruptFileError(f"{shown} is not readable YAML ({' '.join(str(error).split())[:200]}).") from error
    if not isinstance(facts, dict):
        raise CorruptFileError(f"{shown} holds {short(facts)}; expected the keys of a bundle.")
    return facts


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _replace_folder(temporary: Path, target: Path) -> None:
    """Rename a finished folder over ``target``; an older one is put back when the rename fails."""
    if not target.exists():
        os.rename(temporary, target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    os.rmdir(old)
    os.rename(target, old)
    try:
        os.rename(temporary, target)
    except OSError:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)
