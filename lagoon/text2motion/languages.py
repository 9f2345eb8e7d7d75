"""Commands that are not English: read if the table knows them, else refused by the language's name.

What enters: text. What leaves: its English, or the name of its language. The table (lexicon/languages.yaml) is
small and word for word; a command that it does not cover wholly is not guessed at.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

from lagoon.text2motion import dictionary, lexicon
from lagoon.text2motion.wording import is_word

UNNAMED = "a language other than English"
"""Said where the letters show it and nothing tells which."""
_UNSPACED = ("Chinese", "Japanese")


@dataclass(frozen=True)
class Translation:
    """A command in English."""

    words: str
    """The English command."""
    language: str
    """Name of the language it was in."""


def plain(text: str) -> str:
    """Lower case without accents: 'Siéntate' is 'sientate'; Japanese and Korean stay as they are."""
    return unaccented(text.casefold()).translate(
        str.maketrans({"ł": "l", "ø": "o", "đ": "d", "\u0131": "i", "æ": "ae"})
    )


def unaccented(text: str) -> str:
    """Latin letters without their accents, capitals kept; other scripts stay as they are."""
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def script(text: str) -> str:
    """The language that a text's letters give away; empty for Latin letters or none."""
    names = [unicodedata.name(c, "").split(" ")[0] for c in text if c.isalpha()]
    found = [lexicon.table("languages")["scripts"].get(n, UNNAMED) for n in names if n not in ("LATIN", "MODIFIER", "")]
    if "Japanese" in found:
        return "Japanese"
    return max(set(found), key=lambda name: (found.count(name), name)) if found else ""


def translate(text: str, english: Callable[[str], bool]) -> Translation | None:
    """A command in English, if one of the languages of the table covers it wholly.

    Args:
        text: the command, without pictographs.
        english: whether a lower-case word is one that English commands hold.

    Returns:
        None for English and for what the table does not cover.
    """
    written = script(text)
    if written and written not in _UNSPACED:
        return None
    if not written and all(english(word) for word in _words(text)):
        return None
    if written:
        # Short commands are the same characters in both languages.
        order = [written, "Chinese"] if written == "Japanese" else ["Chinese", "Japanese"]
    else:
        order = [name for name in lexicon.table("languages")["translated"] if name not in _UNSPACED]
    found = [Translation(said, name) for name in order if (said := _cover(text, name))]
    return found[0] if found else None


def language_of(text: str, english: Callable[[str], bool], readable: Callable[[str], bool]) -> str:
    """Name of the language of a text; empty if it may be English, well or badly typed.

    Args:
        text: the command, without pictographs.
        english: whether a lower-case word is one that English commands hold.
        readable: whether a lower-case word is an English one.
    """
    written = script(text)
    if written:
        return written
    words = _words(text)
    ours = sum(english(word) for word in words)
    scores = {name: sum(w in marks and not english(w) for w in words) for name, marks in _marks().items()}
    for name, entry in lexicon.table("languages")["named"].items():
        scores[name] += 2 * any(c in entry.get("letters", "") for c in text.lower())
    best = max(scores, key=lambda name: scores[name])
    if scores[best] and list(scores.values()).count(scores[best]) > 1:
        told = by_dictionary(text)
        best = told if scores.get(told) == scores[best] else best
    if scores[best] >= 2 and scores[best] >= ours:
        return best
    # One telltale word is enough for a short text, unless English has all its words: "heel".
    short = scores[best] == 1 and ours == 0 and len(words) <= 3
    if short and not all(dictionary.holds(word, "English") for word in words):
        return best
    accents = any(ord(c) > 127 and c.isalpha() for c in text)
    if accents and not all(is_word(word, readable) for word in words):
        return best if scores[best] else by_dictionary(text) or UNNAMED
    return ""


def without_courtesy(text: str, english: Callable[[str], bool]) -> str:
    """An English text without another language's polite words: "jump, bitte" must not become "jump, bite"."""
    dropped = re.compile(r"[^\W_]+")
    return dropped.sub(lambda m: "" if plain(m[0]) in _courtesies() and not english(plain(m[0])) else m[0], text)


def by_dictionary(text: str) -> str:
    """The language whose dictionary holds two thirds of the words of a text that English ones do not explain.

    Opening the dictionaries takes a second, so that this is asked last.
    """
    words = [word for word in re.findall(r"[^\W\d_]+", text.casefold()) if len(word) > 1]
    if all(dictionary.holds(word, "English") for word in words):
        return ""
    held = {name: sum(dictionary.holds(word, name) for word in words) for name in dictionary.LANGUAGES}
    best = max(held, key=lambda name: (held[name], name == "English"))
    return best if best != "English" and 3 * held[best] >= 2 * len(words) > 0 else ""


def _words(text: str) -> list[str]:
    """Words of a text in Latin letters; apostrophes and hyphens part them."""
    return re.findall(r"[^\W_]+", plain(text))


def _cover(text: str, language: str) -> str:
    """English of a text that the phrases of a language cover from end to end; else empty."""
    phrases, _ = _phrases(language)
    units = tuple(c for c in plain(text) if c.isalnum()) if language in _UNSPACED else tuple(_words(text))
    without = tuple(unit for unit in units if phrases.get((unit,)) != "")
    return _say(units, language) or _say(without, language)


def _say(units: tuple[str, ...], language: str) -> str:
    """English of words or characters that phrases cover, longest first; empty if they do not."""
    phrases, longest = _phrases(language)
    said: list[str] = []
    i = 0
    while i < len(units):
        for size in range(min(longest, len(units) - i), 0, -1):
            if units[i : i + size] in phrases:
                said.append(phrases[units[i : i + size]])
                i += size
                break
        else:
            if not units[i].isdecimal():
                return ""
            said.append(units[i])
            i += 1
    modifiers = lexicon.words("languages", "modifiers")
    if not any(s and s not in modifiers and not s.isdecimal() for s in said):
        return ""
    return re.sub(r"^(and|then) | (and|then)$", "", " ".join(s for s in said if s))


@cache
def _phrases(language: str) -> tuple[dict[tuple[str, ...], str], int]:
    """English of each phrase, keyed by its words or characters; and the length of the longest."""
    entry = lexicon.table("languages")["translated"][language]
    cut = (
        (lambda t: tuple(c for c in plain(t) if c.isalnum())) if language in _UNSPACED else (lambda t: tuple(_words(t)))
    )
    found = {cut(phrase): "" for phrase in entry["skip"]}
    for english, said in entry["say"].items():
        found |= {cut(phrase): english for phrase in said if cut(phrase) not in found}
    return found, max(map(len, found))


@lru_cache(maxsize=1)
def _courtesies() -> frozenset[str]:
    """Polite words of other languages that are one word."""
    entries = lexicon.table("languages")["translated"]
    said = (_words(phrase) for name in entries if name not in _UNSPACED for phrase in entries[name]["skip"])
    return frozenset(words[0] for words in said if len(words) == 1)


@lru_cache(maxsize=1)
def _marks() -> dict[str, frozenset[str]]:
    """Words that tell each language, without accents."""
    table = lexicon.table("languages")
    found = {}
    for name, entry in table["translated"].items():
        if name not in _UNSPACED:
            spoken = {word for said in entry["say"].values() for phrase in said for word in _words(phrase)}
            found[name] = frozenset({plain(w) for w in entry["marks"]} | spoken)
    for name, entry in table["named"].items():
        found[name] = frozenset(plain(w) for w in entry["marks"])
    return found
