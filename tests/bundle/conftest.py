"""A small true bundle: the Go2 sways on its feet for one second."""

import shutil

import numpy as np
import pytest

from lagoon.bundle import load
from lagoon.bundle.playback import write_playback
from lagoon.motion.rotations import quat_from_axis_angle
from lagoon.robot import load_robot
from tests.robot_motions import still


@pytest.fixture(scope="session")
def robot():
    return load_robot("go2")


@pytest.fixture(scope="session")
def motion(robot):
    frames = 51
    phase = np.linspace(0.0, 2.0 * np.pi, frames)
    sway = 0.1 * np.sin(phase)
    joints = np.tile(robot.default_joint_pos, (frames, 1))
    joints[:, robot.joint_ids(["FL_thigh_joint", "FR_thigh_joint"])] += sway[:, None]
    return still(
        robot,
        frames,
        root_quat_w=quat_from_axis_angle(np.array([0.0, 1.0, 0.0]), sway),
        joint_pos=joints,
        segment_names=("lead_in", "motion"),
        segment_starts=(0, 20),
    )


@pytest.fixture(scope="session")
def pristine(tmp_path_factory, robot, motion):
    folder = tmp_path_factory.mktemp("pristine") / "bundle"
    write_playback(folder, robot, motion, "sway")
    return folder


@pytest.fixture
def folder(pristine, tmp_path):
    """A copy of the bundle that a test may spoil."""
    return shutil.copytree(pristine, tmp_path / "bundle")


@pytest.fixture(scope="session")
def bundle(pristine):
    return load(pristine)
