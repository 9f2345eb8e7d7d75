"""Reads an ONNX policy of any origin and says what a robot could be told by it, and what is missing.

What enters: a file. What leaves: its ports, the facts in its metadata, and a list of what is missing or
doubtful, each with what follows from it. Nothing is run, and files beside it are not opened. It knows
lagoon's own metadata, and the keys that mjlab and whole_body_tracking (BeyondMimic) write.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lagoon.bundle.graph import METADATA_KEY, external_weights
from lagoon.errors import BadInputError, CorruptFileError, require
from lagoon.robot import RobotSpec, known_robots, load_robot

ALIASES: dict[str, tuple[str, ...]] = {
    "joint_names": ("joint_names",),
    "kp": ("joint_stiffness", "kp"),
    "kd": ("joint_damping", "kd"),
    "default_joint_pos": ("default_joint_pos",),
    "action_scale": ("action_scale",),
    "observation_names": ("observation_names",),
    "command_names": ("command_names",),
    "anchor_body_name": ("anchor_body_name",),
    "body_names": ("body_names",),
    "run_path": ("run_path",),
}
"""Our word for a fact to the keys under which it may be found."""
PER_JOINT = ("kp", "kd", "default_joint_pos", "action_scale")
OWN = ("robot", "command", "control_dt", "joint_names", *PER_JOINT)
"""Facts that lagoon's own metadata hold too."""
NEEDED: dict[str, str] = {
    "joint_names": "the order of the joints is unknown; trying orders out on a robot breaks it",
    "kp": "the position gains of training are unknown; other gains shake or fall",
    "kd": "the damping gains of training are unknown",
    "default_joint_pos": "the pose to which actions are added is unknown",
    "action_scale": "it is unknown whether actions are radians, or how many a unit is",
    "observation_names": "what the input is made of, and in which order, is unknown",
}
"""Facts without which the policy cannot be run, and what follows."""
MAX_GAIN = 4.0
"""Gains beyond this multiple of a robot's own are told."""
NEVER_THERE: dict[str, str] = {
    "observation sizes, scales and history": "they must be read from the training's source",
    "control period": "it must be called at the rate of training; 20 ms is common, not certain",
    "joint and torque limits": "nothing in the file bounds what the policy asks for",
    "order of quaternions": "w, x, y, z and x, y, z, w look alike",
    "golden inputs and outputs": "that this computer computes the same as the training's cannot be shown",
}
"""What the formats of others have no key for."""


@dataclass(frozen=True)
class Doubt:
    """Something that is missing or does not fit."""

    what: str
    follows: str
    blocks: bool = True
    """True when the policy cannot be run without it."""


@dataclass(frozen=True)
class Findings:
    """What a file says."""

    origin: str
    """Which format: lagoon, mjlab, or unlabelled."""
    inputs: tuple[str, ...]
    """Name, type and shape of each."""
    outputs: tuple[str, ...]
    facts: Mapping[str, Any]
    """Facts found, by our names."""
    unread: tuple[str, ...]
    """Other keys of the metadata."""
    doubts: tuple[Doubt, ...]
    robots: tuple[str, ...] = ()
    """Robots of ours that it may be for: the one that it names, or those whose joints have the same names."""

    @property
    def complete(self) -> bool:
        """True when nothing stands in the way of running it."""
        return not any(doubt.blocks for doubt in self.doubts)


def inspect(path: Path) -> Findings:
    """Read a file.

    Raises:
        BadInputError: there is no such file.
        CorruptFileError: it is no ONNX model.
    """
    onnx = require("onnx", extra="deploy")
    if path.is_dir():
        inside = next((name for name in ("policy.onnx", "bundle/policy.onnx") if (path / name).is_file()), None)
        advice = f"Name the file in it: lagoon deploy inspect {shlex.quote(str(path / inside))}" if inside else ""
        raise BadInputError(f"{path} is a folder; a policy is an .onnx file. {advice}".strip())
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be read ({error.strerror}). Name an .onnx file, for example one that mjlab exported."
        ) from error
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's DecodeError is not importable without protobuf internals.
        raise CorruptFileError(f"{path} is not an ONNX model. Export the policy again, as .onnx.") from error
    graph = model.graph
    if not graph.output:
        raise CorruptFileError(f"{path} is not an ONNX model with outputs. Export the policy again, as .onnx.")
    weights = {tensor.name for tensor in graph.initializer}
    inputs = {port.name: _shape(port) for port in graph.input if port.name not in weights}
    outputs = {port.name: _shape(port) for port in graph.output}
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    doubts: list[Doubt] = []
    if outside := external_weights(model):
        doubts.append(Doubt("weights", f"{len(outside)} of them lie in another file, which must travel with this one"))
    facts, used = _facts(metadata, doubts)
    robots = _robots_of(facts, doubts)
    if METADATA_KEY in metadata:
        origin = "lagoon"
    else:
        origin = "mjlab or BeyondMimic" if "joint_stiffness" in metadata or "run_path" in metadata else "unlabelled"
        doubts += [Doubt(name, why) for name, why in NEEDED.items() if name not in facts]
        doubts += [Doubt(name, why, blocks=False) for name, why in NEVER_THERE.items()]
        _check_ports(inputs, outputs, facts, doubts)
    if robots:
        _compare(robots, facts, doubts)
    describe = lambda ports: tuple(f"{name} {list(shape)}" for name, shape in ports.items())  # noqa: E731
    return Findings(
        origin=origin,
        inputs=describe(inputs),
        outputs=describe(outputs),
        facts=facts,
        unread=tuple(sorted(set(metadata) - used)),
        doubts=tuple(doubts),
        robots=tuple(robot.name for robot in robots),
    )


