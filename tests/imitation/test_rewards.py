"""The reward is 1 on the reference and falls with every kind of error; failures are where they are said to be."""

import dataclasses

import pytest
import torch

from lagoon.imitation.config import RewardConfig, TerminationConfig
from lagoon.imitation.kinematics import FootKinematics
from lagoon.imitation.reference import Reference
from lagoon.imitation.rewards import effort_penalty, tracking_error, tracking_reward
from lagoon.imitation.rotations import quat_from_rotvec, quat_mul
from lagoon.imitation.terminations import failed
from lagoon.sim.backend import SimState


@pytest.fixture
def on_reference(robot, make_crouch):
    reference, step = Reference(make_crouch(), robot), torch.tensor([10, 40])
    state = SimState(
        reference.root_pos[step].clone(),
        reference.root_quat[step].clone(),
        reference.root_lin_vel[step].clone(),
        reference.root_ang_vel[step].clone(),
        reference.joint_pos[step].clone(),
        reference.joint_vel[step].clone(),
    )
    return reference, step, state, FootKinematics(robot)


def test_perfect_tracking_earns_one_and_never_fails(on_reference):
    reference, step, state, feet = on_reference
    error = tracking_error(state, reference, step, feet(state.joint_pos))
    assert torch.allclose(tracking_reward(error, RewardConfig()), torch.ones(2), atol=1e-3)
    assert not failed(error, TerminationConfig()).any()


@pytest.mark.parametrize(
    "name", ["root_pos_w", "root_quat_w", "root_lin_vel_w", "root_ang_vel_b", "joint_pos", "joint_vel"]
)
def test_every_error_costs_and_larger_ones_cost_more(on_reference, name):
    reference, step, state, feet = on_reference
    rewards = []
    for size in (0.0, 0.05, 0.2):
        value = getattr(state, name).clone()
        if name == "root_quat_w":
            value = quat_mul(value, quat_from_rotvec(torch.tensor([[size, 0.0, 0.0]])))
        elif name == "root_pos_w":
            value[:, 2] += size
        else:
            value += size * (10 if "vel" in name else 1)
        error = tracking_error(dataclasses.replace(state, **{name: value}), reference, step, feet(state.joint_pos))
        rewards.append(tracking_reward(error, RewardConfig()).mean().item())
    assert rewards[0] > rewards[1] + 1e-3 > rewards[2] + 2e-3


def test_position_in_the_ground_plane_is_free(on_reference):
    """The actor cannot sense it, so it must be neither paid for nor a reason to fail."""
    reference, step, state, feet = on_reference
    moved = state.root_pos_w + torch.tensor([3.0, -2.0, 0.0])
    error = tracking_error(dataclasses.replace(state, root_pos_w=moved), reference, step, feet(state.joint_pos))
    same = tracking_error(state, reference, step, feet(state.joint_pos))
    assert torch.equal(tracking_reward(error, RewardConfig()), tracking_reward(same, RewardConfig()))


def test_tilt_and_heading_are_told_apart(on_reference):
    reference, step, state, feet = on_reference
    turned = quat_mul(quat_from_rotvec(torch.tensor([[0.0, 0.0, 0.3]])), state.root_quat_w)
    error = tracking_error(dataclasses.replace(state, root_quat_w=turned), reference, step, feet(state.joint_pos))
    assert torch.allclose(error.tilt, torch.zeros(2), atol=1e-3)
    assert torch.allclose(error.heading_sq.sqrt(), torch.full((2,), 0.3), atol=1e-3)
    tipped = quat_mul(state.root_quat_w, quat_from_rotvec(torch.tensor([[0.0, 0.3, 0.0]])))
    error = tracking_error(dataclasses.replace(state, root_quat_w=tipped), reference, step, feet(state.joint_pos))
    assert torch.allclose(error.tilt, torch.full((2,), 0.3), atol=1e-3)
    assert error.heading_sq.max() < 1e-4


@pytest.mark.parametrize(("name", "limit"), [("max_tilt", 0.3), ("max_height_error", 0.1)])
def test_failure_begins_at_the_limit(on_reference, name, limit):
    reference, step, state, feet = on_reference
    outcomes = []
    for size in (0.95 * limit, 1.05 * limit):
        if name == "max_tilt":
            quat = quat_mul(state.root_quat_w, quat_from_rotvec(torch.tensor([[0.0, size, 0.0]])))
            changed = dataclasses.replace(state, root_quat_w=quat)
        else:
            changed = dataclasses.replace(state, root_pos_w=state.root_pos_w + torch.tensor([0.0, 0.0, size]))
        error = tracking_error(changed, reference, step, feet(state.joint_pos))
        outcomes.append(failed(error, TerminationConfig(**{name: limit})).tolist())
    assert outcomes == [[False, False], [True, True]]


def test_effort_is_free_when_quiet_and_priced_by_hand():
    config = RewardConfig(action_rate_penalty=0.5, torque_penalty=2.0)
    zero, limit = torch.zeros(1, 2), torch.tensor([10.0, 10.0])
    assert effort_penalty(zero, zero, torch.full((1, 2), 7.0), limit, config).item() == 0.0
    # Changes 1 and 3: mean square 5. Torques 9 and 2 of 10: excess 0.2 and 0: mean square 0.02.
    price = effort_penalty(torch.tensor([[1.0, 3.0]]), zero, torch.tensor([[9.0, -2.0]]), limit, config)
    assert price.item() == pytest.approx(0.5 * 5 + 2.0 * 0.02)
