import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.morphology import MORPHOLOGIES, choose_morphology, up_frames

HAND = RetargetConfig().hand_height


@pytest.mark.parametrize(
    ("name", "expected"),
    [("waving", "upright"), ("marching", "upright"), ("crawling", "four_legged")],
)
def test_auto_looks_at_whether_the_person_is_up(people, name, expected):
    morphology, reason = choose_morphology(Body.of(people[name](), 50.0), "auto", HAND)
    assert morphology.name == expected
    assert reason.startswith(expected)
    assert "% of the clip" in reason


@pytest.mark.parametrize(("degrees", "expected"), [(15.0, "upright"), (40.0, "four_legged")])
def test_a_deep_bow_over_planted_feet_is_done_on_four_legs(people, degrees, expected):
    morphology, reason = choose_morphology(Body.of(people["bowing"](degrees=degrees), 50.0), "auto", HAND)
    assert morphology.name == expected
    assert reason.startswith(expected)
    if expected == "four_legged":
        assert "leans 40 degrees over feet that stay" in reason


def test_leaning_while_stepping_is_no_bow(people):
    body = Body.of(people["bowing"](degrees=60.0), 50.0)
    for joint in body.joints:
        body.joints[joint][:, 0] += np.linspace(0.0, 1.0, body.num_frames)
    assert choose_morphology(body, "auto", HAND)[0].name == "upright"


def test_auto_wants_the_person_up_at_both_ends(people):
    body = Body.of(people["standing"](frames=40), 50.0)
    for joint in body.joints:
        # From the middle on the hips come down to the heels: the person sits.
        if not joint.endswith(("ankle", "foot")):
            body.joints[joint][60:, 2] -= 0.6
    share = up_frames(body, HAND).mean()
    morphology, reason = choose_morphology(body, "auto", HAND)
    assert 0.4 < share < 0.7
    assert morphology.name == "four_legged"
    assert "not at the end" in reason


def test_a_wish_overrules(people):
    morphology, reason = choose_morphology(Body.of(people["crawling"](), 50.0), "upright", HAND)
    assert morphology is MORPHOLOGIES["upright"]
    assert reason == "upright: asked for"


def test_an_unknown_wish_is_refused(people):
    with pytest.raises(BadInputError, match="Known: auto, four_legged, upright"):
        choose_morphology(Body.of(people["standing"](), 50.0), "handstand", HAND)


def test_arms_become_front_legs_on_their_own_side():
    for morphology in MORPHOLOGIES.values():
        for leg, joints in morphology.limbs.items():
            side = "left" if leg[1] == "L" else "right"
            assert all(joint.startswith(side) for joint in joints)
            assert joints[2] == f"{side}_{'wrist' if leg[0] == 'F' else 'ankle'}"
        assert set(morphology.elbow_legs) == {"FL", "FR"}


def test_a_hand_near_the_floor_is_not_up(people):
    body = Body.of(people["standing"](), 50.0)
    assert up_frames(body, HAND).all()
    body.joints["left_wrist"][:, 2] = 0.05
    np.testing.assert_array_equal(up_frames(body, HAND), False)