def _shape(port: Any) -> tuple[int | str, ...]:
    dims = port.type.tensor_type.shape.dim
    return tuple(dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims)


def _facts(metadata: Mapping[str, str], doubts: list[Doubt]) -> tuple[dict[str, Any], set[str]]:
    """Read every known key; lagoon's own JSON wins over the comma lists beside it."""
    facts, used = {}, {METADATA_KEY} & set(metadata)
    for name, keys in ALIASES.items():
        found = [key for key in keys if key in metadata]
        if found:
            used.add(found[0])
            facts[name] = _list(metadata[found[0]])
    if METADATA_KEY in metadata:
        try:
            facts |= _own(json.loads(metadata[METADATA_KEY]))
        except ValueError:
            doubts.append(Doubt(f"metadata '{METADATA_KEY}'", "it is no JSON; the file was damaged or edited"))
    joints = len(facts.get("joint_names", ()))
    for name in PER_JOINT:
        values = facts.get(name)
        if values is None:
            continue
        numbers = [_number(value) for value in values]
        if any(math.isnan(number) for number in numbers):
            doubts.append(Doubt(name, f"it holds what is no number: {', '.join(map(str, values))[:80]}"))
            del facts[name]
            continue
        facts[name] = numbers
        if joints and len(numbers) not in (joints, 1):
            doubts.append(Doubt(name, f"it has {len(numbers)} values for {joints} joints"))
        if METADATA_KEY not in metadata and _rounded(values):
            doubts.append(Doubt(name, "it was written with at most 3 decimals; training had more", blocks=False))
    doubled = sorted({str(n) for n in facts.get("joint_names", ()) if list(facts["joint_names"]).count(n) > 1})
    if doubled:
        doubts.append(Doubt("joint_names", f"these are there twice: {', '.join(doubled)}"))
    return facts, used


def _own(values: Any) -> dict[str, Any]:
    """Facts of lagoon's own metadata, each of its kind; others are left out, and so are missing later."""
    if not isinstance(values, dict):
        raise ValueError("not a table")
    kinds = {name: list for name in ("joint_names", *PER_JOINT)} | {"robot": str, "command": str, "control_dt": float}
    return {name: values[name] for name in OWN if isinstance(values.get(name), kinds[name])}


def _list(text: str) -> list[str]:
    """Split a value as others write it: comma-separated, or a Python or JSON list."""
    items = [item.strip().strip("'\"") for item in text.strip().strip("[]()").split(",")]
    return [item for item in items if item]


def _number(value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _rounded(values: Sequence[object]) -> bool:
    decimals = [len(str(value).partition(".")[2]) for value in values if "e" not in str(value).lower()]
    return len(decimals) > 1 and max(decimals) == 3


def _robots_of(facts: Mapping[str, Any], doubts: list[Doubt]) -> list[RobotSpec]:
    """Our robots with the same joints, in whatever order; cousins often share the names."""
    names = facts.get("joint_names", ())
    if not names:
        return []
    wanted = [facts["robot"]] if facts.get("robot") in known_robots() else known_robots()
    found = [robot for robot in map(load_robot, wanted) if set(robot.joint_names) == set(names)]
    if not found:
        known = ", ".join(known_robots())
        doubts.append(Doubt("robot", f"no robot here has these joints; known: {known}", blocks=False))
    return found


def _check_ports(
    inputs: Mapping[str, tuple], outputs: Mapping[str, tuple], facts: Mapping[str, Any], doubts: list[Doubt]
) -> None:
    joints = len(facts.get("joint_names", ()))
    name = "actions" if "actions" in outputs else next(iter(outputs))
    size = outputs[name][-1] if outputs[name] else "?"
    if joints and isinstance(size, int) and size != joints:
        doubts.append(Doubt(f"output '{name}'", f"it has {size} values for {joints} joints"))
    if "time_step" not in inputs and "motion" in facts.get("command_names", ()):
        doubts.append(Doubt("reference motion", "there is no input 'time_step', so the motion is not inside the graph"))
    if "base_lin_vel" in facts.get("observation_names", ()):
        doubts.append(
            Doubt("base_lin_vel", "the policy wants the trunk's velocity, which no sensor of a robot measures")
        )


def _compare(robots: Sequence[RobotSpec], facts: Mapping[str, Any], doubts: list[Doubt]) -> None:
    names = tuple(facts["joint_names"])
    who = " or ".join(robot.name for robot in robots)
    if all(names != robot.joint_names for robot in robots):
        bus = any(names == robot.motor_names for robot in robots)
        order = "the motor bus's" if bus else "another"
        doubts.append(Doubt("joint order", f"it is {order} order, not that of {who} here; map by name", blocks=False))
    for gain in ("kp", "kd"):
        values = facts.get(gain, ())
        if len(values) != len(names):
            continue
        ratios = [
            max(v / getattr(robot, gain)[robot.joint_names.index(j)] for v, j in zip(values, names, strict=True))
            for robot in robots
        ]
        if min(ratios) > MAX_GAIN:
            doubts.append(Doubt(gain, f"up to {min(ratios):.1f} times the gains that {who} has here", blocks=False))
