"""Reference motions that the imitation tests build themselves."""

import numpy as np
import pytest
import torch

from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import load_robot

ROBOT = load_robot("go2")


def stand(frames=60, heading=0.0):
    """The robot stands still on four legs."""
    half = heading / 2
    return RobotMotion(
        fps=50.0,
        robot="go2",
        joint_names=ROBOT.joint_names,
        root_pos_w=np.tile([0.0, 0.0, ROBOT.default_root_height], (frames, 1)),
        root_quat_w=np.tile([np.cos(half), 0.0, 0.0, np.sin(half)], (frames, 1)),
        joint_pos=np.tile(ROBOT.default_joint_pos, (frames, 1)),
        foot_contact=np.ones((frames, 4), dtype=bool),
        segment_names=("stand",),
        segment_starts=(0,),
    )


def crouch(frames=80, depth=0.25):
    """The robot bends its knees and comes up again: a small motion whose frames all differ."""
    bend = depth * np.sin(np.pi * np.arange(frames) / (frames - 1)) ** 2
    base = stand(frames)
    joint_pos = base.joint_pos + np.outer(bend, np.tile([0.0, 1.0, -2.0], 4))
    thigh, knee = joint_pos[:, 1], joint_pos[:, 1] + joint_pos[:, 2]
    leg = ROBOT.legs[0]
    height = leg.thigh_length * np.cos(thigh) - leg.foot_offset[2] * np.cos(knee) + leg.foot_offset[0] * np.sin(knee)
    return RobotMotion(
        **{
            **{name: getattr(base, name) for name in base.__dataclass_fields__},
            "joint_pos": joint_pos,
            "root_pos_w": np.stack([0 * bend, 0 * bend, height + ROBOT.foot_radius], axis=-1),
        }
    )


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def robot():
    return ROBOT


@pytest.fixture
def make_stand():
    return stand


@pytest.fixture
def make_crouch():
    return crouch
