"""What another machine gets of an environment, and that it can tell whether it has the same one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lagoon.cli.schema import build
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.env import MakeTrackingEnv
from lagoon.imitation.joining import identity, packed, unpacked
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import load_robot

ROBOT = load_robot("go2")


def _motion(rng: np.random.Generator) -> RobotMotion:
    quat = rng.normal(size=(20, 4)) * [0.1, 0.01, 0.01, 0.01] + [1.0, 0.0, 0.0, 0.0]
    return RobotMotion(
        fps=50.0,
        robot="go2",
        joint_names=ROBOT.joint_names,
        root_pos_w=np.tile([0.0, 0.0, ROBOT.default_root_height], (20, 1)),
        root_quat_w=quat / np.linalg.norm(quat, axis=1, keepdims=True),
        joint_pos=np.tile(ROBOT.default_joint_pos, (20, 1)) + rng.normal(scale=1e-3, size=(20, 12)),
        foot_contact=np.ones((20, 4), dtype=bool),
    )


def test_what_was_sent_is_the_same_environment_there(tmp_path: Path) -> None:
    for seed in range(5):
        sent = _motion(np.random.default_rng(seed))
        sent.save(tmp_path / "robot.npz")
        motion, config = RobotMotion.load(tmp_path / "robot.npz"), TrainConfig(check_trials=7)
        make = MakeTrackingEnv(motion, ROBOT, config)
        arrived, name, plain = unpacked(make.parcel())
        assert name == "go2" and build(TrainConfig, plain) == config
        assert identity(arrived, ROBOT, config) == make.identity()


def test_another_motion_robot_or_setting_is_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    motion, config = _motion(np.random.default_rng(0)), TrainConfig()
    joint_pos = motion.joint_pos.copy()
    joint_pos[3, 4] += 1e-4
    task = replace(config, task=replace(config.task, action_scale=0.41))
    wide = replace(config, randomization=replace(config.randomization, slope=0.01))
    longer = replace(config, ppo=replace(config.ppo, total_steps=7))
    own = identity(motion, ROBOT, config)
    others = [
        identity(replace(motion, joint_pos=joint_pos), ROBOT, config),
        identity(motion, load_robot("go1"), config),
        identity(motion, ROBOT, task),
        identity(motion, ROBOT, wide),
    ]
    assert len({own, *others}) == 5 and identity(motion, ROBOT, longer) == own
    monkeypatch.setattr("lagoon.imitation.joining.__version__", "99")
    assert identity(motion, ROBOT, config) != own


@pytest.mark.parametrize(
    "parcel", [b"", b"\x05\x00\x00\x00[]", b"\xff\xff\xff\xff{}", b"\x02\x00\x00\x00{}", b"\x80\x04K"]
)
def test_noise_is_refused(parcel: bytes) -> None:
    with pytest.raises(BadInputError, match="offers nothing"):
        unpacked(parcel)


def test_a_damaged_motion_is_refused_and_nothing_is_unpickled() -> None:
    parcel = packed(_motion(np.random.default_rng(0)), ROBOT, TrainConfig())
    with pytest.raises(CorruptFileError):
        unpacked(parcel[:-40])
    with pytest.raises(CorruptFileError):
        unpacked(parcel[: parcel.index(b"PK\x03\x04")] + b"\x80\x04K\x01.")
