"""What differs between robots: drawn only where asked for, within its range, and felt by the physics."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from lagoon.errors import BadInputError
from lagoon.imitation.arrival import arriving, depth_of
from lagoon.imitation.config import RandomizationConfig, TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.memory import Memory
from lagoon.imitation.randomization import body_features, draw_bodies, upright_from_floor
from lagoon.imitation.rotations import quat_rotate

FULL = RandomizationConfig(
    inertia_scale=(0.8, 1.2),
    restitution=(0.0, 0.3),
    joint_friction=(0.0, 0.3),
    joint_damping=(0.0, 0.2),
    armature_scale=(0.5, 1.5),
    zero_offset=0.03,
    delay=(0.0, 0.04),
    delay_jitter=0.01,
    packet_loss=0.05,
    slope=0.05,
    ramp=(0.0, 0.0),
)


def test_what_is_not_asked_for_is_not_drawn():
    for config in (RandomizationConfig(), dataclasses.replace(FULL, ramp=(0.25, 0.6))):
        rng = torch.Generator().manual_seed(0)
        body = draw_bodies(64, 12, 0.8, config, 1.0, rng)
        opened = config.slope > 0
        assert bool((body.inertia_scale != 1.0).any()) == opened and bool(body.slope.any()) == opened
        if not opened:
            again = torch.Generator().manual_seed(0)
            torch.rand(64 * 3 + 64 * 3 + 64 * 12 * 3, generator=again)
            assert torch.equal(rng.get_state(), again.get_state()), "the older draws alone moved the generator"


def test_every_range_is_kept_and_used():
    body = draw_bodies(4000, 12, 0.8, FULL, 1.0, torch.Generator().manual_seed(0))
    for name in ("inertia_scale", "restitution", "joint_friction", "joint_damping", "armature_scale"):
        low, high = getattr(FULL, name)
        values, margin = getattr(body, name), 0.02 * (high - low)
        assert low <= values.min() < low + margin and high - margin < values.max() <= high, name
    size = torch.asin(body.slope.norm(dim=1))
    assert 0.049 < size.max() <= 0.0501 and size.min() < 0.001 and body.slope.mean(0).abs().max() < 0.002
    half = draw_bodies(4000, 12, 0.8, FULL, 0.5, torch.Generator().manual_seed(0))
    assert half.restitution.max() <= 0.15 and half.inertia_scale.max() <= 1.1
    shown = body_features(body, torch.zeros(4000), FULL)
    assert shown.shape == (4000, 13 + 5 + 2) and shown[:, 13:].abs().max() <= 1.0 + 1e-5


def test_a_leaning_floor_turns_what_the_imu_reads():
    slope = torch.tensor([[0.05, 0.0], [0.0, -0.03], [0.0, 0.0]])
    against_gravity = torch.cat([slope, (1 - (slope**2).sum(1, keepdim=True)).sqrt()], dim=1)
    up = quat_rotate(upright_from_floor(slope), against_gravity)
    torch.testing.assert_close(up, torch.tensor([[0.0, 0.0, 1.0]]).expand(3, 3), atol=1e-6, rtol=0)


def memory_of(count, depth):
    memory = Memory(count, 1, 1, 1, depth)
    memory.past_targets[:] = -np.arange(1.0, depth + 1).reshape(1, depth, 1)
    return memory


def test_delays_beyond_a_control_step_reach_further_back():
    config = dataclasses.replace(FULL, delay_jitter=0.0, packet_loss=0.0, zero_offset=0.0)
    assert depth_of(config, 0.02) == 2 and depth_of(RandomizationConfig(), 0.02) == 1
    memory = memory_of(5, 2)
    memory.delay[:] = [0, 1, 2, 3, 4]
    now = np.zeros((5, 1), np.float32)
    seen = arriving(now, memory, config, 1.0, 2, 0.02, torch.Generator())[:, :, 0]
    assert seen.tolist() == [[0, -1, -1, -2, -2], [0, 0, -1, -1, -2]]
    assert memory.past_targets[0, :, 0].tolist() == [0.0, -1.0]


def test_lost_targets_leave_the_ones_before_and_jitter_only_adds():
    config = dataclasses.replace(FULL, delay=(0.0, 0.0), delay_jitter=0.0, packet_loss=0.3, zero_offset=0.0)
    memory = memory_of(4000, 1)
    seen = arriving(np.ones((4000, 1), np.float32), memory, config, 1.0, 2, 0.02, torch.Generator().manual_seed(0))
    assert (seen[0] == -1.0).mean() == pytest.approx(0.3, abs=0.03) and np.array_equal(seen[0], seen[1])
    jitter = dataclasses.replace(config, packet_loss=0.0, delay_jitter=0.02)
    memory = memory_of(3000, 1)
    seen = arriving(np.ones((3000, 1), np.float32), memory, jitter, 1.0, 2, 0.02, torch.Generator().manual_seed(0))
    assert (seen[0] == 1.0).mean() == pytest.approx(1 / 3, abs=0.04)
    assert (seen[1] == 1.0).mean() == pytest.approx(2 / 3, abs=0.04)


def test_an_environment_with_everything_on_runs_and_a_wrong_zero_is_felt(robot, make_crouch):
    env = TrackingEnv(make_crouch(), robot, TrainConfig(randomization=FULL), 16, 0)
    env.set_progress(1.0)
    obs = env.reset()
    assert obs["critic"].shape[1] == env.obs_dims["critic"] and abs(env.memory.zero_offset).max() > 0.02
    for _ in range(60):
        result = env.step(torch.zeros(16, 12))
        assert torch.isfinite(result.reward).all() and torch.isfinite(result.obs["critic"]).all()
    assert len(np.unique(env.memory.slope[:, 0])) > 8
    env.close()


def test_every_range_is_in_the_documents_table():
    text = (Path(__file__).parents[2] / "docs" / "imitation.md").read_text(encoding="utf-8")
    missing = [item.name for item in dataclasses.fields(RandomizationConfig) if f"`{item.name}`" not in text]
    assert not missing


@pytest.mark.parametrize(
    ("name", "value"),
    [("friction", (1.2, 0.5)), ("inertia_scale", (0.0, 1.0)), ("restitution", (0.0, 1.0)), ("packet_loss", 1.0)],
)
def test_ranges_that_cannot_be_are_refused(name, value):
    with pytest.raises(BadInputError, match=name):
        RandomizationConfig(**{name: value})
