"""Reading a command as words: what is only polite, what is gibberish, which word says what to do.

What enters: text. What leaves: text. No vectors, no models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 300
"""Characters of a command that are read."""
_POLITE = re.compile(
    r"\b(please|kindly|can you|could you|would you|will you|i want you to|i would like you to|i'd like you to|"
    r"let me see you|let's see you|for me|for us|right now|now|just|hey|robot|go ahead and)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^\s*(what|who|whom|whose|when|where|why|which|how|is|are|was|were|do you|does|did)\b", re.IGNORECASE
)
_LIGHT = frozenset(
    # Articles and pronouns, verbs that could be any verb, prepositions, praise, numbers, people.
    """
    a an the some me my you your us it do does doing make perform show give take have let try go get start begin
    execute demonstrate with in on at to of and then first perfect good nice big little few once twice times
    one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty fifty hundred
    person someone human
    """.split()  # noqa: SIM905
)
"""Words that do not say which motion is meant."""


def core(command: str) -> str:
    """The command without polite words and outer punctuation; the command itself if nothing is left."""
    text = re.sub(r"\s+", " ", command).strip()[:LONGEST]
    bare = re.sub(r"\s+", " ", _POLITE.sub(" ", text)).strip(" \t\n.,;:!?'\"")
    return bare or text


def stem(word: str) -> str:
    """A word without the commonest endings, so that 'waving', 'waves' and 'wave' agree."""
    for ending in ("ing", "ies", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """Stems of all words of texts."""
    return frozenset(stem(word) for text in texts for word in re.findall(r"[a-z]+", text.lower()))


def leading_word(words: str) -> str:
    """The first word that says what to do; empty if there is none. Adverbs in -ly are passed over."""
    for word in re.findall(r"[a-z]+", words.lower()):
        if word not in _LIGHT and not (len(word) > 4 and word.endswith("ly")):
            return word
    return ""


def is_question(words: str) -> bool:
    """Whether a text asks rather than commands."""
    return bool(_QUESTION.search(words))


def is_gibberish(words: str, pieces: tuple[str, ...]) -> bool:
    """Whether a text is hardly made of words: they fall apart into two and a half word pieces each, or more.

    Args:
        words: the text.
        pieces: its word pieces with the two marks at both ends.
    """
    count = max(1, len(re.findall(r"\w+", words)))
    return len(pieces) - 2 >= 2.5 * count or "[UNK]" in pieces
