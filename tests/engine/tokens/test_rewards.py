"""Judges: a short queue for each, failures that are named, and successors of those that die."""

import numpy as np
import pytest
from toy_writer import Writing

from lagoon.engine.metrics import Stopwatch
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.tokens.rewards import RewardPool, RewardQueues, RewardWorker
from lagoon.engine.tokens.schema import token_schema


class Bench:
    def __init__(self, workers=2, depth=2, trouble=""):
        task = Writing(trouble)
        self.bell = Doorbell()
        self.stream = ShmSampleStream(token_schema(task.sizes, 2), 1, 12)
        self.queues = RewardQueues(workers, depth)
        self.pool = RewardPool(self.queues, self.stream, [Doorbell() for _ in range(workers)])
        self.workers = [self.worker(index, task) for index in range(workers)]

    def worker(self, index, task):
        worker = RewardWorker()
        worker.configure((index, self.queues, self.stream, task.scorer(), self.bell, Stopwatch()))
        worker.start()
        return worker

    def sequence(self, number, prompt=1, codes=((1, 1), (1, 0))):
        slot = self.stream.acquire()
        for name, value in (("number", number), ("prompt", prompt), ("length", len(codes))):
            slot[name].fill_(value)
        for step, pair in enumerate(codes):
            slot["code"][step, 0] = slot["code"].new_tensor(pair)
        self.stream.post(slot)
        return self.stream.take()


def test_terms_come_back_in_the_slot():
    bench = Bench()
    bench.pool.submit(bench.sequence(3))
    assert bench.pool.judged() is None
    for worker in bench.workers:
        worker.poll()
    slot, failed = bench.pool.judged()
    assert (int(slot["number"]), failed, slot["terms"][0].tolist()) == (3, False, [0.5, 0.25])
    assert bench.pool.judged() is None and bench.bell.wait(0)


def test_the_queue_is_bounded_and_shared_out_evenly():
    bench = Bench(workers=2, depth=2)
    for number in range(4):
        assert bench.pool.room()
        bench.pool.submit(bench.sequence(number))
    assert not bench.pool.room() and [bench.queues.waiting(w) for w in range(2)] == [2, 2]
    bench.workers[1].poll()
    # What is done but not taken yet still has its place, which must not be written over.
    assert not bench.pool.room()
    assert bench.pool.judged() is not None and bench.pool.room()


@pytest.mark.parametrize(
    ("trouble", "words"), [("fail", "RuntimeError: it fell over"), ("nan", "ValueError: The reward is")]
)
def test_a_failed_reward_is_named_and_the_next_one_is_judged(trouble, words):
    bench = Bench(workers=1, depth=3, trouble=trouble)
    for number in (7, 8):
        bench.pool.submit(bench.sequence(number, prompt=2))
    for _ in range(3):
        bench.workers[0].poll()
    assert bench.pool.judged().failed and bench.pool.judged().failed == (trouble == "nan")
    number, prompt, text = bench.workers[0].failures[0]
    assert (number, prompt) == (7, 2) and text.startswith(words) and "line" in text


def test_the_successor_of_a_dead_worker_tries_once_more_and_then_the_sequence_is_given_up():
    bench = Bench(workers=1, depth=3)
    for number in (5, 6):
        bench.pool.submit(bench.sequence(number))
    bench.queues.begin(0)  # It judges number 5, and dies.
    assert bench.pool.bury(0) is None and bench.queues.waiting(0) == 2
    bench.queues.begin(0)
    assert bench.pool.bury(0).number == 5
    slot, failed = bench.pool.judged()
    assert failed and int(slot["number"]) == 5
    bench.workers[0].poll()
    slot, failed = bench.pool.judged()
    assert not failed and int(slot["number"]) == 6


def test_one_that_dies_between_two_sequences_loses_none():
    bench = Bench(workers=1)
    assert bench.pool.bury(0) is None
    bench.pool.submit(bench.sequence(5))
    assert bench.pool.bury(0) is None
    bench.workers[0].poll()
    assert not bench.pool.judged().failed


def test_one_that_takes_too_long_is_seen():
    bench = Bench()
    bench.pool.submit(bench.sequence(1))
    assert bench.pool.overdue(0.0) == []
    bench.queues.begin(0)
    assert bench.pool.overdue(0.0) == [0] and bench.pool.overdue(60.0) == []
    assert bench.pool.bury(0, hopeless=True).number == 1


def test_a_reward_of_the_wrong_size_is_a_failure():
    bench = Bench(workers=1)
    bench.workers[0]._score = lambda sequence: np.zeros(3)
    bench.pool.submit(bench.sequence(1))
    bench.workers[0].poll()
    assert bench.pool.judged().failed and "expected 2 finite numbers" in bench.workers[0].failures[0][2]
