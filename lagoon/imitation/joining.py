"""What another machine needs to act in a training's environment, as bytes, and how it knows that it has the same one.

What enters: motion, robot, settings. What leaves: a parcel that is read without unpickling, and an identity.
"""

from __future__ import annotations

import hashlib
import json
import struct
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lagoon import __version__
from lagoon.errors import BadInputError
from lagoon.imitation.config import TrainConfig
from lagoon.motion.robot_motion import RobotMotion
from lagoon.paths import sha256_of
from lagoon.robot import RobotSpec

_LENGTH = struct.Struct("<I")


def identity(motion: RobotMotion, robot: RobotSpec, config: TrainConfig) -> str:
    """Return 64 hexadecimal digits that differ where version, robot files, motion or settings do."""
    files = [sha256_of(path) for path in (robot.model_path, robot.model_path.with_name("robot.yaml"))]
    settings = [asdict(config.task), asdict(config.randomization)]
    facts = json.dumps([__version__, robot.name, files, settings], sort_keys=True).encode()
    digest = hashlib.sha256(facts)
    for name in ("root_pos_w", "root_quat_w", "joint_pos", "foot_contact"):
        # Reading a file normalises quaternions, which moves their last bit.
        array = getattr(motion, name).astype("float64").round(9) + 0.0
        digest.update(f"{name} {array.shape} {array.dtype}".encode() + array.tobytes())
    digest.update(f"{motion.fps} {motion.joint_names}".encode())
    return digest.hexdigest()


def packed(motion: RobotMotion, robot: RobotSpec, config: TrainConfig) -> bytes:
    """Return a parcel: the length of a JSON text, the text with the robot's name and the settings, the motion's npz."""
    head = json.dumps({"robot": robot.name, "config": asdict(config)}).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.npz"
        motion.save(path)
        return _LENGTH.pack(len(head)) + head + path.read_bytes()


def unpacked(parcel: bytes) -> tuple[RobotMotion, str, dict[str, Any]]:
    """Return motion, robot name and settings as plain data; files in it are never unpickled.

    Raises:
        BadInputError: it is no such parcel.
        CorruptFileError: the motion in it cannot be read.
    """
    try:
        (size,) = _LENGTH.unpack_from(parcel)
        head = json.loads(parcel[_LENGTH.size : _LENGTH.size + size])
        robot, config = str(head["robot"]), dict(head["config"])
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise BadInputError(
            "The trainer offers nothing that its environment can be built from. Only trainings of one skill can be "
            "joined, by the same version of lagoon."
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.npz"
        path.write_bytes(parcel[_LENGTH.size + size :])
        return RobotMotion.load(path), robot, config
