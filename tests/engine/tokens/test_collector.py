"""From permits to batches, with workers that are plain function calls."""

import time

import numpy as np
import pytest

from lagoon.engine.board import Board
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.staleness import StalenessController
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.tokens.collector import Collector
from lagoon.engine.tokens.rewards import RewardPool, RewardQueues
from lagoon.engine.tokens.schema import Sizes, token_schema
from tests.engine.waiting import soon

BATCH, LANES = 4, 3


class Bench:
    """One rollout worker whose sequences have two steps, and one judge."""

    def __init__(self, max_staleness, version=0, recovered=True):
        bell = Doorbell()
        self.board = Board(1)
        self.board.publish(version, 0.0)
        self.stream = ShmSampleStream(token_schema(Sizes(2, 1), 1), 1, 30, bell)
        self.queues = RewardQueues(1, 30)
        pool = RewardPool(self.queues, self.stream, [Doorbell()])
        self.controller = StalenessController(BATCH, max_staleness, version if recovered else 0)
        self.collector = Collector(self.stream, pool, self.board, bell, self.controller, version, LANES)
        self.open, self.ages = [], []

    def may(self):
        return int(self.board.granted[0] - self.board.started[0])

    def begin(self):
        slot = self.stream.acquire()
        slot["number"].fill_(int(self.board.started[0]))
        self.board.started[0] += 1
        slot["length"].fill_(2)
        slot["version"][0] = self.board.version
        self.open.append(slot)

    def finish(self, which=0):
        slot = self.open.pop(which)
        slot["version"][1] = self.board.version
        self.stream.post(slot)

    def judge(self, failed=False):
        slot = self.stream.slot(self.queues.first(0))
        slot["failed"].fill_(failed)
        self.queues.done(0)
        self.collector.published()

    def sequence(self, failed=False):
        soon(lambda: self.may() > 0)
        self.begin()
        self.finish()
        soon(lambda: self.queues.waiting(0) > 0)
        self.judge(failed)

    def learn(self):
        assert self.collector.wait(10)
        batch = self.collector.take()
        age, numbers = self.board.version - int(batch["version"].min()), batch["number"].tolist()
        self.ages.append(age)
        self.collector.release(batch)
        self.board.publish(self.board.version + 1, 0.0)
        self.collector.published()
        return age, numbers


@pytest.fixture
def make():
    made = []

    def build(*args, **settings):
        made.append(Bench(*args, **settings))
        return made[-1]

    yield build
    for bench in made:
        bench.collector.close()


def test_the_synchronous_twin_waits_for_the_update(make):
    bench = make(0)
    for _ in range(BATCH):
        bench.sequence()
    assert bench.collector.wait(10)
    time.sleep(0.03)
    assert bench.may() == 0
    assert bench.learn() == (0, [0, 1, 2, 3])
    soon(lambda: bench.may() == LANES)


def test_what_failed_or_grew_too_old_is_left_out_and_another_begins(make):
    bench = make(0)
    bench.sequence(failed=True)
    for _ in range(BATCH):
        bench.sequence()
    assert bench.learn() == (0, [1, 2, 3, 4])
    assert (bench.controller.accepted, bench.controller.rejected, bench.collector.failed) == (4, 1, 1)
    assert bench.collector.failed_in_a_row == 0


def test_what_a_dead_rollout_worker_was_drawing_may_begin_anew(make):
    bench = make(0)
    soon(lambda: bench.may() == LANES)
    bench.begin()
    bench.begin()
    bench.finish()  # One is posted, one is lost.
    bench.open.clear()  # A dead worker posts no more; its slot may come back as any other.
    bench.collector.bury_rollouts(0)
    soon(lambda: bench.queues.waiting(0) == 1)
    bench.judge()
    for _ in range(BATCH - 1):
        bench.sequence()
    assert sorted(bench.learn()[1]) == [0, 2, 3, 4]
    assert (bench.controller.accepted, bench.controller.running, bench.controller.rejected) == (4, 0 + bench.may(), 1)


def storm(bench, updates, seed=0):
    """Begin, finish, judge and learn in random order; returns the ages of the batches that were learned from."""
    rng = np.random.default_rng(seed)
    while len(bench.ages) < updates:
        move = rng.integers(4)
        if move == 0 and bench.may():
            bench.begin()
        elif move == 1 and bench.open:
            bench.finish(int(rng.integers(len(bench.open))))
        elif move == 2 and bench.queues.waiting(0):
            bench.judge(bool(rng.random() < 0.1))
        elif move == 3 and rng.random() < 0.2 and bench.collector.ready:
            bench.learn()
        else:
            time.sleep(2e-4)
    return bench.ages


@pytest.mark.parametrize("max_staleness", [0, 1, 3])
def test_no_sequence_is_older_than_the_bound_whatever_the_order(make, max_staleness):
    bench = make(max_staleness)
    assert max(storm(bench, 12)) == max_staleness


def test_the_bound_holds_after_a_resume_and_only_with_the_rule_of_recovery(make):
    """A controller that counts from zero at version 9 lets 36 too many begin, which then are thrown away as too old."""
    good, bad = make(1, version=9), make(1, version=9, recovered=False)
    assert max(storm(good, 6)) <= 1
    under_way = [bench.controller.capacity(bench.board.version) + bench.controller.running for bench in (good, bad)]
    assert 0 <= under_way[0] <= 2 * BATCH and under_way[1] == 11 * BATCH
