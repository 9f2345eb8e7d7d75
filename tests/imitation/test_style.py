"""The discriminator learns to tell manners apart, and cannot see what it must not."""

import dataclasses

import numpy as np
import pytest
import torch

from lagoon.errors import BadInputError
from lagoon.imitation.config import StyleConfig, TaskConfig, TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.kinematics import FootKinematics
from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import quat_mul, quat_rotate
from lagoon.imitation.style import Style, style_reward
from lagoon.sim.backend import SimState

CONFIG = StyleConfig(share=0.5, rows=64, steps=8, layers=(32, 16), pace=2e-3)


@pytest.fixture
def reference(robot, make_crouch):
    return Reference(make_crouch(), robot)


def states_at(reference, frames, shake=0.0, seed=0):
    noise = torch.Generator().manual_seed(seed)
    shaken = lambda x: x + shake * torch.randn(x.shape, generator=noise)  # noqa: E731
    return SimState(
        reference.root_pos[frames],
        reference.root_quat[frames],
        shaken(reference.root_lin_vel[frames]),
        shaken(reference.root_ang_vel[frames]),
        shaken(reference.joint_pos[frames]),
        reference.joint_vel[frames],
    )


def test_neither_place_nor_heading_nor_time_can_be_seen(reference, robot):
    feet, everyone = FootKinematics(robot), torch.arange(6)
    frames = torch.tensor([3, 9, 20, 31, 44, 60])
    turn = torch.tensor([[np.cos(0.9), 0.0, 0.0, np.sin(0.9)]], dtype=torch.float32)
    looks = []
    for moved in (False, True):
        style = Style(reference, CONFIG, 6, 0)
        for step, at in enumerate((frames, frames + 1)):
            state = states_at(reference, at)
            if moved:
                state = dataclasses.replace(
                    state,
                    root_pos_w=state.root_pos_w + torch.tensor([5.0, -3.0, 0.4]),
                    root_quat_w=quat_mul(turn.expand(6, 4), state.root_quat_w),
                    root_lin_vel_w=quat_rotate(turn.expand(6, 4), state.root_lin_vel_w),
                )
            if step == 0:
                style.begin(everyone, state, feet(state.joint_pos))
            else:
                looks.append(style.reward(state, feet(state.joint_pos)))
    # The same pairs at another place, turned away, in another order: nothing else is an input, no clock either.
    torch.testing.assert_close(looks[0], looks[1], atol=1e-5, rtol=1e-4)


def test_it_learns_to_tell_a_shaky_robot_from_the_reference(reference, robot):
    feet = FootKinematics(robot)
    style = Style(reference, CONFIG, 64, 0)
    rng = torch.Generator().manual_seed(0)
    for iteration in range(25):
        at = torch.randint(0, 70, (64,), generator=rng)
        first = states_at(reference, at, 0.2, 2 * iteration)
        style.begin(torch.arange(64), first, feet(first.joint_pos))
        second = states_at(reference, at + 1, 0.2, 2 * iteration + 1)
        shaky = style.reward(second, feet(second.joint_pos)).mean()
        style.learn()
    at = torch.arange(64)
    first, second = states_at(reference, at), states_at(reference, at + 1)
    style.begin(at, first, feet(first.joint_pos))
    smooth = style.reward(second, feet(second.joint_pos)).mean()
    assert smooth > 0.6 and shaky < smooth - 0.2
    assert style.stats["style_accuracy"] > 0.8
    assert 0 < len(style._replay) <= CONFIG.replay


def test_the_reward_is_one_for_the_reference_and_none_for_what_is_seen_through():
    assert style_reward(torch.tensor([1.0, 0.0, -1.0, -3.0, 3.0])).tolist() == pytest.approx([1.0, 0.75, 0.0, 0.0, 0.0])


def test_weights_survive_a_resume(reference):
    first, second = Style(reference, CONFIG, 4, 0), Style(reference, CONFIG, 4, 1)
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(first.score(first.real), second.score(second.real))


def test_the_environment_mixes_style_in_and_saves_it(robot, make_crouch):
    config = TrainConfig(task=TaskConfig(style=CONFIG))
    env = TrackingEnv(make_crouch(), robot, config, 8, 0)
    env.reset()
    for _ in range(12):
        result = env.step(torch.zeros(8, 12))
    assert result.obs["critic"].shape[1] == env.obs_dims["critic"] and 0 <= result.metrics["style_reward"] <= 1
    before = env.state_dict()
    env.set_progress(0.5)
    assert env.manner.style is not None and env.manner.style.stats
    after = env.state_dict()
    changed = [name for name in before if name.startswith("style.") and not torch.equal(before[name], after[name])]
    assert changed, "it learns once in an iteration"
    env.load_state_dict(before)
    env.close()


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(BadInputError, match="share"):
        StyleConfig(share=-0.1)
    with pytest.raises(BadInputError, match="rows"):
        StyleConfig(rows=0)
