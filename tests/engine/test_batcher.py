"""The batcher with actors that are plain function calls."""

import time

import pytest

from lagoon.engine.batcher import Batcher
from lagoon.engine.board import Board
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.staleness import StalenessController
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.trajectory import ppo_schema
from tests.engine.waiting import soon

SEATS = 3


class Bench:
    def __init__(self, max_staleness, lockstep=False, version=0):
        bell = Doorbell()
        self.board = Board(SEATS)
        self.board.publish(version, 0.0)
        self.stream = ShmSampleStream(ppo_schema(2, 4, {"actor": 1, "critic": 1}, 1), SEATS, 2, bell)
        self.controller = StalenessController(SEATS, max_staleness, version)
        self.batcher = Batcher(self.stream, self.board, bell, self.controller, version, lockstep)

    def may(self, seat):
        return int(self.board.granted[seat] - self.board.started[seat])

    def rollout(self, seat, version=None):
        """Do what an actor does for one rollout, in no time."""
        soon(lambda: self.may(seat) > 0)
        slot = self.begin(seat)
        slot["version"].fill_(self.board.version if version is None else version)
        slot["reward"].fill_(float(seat))
        self.stream.post(slot)

    def begin(self, seat):
        slot = self.stream.of_actor(seat).acquire()
        self.board.started[seat] += 1
        return slot

    def learn(self):
        assert self.batcher.wait(10)
        batch = self.batcher.take()
        seats = batch["reward"][0].tolist()[::4]
        oldest = int(batch["version"].min())
        self.batcher.release(batch)
        self.board.publish(self.board.version + 1, 0.0)
        self.batcher.published()
        return seats, oldest


@pytest.fixture
def make():
    made = []

    def build(*args, **settings):
        made.append(Bench(*args, **settings))
        return made[-1]

    yield build
    for bench in made:
        bench.batcher.close()


def test_batches_are_made_of_what_is_complete_first(make):
    bench = make(1)
    for seat in (2, 0, 2):
        bench.rollout(seat)
    assert bench.learn()[0] == [2.0, 0.0, 2.0]


def test_without_staleness_everybody_waits_for_the_update(make):
    bench = make(0)
    for seat in range(SEATS):
        bench.rollout(seat)
    assert bench.batcher.wait(10)
    time.sleep(0.05)
    assert [bench.may(seat) for seat in range(SEATS)] == [0, 0, 0]
    bench.learn()
    soon(lambda: [bench.may(seat) for seat in range(SEATS)] == [1, 1, 1])


def test_in_lockstep_every_seat_gives_one_rollout_in_turn(make):
    bench = make(1, lockstep=True)
    soon(lambda: [bench.may(seat) for seat in range(SEATS)] == [2, 2, 2])
    for seat in (2, 1, 1, 2, 0, 0):
        bench.rollout(seat)
    assert bench.learn()[0] == bench.learn()[0] == [0.0, 1.0, 2.0]


def test_a_rollout_that_took_too_long_is_done_again(make):
    bench = make(1, version=5)
    bench.rollout(0, version=3)
    soon(lambda: bench.controller.rejected == 1)
    for seat in range(SEATS):
        bench.rollout(seat, version=4)
    assert bench.learn() == ([0.0, 1.0, 2.0], 4)


@pytest.mark.parametrize("lockstep", [False, True])
def test_what_a_dead_actor_was_doing_is_done_again(make, lockstep):
    bench = make(0, lockstep=lockstep)
    for seat in (0, 2):
        bench.rollout(seat)
    soon(lambda: bench.may(1) == 1)
    bench.begin(1)
    assert bench.may(1) == 0
    bench.batcher.bury(range(1, 2))
    soon(lambda: any(bench.may(seat) for seat in range(SEATS)))
    again = next(seat for seat in range(SEATS) if bench.may(seat))
    assert again == 1 or not lockstep  # Without numbers whoever is idle may do it.
    bench.rollout(again)
    assert sorted(bench.learn()[0]) == sorted([0.0, 2.0, float(again)])
    assert (bench.controller.accepted, bench.controller.rejected) == (3, 0 if lockstep else 1)


def test_the_trainer_is_told_what_went_wrong(make):
    bench = make(0)
    bench.stream.take = lambda seat=None: 1 / 0
    with pytest.raises(ZeroDivisionError):
        soon(lambda: bench.batcher.wait(0.01))
