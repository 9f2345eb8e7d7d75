"""Training begins with a policy that fits, or with nothing and the reason."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from lagoon.engine.checkpoint import load_checkpoint
from lagoon.engine.config import PPOConfig
from lagoon.engine.session import START_MEMORY, first_policy, load_policy
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.imitation import base_policy
from lagoon.imitation.base_policy import begin
from lagoon.imitation.config import AlignmentConfig, StartConfig, StyleConfig, TaskConfig, TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.pretrain import motions_of, pretrain, write_base
from lagoon.imitation.train import train
from lagoon.motion.rotations import quat_from_rotvec
from lagoon.skill import Skill

from .conftest import ROBOT, crouch

SMALL = PPOConfig(num_envs=8, horizon=8, total_steps=128, workers=1, tensorboard=False, hidden=(16,))
ITERATION = SMALL.num_envs * SMALL.horizon
CONFIG = TrainConfig(ppo=SMALL, check_trials=2, settle=0.0)


def rearing(depth=0.2):
    """A motion that needs balance, as far as the rule is concerned: its base tilts."""
    base = crouch(60, depth)
    pitch = np.zeros((60, 3))
    pitch[20:40, 1] = -0.6
    return dataclasses.replace(base, root_quat_w=quat_from_rotvec(pitch))


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A base policy of two motions, as pretraining writes it."""
    place = tmp_path_factory.mktemp("base")
    checkpoint = pretrain({"one": rearing(), "two": rearing(0.1)}, ROBOT, CONFIG, place / "train")
    write_base(checkpoint, ["one", "two"], ROBOT, CONFIG, place / "go2-upright")
    return place / "go2-upright" / "policy.json"


@pytest.fixture(autouse=True)
def assets(base, monkeypatch):
    monkeypatch.setattr(base_policy, "base_path", lambda robot: base)


def test_a_motion_on_two_legs_begins_with_the_base_and_shorter_schedules(base):
    found = begin(rearing(), ROBOT, CONFIG)
    ppo = found.config.ppo
    assert ppo.start_from == str(base)
    assert (ppo.total_steps, ppo.std_start, ppo.lr) == (round(0.35 * 128), 0.12, 3e-4)
    assert found.config.randomization.ramp == CONFIG.start.randomized
    assert len(found.words) == 1 and "Starts from the policy 'go2-upright'" in found.words[0]


def test_a_level_motion_or_none_begins_with_nothing():
    level = begin(crouch(), ROBOT, CONFIG)
    assert level.config.ppo.start_from == "" and "32 steps are enough" in level.words[0]
    none = begin(rearing(), ROBOT, dataclasses.replace(CONFIG, start=StartConfig(policy="none")))
    assert none.config == dataclasses.replace(CONFIG, start=StartConfig(policy="none")) and none.words == ()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (dataclasses.replace(CONFIG, task=TaskConfig(action_scale=0.3)), "action_scale 0.4, not 0.3"),
        (dataclasses.replace(CONFIG, ppo=dataclasses.replace(SMALL, hidden=(32,))), r"hidden [16], not [32]"),
    ],
)
def test_a_base_of_another_task_is_left_with_the_reason(config, words):
    found = begin(rearing(), ROBOT, config)
    assert found.config.ppo.start_from == ""
    assert found.words == (f"Starts from nothing: the base policy of the go2 has {words}.",)


@pytest.mark.parametrize(
    "task", [TaskConfig(alignment=AlignmentConfig(share=0.5)), TaskConfig(style=StyleConfig(share=0.3))]
)
def test_inputs_that_only_the_critic_has_begin_without_weight(base, task):
    found = begin(rearing(), ROBOT, dataclasses.replace(CONFIG, task=task))
    assert found.config.ppo.start_from == str(base)
    env = TrackingEnv(rearing(), ROBOT, found.config, 2, 0)
    before = load_policy(load_checkpoint(base))
    more = env.obs_dims["critic"] - before.obs_dims["critic"]
    policy = first_policy(env.obs_dims, env.action_dim, found.config.ppo, 0, fresh=True)
    env.close()
    assert more > 0
    seen = torch.randn(5, before.obs_dims["critic"], generator=torch.Generator().manual_seed(0))
    for new in (torch.zeros(5, more), torch.ones(5, more)):
        assert torch.allclose(policy.value(torch.cat([seen, new], dim=1)), before.value(seen), atol=1e-6)
    for name, value in before.actor.named_parameters():
        assert torch.equal(policy.actor.get_parameter(name), value)


def test_training_begins_with_its_networks_and_learns_on(base, tmp_path):
    checkpoint = load_checkpoint(base)
    before = load_policy(checkpoint)
    first = first_policy(before.obs_dims, before.action_dim, dataclasses.replace(SMALL, start_from=str(base)), 7, True)
    same = dict(before.actor.named_parameters())
    assert all(torch.equal(value, same[name]) for name, value in first.actor.named_parameters())
    assert all(first.state_dict()[f"normalizer.{group}.count"] <= START_MEMORY for group in ("actor", "critic"))
    other = first_policy(before.obs_dims, before.action_dim, dataclasses.replace(SMALL, start_from=str(base)), 7, False)
    assert not all(torch.equal(value, same[name]) for name, value in other.actor.named_parameters())
    config = dataclasses.replace(CONFIG, ppo=dataclasses.replace(SMALL, total_steps=640))
    after = load_policy(train(rearing(), ROBOT, config, tmp_path, 0))
    with torch.no_grad():
        moved = torch.cat(
            [(a - b).flatten() for a, b in zip(after.actor.parameters(), before.actor.parameters(), strict=True)]
        )
    assert 0.0 < float(moved.abs().max()) < 0.2  # Weights of a fresh network differ by far more.


