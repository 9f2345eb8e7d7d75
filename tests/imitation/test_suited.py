"""Which settings a motion asks for."""

import dataclasses

import numpy as np
import pytest

from lagoon.imitation.config import TrainConfig
from lagoon.imitation.suited import Traits, suited
from lagoon.motion.rotations import quat_from_rotvec
from lagoon.robot import load_robot

ROBOT = load_robot("go2")
HIND = [k for k, leg in enumerate(ROBOT.legs) if not leg.is_front]
CONFIG = TrainConfig()


def pitched(motion, most):
    """The motion with its base pitching up to ``most`` [rad] over its length."""
    pitch = np.zeros((motion.num_frames, 3))
    pitch[:, 1] = np.linspace(0.0, -most, motion.num_frames)
    return dataclasses.replace(motion, root_quat_w=quat_from_rotvec(pitch))


def lifted(motion, feet, start, stop):
    """The motion with feet off the floor in some frames, all of which are its middle part."""
    contact = motion.foot_contact.copy()
    contact[start:stop, feet] = False
    return dataclasses.replace(
        motion, foot_contact=contact, segment_names=("lead_in", "motion", "lead_out"), segment_starts=(0, 5, 90)
    )


def test_a_motion_that_stands_on_both_feet_changes_nothing(make_crouch):
    assert suited(CONFIG, make_crouch(), ROBOT) == (CONFIG, ())
    assert suited(CONFIG, pitched(make_crouch(), 1.4), ROBOT) == (CONFIG, ())
    front = lifted(pitched(make_crouch(), 1.4), [k for k in range(4) if k not in HIND], 20, 60)
    assert suited(CONFIG, front, ROBOT) == (CONFIG, ())


def test_a_motion_that_steps_gets_looser_limits_and_more_noise_first(make_crouch):
    steps = lifted(pitched(make_crouch(), 1.4), HIND[:1], 30, 40)
    chosen, reasons = suited(CONFIG, steps, ROBOT)
    task = chosen.task
    assert (task.termination.max_tilt, task.termination.max_height_error) == (0.5, 0.12)
    assert (task.start_share, task.adaptive_starts, chosen.start.std) == (0.3, 0.5, 0.25)
    assert len(reasons) == 1 and reasons[0].startswith("it steps: limits of 0.5 rad and 0.12 m")
    before = lifted(pitched(make_crouch(), 1.4), HIND[:1], 0, 4)  # Feet are moved before every upright motion.
    assert suited(CONFIG, before, ROBOT) == (CONFIG, ())


def test_a_tumble_gets_the_loosest_limits_and_nothing_that_the_graph_depends_on(make_crouch):
    tumble = lifted(pitched(make_crouch(), 6.2), list(range(4)), 30, 40)
    chosen, reasons = suited(CONFIG, tumble, ROBOT)
    assert (chosen.task.termination.max_tilt, chosen.task.termination.max_height_error) == (0.8, 0.35)
    assert len(reasons) == 1 and "in the air for 0.20 s" in reasons[0]
    same = ("action_scale", "action_clip", "history", "lookahead", "target_cutoff", "alignment", "style")
    assert all(getattr(chosen.task, name) == getattr(CONFIG.task, name) for name in same)


def test_nothing_is_tightened(make_crouch):
    loose = dataclasses.replace(
        CONFIG,
        task=dataclasses.replace(
            CONFIG.task,
            start_share=0.9,
            termination=dataclasses.replace(CONFIG.task.termination, max_tilt=1.0, max_height_error=0.5),
        ),
        start=dataclasses.replace(CONFIG.start, std=0.4),
    )
    chosen, _ = suited(loose, lifted(pitched(make_crouch(), 6.2), list(range(4)), 30, 40), ROBOT)
    assert (chosen.task.termination.max_tilt, chosen.task.start_share, chosen.start.std) == (1.0, 0.9, 0.4)


def test_a_turn_that_is_meant_may_be_farther_off(make_crouch):
    turning = np.zeros((make_crouch().num_frames, 3))
    turning[:, 2] = np.linspace(0.0, 2.5, len(turning))
    spun = dataclasses.replace(make_crouch(), root_quat_w=quat_from_rotvec(turning))
    traits = Traits.of(spun, HIND)
    assert traits.spin == pytest.approx(2.5, abs=0.1) and traits.turn < 0.1 and not traits.steps
    assert suited(CONFIG, spun, ROBOT)[0].task.termination.max_heading_error == 2.5
