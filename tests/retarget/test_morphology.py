import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.morphology import MORPHOLOGIES, choose_supports, up_frames

HAND = RetargetConfig().hand_height


@pytest.mark.parametrize(
    ("name", "expected"),
    [("waving", "upright"), ("marching", "upright"), ("crawling", "four_legged")],
)
def test_auto_looks_at_whether_the_person_is_up(people, name, expected):
    supports = choose_supports(Body.of(people[name](), 50.0), "auto", HAND)
    assert supports.name == expected
    assert supports.reason.startswith(expected)
    assert "% of the clip" in supports.reason


@pytest.mark.parametrize(("degrees", "expected"), [(15.0, "upright"), (40.0, "four_legged")])
def test_a_deep_bow_over_planted_feet_is_done_on_four_legs(people, degrees, expected):
    supports = choose_supports(Body.of(people["bowing"](degrees=degrees), 50.0), "auto", HAND)
    assert supports.name == expected
    assert supports.reason.startswith(expected)
    if expected == "four_legged":
        assert "leans 40 degrees over feet that stay" in supports.reason


def test_leaning_while_stepping_is_no_bow(people):
    body = Body.of(people["bowing"](degrees=60.0), 50.0)
    for joint in body.joints:
        body.joints[joint][:, 0] += np.linspace(0.0, 1.0, body.num_frames)
    assert choose_supports(body, "auto", HAND).first.name == "upright"


def test_auto_wants_the_person_up_at_both_ends(people):
    body = Body.of(people["standing"](frames=40), 50.0)
    for joint in body.joints:
        # From the middle on the hips come down to the heels: the person sits.
        if not joint.endswith(("ankle", "foot")):
            body.joints[joint][60:, 2] -= 0.6
    share = up_frames(body, HAND).mean()
    supports = choose_supports(body, "auto", HAND)
    assert 0.4 < share < 0.7
    assert supports.name == "four_legged"
    assert "not at the end" in supports.reason
    # One map for the whole clip, which is said where it does not fit.
    assert "one map serves the whole clip: from 0.0 to 1.2 s the person is up and the robot stays" in supports.reason


def test_a_person_who_goes_down_for_a_while_is_told_to_stay_upright(people):
    body = Body.of(people["standing"](frames=80), 50.0)
    for joint in body.joints:
        if not joint.endswith(("ankle", "foot")):
            body.joints[joint][50:120, 2] -= 0.6
    supports = choose_supports(body, "auto", HAND)
    assert supports.name == "upright"
    assert "from 1.0 to 2.4 s the person is down and the robot stays upright. Cut the clip" in supports.reason
    assert "does not change" not in choose_supports(Body.of(people["standing"](), 50.0), "auto", HAND).reason


def test_a_single_frame_decides_nothing(people):
    body = Body.of(people["standing"](frames=40), 50.0)
    body.joints["left_wrist"][-1, 2] = 0.05
    assert choose_supports(body, "auto", HAND).name == "upright"


def test_a_wish_overrules(people):
    supports = choose_supports(Body.of(people["crawling"](), 50.0), "upright", HAND)
    assert supports.maps == (MORPHOLOGIES["upright"],)
    assert supports.reason == "upright: asked for"


def test_an_unknown_wish_is_refused(people):
    with pytest.raises(BadInputError, match="Known: auto, four_legged, handstand, upright"):
        choose_supports(Body.of(people["standing"](), 50.0), "sideways", HAND)


def test_who_stands_on_the_hands_is_mapped_to_the_front_legs(people):
    supports = choose_supports(Body.of(people["on_hands"](), 50.0), "auto", HAND)
    assert supports.maps == (MORPHOLOGIES["handstand"],)
    assert supports.on_hands(3).all()


def test_who_changes_from_feet_to_hands_and_back_changes_the_map(people):
    body = Body.of(people["cartwheeling"](), 50.0)
    supports = choose_supports(body, "auto", HAND)
    assert supports.name == "upright, handstand, upright"
    upside_down = body.trunk[:, 2, 2] < -0.8
    assert supports.on_hands(body.num_frames)[upside_down].all()
    assert not supports.on_hands(body.num_frames)[body.trunk[:, 2, 2] > 0.5].any()
    assert "on the hands from" in supports.reason


def test_a_roll_over_the_shoulders_is_no_handstand(people):
    body = Body.of(people["on_hands"](), 50.0)
    low = body.middle("shoulder")[:, 2].max()
    for joint, path in body.joints.items():
        if not joint.endswith("wrist"):
            path[:, 2] -= low - 0.1
    assert "handstand" not in choose_supports(body, "auto", HAND).name


def test_a_handstand_is_not_wished_of_somebody_who_stands(people):
    with pytest.raises(BadInputError, match=r"for 0% of the clip.*retarget\.morphology=auto"):
        choose_supports(Body.of(people["standing"](), 50.0), "handstand", HAND)


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


def test_words_about_the_legs_come_before_the_persons_posture_and_after_a_wish(people):
    body = Body.of(people["waving"](), 50.0)
    said = choose_supports(body, "auto", HAND, "wave on four legs")
    assert (said.name, said.reason) == ("four_legged", "four_legged: the command says 'on four legs'")
    assert choose_supports(body, "auto", HAND, "wave").name == "upright"
    assert choose_supports(body, "upright", HAND, "wave on four legs").name == "upright"
