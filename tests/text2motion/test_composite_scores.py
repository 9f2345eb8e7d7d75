from __future__ import annotations

import numpy as np
import pytest

from lagoon.text2motion import augment, composite, composite_scores
from lagoon.text2motion.composite_scores import COMPOSITES, Composite
from lagoon.text2motion.model_card import composite_lines
from lagoon.text2motion.predicates import PREDICATES


def test_order_counts_where_it_is_said(people):
    waving, squatting = people["waving"](60, 3), people["squatting"](60, 1)
    whole = augment.follow(waving, squatting)
    assert Composite("", "wave", "squat").done(whole)
    assert not Composite("", "squat", "wave").done(whole)
    assert not Composite("", "wave", "squat").done(waving)


def test_at_once_is_for_the_whole_motion(people):
    walking, waving = people["walking"](60), people["waving"](60, 3)
    both = Composite("", "walk", "wave", at_once=True)
    assert both.done(augment.overlay(walking, waving))
    assert not both.done(walking) and not both.done(waving)


@pytest.mark.parametrize("asked", COMPOSITES, ids=lambda c: c.command)
def test_commands_are_read_as_two_parts_with_known_predicates(asked):
    assert {asked.first, asked.second} <= set(PREDICATES)
    plan = composite.parse(asked.command)
    assert len(plan.parts()) == 2 and (plan.steps[0].meanwhile is not None) == asked.at_once


def test_systems_are_compared_in_one_table(people, monkeypatch):
    waving, squatting = people["waving"](60, 3), people["squatting"](60, 1)
    monkeypatch.setattr(composite_scores, "COMPOSITES", (Composite("wave, then squat", "wave", "squat"),))
    systems = {
        "generator": lambda command, seed: augment.follow(waving, squatting),
        "nearest caption": lambda command, seed: waving if seed else np.flip(squatting, axis=0),
    }
    found = composite_scores.compare(systems, 2)
    assert found["generator"] == {"share": [1.0, 0.0], "passes": {"wave, then squat": 2}}
    text = composite_lines({"composites": {"seeds": 2, "systems": found}})
    assert "| wave, then squat | 2/2 | 0/2 |" in text and "| all | 1.000 | 0.000 |" in text
