"""Which way is up for people who do not simply stand, and what left and right are judged by."""

import numpy as np
import pytest
from motion_files import AT, walk_and_wave
from scipy.spatial.transform import Rotation

from lagoon.importers.axes import TURNS, handedness, heading, keep_sides, up_axis
from lagoon.importers.config import ImportConfig
from lagoon.importers.person import Person
from lagoon.importers.raw import Fact

Y_CUSTOM = Fact("y", "the custom of BVH")


def on_floor(pos: np.ndarray) -> np.ndarray:
    """Each frame lowered until its lowest joint is at y = 0."""
    return pos - pos[..., 1].min(axis=1)[:, None, None] * [0.0, 1.0, 0.0]


def pitched(degrees: np.ndarray) -> np.ndarray:
    """(T, 22, 3) a person, Y up, who tips over by so many degrees in each frame."""
    pose = walk_and_wave(20.0).pos[0]
    pose = Rotation.from_euler("y", -0.4).apply(pose - pose[0])  # Faces ahead, so that it tips over the toes.
    turn = Rotation.from_euler("x", degrees[:, None], degrees=True)
    return on_floor(np.stack([turn.apply(np.repeat(p[None], len(degrees), 0)) for p in pose], axis=1))


CLIPS = {
    "walks": walk_and_wave(20.0).pos - [0.0, 0.03, 0.0],
    "falls on the face": pitched(np.clip(np.linspace(-60, 200, 60), 0, 90)),
    "lies all the time": pitched(np.full(40, 88.0)),
    "somersaults": pitched(np.linspace(0, 360, 60)),
}


@pytest.mark.parametrize("what", CLIPS)
@pytest.mark.parametrize("axis", TURNS)
def test_up_is_found_whatever_the_person_does(what: str, axis: str) -> None:
    pos = CLIPS[what] @ TURNS["y"].T @ TURNS[axis]  # Y up to Z up, and that to another axis up.
    told = Fact(axis, "some custom")
    assert up_axis(pos, told, ImportConfig())[0] == axis
    if what != "lies all the time" or axis in ("y", "z"):  # Lying, in axes that nobody uses: only a custom helps.
        assert up_axis(pos, None, ImportConfig())[0] == axis


@pytest.mark.parametrize("axis", ["z", "-y", "x"])
def test_a_person_who_stands_overrules_the_custom_and_says_so(axis: str) -> None:
    pos = CLIPS["walks"] @ TURNS["y"].T @ TURNS[axis]
    found, decision = up_axis(pos, Y_CUSTOM, ImportConfig())
    assert found == axis and decision.change == "import.up=y" and "against the custom of BVH (y)" in decision.why
    assert up_axis(pos, Y_CUSTOM, ImportConfig(up="-x"))[0] == "-x"


def test_turns_keep_left_on_the_left() -> None:
    for axis, turn in TURNS.items():
        assert np.linalg.det(turn) == pytest.approx(1.0)
        unit = np.zeros(3)
        unit["xyz".index(axis[-1])] = -1.0 if axis.startswith("-") else 1.0
        assert np.array_equal(turn @ unit, [0.0, 0.0, 1.0])


@pytest.mark.parametrize("what", CLIPS)
@pytest.mark.parametrize("made", [(), ("left_foot", "right_foot")], ids=["toes", "knees"])
def test_left_and_right_are_judged_in_any_position(what: str, made: tuple[str, ...]) -> None:
    person = Person(CLIPS[what], made, "", 22)
    assert handedness(person)[0] == 1.0
    assert handedness(Person(CLIPS[what] * [-1.0, 1.0, 1.0], made, "", 22))[0] == -1.0


def test_straight_legs_without_toes_are_taken_with_a_word() -> None:
    pos = CLIPS["walks"].copy()
    for side in ("left", "right"):
        pos[:, AT[f"{side}_knee"]] = 0.5 * (pos[:, AT[f"{side}_hip"]] + pos[:, AT[f"{side}_ankle"]])
    person = Person(pos, ("left_foot", "right_foot"), "", 20)
    decision = keep_sides(person, ImportConfig(), "a.bvh")[1]
    assert (decision.value, decision.why) == ("kept, not checked", "legs are straight and have no toes")


def test_one_who_lies_faces_where_the_head_points() -> None:
    pos = CLIPS["lies all the time"] @ TURNS["y"].T
    ahead = pos[0, AT["head"], :2] - pos[0, 0, :2]
    assert heading(pos) == pytest.approx(np.arctan2(ahead[1], ahead[0]), abs=0.2)
