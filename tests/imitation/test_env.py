"""The environment keeps the engine's contract, and what it shows and pays for is what happened."""

import dataclasses

import numpy as np
import pytest
import torch

from lagoon.engine.environment import check_vec_env
from lagoon.errors import BadInputError
from lagoon.imitation.config import RandomizationConfig, TaskConfig, TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.randomization import body_features
from lagoon.imitation.reference import Reference

CALM = TrainConfig(
    task=TaskConfig(reset_joint_noise=0.0, reset_tilt_noise=0.0, reset_velocity_noise=0.0, start_share=1.0)
)


@pytest.fixture
def make_env(robot, make_crouch):
    made = []

    def build(config=CALM, n=8, seed=0, motion=None):
        made.append(TrackingEnv(motion or make_crouch(), robot, config, n, seed))
        return made[-1]

    yield build
    for env in made:
        env.close()


def test_keeps_the_vec_env_contract(make_env):
    env = make_env(TrainConfig())
    env.set_progress(1.0)
    check_vec_env(env)


def test_zero_action_follows_an_easy_reference_to_the_end(make_env):
    env = make_env()
    env.reset()
    rewards = []
    for _ in range(env.last_step - 1):
        result = env.step(torch.zeros(8, 12))
        rewards.append(result.reward.mean().item())
        assert not result.terminated.any() and not result.truncated.any()
    result = env.step(torch.zeros(8, 12))
    assert result.truncated.all() and not result.terminated.any()
    assert min(rewards) > 0.9
    assert result.done_ids.tolist() == list(range(8))


def test_a_fall_terminates_and_shows_its_true_last_observation(make_env):
    env = make_env(n=2)
    env.reset()
    push = torch.zeros(2, 12)
    push[1] = 4.0
    for _ in range(100):
        result = env.step(push)
        if result.terminated.any():
            break
    assert result.terminated.tolist() == [False, True]
    assert result.done_ids.tolist() == [1]
    assert (result.final_obs["actor"][0] - result.obs["actor"][1]).abs().max() > 0.1
    assert env.memory.step[1] == 0 and env.memory.step[0] > 0


def test_two_environments_with_one_seed_are_equal_bit_for_bit(make_env):
    runs = []
    for _ in range(2):
        env = make_env(TrainConfig(), seed=3)
        env.set_progress(1.0)
        rows = [env.reset()["critic"]]
        g = torch.Generator().manual_seed(0)
        for _ in range(30):
            result = env.step(torch.randn(8, 12, generator=g))
            rows += [result.obs["critic"].clone(), result.reward.clone()]
        runs.append(rows)
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


def test_randomization_grows_with_progress(make_env):
    config = TrainConfig(randomization=RandomizationConfig(ramp=(0.2, 0.6)))
    env = make_env(config)
    shares = []
    for fraction in (0.0, 0.2, 0.4, 0.6, 1.0):
        env.set_progress(fraction)
        shares.append(env.ramp)
    assert shares == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])
    env.set_progress(0.0)
    env.reset()
    assert torch.equal(env.body.friction, torch.full((8,), env.body.friction[0].item()))
    assert env.memory.delay.max() == 0
    env.set_progress(1.0)
    env.reset()
    assert env.body.friction.std() > 0.01 and abs(env.memory.joint_pos_offset).max() > 0


def test_a_delayed_action_arrives_later(make_env):
    env = make_env(n=3)
    env.reset()
    env.memory.delay[:] = [0, 1, 2]
    env.step(torch.full((3, 12), 0.5))
    moved = (env.backend.state().joint_pos - env.reference.joint_pos[0]).abs().sum(dim=1)
    assert moved[0] > moved[1] > moved[2]


def test_the_critic_is_told_of_the_body_and_delay_that_each_robot_has(make_env):
    """Bodies are drawn at some resets, delays at all; what is told is kept up to date by parts."""
    env = make_env(TrainConfig(), n=16)
    env.set_progress(1.0)
    env.reset()
    draw = torch.Generator().manual_seed(0)
    ended = 0
    for _ in range(60):
        ended += len(env.step(2.0 * torch.randn(16, 12, generator=draw)).done_ids)
    wanted = body_features(env.body, torch.from_numpy(env.memory.delay), env.config.randomization)
    assert ended > 16 and torch.equal(torch.from_numpy(env.memory.body), wanted)


def test_the_critic_sees_position_error_and_the_actor_does_not(make_env):
    env = make_env(n=2)
    env.reset()
    state = env.backend.state().numpy()
    feet = env.feet(state.joint_pos)
    before = {k: v.clone() for k, v in env._observe(state, env.memory, feet, np.arange(2)).items()}
    moved = dataclasses.replace(state, root_pos_w=state.root_pos_w + np.array([0.5, 0.2, 0.0], np.float32))
    after = env._observe(moved, env.memory, feet, np.arange(2))
    assert torch.equal(before["actor"], after["actor"])
    assert not torch.equal(before["critic"], after["critic"])


def test_a_motion_that_starts_turned_away_is_turned_to_the_front(robot, make_stand):
    reference = Reference(make_stand(heading=1.3), robot)
    assert np.allclose(reference.root_quat[0].numpy(), [1, 0, 0, 0], atol=1e-6)


def test_a_motion_for_another_robot_is_refused(robot, make_stand):
    other = dataclasses.replace(make_stand(), robot="spot")
    with pytest.raises(BadInputError, match="for robot 'spot'"):
        Reference(other, robot)


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(BadInputError, match="start_share"):
        TaskConfig(start_share=1.5)
    with pytest.raises(BadInputError, match="lookahead"):
        TaskConfig(lookahead=())
