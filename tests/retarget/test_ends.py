"""How a clip that steps begins and ends: the lead puts feet where they rest, and the weight shifts before one lifts."""

import dataclasses

import numpy as np
import pytest

from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.contacts import Contacts, pin
from lagoon.retarget.lead import SHIFT_SECONDS, _ready
from lagoon.retarget.morphology import MORPHOLOGIES, Supports
from lagoon.retarget.motion import BRIEF_FRAMES, SETTLED_FRAMES, _bridge, _settle_ends
from lagoon.retarget.targets import Targets


def mask(text):
    return np.array([letter == "x" for letter in text])


@pytest.mark.parametrize(
    ("touch", "slow", "wanted"),
    [
        ("x" * 10 + "." * 5 + "x" * 40, "." * 20 + "x" * 35, "x" * 55),  # It only rests after a hop.
        ("x" * 10 + "." * 5 + "x" * 40, "x" * 55, "x" * 55),  # A brief rest is no place to stand.
        ("x" * 20 + "." * 5 + "x" * 40, "x" * 65, "x" * 20 + "." * 5 + "x" * 40),  # A step after standing stays.
        ("x" * 10 + "." * 20 + "x" * 40, "x" * 70, "x" * 10 + "." * 20 + "x" * 40),  # So does a long one, as in a kick.
        ("x" * 30, "." * 30, "x" * 30),
    ],
)
def test_a_step_that_a_clip_begins_with_is_left_out(touch, slow, wanted):
    assert BRIEF_FRAMES < 20 and SETTLED_FRAMES < 20
    touch, slow = mask(touch), mask(slow)
    _bridge(touch, slow)
    assert "".join("x" if on else "." for on in touch) == wanted


def test_a_contact_at_an_end_stays_where_it_rests():
    path = np.stack([np.linspace(0.0, 1.0, 101), np.zeros(101)], axis=1)
    touch, slow = np.zeros(101, bool), np.zeros(101, bool)
    touch[:40] = touch[61:] = True
    slow[30:40] = slow[61:71] = True
    pinned = pin(path, touch, slow)
    np.testing.assert_allclose(pinned[:40], np.tile(path[30:40].mean(axis=0), (40, 1)))
    np.testing.assert_allclose(pinned[61:], np.tile(path[61:71].mean(axis=0), (40, 1)))
    np.testing.assert_array_equal(pinned[40:61], path[40:61])
    never = pin(path, touch, np.zeros(101, bool))
    assert np.ptp(never[:40], axis=0).max() == 0.0 and np.ptp(never[61:], axis=0).max() == 0.0


@pytest.mark.parametrize(("lifts", "wanted"), [(None, 0.2), (40, 0.2), (10, SHIFT_SECONDS - 0.2)])
def test_the_weight_has_time_to_shift_before_a_foot_lifts(kin, lifts, wanted):
    shapes = {field.name: np.zeros((60, 4)) for field in dataclasses.fields(Targets)}
    contact = np.tile([False, False, True, True], (60, 1))
    if lifts is not None:
        contact[lifts:, 3] = False
    frames = _ready(Targets(**{**shapes, "contact": contact}), MORPHOLOGIES["upright"], kin, RetargetConfig(), 50.0)
    assert frames == pytest.approx(50.0 * wanted)


@pytest.mark.parametrize(("name", "leg", "left_out"), [("four_legged", "FL", False), ("upright", "RL", True)])
def test_on_four_legs_an_arm_may_gesture_at_once(go2, kin, name, leg, left_out):
    touch = np.ones((60, 4), bool)
    touch[11:18, [one.name for one in go2.legs].index(leg)] = False
    contacts = Contacts(touch, touch, np.zeros(60), False, False)
    found, _ = _settle_ends(contacts, Supports((MORPHOLOGIES[name],), (0,), ""), kin)
    assert bool(found.all()) is left_out
