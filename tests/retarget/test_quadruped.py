"""What every retargeted motion of an animal must fulfil, on trots made of formulae."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.motion.quadruped_motion import QuadrupedMotion
from lagoon.motion.rotations import quat_from_yaw, quat_rotate, quat_yaw
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.quadruped import Gait, retarget_quadruped

sys.path.insert(0, str(Path(__file__).parents[1] / "importers"))
from quadruped_files import Trot, trot

QUICK = RetargetConfig(passes=2, speed=1.0, keep_apart=False)


def animal(clip: Trot, size: float = 1.0) -> QuadrupedMotion:
    """The points of a trot, with the knees halfway and behind."""
    hips, feet = clip.world(clip.hips_b), clip.feet
    points = np.stack([hips, 0.5 * (hips + feet) - [0.1, 0.0, 0.0], feet], axis=2)
    return QuadrupedMotion(clip.fps, size * points.reshape(len(hips), 12, 3), quat_from_yaw(clip.yaw))


@pytest.fixture(scope="module")
def ahead(go2):
    """A trot straight ahead with the default settings, less the tries at other speeds."""
    return retarget_quadruped(animal(trot(yaw=0.0)), go2, RetargetConfig(speed=1.0))


def clip_of(motion):
    at = motion.segment_names.index("motion")
    return slice(int(motion.segment_starts[at]), int(motion.segment_starts[at + 1]))


def feet_of(kin, motion):
    rows = zip(motion.root_pos_w, motion.root_quat_w, motion.joint_pos, strict=True)
    return np.array([kin.feet(kin.pack(*row)) for row in rows])


def test_it_walks_within_the_limits_and_says_how_well(ahead, go2, kin) -> None:
    motion, report = ahead
    assert motion.segment_names == ("stand", "lead_in", "motion", "lead_out", "stand")
    assert (report.morphology, report.verdict.grade) == ("quadruped", "trackable")
    assert (report.joint_limit_violations, report.velocity_violations, report.self_collisions) == (0, 0, 0)
    assert report.penetration_max < 0.005 and report.tracking_mean < 0.02 and report.foot_slide_mean < 0.05
    assert report.pressure_p90 < 0.04
    # 2 s at 0.6 m/s, in the robot's size, less what swelling and fading take.
    gone = motion.root_pos_w[-1] - motion.root_pos_w[0]
    assert 0.4 < gone[0] < 0.75 and abs(gone[1]) < 0.01
    feet = feet_of(kin, motion)[clip_of(motion)]
    assert np.ptp(feet[..., 2], axis=0).min() > 0.02, "all four step"


def test_it_starts_and_ends_standing_still(ahead, go2) -> None:
    motion, _ = ahead
    for frames in (slice(None, 20), slice(-25, None)):
        np.testing.assert_allclose(motion.joint_pos[frames] - go2.default_joint_pos, 0, atol=1e-12)
        np.testing.assert_allclose(motion.root_pos_w[frames, 2], go2.default_root_height, atol=1e-12)
        assert motion.foot_contact[frames].all()
    np.testing.assert_allclose(motion.root_pos_w[0, :2], 0, atol=1e-12)


def test_diagonal_feet_carry_in_turn(ahead) -> None:
    motion, _ = ahead
    middle = motion.foot_contact[clip_of(motion)][40:-40]
    assert np.mean(middle[:, 0] == middle[:, 3]) > 0.9 and np.mean(middle[:, 1] == middle[:, 2]) > 0.9
    assert 0.4 < middle.mean() < 0.7


@pytest.mark.parametrize("leg", ["FL", "RR"])
def test_the_leg_that_steps_is_the_leg_that_stepped(go2, kin, leg: str) -> None:
    motion, _ = retarget_quadruped(animal(trot(speed=0.0, cycles=2.0, legs=(leg,))), go2, QUICK)
    rise = np.ptp(feet_of(kin, motion)[clip_of(motion)][..., 2], axis=0)
    names = [leg.name for leg in go2.legs]
    assert names[int(rise.argmax())] == leg and np.sort(rise)[-2] < 0.3 * rise.max()


def test_mirrored_animals_give_mirrored_robots(go2) -> None:
    left = animal(trot(yaw=0.0, turn=0.8, cycles=3.0))
    legs = left.joint_pos_w.reshape(-1, 4, 3, 3)[:, [1, 0, 3, 2]] * [1.0, -1.0, 1.0]
    right = replace(left, joint_pos_w=legs.reshape(-1, 12, 3), trunk_quat_w=left.trunk_quat_w * [1, -1, 1, -1])
    one, other = (retarget_quadruped(clip, go2, QUICK)[0] for clip in (left, right))
    mirror, sign = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8], np.array([-1, 1, 1] * 4)
    np.testing.assert_allclose(other.joint_pos[:, mirror] * sign, one.joint_pos, atol=0.02)
    assert quat_yaw(one.root_quat_w)[-1] > 0.3 and quat_yaw(other.root_quat_w)[-1] < -0.3


def test_the_size_of_the_animal_changes_nothing(go2) -> None:
    clip = trot(yaw=0.0, cycles=2.0)
    want, big = (retarget_quadruped(animal(clip, size), go2, QUICK)[0] for size in (1.0, 1.5))
    assert np.abs(big.joint_pos - want.joint_pos).max() < 0.03, "a larger animal, the same robot"


def test_twice_as_slow_lasts_twice_as_long(go2) -> None:
    full, half = (Gait.of(animal(trot(yaw=0.0)), go2, 50.0, speed) for speed in (1.0, 0.5))
    assert len(half.middle) == 2 * len(full.middle) - 1
    np.testing.assert_allclose(half.middle[::2], full.middle, atol=1e-6)


def test_a_jump_is_a_flight_and_a_slow_foot_is_a_contact(go2) -> None:
    clip = trot(yaw=0.0, speed=0.0, cycles=4.0, legs=())
    up = 0.2 * np.clip(np.sin(np.linspace(0, 3 * np.pi, len(clip.pos))), 0, 1) ** 2
    jump = animal(replace(clip, pos=clip.pos + up[:, None] * [0.0, 0.0, 1.0]))
    gait = Gait.of(jump, go2, 50.0)
    assert gait.lowest.max() == pytest.approx(0.2, abs=0.01)
    assert not gait.touch[gait.lowest > 0.05].any() and gait.touch[0].all() and gait.touch[-1].all()


def test_a_clip_at_rest_is_done_as_it_is(go2) -> None:
    motion, report = retarget_quadruped(animal(trot(yaw=0.0, speed=0.0, legs=(), cycles=1.0)), go2, QUICK)
    assert "under way" not in report.morphology_reason
    up = quat_rotate(motion.root_quat_w, np.array([0.0, 0.0, 1.0]))[:, 2]
    assert up.min() > 0.999


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (RetargetConfig(morphology="upright"), "retarget.morphology=upright maps a person"),
        (RetargetConfig(fix=True), "retarget.fix changes the motion of people only"),
    ],
)
def test_what_is_for_people_is_refused(go2, config, text) -> None:
    with pytest.raises(BadInputError, match=text):
        retarget_quadruped(animal(trot()), go2, config)
