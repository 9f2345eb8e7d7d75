import torch

from lagoon.engine.staleness import StalenessController, staleness_metrics


def test_capacity_by_hand():
    controller = StalenessController(batch=4, max_staleness=1)
    assert controller.capacity(0) == 8  # (1 + 0 + 1) * 4
    for _ in range(5):
        controller.begin()
    assert controller.capacity(0) == 3
    for _ in range(4):
        controller.accept()
    assert (controller.accepted, controller.running, controller.capacity(0)) == (4, 1, 3)
    assert controller.capacity(1) == 7
    controller.reject()
    assert (controller.rejected, controller.running, controller.capacity(1)) == (1, 0, 8)


def test_a_resumed_run_counts_what_was_before_it():
    """AReaL's recovery rule: counting from zero at version 10 would let 10 batches too many begin."""
    fresh, resumed = StalenessController(4, 2), StalenessController(4, 2, version=10)
    assert resumed.accepted == 40
    assert resumed.capacity(10) == fresh.capacity(0) == 12


def oldest_seen(controller, version, updates):
    """Let actors begin whatever they may, learn oldest first, and return the greatest age of a sample."""
    begun, ages = [], []
    for _ in range(updates):
        while controller.capacity(version) > 0:
            controller.begin()
            begun.append(version)
        for _ in range(controller.batch):
            ages.append(version - begun.pop(0))
            controller.accept()
        version += 1
    return max(ages)


def test_the_bound_holds_from_the_start_and_after_a_resume():
    for bound in (0, 1, 2, 8):
        assert oldest_seen(StalenessController(4, bound), 0, 30) == bound
        assert oldest_seen(StalenessController(4, bound, version=17), 17, 30) == bound
    forgetful = StalenessController(4, 1, version=0)
    assert oldest_seen(forgetful, 17, 30) > 1  # What the rule is there for.


def test_slow_rollouts_are_told_apart():
    controller = StalenessController(4, 2)
    assert not controller.too_old(oldest=5, at=7)
    assert controller.too_old(oldest=4, at=7)


def test_ages_in_the_log():
    found = staleness_metrics(10, torch.tensor([[10, 9], [9, 0]]))
    assert (found["staleness/mean"], found["staleness/max"]) == (3.0, 10.0)
    assert (found["staleness/age_0"], found["staleness/age_1"], found["staleness/age_8"]) == (0.25, 0.5, 0.25)
    assert sum(value for name, value in found.items() if "age_" in name) == 1.0
