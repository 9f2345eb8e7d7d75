"""A command as a small plan: which steps, how often, with which side, how fast, and what goes on meanwhile.

What enters: a command in plain English, such as "wave twice, then walk forward while clapping". What leaves: a
Plan of Steps. Nothing is generated here and no motion is looked at; the verbs and which part of the body they
need are in lexicon/moves.yaml. A Step says what was asked for, never whether it can be done.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache

from lagoon.text2motion import lexicon
from lagoon.text2motion.wording import stem, tokens

_SEQUENCE = re.compile(
    r"\s*(?:[;.!]+|,?\s*\b(?:and then|and after that|after that|and afterwards|afterwards|and finally|finally|then|"
    r"followed by|and next|next)\b)[\s,]*"
)
_BEFORE = re.compile(r",?\s+before (?:you |your |doing |you are )?")
_AFTER = re.compile(r"^after (?:you |having |doing )?(.+?),\s*(.+)$|^(.+?)\s+after (?:you |having |doing )?(.+)$")
_WHILE = re.compile(r",?\s+(?:while|whilst|as) (?:you are |you're |you )?")
_WHILE_FIRST = re.compile(r"^(?:while|whilst|as) (?:you are |you're |you )?(.+?),\s*(.+)$")
_TOGETHER = re.compile(r",?\s*\b(?:at the same time|simultaneously|all at once|meanwhile)\b")
_JOIN = re.compile(r"\s*,?\s+and\s+|\s*,\s*|\s+\+\s+|\s*&\s*")
_REMARK = re.compile(r"(she|he|it|i|we|they|that|this|there|everyone|everybody)('s|'d|'ll)? \w+", re.IGNORECASE)
_OPENING = re.compile(r"(?:for|in|on|if|when|as|since|because|once|with) [^,]+,\s*(.+)$", re.IGNORECASE)
_SLOW = frozenset("slow slowly gently calmly leisurely carefully softly".split())  # noqa: SIM905
_FAST = frozenset("fast faster quick quickly rapidly briskly swiftly hurriedly hurry speedily".split())  # noqa: SIM905

# "Squat down and come back up": these motions end upright by themselves.
_UPRIGHT_AGAIN = frozenset({"squat", "bow", "play bow", "bend over"})


@dataclass(frozen=True)
class Step:
    """One motion of a plan."""

    words: str
    """What was typed for it, without connecting words; "waving" has become "wave"."""
    verb: str | None
    """Key of lexicon/moves.yaml, such as "walk" or "push-ups"; None if no verb was found."""
    count: int | None = None
    """Repetitions asked for, or steps where steps were said; None if nothing was."""
    side: str | None = None
    """"left" or "right"; None for neither and for both."""
    speed: str | None = None
    """"slow" or "fast"; None if nothing was said."""
    meanwhile: Step | None = None
    """What is done at the same time: the step of the two that needs the arms and head only, if one does."""

    @property
    def body(self) -> str | None:
        """What the verb needs: "upper", "lower" or "whole"; None without a verb."""
        return None if self.verb is None else lexicon.table("moves")[self.verb]["body"]


@dataclass(frozen=True)
class Plan:
    """What a command asks for, in order."""

    steps: tuple[Step, ...]
    """One or more."""

    @property
    def is_single(self) -> bool:
        """Whether it is one motion with nothing meanwhile, so that its words can go to the generator whole."""
        return len(self.steps) == 1 and self.steps[0].meanwhile is None

    def parts(self) -> tuple[Step, ...]:
        """Every step and what goes on during it, in order."""
        return tuple(part for step in self.steps for part in (step, step.meanwhile) if part is not None)


def parse(words: str, known: Collection[str] = ()) -> Plan:
    """The plan of a command.

    Args:
        words: a command in English, as the gate cleaned it.
        known: texts that stand for one motion even if they hold "and" ("squat down and stand up").
    """
    text = re.sub(r"\s+", " ", words.lower()).strip(" ,.;:!?")
    if text in known:
        return Plan((_step(text),))
    text = re.sub(r"^(?:first(?:ly)?|start by|begin by)[, ]+", "", text)
    steps = [step for part in _sequence(text, known) for step in _joined(part, known)]
    return Plan(tuple(steps) or (_step(text),))


def commanding(words: str) -> str:
    """A text without remarks: "She would love it" after a command, "for your workout," before one."""
    kept = [s for s in re.split(r"(?<=[.!?])\s+", words) if not _REMARK.match(s)]
    text = " ".join(kept) if kept else words
    opening = _OPENING.match(text)
    return opening[1] if opening and verb_of(opening[1]) and not verb_of(text) else text


def verb_of(words: str) -> str | None:
    """The verb that the longest phrase at the beginning of a text names; articles and "do a" may come before it."""
    found = _leading(tokens(words))
    return found[0] if found else None


def _sequence(text: str, known: Collection[str]) -> list[str]:
    """Parts that follow one another, by "then" and its like."""
    parts = []
    for part in _SEQUENCE.split(text):
        part = re.sub(r"^(?:and|but|so)\s+", "", part.strip(" ,"))
        if not part:
            continue
        first = _AFTER.match(part) if part not in known else None
        before = _BEFORE.split(part, maxsplit=1)
        if first and verb_of(first[1] or first[4]) and verb_of(first[2] or first[3]):
            parts += [first[1] or first[4], first[2] or first[3]]
        elif len(before) == 2 and part not in known and verb_of(before[1]) and verb_of(before[0]):
            parts += before
        else:
            parts.append(part)
    return parts


def _joined(part: str, known: Collection[str]) -> list[Step]:
    """Steps of a part without "then": split at "and" and commas where a verb follows, and at "while"."""
    if part in known:
        return [_step(part)]
    together = bool(_TOGETHER.search(part))
    part = _TOGETHER.sub("", part).strip(" ,")
    turned = _WHILE_FIRST.match(part)
    if turned and verb_of(turned[1]) and verb_of(turned[2]):
        return [_pair(_step(turned[2]), _step(turned[1]))]
    halves = _WHILE.split(part, maxsplit=1)
    if len(halves) == 2 and verb_of(halves[0]) and verb_of(halves[1]):
        *earlier, last = _joined(halves[0], known)
        return [*earlier, _pair(last, _step(halves[1]))]
    pieces = _verbs_apart(part)
    if together and len(pieces) == 2:
        return [_pair(_step(pieces[0]), _step(pieces[1]))]
    return [_step(piece) for piece in pieces]


def _verbs_apart(part: str) -> list[str]:
    """Split at "and" and commas, but only where both sides have a verb: "arms and legs" stays one piece."""
    pieces: list[str] = []
    start = 0
    for match in _JOIN.finditer(part):
        left, right = part[start : match.start()], part[match.end() :]
        verb = verb_of(left)
        if verb and verb_of(right) and not (verb in _UPRIGHT_AGAIN and verb_of(right) == "stand up"):
            pieces.append(left)
            start = match.end()
    return [piece.strip(" ,") for piece in [*pieces, part[start:]]]


def _pair(main: Step, other: Step) -> Step:
    """One step with the other meanwhile; the one that leaves the legs alone is the one meanwhile."""
    if main.body == "upper" and other.body != "upper":
        main, other = other, main
    return replace(main, meanwhile=other)


def _step(words: str) -> Step:
    found = tokens(words)
    leading = _leading(found)
    sides = {word for word in found if word in ("left", "right")}
    slow, fast = _SLOW & set(found), _FAST & set(found)
    base = _base_form(words, found, leading)
    return Step(
        words=base,
        verb=leading[0] if leading else None,
        count=_count(found, leading),
        side=sides.pop() if len(sides) == 1 else None,
        speed=None if bool(slow) == bool(fast) else "slow" if slow else "fast",
    )


def _base_form(words: str, found: list[str], leading: tuple[str, int, int] | None) -> str:
    """The words with "waving" put back to "wave", where that is the verb they begin with."""
    if leading is None or not found[leading[1]].endswith("ing"):
        return words
    typed = found[leading[1]]
    base = next((w for w in _first_words() if stem(w) == stem(typed) and not w.endswith("ing")), typed)
    return words.replace(typed, base, 1)


def _leading(found: list[str]) -> tuple[str, int, int] | None:
    """The verb that a step begins with, where its phrase starts, and how many words it has; the longest wins."""
    numbers = lexicon.table("english")["numbers"]
    stems = [stem(word) for word in found]
    for start, word in enumerate(found):
        for size in range(min(_longest(), len(found) - start), 0, -1):
            verb = _phrases().get(tuple(stems[start : start + size]))
            if verb:
                return verb, start, size
        # An adjective may stand between an article and a noun: "take a theatrical bow".
        noun = any((s,) in _phrases() for s in stems[start + 1 : start + 3])
        if noun and {"a", "an", "the", "your", "some"} & set(found[:start]):
            continue
        if (
            word not in lexicon.words("english", "openers")
            and word not in numbers
            and not word.isdecimal()
            and not word.endswith("ly")
        ):
            return None
    return None


def _count(found: list[str], leading: tuple[str, int, int] | None) -> int | None:
    """Repetitions: "twice", "three times", "two jumps"; not "high five", "on one leg", "for five seconds"."""
    inside = range(leading[1], leading[1] + leading[2]) if leading else range(0)
    english = lexicon.table("english")
    uncounted = lexicon.words("english", "uncounted")
    for i, word in enumerate(found):
        if word in english["times"]:
            return english["times"][word]
        value = int(word) if word.isdecimal() else english["numbers"].get(word)
        if not value or i in inside:
            continue
        while i + 1 < len(found) and found[i + 1] in ("hundred", "thousand", "million", "dozen", "more"):
            value *= english["numbers"].get(found[i + 1], 1)
            i += 1
        after = found[i + 1 : i + 4]
        if not after or after[0] in ("times", "time", "reps", "repetitions"):
            return value
        if not any(w in uncounted for w in after[:2]) and (word != "one" or len(after) < 3) and _leading(after):
            return value
    return None


@lru_cache(maxsize=1)
def _phrases() -> dict[tuple[str, ...], str]:
    """Verb of each phrase, keyed by the stems of its words."""
    return {
        tuple(stem(word) for word in tokens(phrase)): verb
        for verb, entry in lexicon.table("moves").items()
        for phrase in entry["say"]
    }


@lru_cache(maxsize=1)
def _longest() -> int:
    return max(map(len, _phrases()))


@lru_cache(maxsize=1)
def _first_words() -> tuple[str, ...]:
    """First words of the phrases, base forms."""
    return tuple(dict.fromkeys(tokens(p)[0] for entry in lexicon.table("moves").values() for p in entry["say"]))
