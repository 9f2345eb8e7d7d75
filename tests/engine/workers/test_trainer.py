import torch

from lagoon.engine.metrics import Stopwatch
from lagoon.engine.params import MemoryParameterStore
from lagoon.engine.policy import GaussianActorCritic, gaussian_entropy
from lagoon.engine.streams.inline import InlineSampleStream
from lagoon.engine.trajectory import ppo_schema
from lagoon.engine.workers.trainer import TrainerSpec, TrainerWorker

DIMS = {"actor": 3, "critic": 5}


class Recorder:
    """An algorithm that remembers what it was given."""

    def __init__(self):
        self.seen = []

    def update(self, trajectory, std, version):
        self.seen.append((trajectory, std, version))
        return {"loss": 1.0}

    def tensors(self):
        return {}

    def facts(self):
        return {}

    def load(self, tensors, facts):
        pass


def test_versions_staleness_and_the_return_of_the_slot():
    stream, store, algorithm = InlineSampleStream(ppo_schema(2, 4, DIMS, 1)), MemoryParameterStore(), Recorder()
    policy = GaussianActorCritic(DIMS, 1, hidden=(4,))
    policy.std.fill_(0.25)
    trainer = TrainerWorker()
    trainer.configure(TrainerSpec(policy, algorithm, stream, store, Stopwatch(), version=10))
    trainer.start()
    assert store.version == 10
    assert trainer.poll().batches == 0
    slot = stream.acquire()
    assert slot is not None
    slot["version"].fill_(10)
    slot["version"][0, 1] = 8
    stream.post(slot)
    result = trainer.poll()
    assert (result.samples, result.batches) == (8, 1)
    assert algorithm.seen == [(slot, 0.25, 10)]
    assert trainer.stats == {"loss": 1.0, "staleness": 2.0, "std": 0.25, "entropy": gaussian_entropy(1, 0.25)}
    assert trainer.ages["staleness/max"] == 2.0
    assert store.version == trainer.version == 11
    assert stream.acquire() is slot
    assert torch.equal(store.get()[1]["std"], policy.std)
