"""What makes a policy quiet for the motors: the low-pass in the graph, the price of turning back."""

import dataclasses
import math

import pytest
import torch

from lagoon.engine.policy import GaussianActorCritic
from lagoon.errors import BadInputError
from lagoon.imitation.config import RewardConfig, TaskConfig, TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.policy_graph import PolicyGraph, blend_of, filtered
from lagoon.imitation.rewards import effort_penalty


def test_the_low_pass_has_its_corner_where_it_says():
    blend, dt = blend_of(5.0, 0.02), 0.02
    for hertz, low, high in ((0.5, 0.98, 1.0), (5.0, 0.6, 0.8), (25.0, 0.0, blend / (2 - blend) + 1e-3)):
        value, seen = torch.zeros(1, 1), []
        for k in range(1000):
            value = filtered(torch.tensor([[math.cos(2 * math.pi * hertz * k * dt)]]), value, blend)
            seen.append(float(value))
        assert low <= max(seen[500:]) <= high
    assert blend_of(0.0, dt) == 1.0 and blend_of(1e6, dt) == pytest.approx(1.0)


def test_environment_and_graph_filter_alike(robot, make_crouch):
    """The graph's action, fed back as it comes, is the environment's."""
    task = TaskConfig(reset_joint_noise=0.0, reset_tilt_noise=0.0, reset_velocity_noise=0.0, start_share=1.0)
    config = TrainConfig(task=dataclasses.replace(task, target_cutoff=3.0))
    env = TrackingEnv(make_crouch(), robot, config, 2, 0)
    policy = GaussianActorCritic(env.obs_dims, 12, (16,), seed=4)
    with torch.no_grad():
        for weights in list(policy.actor.parameters())[-2:]:
            weights.mul_(20.0)
    graph = PolicyGraph(policy, make_crouch(), robot, config.task).eval()
    obs, action, state = env.reset(), torch.zeros(2, 12), torch.zeros(2, graph.state_size)
    moved = 0.0
    with torch.no_grad():
        for step in range(5):
            now = env.backend.state()
            raw = policy.actor(policy.normalizer["actor"](obs["actor"]))
            clock = torch.full((2, 1), float(step))
            target, action, state = graph(
                now.joint_pos, now.joint_vel, now.root_quat_w, now.root_ang_vel_b, action, clock, state
            )
            obs = env.step(raw).obs
            torch.testing.assert_close(torch.from_numpy(env.memory.prev_action), action, atol=2e-4, rtol=1e-3)
            torch.testing.assert_close(torch.from_numpy(env.memory.past_targets[:, 0]), target, atol=2e-4, rtol=1e-3)
            moved = max(moved, float((raw.clamp(-4, 4) - action).abs().max()))
    assert moved > 0.1, "the filter did something"
    env.close()


def test_turning_back_has_a_price_and_going_on_has_none():
    config = RewardConfig(action_rate_penalty=0.0, torque_penalty=0.0, action_jerk_penalty=0.5)
    still, limit = torch.zeros(1, 12), torch.ones(12)
    step = torch.full((1, 12), 0.2)
    on = effort_penalty(step, still, still, limit, config, prev_change=step)
    back = effort_penalty(step, still, still, limit, config, prev_change=-step)
    assert float(on) == pytest.approx(0.0) and float(back) == pytest.approx(0.5 * 0.16)
    off = dataclasses.replace(config, action_jerk_penalty=0.0)
    assert float(effort_penalty(step, still, still, limit, off, prev_change=-step)) == 0.0


def test_a_cutoff_below_zero_is_refused():
    with pytest.raises(BadInputError, match="target_cutoff"):
        TaskConfig(target_cutoff=-1.0)
