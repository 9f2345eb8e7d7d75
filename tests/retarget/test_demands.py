import numpy as np
import pytest

from lagoon.motion.skeleton import JOINT_NAMES, MIRROR
from lagoon.retarget.body import REQUIRED, Body
from lagoon.retarget.demands import BODY_PARTS, LOW, carried_by_the_body


def test_what_counts_as_lying_is_the_same_left_and_right():
    mirrored = {JOINT_NAMES[MIRROR[JOINT_NAMES.index(part)]] for part in BODY_PARTS}
    assert mirrored == set(BODY_PARTS)
    assert set(BODY_PARTS) <= set(REQUIRED)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("part", ["hip", "knee", "elbow", "shoulder"])
def test_each_part_near_the_floor_carries(people, side, part):
    body = Body.of(people["standing"](), 50.0)
    assert not carried_by_the_body(body).any()
    body.joints[f"{side}_{part}"][3:9, 2] = LOW - 0.01
    np.testing.assert_array_equal(np.flatnonzero(carried_by_the_body(body)), np.arange(3, 9))
