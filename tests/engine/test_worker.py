import pytest

from lagoon.engine.worker import PollResult, Stage, Worker


class Counter(Worker[int]):
    stops = 0

    def _configure(self, spec):
        self.left = spec

    def _start(self):
        pass

    def _poll(self):
        self.left -= 1
        return PollResult(samples=1) if self.left >= 0 else PollResult()

    def _stop(self):
        self.stops += 1


def test_the_life_of_a_worker():
    worker = Counter()
    worker.configure(1)
    worker.start()
    assert worker.poll().samples == 1
    assert worker.poll() == PollResult(0, 0)
    worker.stop()
    worker.stop()
    assert worker.stops == 1
    assert worker.stage is Stage.STOPPED


def test_steps_out_of_order_are_refused():
    worker = Counter()
    with pytest.raises(RuntimeError, match="Counter is created and cannot poll; it must be running"):
        worker.poll()
    with pytest.raises(RuntimeError, match="must be configured"):
        worker.start()
    worker.configure(1)
    with pytest.raises(RuntimeError, match="must be created"):
        worker.configure(1)
