"""The sheet of stick figures: what is left in the motion must be seen on the left."""

import sys
from pathlib import Path

import numpy as np
import pytest

from lagoon.errors import MissingExtraError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.studio.contact_sheet import HEIGHT, LEFT, RIGHT, TOP, WIDTH, write_contact_sheet

Image = pytest.importorskip("PIL.Image")


def stand(text: str = "stand") -> HumanMotion:
    """Stands at the origin, faces +X, the left arm (Y above 0) stretched ahead."""
    pos = np.zeros((10, 22, 3))
    for i, name in enumerate(JOINT_NAMES):
        side = {"left": 0.2, "right": -0.2}.get(name.split("_")[0], 0.0)
        height = {"pelvis": 0.9, "hip": 0.9, "knee": 0.5, "ankle": 0.1, "foot": 0.0}.get(name.split("_")[-1], 1.4)
        pos[:, i] = [0.0, side, height]
    pos[:, JOINT_NAMES.index("left_wrist"), 0] = 0.7
    return HumanMotion(20.0, JOINT_NAMES, pos, text)


def middle_of(picture: np.ndarray, color: tuple[int, int, int]) -> float:
    """Mean column of the pixels of a colour."""
    return float(np.argwhere((np.abs(picture.astype(int) - color) < 8).all(axis=-1))[:, 1].mean())


def test_left_is_on_the_right_of_one_who_looks_at_us(tmp_path: Path) -> None:
    write_contact_sheet(tmp_path / "a.png", stand(), columns=1)
    picture = np.asarray(Image.open(tmp_path / "a.png").convert("RGB"))
    assert picture.shape == (TOP + 2 * HEIGHT, WIDTH, 3)
    front, side = picture[TOP : TOP + HEIGHT - 30], picture[TOP + HEIGHT : -30]
    assert middle_of(front, LEFT) > WIDTH / 2 > middle_of(front, RIGHT)
    assert middle_of(side, LEFT) > WIDTH / 2 + 5, "seen from its right it faces to the right"


@pytest.mark.parametrize("text", ["", "挥手 \x1b[31m" + "x" * 500, "<b>"])
def test_any_caption_and_a_giant_fit(tmp_path: Path, text: str) -> None:
    human = stand(text)
    write_contact_sheet(tmp_path / "a.png", HumanMotion(20.0, JOINT_NAMES, 100 * human.joint_pos_w, text))
    assert Image.open(tmp_path / "a.png").size == (8 * WIDTH, TOP + 2 * HEIGHT)
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_without_pillow_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[viewer\]"):
        write_contact_sheet(tmp_path / "a.png", stand())
    assert not list(tmp_path.iterdir())
