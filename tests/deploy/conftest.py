"""Skills that need no training: the Go2 stands by playing its reference, and waves on two legs as it was taught."""

from pathlib import Path

import numpy as np
import pytest

from lagoon.bundle import load
from lagoon.bundle.playback import write_playback
from lagoon.robot import load_robot
from tests.robot_motions import still

DATA = Path(__file__).parents[1] / "data"


def standing_motion(robot, joint_pos, yaw=0.0):
    """A level motion; joint_pos (T, J)."""
    frames = len(joint_pos)
    return still(
        robot,
        frames,
        yaw,
        joint_pos=joint_pos,
        segment_names=("stand", "motion", "lead_out"),
        segment_starts=(0, frames // 4, 3 * frames // 4),
    )


@pytest.fixture(scope="session")
def robot():
    return load_robot("go2")


@pytest.fixture(scope="session")
def stand(robot):
    """Eighty ticks of standing still, facing 0.7 rad to the left in the reference's own world."""
    return standing_motion(robot, np.tile(robot.default_joint_pos, (80, 1)), yaw=0.7)


@pytest.fixture(scope="session")
def stand_bundle(robot, stand, tmp_path_factory):
    return write_playback(tmp_path_factory.mktemp("stand") / "bundle", robot, stand, "stand still")


@pytest.fixture(scope="session")
def wave():
    """A trained policy that waves on the hind legs; tests/data says where it comes from."""
    return load(DATA / "wave_hello" / "bundle", load_robot("go2"))
