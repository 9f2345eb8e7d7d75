"""A person who gets down on all fours, and up again: each part in its map, with the robot's own ways between them."""

from dataclasses import replace

import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.motion.rotations import quat_to_matrix
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.retarget.body import Body
from lagoon.retarget.config import IN_TURN, RetargetConfig
from lagoon.retarget.parts import BENT, parts_of
from lagoon.retarget.retarget import CLEARLY, retarget
from tests.retarget.conftest import crawling, human, standing

CONFIG = RetargetConfig(speed=1.0)


def getting_down(stand=40, down=40, turned=0.0):
    """Stands, gets down within a second, stays on hands and knees, gets up within a second, stands."""
    upright, low = standing(2).joint_pos_w[0], crawling(2).joint_pos_w[0]
    low = low + np.array([0.4, 0.0, 0.0])  # The ankles stay where they are.
    u = np.linspace(0.0, 1.0, 22)[1:-1, None, None]
    u = u * u * (3.0 - 2.0 * u)
    way = upright + u * (low - upright)
    poses = [np.repeat(upright[None], stand, 0), way, np.repeat(low[None], down, 0), way[::-1]]
    path = np.concatenate([*poses, np.repeat(upright[None], stand, 0)])
    c, s = np.cos(turned), np.sin(turned)
    path = path @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    return human({name: path[:, k] for k, name in enumerate(JOINT_NAMES)})


def test_parts_are_what_is_on_the_feet_and_what_is_on_all_fours():
    body = Body.of(getting_down(), 50.0)
    parts = parts_of(body, CONFIG)
    assert [p.morphology.name for p in parts] == ["upright", "four_legged", "upright"]
    assert parts[0].start == 0
    assert parts[-1].stop == body.num_frames
    for part in parts:
        tilt = body.tilt[part.start : part.stop]
        assert tilt.max() < BENT if part.morphology.rears_up else tilt.min() > BENT
    # The two seconds on the hands, and of the ways there and back the ends at most.
    assert 95 <= parts[1].stop - parts[1].start <= 150


@pytest.mark.parametrize("name", ["standing", "marching", "bowing", "crawling", "on_hands", "cartwheeling"])
def test_whoever_does_not_change_has_no_parts(people, name):
    assert parts_of(Body.of(people[name](), 50.0), CONFIG) == ()


def test_a_moment_on_the_hands_is_no_part():
    assert parts_of(Body.of(getting_down(down=1), 50.0), replace(CONFIG, hand_height=0.02)) == ()


@pytest.fixture(scope="module")
def changing(go2):
    return retarget(getting_down(), go2, replace(CONFIG, morphology=IN_TURN))


def test_the_robot_stands_on_two_legs_then_on_four_then_on_two(changing):
    motion, report = changing
    assert report.morphology == "upright, four_legged, upright"
    nose_up = np.arcsin(np.clip(quat_to_matrix(motion.root_quat_w)[:, 2, 0], -1.0, 1.0))
    front = motion.foot_contact[:, :2].all(axis=1)
    begin, end = report.segments["motion"], report.segments["lead_out"]
    (down, low), (rise, up) = report.ways
    assert begin < down < low < rise < up < end

    def between(start, stop):
        return slice(round(start * motion.fps) + 1, round(stop * motion.fps) - 1)

    for stretch in (between(begin, down), between(up, end)):
        assert nose_up[stretch].min() > np.radians(60.0)
        assert not motion.foot_contact[stretch, :2].any()
    assert np.abs(nose_up[between(low, rise)]).max() < np.radians(30.0)
    assert front[between(low, rise)].all()


def test_the_ways_between_the_parts_keep_every_limit(changing):
    _, report = changing
    assert report.joint_limit_violations == report.velocity_violations == 0
    assert report.penetration_max < 0.005
    assert report.foot_slide_mean < 0.03
    # What is said against it is the person's: a robot on four legs does not need the knees.
    assert {reason.kind for reason in report.verdict.reasons} <= {"off_feet"}
    pressure = np.array(report.demands["pressure"])
    for start, stop in report.ways:
        assert pressure[round(start * report.fps) : round(stop * report.fps)].max() < 1.0
    assert report.to_dict()["ways"] == report.ways
    assert any("change of map" in line for line in report.lines())


def test_nothing_jumps_at_a_change(changing):
    motion, _ = changing
    assert np.linalg.norm(np.diff(motion.root_pos_w, axis=0), axis=1).max() * motion.fps < 1.5
    turn = np.einsum("tj,tj->t", motion.root_quat_w[1:], motion.root_quat_w[:-1])
    assert 2.0 * np.arccos(np.clip(np.abs(turn), 0.0, 1.0)).max() * motion.fps < 6.0


def test_where_the_person_faces_does_not_matter(go2, changing):
    other, _ = retarget(getting_down(turned=2.0), go2, replace(CONFIG, morphology=IN_TURN))
    np.testing.assert_allclose(other.root_pos_w, changing[0].root_pos_w, atol=1e-4)
    np.testing.assert_allclose(other.joint_pos, changing[0].joint_pos, atol=1e-3)


def test_auto_changes_only_where_that_is_clearly_cheaper(go2, changing, monkeypatch):
    cheap, dear = 1.0, 1.0 / CLEARLY + 2.0
    for whole_map, expected in ((dear, "upright, four_legged, upright"), (cheap, "four_legged")):
        monkeypatch.setattr(
            "lagoon.retarget.retarget.cost", lambda r, other=whole_map: cheap if "," in r.morphology else other
        )
        _, report = retarget(getting_down(), go2, CONFIG)
        assert report.morphology.startswith(expected) or (expected == "four_legged" and "," not in report.morphology)
    assert "retarget.morphology=in_turn does it all the same" in report.morphology_reason
    _, report = retarget(replace(getting_down(), text="do it on four legs"), go2, CONFIG)
    assert report.morphology == "four_legged"


def test_whoever_does_not_change_is_refused_the_map_that_does(go2, people):
    with pytest.raises(BadInputError, match="does not change between feet and all fours"):
        retarget(people["standing"](), go2, replace(CONFIG, morphology=IN_TURN))
