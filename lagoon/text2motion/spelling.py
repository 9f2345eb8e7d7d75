"""Mending slips of the keyboard, carefully: only words that are no words, only to words that commands hold.

What enters: text and the words that commands hold. What leaves: the text with its corrections. A distance of
one edit (a letter too many, too few, wrong, or two swapped), two in words of nine letters or more; where two
known words are equally near, nothing is changed.

Source: optimal string alignment, the restricted form of Damerau (1964).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

SHORTEST = 3
"""Letters of the shortest word that is corrected; of these only two swapped letters or a missing one."""
LONG = 9
"""Letters from which two edits are accepted."""


def distance(a: str, b: str, most: int) -> int:
    """Edits between two words, or most + 1 if there are more."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]


def correct(
    words: str, known: Iterable[str], readable: Callable[[str], bool], verbs: Collection[str] = ()
) -> tuple[str, list[tuple[str, str]]]:
    """Replace unreadable words by the one known word that is nearest.

    Args:
        words: the text.
        known: lower-case words that commands hold.
        readable: whether a lower-case word is an English one, known or not; such a word stays.
        verbs: known words that win over others at the same distance.

    Returns:
        The text, and each correction as (typed, read).
    """
    known, fixed = frozenset(known), []

    def mend(match: re.Match[str]) -> str:
        typed = match[0].lower()
        if len(typed) < SHORTEST or typed in known or readable(typed):
            return match[0]
        best = _nearest(typed, known, verbs)
        if best:
            fixed.append((typed, best))
        return best or match[0]

    return re.sub(r"[A-Za-z]+", mend, words), fixed


def _nearest(typed: str, known: frozenset[str], verbs: Collection[str]) -> str:
    """The known word nearest to a typed one; empty if none is near or two are equally so."""
    most = 2 if len(typed) >= LONG else 1
    ranked = []
    for word in known:
        if len(word) < SHORTEST or abs(len(word) - len(typed)) > most:
            continue
        swapped = sorted(word) == sorted(typed)
        if len(typed) == SHORTEST and not (swapped or len(word) > SHORTEST):
            continue
        edits = distance(typed, word, most)
        if edits <= most:
            ranked.append((edits, typed[0] != word[0], not swapped, word not in verbs, word))
    ranked.sort()
    if not ranked or (len(ranked) > 1 and ranked[0][:-1] == ranked[1][:-1]):
        return ""
    return ranked[0][-1]
