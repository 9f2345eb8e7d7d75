"""Several skills in one environment, told apart by words; the rest is the environments' own."""

import numpy as np
import pytest
import torch

from lagoon.engine.config import PPOConfig
from lagoon.engine.environment import check_vec_env
from lagoon.engine.policy import GaussianActorCritic
from lagoon.errors import BadInputError
from lagoon.imitation.config import RandomizationConfig, TaskConfig, TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.policy_graph import PolicyGraph
from lagoon.imitation.together import WORDS_SIZE, Learned, MakeTogetherEnv, condensed
from lagoon.imitation.train import train_together

from .conftest import ROBOT, crouch, stand

WORDS = tuple(np.eye(3)[k].tolist() for k in range(3))
CONFIG = TrainConfig()


def skills(count=2):
    motions = (stand(40), crouch(60), crouch(50, depth=0.1))
    return tuple(Learned(motions[k], tuple(WORDS[k])) for k in range(count))


def test_it_keeps_what_an_environment_promises():
    check_vec_env(MakeTogetherEnv(skills(3), ROBOT, CONFIG)(0, 7, seed=1), steps=80)


def test_robots_are_shared_out_and_each_is_told_its_own_words():
    env = MakeTogetherEnv(skills(3), ROBOT, CONFIG)(0, 8, seed=1)
    assert env.sizes == [3, 3, 2] and env.num_envs == 8
    obs = env.reset()
    told = obs["actor"][:, -3:]
    assert torch.equal(told, torch.eye(3)[[0, 0, 0, 1, 1, 1, 2, 2]])
    assert obs["critic"].shape[1] == env.obs_dims["critic"]


def test_each_part_is_what_its_environment_would_do_alone():
    one = skills(2)[1]
    env = MakeTogetherEnv(skills(2), ROBOT, CONFIG)(0, 8, seed=3)
    alone = TrackingEnv(one.motion, ROBOT, CONFIG, 4, (3 * 1009 + 0) * 1009 + 1, words=one.told)
    for each in (env, alone):
        each.reset()
    draw = torch.Generator().manual_seed(0)
    for _ in range(5):
        action = 0.1 * torch.randn((8, ROBOT.num_joints), generator=draw)
        both, own = env.step(action), alone.step(action[4:])
        assert torch.equal(both.obs["actor"][4:], own.obs["actor"])
        assert torch.equal(both.reward[4:], own.reward)
        assert torch.equal(both.done_ids[both.done_ids >= 4] - 4, own.done_ids)


def test_what_it_keeps_leads_back_to_the_same_draws():
    make = MakeTogetherEnv(skills(2), ROBOT, CONFIG)
    first, second = make(0, 4, seed=1), make(0, 4, seed=2)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.reset()["actor"], second.reset()["actor"])


def test_close_commands_stay_close_and_others_apart():
    draw = np.random.default_rng(4)
    base = draw.normal(size=384)
    near, other = condensed(base + 0.1 * draw.normal(size=384)), condensed(draw.normal(size=384))
    here = condensed(base)
    assert len(here) == WORDS_SIZE and np.linalg.norm(here) == pytest.approx(1.0)
    assert here == condensed(base)
    assert np.linalg.norm(np.subtract(near, here)) < 0.3 < np.linalg.norm(np.subtract(other, here))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((WORDS[0],), "takes two skills or more"),
        ((WORDS[0], ()), r"words of one size; the sizes are \[0, 3\]"),
        ((WORDS[0], WORDS[1], WORDS[0]), "Skills 1 and 3 have nearly the same words"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(words, message):
    with pytest.raises(BadInputError, match=message):
        MakeTogetherEnv(tuple(Learned(stand(30), tuple(w)) for w in words), ROBOT, CONFIG)


def test_fewer_robots_than_skills_are_refused():
    with pytest.raises(BadInputError, match="2 robots in a worker cannot be shared out among 3 skills"):
        MakeTogetherEnv(skills(3), ROBOT, CONFIG)(0, 2, seed=0)


def test_the_exported_graph_of_a_skill_sees_what_the_environment_showed(tmp_path):
    """One policy, two graphs: each holds its own words and motion, and answers as the trained network does."""
    config = TrainConfig(
        ppo=PPOConfig(num_envs=8, horizon=8, hidden=(16,), total_steps=128, workers=1, tensorboard=False),
        task=TaskConfig(reset_joint_noise=0.0, reset_tilt_noise=0.0, reset_velocity_noise=0.0),
        randomization=RandomizationConfig(ramp=(1.0, 1.0)),
        check_trials=2,
        easy_share=0.5,
    )
    pair = skills(2)
    checkpoint = train_together(pair, ROBOT, config, tmp_path, seed=0)
    from lagoon.engine.session import load_policy

    policy = load_policy(checkpoint)
    assert isinstance(policy, GaussianActorCritic)
    line = (tmp_path / "checks.jsonl").read_text().splitlines()[-1]
    assert '"each": [' in line
    for one in pair:
        env = TrackingEnv(one.motion, ROBOT, config, 3, seed=5, start_share=1.0, words=one.told)
        env.set_progress(0.0)
        obs = env.reset()
        state = env.backend.state()
        graph = PolicyGraph(policy, one.motion, ROBOT, config.task, one.told)
        zeros = torch.zeros(3, ROBOT.num_joints)
        still = (state.joint_pos, state.joint_vel, state.root_quat_w, state.root_ang_vel_b)
        with torch.no_grad():
            _, action, _ = graph(*still, zeros, torch.zeros(3, 1), torch.zeros(3, graph.state_size))
            expected = policy.actor(policy.normalizer["actor"](obs["actor"]))
        assert torch.allclose(action, expected, atol=1e-5)
        swapped = torch.tensor(one.words).roll(1)
        other = PolicyGraph(policy, one.motion, ROBOT, config.task, swapped)
        with torch.no_grad():
            _, confused, _ = other(*still, zeros, torch.zeros(3, 1), torch.zeros(3, other.state_size))
        assert (confused - action).abs().max() > 1e-4
