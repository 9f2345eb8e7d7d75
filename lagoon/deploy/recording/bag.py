"""The bag: a rosbag2 folder with MCAP storage and standard messages, written whole and read back.

What enters: an info and the steps of a loop, or a folder. What leaves: a folder, or the two again. Times in the
bag are the computer's; a measurement's header holds the robot's own clock. Needs the extra ``bag`` when called.

Topics: joint_states (JointState) and imu/data (Imu), as read; motor_command (Float64MultiArray), as sent, in the
layout of lagoon/deploy/ros/messages.py; lagoon/status (String, JSON), whenever mode, skill or ticks change;
lagoon/policy_target (JointState), when the policy ran; lagoon/recording (String, JSON), once, what this is.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.deploy.controller import Mode
from lagoon.deploy.recording.messages import MessageMaker
from lagoon.deploy.ros.messages import COLUMNS, seconds
from lagoon.deploy.transport.base import COMMANDED, MEASURED
from lagoon.errors import BadInputError, CorruptFileError, LagoonError, require

FORMAT = 1
"""Version of the topics and of what they mean."""
MODES = tuple(mode.value for mode in Mode)
"""A step's mode is an index into this."""
STATE = (*MEASURED, "joint_torque")
JOINTS, IMU, MOTORS = "/joint_states", "/imu/data", "/motor_command"
STATUS, TARGET, ABOUT = "/lagoon/status", "/lagoon/policy_target", "/lagoon/recording"
TYPES = {
    JOINTS: "sensor_msgs/msg/JointState",
    IMU: "sensor_msgs/msg/Imu",
    MOTORS: "std_msgs/msg/Float64MultiArray",
    STATUS: "std_msgs/msg/String",
    TARGET: "sensor_msgs/msg/JointState",
    ABOUT: "std_msgs/msg/String",
}


def step_type(joints: int) -> np.dtype[Any]:
    """One step of the loop as a numpy record; angles in rad, torques in Nm, times in ns or s."""
    return np.dtype(
        [
            ("ns", "i8"),
            ("has_state", "?"),
            ("stamp", "f8"),
            *[(name, "f8", (joints,)) for name in ("joint_pos", "joint_vel", "joint_torque")],
            ("imu_quat", "f8", (4,)),
            ("imu_ang_vel", "f8", (3,)),
            *[(f"command_{name}", "f8", (joints,)) for name in COMMANDED],
            ("mode", "u1"),
            ("skill", "i2"),
            ("ticks", "i4"),
            ("ticked", "?"),
            ("target", "f8", (joints,)),
        ]
    )


def _digest(steps: NDArray[Any]) -> str:
    """Sha256 over all that a bag gives back but the robot's clock, which ROS rounds; it tells damage, not a forger."""
    digest = hashlib.sha256()
    for name in steps.dtype.names or ():
        if name == "stamp":
            continue
        values = steps[name]
        if name in STATE:
            values = np.where(steps["has_state"][:, None], values, 0.0)
        elif name == "target":
            values = np.where(steps["ticked"][:, None], values, 0.0)
        if name == "joint_torque":
            # Nothing is written where the link reports none.
            values = np.where(np.isfinite(values).any(axis=1, keepdims=True), values, np.nan)
        # One number that is none is like another.
        values = np.where(np.isnan(values), np.nan, values) if values.dtype.kind == "f" else values
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def is_available() -> bool:
    """True if the extra ``bag`` is installed."""
    return importlib.util.find_spec("rosbags") is not None


