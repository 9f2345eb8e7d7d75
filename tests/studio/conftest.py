import numpy as np
import pytest

from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.robot import RobotSpec, load_robot
from tests.robot_motions import still

# A person who stands, joint by joint [m]: forward, left, up.
STANDING = {
    "pelvis": (0, 0, 0.95),
    "spine1": (0, 0, 1.05),
    "spine2": (0, 0, 1.2),
    "spine3": (0, 0, 1.28),
    "neck": (0, 0, 1.45),
    "head": (0.03, 0, 1.55),
    "hip": (0, 0.09, 0.9),
    "knee": (0.02, 0.1, 0.5),
    "ankle": (-0.02, 0.1, 0.08),
    "foot": (0.12, 0.12, 0.03),
    "collar": (0, 0.08, 1.4),
    "shoulder": (0, 0.18, 1.4),
    "elbow": (0, 0.25, 1.13),
    "wrist": (0.08, 0.27, 0.88),
}


def person(frames: int = 41, fps: float = 20.0) -> HumanMotion:
    """A person who raises the right hand in the course of the clip."""
    pose = []
    for name in JOINT_NAMES:
        side, _, part = name.rpartition("_")
        x, y, z = STANDING[part]
        pose.append((x, -y if side == "right" else y, z))
    pos = np.tile(np.array(pose), (frames, 1, 1))
    pos[:, JOINT_NAMES.index("right_wrist"), 2] += np.linspace(0.0, 0.6, frames)
    return HumanMotion(fps, JOINT_NAMES, pos, "raise the right hand")


def leg_lift(robot: RobotSpec, seconds: float = 3.0, fps: float = 50.0, lift: float = 0.7) -> RobotMotion:
    """Stand, lift the front left leg, stand; three named stretches of equal length."""
    frames = int(seconds * fps) + 1
    share = np.linspace(0.0, 1.0, frames)
    up = np.clip(1.0 - np.abs(share - 0.5) * 6.0, 0.0, 1.0)
    joints = np.tile(robot.default_joint_pos, (frames, 1))
    joints[:, robot.joint_names.index("FL_calf_joint")] -= lift * up
    contact = np.ones((frames, len(robot.foot_names)), bool)
    contact[:, 0] = up == 0
    third = frames // 3
    return still(
        robot,
        frames,
        fps=fps,
        joint_pos=joints,
        foot_contact=contact,
        segment_names=("stand", "motion", "lead_out"),
        segment_starts=(0, third, 2 * third),
    )


@pytest.fixture(scope="session")
def go2() -> RobotSpec:
    return load_robot("go2")


@pytest.fixture(scope="session")
def human() -> HumanMotion:
    return person()


@pytest.fixture(scope="session")
def reference(go2: RobotSpec) -> RobotMotion:
    return leg_lift(go2)
