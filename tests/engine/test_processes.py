"""Two real processes; each of these tests pays for starting one."""

import os
from functools import partial
from pathlib import Path

import pytest
import torch
import two_ranks

from lagoon.engine.group import Solo
from lagoon.engine.processes import available_cores, data_parallel
from lagoon.errors import LagoonError


def test_two_processes_learn_what_one_learns_from_the_double_batch():
    cores, threads = available_cores(), torch.get_num_threads()
    with data_parallel(2, two_ranks.follow) as group:
        assert (group.rank, group.size) == (0, 2)
        ranks = group.gather(two_ranks.learn(group))
        sums = []
        for length in (1, 5, 2000, 2000, 1500):
            own = group.sum_(torch.arange(length, dtype=torch.float32) * (group.rank + 1)).clone()
            sums.append((length, group.gather(own)))
        places = group.gather((os.sched_getaffinity(0), torch.get_num_threads()))
    (gradient, state, lr), (other_gradient, other_state, other_lr) = ranks
    assert torch.equal(gradient, other_gradient)
    assert all(torch.equal(state[name], other_state[name]) for name in state)
    assert lr == other_lr

    alone_gradient, alone_state, alone_lr = two_ranks.learn(Solo())
    torch.testing.assert_close(gradient, alone_gradient, rtol=1e-6, atol=1e-6)
    assert lr == alone_lr
    for name, tensor in alone_state.items():
        torch.testing.assert_close(state[name], tensor, rtol=1e-4, atol=1e-4, msg=name)
    assert alone_state["normalizer.actor.count"] == state["normalizer.actor.count"]

    for length, found in sums:
        expected = torch.arange(length, dtype=torch.float32) * 3
        assert all(torch.equal(value, expected) for value in found)
    assert [threads for _, threads in places] == [1, 1]
    if len(cores) > 1:
        assert [len(affinity) for affinity, _ in places] == [1, 1]
        assert places[0][0] != places[1][0]
    assert available_cores() == cores
    assert torch.get_num_threads() == threads


def test_a_worker_leaves_without_the_interpreters_end(tmp_path, capfd):
    """Threads of torch and gloo that still held tensors then would abort: "terminate called without ..."."""
    with data_parallel(2, partial(two_ranks.mark_the_end, tmp_path / "ended")) as group:
        assert len(group.gather("x")) == 2
    assert not (tmp_path / "ended").exists()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("follow", "expected"), [(two_ranks.fail, "the floor is missing"), (two_ranks.vanish, "ended from outside")]
)
def test_a_process_that_dies_ends_the_run_with_its_reason(follow, expected):
    lanes = set(Path("/dev/shm").glob("lagoon-*-lanes"))
    with pytest.raises(LagoonError) as error, data_parallel(2, follow) as group:
        group.sum_(torch.zeros(2001))
        group.sum_(torch.zeros(2001))
    # Other runs on this machine may come and go; none of theirs has lanes of this size.
    left = set(Path("/dev/shm").glob("lagoon-*-lanes")) - lanes
    assert not [path for path in left if path.stat().st_size == 2 * 2 * 2001 * 4]
    assert "Worker 1" in str(error.value)
    assert expected in str(error.value)


def test_giving_up_while_processes_start():
    with pytest.raises(KeyboardInterrupt), data_parallel(2, two_ranks.follow, cancelled=lambda: True):
        pytest.fail("The group must not come into being.")


def test_one_process_needs_no_group():
    with data_parallel(1, two_ranks.fail) as group:
        assert isinstance(group, Solo)
        assert group.gather("x") == ["x"]
