from __future__ import annotations

import numpy as np
import pytest

from lagoon.motion.skeleton import JOINT_NAMES, PARENTS
from lagoon.text2motion import features, joining

ANKLES = [JOINT_NAMES.index("left_ankle"), JOINT_NAMES.index("right_ankle")]


def bones(pos: np.ndarray) -> np.ndarray:
    return np.linalg.norm(pos[:, 1:] - pos[:, list(PARENTS[1:])], axis=-1)


@pytest.fixture
def lengths(stand) -> np.ndarray:
    return bones(stand[None])[0]


def low(stand: np.ndarray, frames: int) -> np.ndarray:
    """Lying stiffly on the back, breathing a little."""
    lying = stand[:, [2, 1, 0]] * [1.0, 1.0, 1.0] + [0.0, 0.0, 0.2]
    breath = 0.004 * np.sin(np.arange(frames) / 4.0)
    return lying[None] + breath[:, None, None]


def test_no_joint_leaps_where_two_motions_meet(people, lengths):
    from lagoon.motion.bones import with_bones

    first = with_bones(people["walking"](60, turn=0.5), lengths)
    second = with_bones(people["waving"](60, 3), lengths)
    whole = joining.join(first, second, lengths)
    around = joining.largest_steps(whole)[len(first) - 2 : len(whole) - len(second) + 20]
    assert around.max() <= joining.usual_limit(first, second) + 1e-9
    assert np.abs(bones(whole) - lengths).max() < 1e-9


def test_poses_far_apart_get_a_transition(stand, people, lengths):
    from lagoon.motion.bones import with_bones

    first = with_bones(low(stand, 40), lengths)
    second = with_bones(people["squatting"](60, 1), lengths)
    whole = joining.join(first, second, lengths)
    assert len(whole) > len(first) + len(second)
    assert joining.largest_steps(whole).max() <= joining.usual_limit(first, second) + 1e-9


def test_the_second_motion_goes_on_where_and_how_the_first_ends(people):
    first, second = people["walking"](60, turn=0.5), people["walking"](50)
    moved = joining.place(first, second)
    assert features.heading(moved)[0] == pytest.approx(features.heading(first)[-1], abs=1e-6)
    assert np.linalg.norm(moved[0, 0, :2] - first[-1, 0, :2]) < 0.3


def test_who_stands_keeps_their_feet(people):
    first, second = people["squatting"](60, 1), people["waving"](60, 2)
    second[:, 0] += [0.05, 0.0, 0.0]
    moved = joining.place(first, second)
    assert np.allclose(moved[0, ANKLES, :2].mean(0), first[-1, ANKLES, :2].mean(0), atol=1e-9)
