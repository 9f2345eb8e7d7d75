"""A formula gives the same numbers for numpy arrays, which step robots, as for tensors, which are exported."""

from dataclasses import fields

import numpy as np
import pytest
import torch

from lagoon.imitation import rotations
from lagoon.imitation.arrays import clipped, joined, mean, rows_of, squared, stacked
from lagoon.imitation.chain import ChainedReference, chained
from lagoon.imitation.config import RewardConfig, TerminationConfig
from lagoon.imitation.kinematics import FootKinematics
from lagoon.imitation.observations import ActorObservation, critic_extras
from lagoon.imitation.randomization import upright_from_floor
from lagoon.imitation.reference import Reference
from lagoon.imitation.rewards import effort_penalty, tracking_error, tracking_reward
from lagoon.imitation.terminations import failed
from lagoon.sim.backend import SimState

ROWS = 40


def both(formula, *arrays, atol=2e-6):
    """Call a formula with arrays of each kind; returns the numpy result after comparing."""
    ours = formula(*(array.numpy() for array in arrays))
    theirs = formula(*arrays)
    assert isinstance(ours, np.ndarray) and ours.dtype == theirs.numpy().dtype
    np.testing.assert_allclose(ours, theirs.numpy(), atol=atol, rtol=1e-5)
    return ours


@pytest.fixture
def draw():
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator)


def unit(rows):
    return rows / rows.norm(dim=-1, keepdim=True)


@pytest.fixture
def state(draw, robot, make_crouch):
    reference = Reference(make_crouch(), robot)
    step = torch.randint(0, 90, (ROWS,), generator=torch.Generator().manual_seed(1))
    at = reference.at(step)
    shaken = SimState(
        at.root_pos + 0.02 * draw(ROWS, 3),
        unit(at.root_quat + 0.1 * draw(ROWS, 4)),
        draw(ROWS, 3),
        draw(ROWS, 3),
        at.joint_pos + 0.1 * draw(ROWS, 12),
        draw(ROWS, 12),
    )
    return reference, step, shaken


def test_the_small_functions(draw):
    a, b = draw(ROWS, 12), draw(ROWS, 12)
    both(squared, a)
    both(squared, draw(ROWS, 4, 3))
    both(rows_of, draw(ROWS, 4, 3))
    both(lambda x, y: stacked([x, y]), a, b)
    both(lambda x, y: joined([x, y]), a, b)
    for bounds in ((-0.5, 0.5), (None, 0.5), (-0.5, None)):
        both(lambda x, bounds=bounds: clipped(x, *bounds), a)
    assert mean(a[:, 0].numpy()) == pytest.approx(mean(a[:, 0]), abs=1e-6)


def test_rotations(draw):
    a, b, v = unit(draw(ROWS, 4)), unit(draw(ROWS, 4)), draw(ROWS, 3)
    both(rotations.quat_mul, a, b)
    both(rotations.quat_mul, a[:1], b)
    both(rotations.quat_mul, a, b[:1])
    both(rotations.quat_difference, a, b)
    both(rotations.quat_rotate, a, v)
    both(rotations.quat_rotate_inverse, a, v)
    both(rotations.quat_rotate_inverse, a, draw(2, ROWS, 3))
    both(rotations.quat_from_rotvec, v)
    both(rotations.quat_from_heading, unit(draw(ROWS, 2)))
    for name in ("quat_conj", "gravity_in_base", "quat_to_rotvec", "quat_angle", "heading_of"):
        both(getattr(rotations, name), a, atol=1e-5)
    both(upright_from_floor, 0.1 * draw(ROWS, 2))


def test_feet(draw, robot):
    both(FootKinematics(robot), draw(ROWS, 12))


def test_rewards_and_failures(draw, robot, state):
    reference, step, seen = state
    feet = FootKinematics(robot)(seen.joint_pos)
    ours = tracking_error(seen.numpy(), reference, step.numpy(), feet.numpy())
    theirs = tracking_error(seen, reference, step, feet)
    for item in fields(theirs):
        np.testing.assert_allclose(getattr(ours, item.name), getattr(theirs, item.name), atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(
        tracking_reward(ours, RewardConfig()), tracking_reward(theirs, RewardConfig()), atol=1e-6
    )
    fell = failed(theirs, TerminationConfig(max_tilt=0.15))
    assert 0 < fell.sum() < ROWS and np.array_equal(failed(ours, TerminationConfig(max_tilt=0.15)), fell.numpy())
    config = RewardConfig(action_jerk_penalty=0.1)
    action, before, torque, change = draw(ROWS, 12), draw(ROWS, 12), 30 * draw(ROWS, 12), draw(ROWS, 12)
    limit = torch.full((12,), 20.0)
    both(lambda *arrays: effort_penalty(*arrays[:4], config, arrays[4]), action, before, torque, limit, change)


@pytest.mark.parametrize("words", [None, torch.tensor([0.6, -0.8])])
def test_observations(draw, robot, state, make_crouch, words):
    reference, step, seen = state
    chain = ChainedReference(chained([make_crouch(60), make_crouch(30)], robot.control_dt**-1), robot)
    stand = torch.tensor(robot.default_joint_pos, dtype=torch.float32)
    for table in (reference, chain):
        observe = ActorObservation(table, stand, (1, 4, 8), 2, words)
        past = draw(ROWS, observe.state_size)
        past[:, :2] = unit(draw(ROWS, 2))
        readings = (seen.joint_pos, seen.joint_vel, seen.root_quat_w, seen.root_ang_vel_b, draw(ROWS, 12))
        rows = both(observe, *readings, step, past, atol=1e-4)
        assert rows.shape == (ROWS, observe.size)
        frame = observe.frame(*(reading.numpy() for reading in (*readings[:3], readings[4])))
        given = observe(*(reading.numpy() for reading in readings), step.numpy(), past.numpy(), frame)
        assert np.array_equal(given, rows), "a frame that is known already changes nothing"
    feet, body = FootKinematics(robot)(seen.joint_pos), draw(ROWS, 5)
    ours = critic_extras(seen.numpy(), reference, step.numpy(), feet.numpy(), body.numpy())
    np.testing.assert_allclose(ours, critic_extras(seen, reference, step, feet, body), atol=2e-6)
