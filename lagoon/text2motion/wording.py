"""Reading a command as words: what is only polite, what is gibberish, which word says what to do.

What enters: text. What leaves: text. No vectors, no models; the lists are in lexicon/english.yaml.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

from lagoon.text2motion import lexicon

LONGEST = 300
"""Characters of a command that are read."""
Readable = Callable[[str], bool]
"""Whether a lower-case word is an English one."""
_QUOTES = str.maketrans(
    "\u2018\u2019\u201b\u2032\u201c\u201d\u201e\u00ab\u00bb\u2013\u2014\u2010\u2011", '\'\'\'\'"""""----'
)


def clean(command: str) -> str:
    """The command in one form: compatible characters unified, quotes and dashes plain, no control characters."""
    text = unicodedata.normalize("NFKC", command).translate(_QUOTES)
    text = "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c for c in text)
    return re.sub(r"\s+", " ", text).strip()[:LONGEST]


def core(command: str) -> str:
    """The command without polite words and outer punctuation; the command itself if nothing is left."""
    text = re.sub(r"\.{2,}", " ", clean(command)).strip() or clean(command)
    bare = _polite().sub(" ", text)
    bare = re.sub(r"\s+([,.;:!?])", r"\1", re.sub(r"\s+", " ", bare))
    bare = re.sub(r"([,.;:!?])[,.;:!?\s]*(?=[,.;:!?])", "", bare).strip(" \t\n.,;:!?'\"")
    for opening in lexicon.table("english")["first"]:
        bare = re.sub(rf"^{opening}\b[\s,.;:!]+", "", bare, flags=re.IGNORECASE)
    return bare if _has_letters(bare) else text


def emoji(text: str) -> tuple[str, str]:
    """A text without pictographs, and the words that its pictographs stand for, each once ("" if none is known)."""
    known = lexicon.table("english")["emoji"]
    said = list(dict.fromkeys(known[c] for c in text if c in known))
    kept = "".join(" " if is_pictograph(c) else c for c in text)
    return re.sub(r"\s+", " ", kept).strip(), ", then ".join(said)


def rewrite(words: str) -> str:
    """Spellings and counts in the form that the lists and the model's texts have: "3x" is "3 times"."""
    text = re.sub(r"\b(\d+) ?x\b|\bx ?(\d+)\b", lambda m: f"{m[1] or m[2]} times", words, flags=re.IGNORECASE)
    for old, new in lexicon.table("english")["rewrite"].items():
        text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, text, flags=re.IGNORECASE)
    return text


def synonyms(words: str) -> tuple[str, list[tuple[str, str]]]:
    """Verbs that no known command has put as one that some have, where a step begins; and each change."""
    changed: list[tuple[str, str]] = []

    def known(match: re.Match[str]) -> str:
        said = match[2].lower()
        changed.append((said, lexicon.table("english")["synonyms"][said]))
        return match[1] + changed[-1][1]

    return _synonyms().sub(known, words), changed


def is_negated(words: str) -> bool:
    """Whether a text says what not to do."""
    return bool(_negation().search(words))


def stem(word: str) -> str:
    """A word without the commonest endings, so that 'waving', 'waves' and 'wave' agree."""
    for ending in ("ing", "ies", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def tokens(words: str) -> list[str]:
    """Lower-case words and numbers; a hyphen or an apostrophe inside belongs to the word."""
    return re.findall(r"[a-z0-9]+(?:['-][a-z0-9]+)*", words.lower())


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """Stems of all words of texts."""
    return frozenset(stem(word) for text in texts for word in re.findall(r"[a-z]+", text.lower()))


def content_words(words: str) -> list[str]:
    """The words that say which motion is meant: not articles, counts, manners in -ly."""
    english = lexicon.table("english")
    skipped = lexicon.words("english", "light") | english["numbers"].keys() | english["times"].keys()
    found = re.findall(r"[a-z]+", words.lower())
    return [w for w in found if w not in skipped and not (len(w) > 4 and w.endswith("ly"))]


def leading_word(words: str) -> str:
    """The first word that says what to do; empty if there is none. Adverbs and audiences are passed over."""
    found = content_words(words)
    return next((w for w in found if w not in lexicon.words("english", "settings")), found[0] if found else "")


def is_question(words: str) -> bool:
    """Whether a text asks rather than commands."""
    return bool(_question().search(words))


def is_gibberish(words: str, readable: Readable) -> bool:
    """Whether more than half of the words of a text cannot be read.

    Args:
        words: the text.
        readable: whether a lower-case word is one.
    """
    found = [word for word in re.findall(r"[^\W_]+", words.lower()) if not word.isdigit()]
    return not found or 2 * sum(not is_word(word, readable) for word in found) > len(found)


def is_word(word: str, readable: Readable) -> bool:
    """Whether a lower-case word is one: known, or known once an ending is cut, and with a vowel."""
    if word in lexicon.words("english", "light"):
        return True
    if len(word) < 3 or not re.search("[aeiouy]", word) or re.search(r"(.)\1\1", word):
        return False
    return readable(word)


def _has_letters(text: str) -> bool:
    return any(c.isalnum() for c in text)


def is_pictograph(c: str) -> bool:
    """Whether a character is a picture or belongs to one."""
    return (unicodedata.category(c) in ("So", "Sk") and ord(c) > 0x2000) or c in "\ufe0f\u200d"


@lru_cache(maxsize=1)
def _polite() -> re.Pattern[str]:
    english = lexicon.table("english")
    phrases = sorted(english["polite"], key=len, reverse=True)
    fixed = r"(?<![\w'-])(" + "|".join(map(re.escape, phrases)) + r")(?![\w'-])"
    return re.compile("|".join([*english["polite_patterns"], fixed]), re.IGNORECASE)


@lru_cache(maxsize=1)
def _synonyms() -> re.Pattern[str]:
    phrases = sorted(lexicon.table("english")["synonyms"], key=len, reverse=True)
    start = r"(^|[,;.] *|\b(?:and|then|to|while) )"
    # "don't move" is "stand still", but "don't move your arms" is not.
    alone = r"(?= *(?:$|[,;.!]|(?:and|then|at all|a muscle|an inch|for|until)\b))"
    said = [re.escape(p) + (alone if p.startswith(("don't ", "do not ")) else "") for p in phrases]
    return re.compile(start + "(" + "|".join(said) + r")(?![\w-])", re.IGNORECASE)


@lru_cache(maxsize=1)
def _negation() -> re.Pattern[str]:
    words = sorted(lexicon.table("english")["negation"], key=len, reverse=True)
    return re.compile(r"(?<![\w'-])(" + "|".join(map(re.escape, words)) + r")(?![\w'-])", re.IGNORECASE)


@lru_cache(maxsize=1)
def _question() -> re.Pattern[str]:
    starts = sorted(lexicon.table("english")["question"], key=len, reverse=True)
    return re.compile(r"^\W*(" + "|".join(map(re.escape, starts)) + r")\b", re.IGNORECASE)
