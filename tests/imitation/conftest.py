"""Reference motions that the imitation tests build themselves."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from lagoon.robot import load_robot
from tests.robot_motions import still

ROBOT = load_robot("go2")


def stand(frames=60, heading=0.0):
    """The robot stands still on four legs."""
    return still(ROBOT, frames, heading, segment_names=("stand",), segment_starts=(0,))


def crouch(frames=80, depth=0.25):
    """The robot bends its knees and comes up again: a small motion whose frames all differ."""
    bend = depth * np.sin(np.pi * np.arange(frames) / (frames - 1)) ** 2
    base = stand(frames)
    joint_pos = base.joint_pos + np.outer(bend, np.tile([0.0, 1.0, -2.0], 4))
    thigh, knee = joint_pos[:, 1], joint_pos[:, 1] + joint_pos[:, 2]
    leg = ROBOT.legs[0]
    height = leg.thigh_length * np.cos(thigh) - leg.foot_offset[2] * np.cos(knee) + leg.foot_offset[0] * np.sin(knee)
    return replace(
        base, joint_pos=joint_pos, root_pos_w=np.stack([0 * bend, 0 * bend, height + ROBOT.foot_radius], axis=-1)
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