@pytest.mark.parametrize(("held", "wait", "began"), [(0.0, 2.0, 1), (1.0, 2.0, 4), (1.0, 0.0, 0)])
def test_noise_and_randomization_wait_until_the_motion_is_held(base, tmp_path, held, wait, began):
    ppo = dataclasses.replace(SMALL, total_steps=round(2 * ITERATION / 0.35))
    start = dataclasses.replace(CONFIG.start, held=held, wait=wait)
    config = dataclasses.replace(CONFIG, ppo=ppo, start=start, check_every=0.5, give_up=0)
    facts = train(rearing(), ROBOT, config, tmp_path, 0).facts
    assert (facts["began"], facts["step"]) == (began * ITERATION, (began + 2) * ITERATION)
    lines = [json.loads(line) for line in (tmp_path / "checks.jsonl").read_text().splitlines()]
    assert [line["fraction"] for line in lines if line["steps"] <= began * ITERATION] == [0.0] * began
    assert lines[-1]["fraction"] == 1.0


def test_what_gets_no_better_while_the_schedules_wait_is_given_up(base, tmp_path):
    ppo = dataclasses.replace(SMALL, total_steps=round(2 * ITERATION / 0.35))
    start = dataclasses.replace(CONFIG.start, held=1.0, wait=100.0)
    config = dataclasses.replace(CONFIG, ppo=ppo, start=start, check_every=0.5, give_up=2)
    told = []
    facts = train(rearing(), ROBOT, config, tmp_path, 0, lambda share, message: told.append(message)).facts
    assert facts["finished"] and facts["began"] is None and facts["step"] < 100 * ITERATION
    assert told[-1].endswith("; it gets no better")


def test_the_base_is_a_policy_alone_with_its_facts_and_card(base):
    checkpoint = load_checkpoint(base)
    assert {name.split("/")[0] for name in checkpoint.tensors} == {"policy"}
    assert checkpoint.facts["commands"] == ["one", "two"] and checkpoint.facts["task"]["robot"] == "go2"
    assert "'one', 'two'" in (base.parent / "MODEL_CARD.md").read_text()
    assert sorted(path.name for path in base.parent.iterdir()) == ["MODEL_CARD.md", "policy.json", "policy.safetensors"]


def test_a_named_policy_must_exist_fit_and_be_whole(base, tmp_path):
    named = lambda path: dataclasses.replace(CONFIG, start=StartConfig(policy=str(path)))  # noqa: E731
    with pytest.raises(BadInputError, match="there is no checkpoint"):
        begin(rearing(), ROBOT, named(tmp_path / "nowhere"))
    wide = dataclasses.replace(named(base), ppo=dataclasses.replace(SMALL, hidden=(32,)))
    with pytest.raises(BadInputError, match=r"to start from has hidden = \[16\]; this run has hidden = \[32\]"):
        train(rearing(), ROBOT, wide, tmp_path / "train", 0)
    for name in ("policy.json", "policy.safetensors"):
        (tmp_path / name).write_bytes((base.parent / name).read_bytes())
    facts = json.loads((tmp_path / "policy.json").read_text())
    (tmp_path / "policy.json").write_text(json.dumps({**facts, "name": "other"}))
    with pytest.raises(CorruptFileError, match="does not match its own sha256"):
        begin(rearing(), ROBOT, named(tmp_path / "policy.json"))


def test_pretraining_takes_the_motions_that_need_balance(tmp_path):
    for command, motion in (("rear", rearing()), ("rear less", rearing(0.1)), ("crouch", crouch())):
        skill = Skill.new(tmp_path, command, "go2")
        skill.save()
        motion.save(skill.robot_path)
    assert set(motions_of(tmp_path, ROBOT)) == {"rear", "rear less"}
    (tmp_path / Skill.new(tmp_path, "rear", "go2").folder.name / "robot.npz").unlink()
    with pytest.raises(BadInputError, match="holds 1 motions of the go2 that need balance"):
        motions_of(tmp_path, ROBOT)


def test_the_shipped_base_fits_the_defaults(monkeypatch):
    monkeypatch.undo()
    found = begin(rearing(), ROBOT, TrainConfig())
    assert found.config.ppo.start_from.endswith("go2-upright/policy.json")
    assert found.config.ppo.total_steps == 2_100_000
    env = TrackingEnv(rearing(), ROBOT, TrainConfig(), 2, 0)
    policy = first_policy(env.obs_dims, env.action_dim, found.config.ppo, 0, fresh=True)
    env.close()
    assert policy.facts()["hidden"] == list(TrainConfig().ppo.hidden)
