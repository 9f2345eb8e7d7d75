"""Draws a motion as a sheet of stick figures: from the front and from the side, over time.

What enters: a HumanMotion or a QuadrupedMotion. What leaves: a png. Needs no OpenGL; made to see at a glance whether
an imported motion stands upright, faces ahead, and has its left on the left.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import require
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.quadruped_motion import QuadrupedMotion
from lagoon.paths import atomic_path
from lagoon.sim.figures import bones_of, side_of

Array = NDArray[np.float64]
COLUMNS = 8
WIDTH, HEIGHT, TOP = 150, 230, 46
"""Size of one picture and height of the line above all [pixel]."""
REACH = 2.1
"""Height of one picture [m]; a larger person is scaled down."""
INK, PALE, FLOOR = (31, 37, 46), (112, 121, 134), (214, 222, 231)
LEFT, RIGHT, MIDDLE = (38, 110, 210), (205, 60, 50), (90, 98, 110)
VIEWS = (("from the front", np.array([0.0, 1.0])), ("from its right side", np.array([1.0, 0.0])))
"""Name and the direction in the ground plane that points right in the picture, for one who faces +X."""


def write_contact_sheet(target: Path, human: HumanMotion | QuadrupedMotion, columns: int = COLUMNS) -> None:
    """Write the sheet whole or not at all.

    Args:
        target: png file.
        human: the motion; joints that belong to no known bone are not drawn.
        columns: poses, evenly spaced in time.

    Raises:
        MissingExtraError: Pillow is not installed.
    """
    image, draw, font = (require(f"PIL.{name}", "viewer") for name in ("Image", "ImageDraw", "ImageFont"))
    picture = image.new("RGB", (WIDTH * columns, TOP + HEIGHT * len(VIEWS)), (255, 255, 255))
    pen = draw.Draw(picture)
    small = font.load_default(13)
    pen.text((10, TOP / 2 - 9), _title(human), INK, font=small, anchor="lm")
    pen.text((10, TOP / 2 + 9), "left", LEFT, font=small, anchor="lm")
    pen.text((44, TOP / 2 + 9), "right", RIGHT, font=small, anchor="lm")
    moments = np.linspace(0, human.num_frames - 1, columns).round().astype(int)
    high = float(human.joint_pos_w[..., 2].max())
    scale = (HEIGHT - 40) / max(REACH, high)
    if isinstance(human, QuadrupedMotion):  # Longer than it is high.
        scale = (WIDTH - 8) / float(np.linalg.norm(np.ptp(human.joint_pos_w[..., :2], axis=1), axis=-1).max())
    for row, (name, right) in enumerate(VIEWS):
        floor = TOP + HEIGHT * (row + 1) - 22
        pen.line((0, floor, WIDTH * columns, floor), fill=FLOOR, width=2)
        pen.text((10, floor - HEIGHT + 30), name, PALE, font=small, anchor="lm")
        for column, moment in enumerate(moments):
            middle = WIDTH * column + WIDTH / 2
            _figure(pen, human, int(moment), right, middle, floor, scale)
            pen.text((middle, floor + 11), f"{moment / human.fps:.2f} s", PALE, font=small, anchor="mm")
    with atomic_path(target) as temporary:
        picture.save(temporary)


def _title(human: HumanMotion | QuadrupedMotion) -> str:
    text = "".join(
        c if " " <= c <= "~" or "\u00c0" <= c <= "\u017f" else "\u00b7" for c in " ".join(human.text.split())
    )
    text = text if len(text) <= 80 else text[:79] + "..."
    return f"{text + 3 * ' ' if text else ''}{human.duration:.1f} s, {human.num_frames} frames at {human.fps:g} Hz"


def _figure(
    pen: Any,
    human: HumanMotion | QuadrupedMotion,
    moment: int,
    right: Array,
    middle: float,
    floor: float,
    scale: float,
) -> None:
    """Draw one pose over a spot of the floor, far limbs first."""
    pose = human.joint_pos_w[moment]
    at = {name: i for i, name in enumerate(human.joint_names)}
    here = pose[0, :2] if isinstance(human, HumanMotion) else pose[:, :2].mean(axis=0)
    across = (pose[:, :2] - here) @ right
    depth = (pose[:, :2] - here) @ np.array([right[1], -right[0]])
    spot = lambda name: (middle + scale * across[at[name]], floor - scale * pose[at[name], 2])  # noqa: E731
    bones = bones_of(human)
    for a, b in sorted(bones, key=lambda bone: depth[at[bone[0]]] + depth[at[bone[1]]]):
        color = {"left": LEFT, "right": RIGHT}.get(side_of(a, b), MIDDLE)
        pen.line((*spot(a), *spot(b)), fill=color, width=4)
    if "head" in at:
        x, y = spot("head")
        radius = 0.09 * scale
        pen.ellipse((x - radius, y - 1.6 * radius, x + radius, y + 0.4 * radius), fill=MIDDLE)
