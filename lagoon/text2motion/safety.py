"""What is refused although its words are known: harm, the impossible, and verbs that mean something else.

What enters: a command in plain words. What leaves: a reason and what in the words it is, or nothing. The rules
are data (lexicon/refusals.yaml); this file only says how a rule is read: per clause, with the object that
follows a verb, and never past "like" or "as if", since "kick like a mule" kicks nobody; but where to somebody goes
counts past a likeness, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from lagoon.text2motion import lexicon
from lagoon.text2motion.wording import stem, tokens

# "and the" goes on with the object: "kick the ball and the dog" is one clause.
_BREAK = re.compile(
    r"[,;.!?]|\b(?:then|but|while|before|after)\b|"
    r"\band\b(?! (?:the|a|an|my|your|his|her|their|that|this|him|them|me|us)\b)"
)
_SIMILE = re.compile(r"\b(?:like|as if|as though)\b(?! to\b).*")
# "Fall like a leaf off the roof": whoever falls so, falls off the roof.
_LIKENESS = re.compile(
    r"\blike (?:[\w'-]+ ){1,4}?"
    r"(?=(?:off|from|out|over|down|on|onto|along|through|into|across|under|against|front|towards?)\b)"
)
# Where the object of a verb ends: what follows is with whom, for whom, beside whom.
_PAST = frozenset("with for to beside near behind around by from like until away toward towards next".split())  # noqa: SIM905
_ARTICLE = frozenset("a an the my your his her their our that this some it".split())  # noqa: SIM905
_PRONOUN = frozenset("me him her them us".split())  # noqa: SIM905


@dataclass(frozen=True)
class Judgement:
    """Why a command is refused."""

    reason: str
    """unsafe, impossible or out_of_scope."""
    because: str
    """The words that it is refused for."""


def judge(words: str) -> Judgement | None:
    """The first rule that a command breaks; None if it breaks none."""
    plain = " ".join(tokens(words))
    lowered = words.lower()
    for clause in _clauses(lowered):
        found = _harm(clause) or _target(clause) or _weapon(clause) or _wreck(clause) or _hazard(clause)
        if found:
            return Judgement("unsafe", found)
    bare = _LIKENESS.sub("", lowered.replace("in front of", "front"))
    if bare != lowered:
        for clause in _clauses(bare):
            found = _hazard(clause)
            if found:
                return Judgement("unsafe", found)
    found = _impossible(plain)
    if found:
        return Judgement("impossible", found)
    match = _idioms().search(plain)
    return Judgement("out_of_scope", match[0].strip()) if match else None


def _clauses(words: str) -> Iterator[list[str]]:
    """Tokens of each clause, without its simile."""
    for clause in _BREAK.split(words):
        found = tokens(_SIMILE.sub("", clause).replace("in front of", "front"))
        if found:
            yield found


def _is(word: str, key: str) -> bool:
    """Whether a word is in a list, as it stands or with an ending; "bit" is not "bite"."""
    return word in lexicon.words("refusals", key) or (stem(word) != word and stem(word) in _stems(key))


@cache
def _stems(key: str) -> frozenset[str]:
    return frozenset(stem(word) for word in lexicon.words("refusals", key))


def _living(word: str, body: bool = True) -> bool:
    """Whether a word is somebody, or a part of somebody's body."""
    word = word.removesuffix("'s")
    living = lexicon.words("refusals", "living")
    return word in living or word.removesuffix("s") in living or (body and word in lexicon.words("refusals", "body"))


def _harm(clause: list[str]) -> str:
    """A verb or phrase that is harm whatever follows."""
    acting = any(_is(word, "acting") for word in clause)
    text = f" {' '.join(clause)} "
    for phrase in lexicon.table("refusals")["harm_phrases"]:
        if f" {phrase} " in text and not (acting and _is(phrase.split()[-1], "actable")):
            return phrase
    match = _harm_patterns().search(text)
    if match:
        return match[0].strip()
    for word in clause:
        if _is(word, "harm") and not (acting and _is(word, "actable")):
            return word
    return ""


def _object(after: list[str]) -> list[str]:
    """The words after a verb up to where its object ends."""
    for i, word in enumerate(after):
        if word in _PAST:
            return after[:i]
    return after


def _victim(after: list[str], also: frozenset[str] = frozenset(), body: bool = True) -> str:
    """Somebody among the words after a verb; "me" before an article is for whom, not whom."""
    for i, word in enumerate(after):
        if word in _PRONOUN and i + 1 < len(after) and after[i + 1] in _ARTICLE and word != "her":
            continue
        if i and after[i - 1] == "your" and word in lexicon.words("refusals", "own"):
            continue
        if word in also or _living(word, body):
            return word
        owned = i > 0 and (after[i - 1] in ("my", "his", "her", "their") or after[i - 1].endswith("'s"))
        if owned and word in lexicon.words("refusals", "limbs"):
            return word
    return ""


