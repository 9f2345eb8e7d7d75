"""Which joint of the file is which joint of lagoon's skeleton, by name; left stays left.

What enters: the names of a file, and perhaps a YAML file of the user. What leaves: a Mapping, or an error
that lists what is missing and how to say it. The words are data: joint_names.yaml.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from lagoon.errors import BadInputError
from lagoon.importers.text_file import check_size, short
from lagoon.motion.skeleton import JOINT_NAMES

NEEDED = tuple(
    f"{side}_{part}" for part in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist") for side in ("left", "right")
)
"""Joints without which there is no motion of a person; the others can be put in."""
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_SIDES = {"left": "left", "l": "left", "lft": "left", "right": "right", "r": "right", "rgt": "right", "rt": "right"}


@dataclass(frozen=True)
class Mapping:
    """Joints that were found."""

    index: dict[str, int]
    """Joint of lagoon's skeleton to column of the file."""
    style: str
    """Whose custom the names follow."""
    trunk: tuple[int, ...] = ()
    """Columns of other joints of the trunk by name, in file order."""


@dataclass(frozen=True)
class _Name:
    side: str
    """left, right or empty."""
    word: str


@cache
def _words() -> dict[str, Any]:
    return yaml.safe_load(Path(__file__).with_name("joint_names.yaml").read_text(encoding="utf-8"))


@cache
def _known() -> frozenset[str]:
    lines = [*_words()["sided"], *_words()["middle"]]
    return frozenset(word for _, words in lines for word in words) | frozenset(_words()["trunk"])


def find(names: Sequence[str], ends: Sequence[bool], map_file: str | None, file: str) -> Mapping:
    """Map the joints of a file.

    Args:
        names: (J,) as in the file.
        ends: (J,) True for ends of chains that have no name of their own.
        map_file: YAML of the user: lagoon's joint to the file's.
        file: name of the motion file, for messages.

    Raises:
        BadInputError: joints that are needed are missing, or the user's map does not fit or would mirror.
    """
    plain = [_Name("", "") if end else name for name, end in zip(split_all(names), ends, strict=True)]
    index: dict[str, int] = dict(_from_user(map_file, names, plain) if map_file else {})
    taken = set(index.values())
    for side in ("left", "right"):
        for joint, words in _words()["sided"]:
            _claim(index, taken, plain, f"{side}_{joint}", side, words)
    for joint, words in _words()["middle"]:
        _claim(index, taken, plain, joint, "", words)
    for number in ("1", "2", "3"):
        if {"spine1", "spine2", "spine3"} <= {name.word for name in plain if not name.side}:
            _claim(index, taken, plain, f"spine{number}", "", [f"spine{number}"])
    missing = [joint for joint in NEEDED if joint not in index]
    wrists = [joint for joint in missing if joint.endswith(("wrist", "ankle"))]
    if len(missing) > len(wrists):
        raise _missing([joint for joint in missing if joint not in wrists] + wrists, names, file)
    trunk = tuple(
        i
        for i, name in enumerate(plain)
        if i not in taken
        and not name.side
        and any(re.fullmatch(rf"{word}\d*", name.word) for word in _words()["trunk"])
    )
    return Mapping(index, _style(plain), trunk)


def side_of(name: str) -> str:
    """Side that a name of a file speaks of: left, right or empty."""
    return split_all([name])[0].side


def split_all(names: Sequence[str]) -> list[_Name]:
    """Side and word of each name, less what most of them begin with (``Bip01 L Thigh``: left, thigh)."""
    parts = [[w.lower() for w in _WORD.findall(re.split(r"[:|]", name)[-1])] for name in names]
    while len(parts) > 3 and any(parts):
        first, count = Counter(words[0] for words in parts if words).most_common(1)[0]
        shorter = [words[1:] if words[:1] == [first] and len(words) > 1 else words for words in parts]
        if count < 0.8 * len(parts) or first in _SIDES or shorter == parts:
            break
        parts = shorter
    return [_split(words) for words in parts]


def _split(words: list[str]) -> _Name:
    while len(words) > 1 and words[-1] in _words()["fillers"]:
        words = words[:-1]
    joined = "".join(words)
    if len(words) > 1 and words[0] in ("l", "t") and all(word.isdigit() for word in words[1:]):
        return _Name("", joined)  # Vertebrae: L5, T8.
    for at in (0, len(words) - 1, *range(1, len(words) - 1)):
        if words and words[at] in _SIDES and len(words) > 1:
            return _Name(_SIDES[words[at]], _plain("".join(words[:at] + words[at + 1 :])))
    for head in ("left", "right"):
        if joined.startswith(head) and joined != head:
            return _Name(head, _plain(joined.removeprefix(head)))
    if joined[:1] in ("l", "r") and joined not in _known() and _plain(joined[1:]) in _known():
        return _Name(_SIDES[joined[0]], _plain(joined[1:]))
    return _Name("", _plain(joined))


def _plain(word: str) -> str:
    """Drop a number at the end that only counts: ``toe0`` is toe; ``spine1`` stays."""
    bare = re.sub(r"[0]+1?$", "", word)
    return word if word in _known() or bare not in _known() or bare in _words()["trunk"] else bare


def _claim(
    index: dict[str, int], taken: set[int], plain: list[_Name], joint: str, side: str, words: Sequence[str]
) -> None:
    if joint in index:
        return
    for word in words:
        for i, name in enumerate(plain):
            if i not in taken and name.side == side and name.word == word:
                index[joint] = i
                taken.add(i)
                return


def _style(plain: list[_Name]) -> str:
    have = {f"{name.side} {name.word}".strip() for name in plain}
    return next((style for style, words in _words()["styles"] if set(words) <= have), "mixed names")


def _missing(missing: list[str], names: Sequence[str], file: str) -> BadInputError:
    listed = ", ".join(short(name) for name in names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")
    return BadInputError(
        f"{file}: no joint was recognised as {', '.join(missing)}. The file has: {listed or 'none'}. Write a YAML file "
        f"with a line for each, such as '{missing[0]}: NAME_IN_THE_FILE', and type import.map=FILE.yaml. If this is "
        "not a person, lagoon cannot import it."
    )


def _from_user(map_file: str, names: Sequence[str], plain: Sequence[_Name]) -> dict[str, int]:
    path = Path(map_file)
    check_size(path, 2**20)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(
            f"{path} cannot be read as YAML ({' '.join(str(error).split())}). Write lines such as "
            "'left_hip: LeftUpLeg'."
        ) from error
    if not isinstance(content, dict) or not content:
        raise BadInputError(
            f"{path} holds no lines 'left_hip: LeftUpLeg'; expected lagoon's joint, colon, file's joint."
        )
    index: dict[str, int] = {}
    for joint, name in content.items():
        if joint not in JOINT_NAMES:
            raise BadInputError(f"{path}: the joint {joint!r} is not known. Known: {', '.join(JOINT_NAMES)}.")
        if str(name) not in names:
            raise BadInputError(
                f"{path}: '{joint}: {name}', but the file has no joint {name!r}. It has: {', '.join(names[:40])}."
            )
        at = list(names).index(str(name))
        if at in index.values():
            raise BadInputError(f"{path}: the file's joint {name!r} stands for two joints. Give each its own.")
        side, wanted = plain[at].side, str(joint).split("_")[0]
        if side and wanted in ("left", "right") and side != wanted:
            raise BadInputError(
                f"{path}: '{joint}: {name}' would mirror the person: {name!r} is on the {side}. Map {side} to {side}; "
                "if the file's names are swapped, leave the map and type import.mirror=names."
            )
        index[str(joint)] = at
    return index
