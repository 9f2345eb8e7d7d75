"""Training writes what it promises, learns, and goes on where it stopped."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import yaml

from lagoon.engine.config import PPOConfig
from lagoon.errors import BadInputError
from lagoon.imitation.base_policy import begin
from lagoon.imitation.config import StartConfig, TrainConfig
from lagoon.imitation.train import train, trained
from lagoon.motion.rotations import quat_from_rotvec

SMALL = PPOConfig(num_envs=16, horizon=16, total_steps=4096, workers=1, tensorboard=False, hidden=(32, 16))


def test_training_folder_and_checks(robot, make_crouch, tmp_path):
    said = []
    checkpoint = train(
        make_crouch(), robot, TrainConfig(ppo=SMALL, check_trials=4), tmp_path, 1, lambda f, m="": said.append((f, m))
    )
    assert checkpoint.path.is_file() and checkpoint.facts["finished"]
    assert yaml.safe_load((tmp_path / "config.yaml").read_text())["ppo"]["num_envs"] == 16
    checks = [json.loads(line) for line in (tmp_path / "checks.jsonl").read_text().splitlines()]
    assert checks[-1]["fraction"] == 1.0 and checks[-1]["survival"] == 1.0
    assert "survive" in said[-1][1] and said[-1][0] == 1.0
    assert trained(tmp_path).path == checkpoint.path


def test_finished_training_is_not_repeated(robot, make_crouch, tmp_path):
    config = TrainConfig(ppo=SMALL, check_trials=4)
    first = train(make_crouch(), robot, config, tmp_path, 1)
    again = train(make_crouch(), robot, config, tmp_path, 1)
    assert again.path == first.path
    assert all(torch.equal(again.tensors[name], first.tensors[name]) for name in first.tensors)


def test_no_checkpoint_says_what_to_type(tmp_path):
    with pytest.raises(BadInputError, match="lagoon train"):
        trained(tmp_path)


def test_learning_raises_the_reward(robot, make_crouch, tmp_path):
    """Start poses are disturbed, so there is something to learn; a few iterations must show it."""
    config = TrainConfig(
        ppo=PPOConfig(num_envs=64, horizon=16, total_steps=30_000, workers=1, tensorboard=False, std_start=0.3)
    )
    train(make_crouch(), robot, config, tmp_path, 0)
    rewards = [json.loads(line)["train/reward"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.05


def test_a_motion_on_four_feet_gets_the_small_budget_and_a_rear_up_the_whole(robot, make_crouch):
    config = TrainConfig(easy_share=0.25, start=StartConfig(policy="none"))
    easy = make_crouch()
    values = {name: getattr(easy, name) for name in easy.__dataclass_fields__}
    pitch = np.zeros((easy.num_frames, 3))
    pitch[40:50, 1] = -1.2
    upright = type(easy)(**{**values, "root_quat_w": quat_from_rotvec(pitch)})
    two = type(easy)(**{**values, "foot_contact": np.tile([True, True, False, False], (easy.num_frames, 1))})
    motions = {"easy": easy, "upright": upright, "two feet": two}
    steps = {name: begin(m, robot, config).config.ppo.total_steps for name, m in motions.items()}
    whole = config.ppo.total_steps
    assert steps == {"easy": whole // 4, "upright": whole, "two feet": whole}


@pytest.mark.parametrize(("name", "steady", "most"), [("steady", 0.5, 1.0), ("unsteady", 1.1, 2.0)])
def test_training_goes_on_until_the_policy_is_steady_or_settling_is_used_up(
    robot, make_crouch, tmp_path, name, steady, most
):
    config = TrainConfig(ppo=SMALL, check_trials=4, check_every=0.5, steady=steady, settle=1.0, easy_share=1.0)
    told = []
    checkpoint = train(make_crouch(), robot, config, tmp_path, 1, lambda share, message: told.append(share))
    assert checkpoint.facts["step"] == most * SMALL.total_steps and checkpoint.facts["finished"]
    assert told == sorted(told) and told[-2:] == [most / 2.0, 1.0]
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["train/std"] for line in lines if line["progress/steps"] > SMALL.total_steps] == [SMALL.std_end] * (
        round((most - 1.0) * SMALL.total_steps) // (SMALL.num_envs * SMALL.horizon)
    )
    again = train(make_crouch(), robot, config, tmp_path, 1)
    assert again.facts["step"] == checkpoint.facts["step"], "what is finished stays as it is"
    longer = replace(config, settle=most + 1.0, steady=1.1)
    assert train(make_crouch(), robot, longer, tmp_path, 1).facts["step"] == (most + 2.0) * SMALL.total_steps