def write_bag(path: Path, info: dict[str, Any], steps: NDArray[Any]) -> None:
    """Write a bag whole or not at all.

    Args:
        path: a new folder.
        info: plain data; ``joint_names`` and ``bundles`` are needed.
        steps: (N,) of step_type.

    Raises:
        LagoonError: it could not be written.
        MissingExtraError: rosbags is not installed.
    """
    require("rosbags", extra="bag")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".recording.", dir=path.parent))
        try:
            _write(temporary / path.name, info, steps)
            os.rename(temporary / path.name, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise LagoonError(f"The recording {path} could not be written: {error.strerror or error}.") from error


def _write(path: Path, info: dict[str, Any], steps: NDArray[Any]) -> None:
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    info = {**info, "digest": _digest(steps)}
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    with writer:
        at = {topic: writer.add_connection(topic, kind, typestore=store) for topic, kind in TYPES.items()}

        def put(topic: str, ns: int, message: Any) -> None:
            writer.write(at[topic], ns, store.serialize_cdr(message, TYPES[topic]))

        make = MessageMaker(store.types, info["joint_names"])
        skills, told = list(info["bundles"]), ""
        for k, row in enumerate(steps):
            ns = int(row["ns"])
            if k == 0:
                put(ABOUT, ns, make.text(info))
            if row["has_state"]:
                torque = row["joint_torque"]
                effort = torque if np.isfinite(torque).any() else torque[:0]
                put(JOINTS, ns, make.joints(row["stamp"], row["joint_pos"], row["joint_vel"], effort))
                put(IMU, ns, make.imu(row["stamp"], row["imu_quat"], row["imu_ang_vel"]))
            put(MOTORS, ns, make.command(ns, np.stack([row[f"command_{name}"] for name in COMMANDED], axis=1)))
            skill = skills[row["skill"]] if row["skill"] >= 0 else ""
            status = {"mode": MODES[row["mode"]], "skill": skill, "ticks": int(row["ticks"])}
            if json.dumps(status) != told:
                told = json.dumps(status)
                put(STATUS, ns, make.text(status))
            if row["ticked"]:
                empty = row["target"][:0]
                put(TARGET, ns, make.joints(1e-9 * ns, row["target"], empty, empty))


def read_bag(path: Path) -> tuple[dict[str, Any], NDArray[Any]]:
    """Read a bag that write_bag wrote.

    Args:
        path: the folder, or the .mcap file in it.

    Returns:
        info and (N,) steps.

    Raises:
        BadInputError: there is no such bag, or another program or version wrote it.
        CorruptFileError: it is damaged.
        MissingExtraError: rosbags is not installed.
    """
    require("rosbags", extra="bag")
    if not path.exists():
        raise BadInputError(f"There is no bag {path}. 'lagoon deploy run' writes them into recordings/ of the skill.")
    try:
        messages = _messages(path)
    except (BadInputError, MemoryError):
        raise
    except Exception as error:  # The reader raises whatever the damaged bytes lead it to.
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise CorruptFileError(f"The bag {path} is damaged or no rosbag2 bag: {reason}") from error
    try:
        return _steps(messages)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise CorruptFileError(f"The bag {path} is damaged; its messages do not fit together: {error}") from error


def _messages(path: Path) -> dict[int, dict[str, Any]]:
    """Return the messages by time and topic."""
    from rosbags.rosbag2 import Reader
    from rosbags.typesys import Stores, get_typestore

    # The bag's own definitions are not used: rosbags would turn them into code.
    store = get_typestore(Stores.ROS2_JAZZY)
    found: dict[int, dict[str, Any]] = {}
    with Reader(path) as reader:
        have = {connection.topic: connection.msgtype for connection in reader.connections}
        lacking = [topic for topic, kind in TYPES.items() if have.get(topic) != kind]
        if lacking:
            raise BadInputError(
                f"The bag {path} is no recording of lagoon: it lacks {', '.join(lacking)} and holds "
                f"{', '.join(sorted(have)) or 'nothing'}."
            )
        wanted = [connection for connection in reader.connections if connection.topic in TYPES]
        expected = sum(connection.msgcount for connection in wanted)
        count = 0
        for connection, ns, raw in reader.messages(wanted):
            found.setdefault(ns, {})[connection.topic] = store.deserialize_cdr(raw, connection.msgtype)
            count += 1
    if count != expected:
        raise CorruptFileError(f"it says that it holds {expected} messages, and has {count}.")
    return found


def _steps(messages: dict[int, dict[str, Any]]) -> tuple[dict[str, Any], NDArray[Any]]:
    about = next((group[ABOUT] for group in messages.values() if ABOUT in group), None)
    if about is None:
        raise ValueError("what was recorded is not said.")
    info = json.loads(about.data)
    if not isinstance(info, dict) or info.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT}; another version of lagoon wrote it.")
    names, skills = list(info["joint_names"]), list(info["bundles"])
    steps = np.zeros(len(messages), step_type(len(names)))
    status: dict[str, Any] = {"mode": MODES[0], "skill": "", "ticks": 0}
    for row, ns in zip(steps, sorted(messages), strict=True):
        group = messages[ns]
        row["ns"] = ns
        if JOINTS in group:
            joints, imu = group[JOINTS], group[IMU]
            if list(joints.name) != names:
                raise ValueError("the joints of its messages are not in the recording's order.")
            row["has_state"], row["stamp"] = True, seconds(joints.header.stamp)
            row["joint_pos"], row["joint_vel"] = joints.position, joints.velocity
            row["joint_torque"] = joints.effort if len(joints.effort) else np.nan
            q, w = imu.orientation, imu.angular_velocity
            row["imu_quat"], row["imu_ang_vel"] = (q.w, q.x, q.y, q.z), (w.x, w.y, w.z)
        command = group[MOTORS]
        if command.layout.dim[0].label.split(",") != names:
            raise ValueError("the joints of its commands are not in the recording's order.")
        table = command.data[command.layout.data_offset :].reshape(len(names), len(COLUMNS))
        for name, values in zip(COMMANDED, table.T, strict=True):
            row[f"command_{name}"] = values
        if STATUS in group:
            status = json.loads(group[STATUS].data)
        row["mode"], row["ticks"] = MODES.index(status["mode"]), status["ticks"]
        row["skill"] = skills.index(status["skill"]) if status["skill"] else -1
        if TARGET in group:
            if list(group[TARGET].name) != names:
                raise ValueError("the joints of its targets are not in the recording's order.")
            row["ticked"], row["target"] = True, group[TARGET].position
    if info.get("digest") != _digest(steps):
        raise ValueError("they were changed after they were written.")
    return info, steps
