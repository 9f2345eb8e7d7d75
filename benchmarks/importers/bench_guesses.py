"""How often the guesses of lagoon import are right on clips whose axes and sides are known.

Usage:
    python benchmarks/importers/bench_guesses.py DATA_FOLDER [SET ...]

DATA_FOLDER is one that the training of the text model takes (docs/text2motion.md). Each clip is turned to Y up, in
metres at 20 fps, and judged as a file of a format with a custom (BVH) and of one without (npz, csv). Every repair
that is made counts as wrong: the clips are sound.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

from lagoon.errors import BadInputError
from lagoon.importers.axes import handedness, up_axis
from lagoon.importers.config import FPS, ImportConfig
from lagoon.importers.person import Person
from lagoon.importers.raw import Fact
from lagoon.importers.repair import repair
from lagoon.text2motion.config import DATA_SETS
from lagoon.text2motion.dataset import read_set

Y_UP = np.array([1, 2, 0])
FEET = ("left_foot", "right_foot")


def judge(pos: np.ndarray) -> set[str]:
    """Names of the guesses that are wrong for a clip (T, 22, 3), Z-up."""
    wrong = set()
    config, pos = ImportConfig(), pos[..., Y_UP]
    if up_axis(pos, Fact("y", "the custom of BVH"), config)[0] != "y":
        wrong.add("up axis with a custom")
    if up_axis(pos, None, config)[0] != "y":
        wrong.add("up axis without a custom")
    if handedness(Person(pos, (), "", 22))[0] < 0:
        wrong.add("left and right by toes and knees")
    if handedness(Person(pos, FEET, "", 20))[0] < 0:
        wrong.add("left and right by knees")
    try:
        _, repairs = repair(pos, FPS, True, "clip")
    except BadInputError as error:
        repairs = [str(error)]
    return wrong | ({"repair"} if repairs else set())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", default=DATA_SETS)
    arguments = parser.parse_args()
    for name in arguments.sets:
        clips = read_set(arguments.folder, name)
        found: Counter[str] = Counter()
        for clip in clips:
            wrong = judge(clip.joint_pos_w)
            found.update(wrong)
            if wrong:
                print(f"  {clip.id} ({clip.verb}): {', '.join(sorted(wrong))}")
        print(f"{name}: {len(clips)} clips; wrong: {dict(found) or 'none'}")


if __name__ == "__main__":
    main()
