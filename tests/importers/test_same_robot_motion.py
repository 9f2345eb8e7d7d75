"""The same clip, written in many ways, must end as the same motion of the robot; what the report tells must be so.

Everything here goes from a file through the import to the Go2's joints. Tolerances are of joint angles and of the base.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from motion_files import AT, Clip, walk_and_wave, write_bvh
from scipy.spatial.transform import Rotation
from test_import_motion import swapped_names, turned, with_numbers

from lagoon.importers.config import ImportConfig
from lagoon.importers.import_motion import import_motion
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.robot_motion import RobotMotion, resample
from lagoon.motion.rotations import angle_between
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.quality import RetargetReport, foot_slide
from lagoon.retarget.retarget import retarget
from lagoon.robot import RobotSpec, load_robot

QUICK = RetargetConfig(morphology="four_legged", passes=2, speed=1.0, keep_apart=False)
JOINTS, PLACE, TURN = 0.0005, 0.0001, 0.0005
"""How far two motions of the robot may be apart: joint angles [rad], base [m], its orientation [rad]."""


@pytest.fixture(scope="module")
def go2() -> RobotSpec:
    return load_robot("go2")


def waving(fps: float) -> Clip:
    """Somebody who stands and waves with the right hand: quick to retarget, and left is not right."""
    clip = walk_and_wave(fps, seconds=1.0)
    rotvec = clip.rotvec.copy()
    for joint in ("hip", "knee", "ankle"):
        for side in ("left", "right"):
            rotvec[:, AT[f"{side}_{joint}"]] = [0.02 if joint == "knee" else 0.0, 0.0, 0.0]
    rotvec[:, 0] = Rotation.from_euler("y", 0.4).as_rotvec()
    return Clip(fps, rotvec, np.tile([0.0, 0.95, 0.0], (len(rotvec), 1)), clip.offsets)


@pytest.fixture(scope="module")
def wanted(go2: RobotSpec, tmp_path_factory: pytest.TempPathFactory) -> tuple[HumanMotion, RobotMotion]:
    path = write_bvh(tmp_path_factory.mktemp("want") / "a.bvh", waving(20.0))
    human = import_motion(path, ImportConfig())[0]
    return human, retarget(human, go2, QUICK)[0]


def same(motion: RobotMotion, want: RobotMotion, times: float = 1.0) -> None:
    assert motion.num_frames == want.num_frames
    assert np.abs(motion.joint_pos - want.joint_pos).max() < times * JOINTS
    assert np.abs(motion.root_pos_w - want.root_pos_w).max() < times * PLACE
    assert angle_between(motion.root_quat_w, want.root_quat_w).max() < times * TURN
    assert np.mean(motion.foot_contact == want.foot_contact) > 0.98


WAYS: dict[str, tuple[Callable[[Path], Path], dict]] = {
    "z up, metres": (lambda p: write_bvh(p, waving(20.0), unit=1.0, z_up=True), {}),
    "inch, 30 fps": (lambda p: write_bvh(p, waving(30.0), unit=1 / 0.0254), {}),
    "60 fps": (lambda p: write_bvh(p, waving(60.0)), {}),
    "120 fps, z up": (lambda p: write_bvh(p, waving(120.0), z_up=True), {}),
    "turned by 180 degrees": (lambda p: write_bvh(p, turned(waving(20.0), 180.0)), {}),
    "mirrored names": (lambda p: write_bvh(p, waving(20.0), names=swapped_names()), {"mirror": "names"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_however_it_is_written_the_robot_does_the_same(tmp_path: Path, go2: RobotSpec, wanted, way: str) -> None:
    write, settings = WAYS[way]
    human, report = import_motion(write(tmp_path / "a.bvh"), ImportConfig(**settings))
    assert report.repairs == ()
    same(retarget(human, go2, QUICK)[0], wanted[1])


def test_a_bad_first_frame_is_a_named_repair_and_the_same_motion(tmp_path: Path, go2: RobotSpec, wanted) -> None:
    clip = waving(20.0)
    before = Clip(
        20.0, np.concatenate([clip.rotvec[:1], clip.rotvec]), np.concatenate([clip.root[:1], clip.root]), clip.offsets
    )
    path = with_numbers(write_bvh(tmp_path / "a.bvh", before), [0], "nan")
    human, report = import_motion(path, ImportConfig())
    assert report.repairs == ("Frame 0 holds no finite positions: 1 at the ends left out.",)
    same(retarget(human, go2, QUICK)[0], wanted[1])


def test_the_hand_that_waves_is_the_leg_that_waves(go2: RobotSpec, wanted) -> None:
    moved = np.ptp(wanted[1].joint_pos, axis=0)
    right, left = (moved[go2.joint_ids(go2.leg(leg).joints)].sum() for leg in ("FR", "FL"))
    assert right > 2.0 * left, "the right hand waves"


def test_retargeting_a_resampled_clip_is_resampling_the_retargeted_one(go2: RobotSpec, wanted) -> None:
    human, want = wanted
    at = np.arange(0.0, human.duration + 1e-9, 1 / 40.0)
    from lagoon.motion.interpolate import interpolate

    finer = interpolate(human.joint_pos_w, np.arange(human.num_frames) / human.fps, at)
    motion = retarget(HumanMotion(40.0, human.joint_names, finer), go2, QUICK)[0]
    same(resample(motion, 25.0), resample(want, 25.0), times=20.0)


def qpos_of(kin: Kinematics, motion: RobotMotion) -> np.ndarray:
    rows = zip(motion.root_pos_w, motion.root_quat_w, motion.joint_pos, strict=True)
    return np.array([kin.pack(*row) for row in rows])


def test_forward_kinematics_gives_the_errors_that_the_report_tells(go2: RobotSpec, wanted) -> None:
    motion, report = retarget(wanted[0], go2, QUICK)
    kin = Kinematics(go2)
    qpos = qpos_of(kin, motion)
    feet = np.array([kin.feet(row) for row in qpos])
    speed, farthest = foot_slide(feet, motion.foot_contact, motion.fps)
    assert (report.foot_slide_mean, report.foot_slide_max) == pytest.approx((speed, farthest))
    # By hand: pairs of frames in contact, and the largest way from where a contact began.
    both = motion.foot_contact[1:] & motion.foot_contact[:-1]
    by_hand = np.linalg.norm(np.diff(feet[..., :2], axis=0), axis=-1)[both].mean() * motion.fps
    assert report.foot_slide_mean == pytest.approx(by_hand)
    lowest = min(kin.clearances(row).min() for row in qpos)
    assert report.penetration_max == pytest.approx(max(0.0, -lowest))
    margin = np.minimum(motion.joint_pos - go2.joint_lower, go2.joint_upper - motion.joint_pos)
    assert report.joint_limit_margin == pytest.approx(margin.min())
    steps = np.abs(motion.joint_pos[2:] - motion.joint_pos[:-2]) * motion.fps / 2.0 / go2.joint_vel_limit
    assert report.velocity_use_max == pytest.approx(steps.max(), rel=1e-6)
    assert isinstance(report, RetargetReport)
