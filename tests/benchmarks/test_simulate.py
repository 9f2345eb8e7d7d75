"""The simulated worker graph, against what can be worked out by hand."""

from dataclasses import replace

import pytest
from simulate import Costs, Line, System, simulate

# A step takes 1 ms, a pass of the policy 0.1 ms, an update 20 us per sample; nothing else takes time.
COSTS = Costs(
    env=Line(1e-3, 0.0),
    act=Line(1e-4, 0.0),
    update=Line(0.0, 2e-5),
    take=0.0,
    publish=0.0,
    copy=0.0,
    add=0.0,
    meet=0.0,
    grant=0.0,
    spread=0.0,
    update_spread=0.0,
    sample_bytes=2000.0,
    parameter_bytes=600_000.0,
)


def test_a_line_goes_through_its_points():
    line = Line.through([10.0, 100.0], [3.0, 21.0])
    assert (line.fixed, line.row) == pytest.approx((1.0, 0.2))
    assert line(50) == pytest.approx(11.0)


def test_one_colocated_worker_acts_and_learns_in_turn():
    found = simulate(System("colocated", 1, ring=1, rows=64, horizon=32), COSTS)
    assert found.samples_per_second == pytest.approx(2048 / (32 * 1.1e-3 + 2048 * 2e-5))
    assert found.busy["workers"] == pytest.approx(1.0)


def test_sums_over_a_link_are_what_colocated_pays_for_many_workers():
    costs = replace(COSTS, add=1e-5, meet=1e-6)
    near = simulate(System("colocated", 64), costs)
    far = simulate(System("colocated", 64, link=1e9, latency=1e-4), costs)
    pause = near.busy["sums"] * near_wall(near)
    assert pause == pytest.approx(20 * (64 * 1e-5 + 63 * 1e-6))
    assert far.busy["sums"] * near_wall(far) == pytest.approx(20 * (2 * 63 / 64 * 6e-4 + 126 * 1e-4))


def near_wall(found):
    """Time of an update."""
    return System("colocated", 64).batch / found.samples_per_second


def test_the_slower_side_sets_the_pace():
    # One environment of 64 robots: 58,182 samples per second from an actor, 50,000 into the trainer.
    learner = simulate(System("async", 1), COSTS)
    assert learner.samples_per_second == pytest.approx(50_000, rel=1e-3)
    assert learner.cause == "trainer"
    assert learner.busy["actors"] == pytest.approx(50_000 / 58_182, rel=0.02)
    fast = simulate(System("async", 1, trainer_speed=10.0), COSTS)
    assert fast.samples_per_second == pytest.approx(58_182, rel=0.01)
    assert fast.cause == "actors"


def test_ever_more_actors_end_at_the_trainer_and_samples_stay_young():
    many = simulate(System("async", 32, max_staleness=2), COSTS)
    assert many.samples_per_second == pytest.approx(50_000, rel=1e-3)
    assert many.busy["trainer"] == pytest.approx(1.0)
    assert many.staleness_max <= 2


def test_a_policy_worker_answers_so_many_actors_and_then_no_more():
    costs = replace(COSTS, act=Line(0.0, 1e-5), update=Line(0.0, 1e-8))
    assert simulate(System("decoupled", 1), costs).cause == "actors"
    crowd = simulate(System("decoupled", 8), costs)
    assert crowd.cause == "policy workers"
    assert crowd.samples_per_second == pytest.approx(1e5, rel=0.02)
    two = simulate(System("decoupled", 8, policy_workers=2), costs)
    assert 1.5e5 < two.samples_per_second <= 2e5


def test_a_link_carries_samples_and_parameters():
    costs = replace(COSTS, update=Line(0.0, 1e-8))
    found = simulate(System("async", 16, link=1e8), costs)
    assert found.cause == "link"
    # A batch of 16 x 2 x 2048 samples, and the parameters to 16 actors.
    assert found.samples_per_second == pytest.approx(65_536 * 1e8 / (65_536 * 2000 + 16 * 600_000), rel=0.05)


def test_too_few_cores_are_shared():
    alone = simulate(System("async", 2, trainer_speed=4.0), COSTS)
    crowded = simulate(System("async", 2, trainer_speed=4.0, cores=1), COSTS)
    # Everything in turn: 2 x 2 x 2048 samples cost 4 x 32 steps and a quarter of an update.
    assert crowded.samples_per_second == pytest.approx(8192 / (128 * 1.1e-3 + 8192 * 5e-6), rel=0.02)
    assert alone.samples_per_second > 1.5 * crowded.samples_per_second


def test_one_seed_gives_one_result():
    costs = replace(COSTS, spread=0.3, update_spread=0.1)
    for topology in ("async", "colocated"):
        assert simulate(System(topology, 4), costs, seed=1) == simulate(System(topology, 4), costs, seed=1)
