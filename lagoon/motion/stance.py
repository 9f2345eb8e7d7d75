"""Words of a command that are about the robot's legs rather than the person's motion.

What enters: a text. What leaves: the body map that it asks for, and the text without what no person could mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FOUR_LEGGED, UPRIGHT = "four_legged", "upright"

_WHOSE = r"(?:all |both |its |your |the |their |his |her )*"
_LEGS = r"(?:legs|feet|paws)"
_LEAD = r"(?:,? ?(?:while |when )?(?:standing |staying |remaining )?(?:up )?\b)"
_FOUR = re.compile(rf"{_LEAD}on {_WHOSE}(?:four {_LEGS}|fours)\b", re.IGNORECASE)
_HIND = re.compile(rf"{_LEAD}on {_WHOSE}(?:hind|back|rear|two) {_LEGS}\b", re.IGNORECASE)
_NOT = re.compile(r"(?:\bnot|n't|\bnever|\bwithout|\binstead of)\W+(?:\w+\W+){0,2}$", re.IGNORECASE)
_PEOPLES = re.compile(r"\b(?:fours|two)\b", re.IGNORECASE)
"""People crawl on all fours and hop on two feet; four legs and hind legs they have none."""


@dataclass(frozen=True)
class Stance:
    """What a text says about the legs to stand on."""

    map: str
    """four_legged or upright."""
    phrase: str
    """Where it says so."""
    rest: str
    """The text without the phrase, if that is about the robot alone and something is left; else the text."""


def stance_of(text: str) -> Stance | None:
    """Return the stance that a text asks for; None if it asks for none, for two, or says which it shall not be."""
    four, hind = _FOUR.search(text), _HIND.search(text)
    found = four or hind
    if found is None or (four and hind) or _NOT.search(text[: found.start()] + " "):
        return None
    rest = text if _PEOPLES.search(found[0]) else _without(text, found)
    return Stance(FOUR_LEGGED if four else UPRIGHT, found[0].strip(" ,"), rest)


def _without(text: str, found: re.Match[str]) -> str:
    rest = re.sub(r"\s+", " ", text[: found.start()] + " " + text[found.end() :])
    rest = re.sub(r"\s+([,.;:!?])", r"\1", rest).strip(" ,;")
    return rest if re.search(r"[^\W\d_]", rest) else text