def _target(clause: list[str]) -> str:
    """A verb that hurts whoever is its object, with somebody as object."""
    yourself = lexicon.words("refusals", "self")
    for i, word in enumerate(clause):
        after = _object(clause[i + 1 :])
        victim = ""
        if (word in ("give", "deal", "land") and any(_is(w, "hurt") for w in after[1:])) or _is(word, "hurt"):
            victim = _victim(after, also=yourself | lexicon.words("refusals", "fragile"))
        elif _is(word, "handle"):
            victim = _victim(after)
        if not victim and _is(word, "weight"):
            at = next((k for k, w in enumerate(after) if w in lexicon.words("refusals", "onto")), None)
            victim = "" if at is None else _victim(after[at + 1 :], body=False)
        if not victim and _is(word, "rushing") and after and after[0] in ("at", "into"):
            victim = _victim(after[1:], body=False)
        if not victim and _is(word, "over") and "over" in after:
            victim = _victim(after, body=False)
        if victim:
            return f"{word} {victim}"
    return ""


def _weapon(clause: list[str]) -> str:
    """A weapon, or something hard that goes toward somebody."""
    for i, word in enumerate(clause):
        if word in lexicon.words("refusals", "weapon"):
            return word
        if word in lexicon.words("refusals", "missile"):
            after = clause[i + 1 :]
            at = next((k for k, w in enumerate(after) if w in lexicon.words("refusals", "toward")), None)
            victim = "" if at is None else _victim(after[at + 1 :], also=lexicon.words("refusals", "fragile"))
            if victim:
                return f"{word} {after[at or 0]} {victim}"
    return ""


def _wreck(clause: list[str]) -> str:
    """A verb that breaks things, with a thing."""
    for i, word in enumerate(clause):
        if _is(word, "wreck"):
            thing = next((w for w in _object(clause[i + 1 :]) if w in lexicon.words("refusals", "things")), "")
            if thing:
                return f"{word} {thing}"
    return ""


def _hazard(clause: list[str]) -> str:
    """Moving off a height, headlong down the stairs, into fire or traffic, against a wall."""
    for verbs, ways, things in _hazards():
        for i, word in enumerate(clause):
            if word not in verbs and stem(word) not in verbs:  # stems of verbs are in the rule
                continue
            for k in range(i + 1, len(clause)):
                thing = next((w for w in clause[k + 1 : k + 6] if w in things), "") if clause[k] in ways else ""
                if thing:
                    return f"{word} {clause[k]} {thing}"
    return ""


@lru_cache(maxsize=1)
def _hazards() -> list[tuple[frozenset[str], frozenset[str], frozenset[str]]]:
    """Each rule as stems of its verbs, its prepositions and its things."""
    rules = lexicon.table("refusals")["hazards"]
    verbs = [frozenset(map(stem, rule["verbs"].split())) for rule in rules]
    return [(v, frozenset(r["ways"].split()), frozenset(r["words"].split())) for v, r in zip(verbs, rules, strict=True)]


def _impossible(plain: str) -> str:
    """A verb, phrase or number that no body is up to."""
    rules = lexicon.table("refusals")["impossible"]
    for fine in rules["fine"]:
        plain = plain.replace(fine, "")
    for word in plain.split():
        if word in _impossible_verbs() or stem(word) in _impossible_verbs():
            return word
    match = _patterns().search(plain)
    return match[0].strip() if match else _too_much(plain, rules)


def _too_much(plain: str, rules: dict) -> str:
    """A number of metres, of metres per second or of repetitions beyond reason."""
    numbers = lexicon.table("english")["numbers"]
    for match in _amounts().finditer(plain):
        value = _value(match[1], numbers)
        if match[2] and value > rules["most_repetitions"]:
            return match[0].strip()
        for rule in rules["most"]:
            unit = re.fullmatch(rule["unit"], match[2] or "") or re.fullmatch(
                rule["unit"], (match[2] or "").split(" ")[0]
            )
            if unit and value > rule["limit"] and any(stem(w) in map(stem, rule["verbs"]) for w in plain.split()):
                return match[0].strip()
    return ""


def _value(text: str, numbers: dict[str, int]) -> float:
    """The number that digits or number words say; "two hundred" is 200, "fifty two" is 52."""
    if text[0].isdigit():
        return float(text)
    total = 0.0
    for word in text.split():
        n = numbers[word]
        total = max(total, 1.0) * n if n >= 100 or word in ("dozen",) else total + n
    return total


@lru_cache(maxsize=1)
def _impossible_verbs() -> frozenset[str]:
    """The verbs that no body is up to, and their stems."""
    verbs = lexicon.table("refusals")["impossible"]["verbs"].split()
    return frozenset(verbs) | frozenset(map(stem, verbs))


@lru_cache(maxsize=1)
def _amounts() -> re.Pattern[str]:
    """A number, in digits or words, and its unit."""
    number = "|".join(sorted(lexicon.table("english")["numbers"], key=len, reverse=True))
    return re.compile(rf"\b(\d+(?:\.\d+)?|(?:{number})(?: (?:{number}))*) ?([a-z/]+(?: (?:an|a|per) [a-z]+)?)?")


@lru_cache(maxsize=1)
def _harm_patterns() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p})" for p in lexicon.table("refusals")["harm_patterns"]))


@lru_cache(maxsize=1)
def _patterns() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p})" for p in lexicon.table("refusals")["impossible"]["patterns"]))


@lru_cache(maxsize=1)
def _idioms() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p})" for p in lexicon.table("refusals")["idioms"]))
