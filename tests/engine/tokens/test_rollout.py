"""Interruption in the middle of sequences: what is drawn, with which version, and with which probability."""

import pytest
import torch
from toy_writer import Writer, WriterSampler, Writing

from lagoon.engine.metrics import Stopwatch
from lagoon.engine.params import MemoryParameterStore
from lagoon.engine.streams.inline import InlineSampleStream
from lagoon.engine.tokens.packing import Packed
from lagoon.engine.tokens.rollout import RolloutSpec, RolloutWorker
from lagoon.engine.tokens.schema import sequence_of, token_schema


class Numbers:
    """As many permits as are left."""

    def __init__(self, count):
        self.left = list(range(count))

    def take(self):
        return self.left.pop(0) if self.left else None


class Bench:
    def __init__(self, sequences=8, lanes=3, interruptible=True, seed=4):
        self.task, self.store, self.seed = Writing(), MemoryParameterStore(), seed
        self.samples = InlineSampleStream(token_schema(self.task.sizes, 2), sequences + 1)
        self.worker = RolloutWorker()
        self.spec = RolloutSpec(
            WriterSampler(lanes),
            lanes,
            self.samples,
            self.store,
            Numbers(sequences),
            lambda number: sequence_of(self.task, seed, number),
            seed,
            Stopwatch(),
            interruptible,
        )
        self.worker.configure(self.spec)
        self.worker.start()

    def push(self, version, model):
        self.store.push({name: value.clone() for name, value in model.state_dict().items()}, version)

    def run(self, pushes):
        """Poll until all is drawn; ``pushes`` has models by the poll before which they arrive."""
        done, polls = {}, 0
        while len(done) < self.samples_wanted:
            if polls in pushes:
                self.push(*pushes[polls])
            self.worker.poll()
            while (slot := self.samples.take()) is not None:
                length = int(slot["length"])
                parts = {name: slot[name][:length, 0].clone() for name in ("code", "logp", "version")}
                done[int(slot["number"])] = parts | {"prompt": int(slot["prompt"])}
                self.samples.release(slot)
            polls += 1
        return done

    samples_wanted = 8


def models(count):
    return [(version, Writer(seed=version)) for version in range(count)]


def test_with_frozen_weights_an_interrupted_rollout_equals_an_uninterrupted_one():
    same = Writer(seed=0)
    plain = Bench().run({0: (0, same)})
    often = Bench().run({poll: (poll, same) for poll in range(40)})
    for number, item in plain.items():
        assert torch.equal(item["code"], often[number]["code"])
        assert torch.allclose(item["logp"], often[number]["logp"], atol=1e-6)
    assert any(int(item["version"][-1]) > int(item["version"][0]) for item in often.values())


def test_what_is_drawn_does_not_depend_on_what_else_is_running():
    same = {0: (0, Writer(seed=0))}
    alone, many = Bench(lanes=1).run(same), Bench(lanes=8).run(same)
    assert all(torch.equal(alone[number]["code"], many[number]["code"]) for number in alone)


def test_the_first_token_after_an_arrival_is_of_the_new_version():
    (_, first), (_, second) = models(2)
    bench = Bench(sequences=3, lanes=3)
    bench.samples_wanted = 3
    done = bench.run({0: (0, first), 2: (1, second)})
    for item in done.values():
        assert item["version"].tolist() == [0 if step < 2 else 1 for step in range(len(item["version"]))]


def test_every_code_has_the_log_probability_it_was_drawn_with():
    pushes = {poll * 3: item for poll, item in enumerate(models(6))}
    done = Bench().run(pushes)
    mixed = 0
    for item in done.values():
        length = len(item["code"])
        packed = Packed.of([length], length)
        about = (item["code"][None], packed, torch.tensor([length]), torch.tensor([item["prompt"]]))
        with torch.no_grad():
            expected = torch.stack([Writer(seed=version).log_probs(*about)[0] for version in range(6)])
        drawn_by = item["version"]
        mixed += len(drawn_by.unique()) > 1
        assert torch.allclose(item["logp"], expected[drawn_by, torch.arange(length)], atol=1e-6)
    assert mixed > 2


def test_without_interruption_every_sequence_is_of_one_version_and_none_begins_on_old_ones():
    pushes = {poll * 3: item for poll, item in enumerate(models(6))}
    done = Bench(interruptible=False).run(pushes)
    assert all(len(item["version"].unique()) == 1 for item in done.values())
    assert len({int(item["version"][0]) for item in done.values()}) > 1


@pytest.mark.parametrize("seed", [0, 1])
def test_every_prompt_has_its_turn_before_one_comes_again(seed):
    order = [sequence_of(Writing(), seed, number).prompt for number in range(9)]
    assert all(sorted(order[start : start + 3]) == [0, 1, 2] for start in (0, 3, 6))
