"""A motion whose shapes were kept apart is taken only if it balances as well."""

from dataclasses import replace

import pytest

from lagoon.retarget.retarget import BALANCED, _is_worth_it


@pytest.fixture
def touching(still_report):
    return replace(still_report, self_collisions=62, pressure_max=0.008)


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        ({"self_collisions": 1}, True),
        ({"self_collisions": 1, "pressure_max": BALANCED}, True),
        ({"self_collisions": 1, "pressure_max": 0.028}, False),
        ({"self_collisions": 62}, False),
        ({"self_collisions": 80}, False),
    ],
)
def test_less_touching_is_taken_unless_it_costs_the_balance(touching, change, taken):
    assert _is_worth_it(replace(touching, **change), touching) is taken


def test_a_worse_verdict_is_not_taken(touching):
    hard = replace(touching, self_collisions=0, verdict=replace(touching.verdict, grade="hard"))
    assert not _is_worth_it(hard, touching)
    assert _is_worth_it(hard, replace(touching, verdict=hard.verdict))


def test_what_balanced_no_better_before_may_stay_as_bad(touching):
    tilted = replace(touching, pressure_max=0.05)
    assert _is_worth_it(replace(tilted, self_collisions=0, pressure_max=0.052), tilted)
    assert not _is_worth_it(replace(tilted, self_collisions=0, pressure_max=0.06), tilted)
