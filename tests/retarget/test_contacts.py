import numpy as np

from lagoon.motion.stretches import stretches
from lagoon.retarget.body import Body
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.contacts import detect, nearest_on, pin
from lagoon.retarget.morphology import MORPHOLOGIES, Supports

CONFIG = RetargetConfig()


def contacts_of(go2, human, morphology="upright"):
    body = Body.of(human, 50.0)
    return body, detect(body, go2, Supports((MORPHOLOGIES[morphology],), (0,), ""), CONFIG)


def test_somebody_who_stands_is_planted_on_both_feet_only(go2, people):
    _, contacts = contacts_of(go2, people["waving"]())
    np.testing.assert_array_equal(contacts.touch.all(axis=0), [False, False, True, True])
    assert contacts.planted
    assert not contacts.hands_carry
    assert contacts.smoothing(CONFIG) == CONFIG.smoothing_planted


def test_a_lifted_foot_is_not_in_contact(go2, people):
    body, contacts = contacts_of(go2, people["marching"]())
    left, right = (body.joints[f"{side}_ankle"][:, 2] - 0.08 for side in ("left", "right"))
    assert not contacts.planted
    assert not contacts.touch[left > 0.08, 2].any()
    assert not contacts.touch[right > 0.08, 3].any()
    assert contacts.touch[:, 2:].any(axis=1).all()
    assert contacts.touch[left < 0.01, 2].mean() > 0.9
    assert contacts.smoothing(CONFIG) == CONFIG.smoothing_stepping


def test_a_foot_that_swings_low_and_fast_is_not_in_contact(go2, people):
    human = people["standing"](frames=41)
    slow = human.joint_pos_w.copy()
    foot = [human.joint_names.index(f"left_{name}") for name in ("ankle", "foot")]
    slow[:, foot, 0] += 2.5 * np.clip(np.arange(41) / 20 - 0.8, 0, 0.3)[:, None]
    slow[:, foot, 2] += 0.03 * np.sin(np.pi * np.clip((np.arange(41) / 20 - 0.8) / 0.3, 0, 1))[:, None]
    _, contacts = contacts_of(go2, type(human)(20.0, human.joint_names, slow))
    assert not contacts.touch[48, 2]
    assert contacts.touch[20, 2]
    assert contacts.touch[80, 2]


def test_hanging_arms_stand_on_four_legs(go2, people):
    _, contacts = contacts_of(go2, people["waving"](), "four_legged")
    middle = len(contacts.touch) // 2
    np.testing.assert_array_equal(contacts.touch[middle], [True, False, True, True])
    assert contacts.touch[0].all()


def test_hands_in_the_lap_are_no_gesture_on_four_legs(go2, people):
    human = people["standing"](frames=41)
    seated = human.joint_pos_w.copy()
    for side, sign in (("left", 1.0), ("right", -1.0)):
        shoulder = seated[:, human.joint_names.index(f"{side}_shoulder")]
        seated[:, human.joint_names.index(f"{side}_elbow")] = shoulder + np.array([-0.05, 0.06 * sign, -0.26])
        seated[:, human.joint_names.index(f"{side}_wrist")] = shoulder + np.array([0.18, 0.0, -0.36])
    _, contacts = contacts_of(go2, type(human)(20.0, human.joint_names, seated), "four_legged")
    assert contacts.touch.all()


def test_arms_along_a_bowing_trunk_stand_on_four_legs(go2, people):
    # The arms turn with the trunk, so seen from the floor they point backward: they are at rest all the same.
    human = people["bowing"](degrees=50.0)
    _, contacts = contacts_of(go2, human, "four_legged")
    assert contacts.planted
    assert contacts.touch.all()
    # An arm that leaves the side is a gesture, bow or not.
    moved = human.joint_pos_w.copy()
    shoulder, elbow, wrist = (human.joint_names.index(f"left_{name}") for name in ("shoulder", "elbow", "wrist"))
    middle = slice(human.num_frames // 3, 2 * human.num_frames // 3)
    moved[middle, wrist] = moved[middle, shoulder] + (0.3, 0.0, 0.1)
    moved[middle, elbow] = moved[middle, shoulder] + (0.2, 0.1, -0.1)
    _, contacts = contacts_of(go2, type(human)(20.0, human.joint_names, moved), "four_legged")
    assert not contacts.touch[len(contacts.touch) // 2, 0]
    assert contacts.touch[:, 1:].all()


def test_hands_on_the_floor_carry(go2, people):
    _, contacts = contacts_of(go2, people["crawling"](), "four_legged")
    assert contacts.hands_carry
    assert contacts.touch.all()


def test_stretches_and_pinning():
    mask = np.array([False, True, True, False, True, False])
    assert stretches(mask) == [(1, 3), (4, 5)]
    assert stretches(np.zeros(3, bool)) == []
    np.testing.assert_array_equal(nearest_on(mask), [1, 1, 2, 2, 4, 4])


def test_a_contact_is_held_at_one_place_unless_it_slides():
    touch = np.array([False, True, True, True, True, False])
    slow = np.array([False, False, True, True, False, False])
    path = np.zeros((6, 2))
    path[:, 0] = [-0.5, 0.0, 0.03, 0.05, 0.09, 0.4]
    held = pin(path, touch, slow)
    np.testing.assert_allclose(held[1:5, 0], 0.04)
    np.testing.assert_array_equal(held[[0, 5]], path[[0, 5]])
    np.testing.assert_allclose(pin(path, touch, np.zeros(6, bool))[1:5, 0], path[1:5, 0].mean())
    path[4, 0] = 0.3
    slid = pin(path, touch, slow)
    np.testing.assert_allclose(slid[:, 0], [-0.5, 0.0, 0.04, 0.04, 0.3, 0.4])


def test_a_low_foot_that_moves_beside_one_that_rests_does_not_carry(go2, people):
    human = people["standing"](frames=41)
    moved = human.joint_pos_w.copy()
    foot = [human.joint_names.index(f"left_{name}") for name in ("ankle", "foot")]
    moved[:, foot, 0] += 0.9 * np.clip(np.arange(41) / 20 - 0.8, 0, 0.5)[:, None]  # 0.9 m/s along the floor.
    _, contacts = contacts_of(go2, type(human)(20.0, human.joint_names, moved))
    middle = slice(45, 60)
    assert not contacts.touch[middle, 2].any()
    assert contacts.touch[:, 3].all()
    assert contacts.touch[[10, 90], 2].all()


def test_a_moving_foot_carries_where_no_other_does(go2, people):
    """The left foot turns on its ball while the right leg is up."""
    human = people["standing"](frames=41)
    moved = human.joint_pos_w.copy()
    at = human.joint_names.index
    moved[:, [at("right_ankle"), at("right_foot")], 2] += 0.4
    along = 0.9 * np.clip(np.arange(41) / 20 - 0.8, 0, 0.15)[:, None]
    moved[:, [at("left_ankle"), at("left_foot")], 0] += along
    _, contacts = contacts_of(go2, type(human)(20.0, human.joint_names, moved))
    assert contacts.touch[:, 2].all()
    assert not contacts.slow[:, 2].all()
