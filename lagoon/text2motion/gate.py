"""Says no before compute is spent, and says what it understood.

What enters: a command and the known commands. What leaves: a Reading (the words the generator is told, what was
changed and why, the plan, the nearest known commands), or a RefusedCommandError with the reason, the nearest
known commands and what to type next. Words come first and vectors last: "jump off the balcony" is near "jump".
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from lagoon.errors import Refusal, RefusedCommandError
from lagoon.motion.stance import stance_of
from lagoon.text2motion import composite, dictionary, languages, lexicon, safety, spelling, wording
from lagoon.text2motion.bank import CommandBank, Nearest
from lagoon.text2motion.composite import Plan
from lagoon.text2motion.text_encoder import Encoding, TextEncoder

# "and bake a cake": a second verb that no list knows gives itself away by its object.
_OBJECT = re.compile(r"\band ((?!the\b|a\b|an\b|to\b)[a-z]+) (?:a|an|the|my|your|some|me|us)\b")
SHOWN = 5
"""Nearest known commands listed in a refusal."""
STRANGE = 0.13
"""Added to the threshold for a step that holds a word neither known commands nor the list of familiar things have."""
_SIMILE = re.compile(r"\b(like|as if|as though)\b.*", re.IGNORECASE)
# Not "language": the rules that protect people read English only.
_UNCOVERED = ("out_of_scope", "gibberish")
# "wave to the astronauts": whoever is waved to, it is a wave.
_AUDIENCE = re.compile(r"\b(?:to|at|for) (?:the|all|every|each)(?: [a-z]+){1,2}$")
SURE = 0.85
"""Similarity from which a command is taken for the known one even if its leading word is new."""


@dataclass(frozen=True)
class Reading:
    """A command that passed the gate."""

    words: str
    """The command in plain English without what is polite only; what the generator is told."""
    encoding: Encoding
    """Its encoding."""
    nearest: tuple[Nearest, ...]
    """Known commands near it, best first, with different verbs."""
    plan: Plan
    """Its steps, repetitions, sides and speeds."""
    notes: tuple[str, ...] = ()
    """What was changed in the command, and why; empty if it was taken as typed."""

    @property
    def line(self) -> str:
        """The notes as one line for the user; empty if there are none."""
        return f"Read as '{self.words}': {'; '.join(self.notes)}." if self.notes else ""


@dataclass(frozen=True)
class Understood:
    """A command as words, before any vector is looked at."""

    words: str
    """In plain English, or as typed if it is in no English."""
    notes: tuple[str, ...] = ()
    reason: Refusal | None = None
    because: str = ""


def read(
    command: str,
    bank: CommandBank,
    encoder: TextEncoder,
    threshold: float,
    force: bool = False,
    open_vocabulary: bool = False,
) -> Reading:
    """Let a command through or refuse it.

    Args:
        command: what the user typed, in any language.
        bank: known commands.
        encoder: the sentence encoder.
        threshold: smallest cosine similarity of each step to a known command.
        force: let everything through that is not empty.
        open_vocabulary: let through what only these known commands do not cover; what is unsafe, impossible, a question
            or in a language that the rules cannot read stays refused.

    Raises:
        RefusedCommandError: with the field ``reason``.
    """
    understood = understand(command, bank, encoder)
    if understood.reason == "empty":
        known = ", ".join(_different(bank, count=SHOWN))
        raise RefusedCommandError(
            f"The command {understood.because}. Expected a few words that name a motion, such as: {known}.", "empty"
        )
    words = understood.words
    plan = composite.parse(words, _texts(bank.texts))
    parts = [part.words for part in plan.parts()] if not plan.is_single else []
    encoding, *each = encoder.encode([words, *parts])
    near = bank.nearest(encoding.sentence, 60)
    reason, because = understood.reason, understood.because
    if reason is None:
        asked = zip(parts, each, strict=True) if parts else [(words, encoding)]
        for part, encoded in asked:
            similarity = bank.nearest(encoded.sentence, 1)[0].similarity
            head = _SIMILE.sub("", part).strip(" ,")
            # "look as if": how somebody seems.
            if similarity < threshold and head != part and composite.verb_of(head) not in (None, "look around"):
                similarity = bank.nearest(encoder.encode([head])[0].sentence, 1)[0].similarity
            because = because or _unknown(part, similarity, bank, threshold)
        reason = "out_of_scope" if because else None
        language = languages.by_dictionary(command) if because else ""
        if language:
            foreign = _foreign(command, language)
            reason, because = foreign.reason, foreign.because
    tolerated = force or (open_vocabulary and reason in _UNCOVERED)
    if reason and not tolerated:
        shown = command if len(command) <= 80 else command[:77] + "..."
        usable = _by_verb([known for known in near if not safety.judge(known.text)])
        shown_near = ", ".join(f"'{known.text}' ({known.similarity:.2f})" for known in usable[:SHOWN])
        raise RefusedCommandError(
            f"The command '{shown}' {because}. Nearest known commands: {shown_near}. "
            "Use one of those, or generate anyway with --force (generate.force=true).",
            reason,
        )
    return Reading(words, encoding, tuple(_by_verb(near)[:SHOWN]), plan, understood.notes)


def understand(command: str, bank: CommandBank, encoder: TextEncoder) -> Understood:
    """From what was typed to plain English, or to the reason why not."""
    text, pictured = wording.emoji(wording.clean(command))
    notes: list[str] = []
    if not any(c.isalnum() for c in text):
        if not pictured:
            bare = not any(wording.is_pictograph(c) for c in command)
            return Understood(
                "", reason="empty" if bare else "gibberish", because="is empty" if bare else "has no words"
            )
        text = pictured
        notes.append("the picture put into words")
    known = _words(bank.texts)
    vocabulary = known | lexicon.words("english", "light")
    english = vocabulary.__contains__
    readable = _readable(encoder, vocabulary)
    translation = languages.translate(text, english)
    if translation:
        text = translation.words
        notes.append(f"translated from {translation.language}")
    else:
        language = languages.language_of(text, english, readable)
        if language:
            return _foreign(text, language)
        text = languages.without_courtesy(text, english)
    words = wording.rewrite(wording.core(languages.unaccented(text)))
    stance = stance_of(words)
    if stance is not None and stance.rest != words:
        words = stance.rest
        notes.append(f"'{stance.phrase}' left to the retargeting")
    words, replaced = wording.synonyms(words)
    words, fixed = spelling.correct(words, _correctable(bank.texts), readable, _verbs())
    if len(fixed) > 1 or wording.is_gibberish(words, readable):
        language = languages.by_dictionary(text)
        if language:
            return _foreign(text, language)
    words, more = wording.synonyms(wording.core(words))
    left = wording.tokens(words.replace("-", " "))
    notes += [f"'{typed}' taken for '{meant}'" for typed, meant in fixed if meant in left]
    notes += [f"'{said}' read as '{meant}'" for said, meant in replaced + more]
    found = _judge(words, readable, known=words.lower() in _texts(bank.texts))
    words = words if found else composite.commanding(words)
    if not notes and len(wording.tokens(words)) + 1 < len(wording.tokens(text)):
        notes.append("polite words left out")
    return Understood(words, tuple(notes), *(found or (None, "")))


def _foreign(text: str, language: str) -> Understood:
    few = " beyond the commonest commands" if language in lexicon.table("languages")["translated"] else ""
    return Understood(text, reason="language", because=f"is in {language}, which is not understood{few}")


def _judge(words: str, readable: wording.Readable, known: bool) -> tuple[Refusal, str] | None:
    """The reason to refuse plain English words, if there is one that needs no vectors."""
    found = safety.judge(words)
    if found and found.reason == "unsafe":
        return "unsafe", f"could hurt somebody, the robot or things around it ('{found.because}')"
    if found and found.reason == "impossible":
        return "impossible", f"asks for what no body can do ('{found.because}')"
    if not known and wording.is_negated(_SIMILE.sub("", words)):
        return "out_of_scope", "says what not to do; say what to do instead"
    if not known and wording.is_question(words):
        return "question", "is a question, not a motion"
    if found and not known:
        return "out_of_scope", f"means something else than a motion ('{found.because}')"
    if wording.is_gibberish(words, readable):
        return "gibberish", "cannot be read as English words"
    return None


def _unknown(words: str, similarity: float, bank: CommandBank, threshold: float) -> str:
    """Why a step is out of scope; empty if it is not."""
    leading = wording.leading_word(words)
    is_known = wording.stem(leading) in _leads(bank.texts) or composite.verb_of(words) is not None
    if similarity < threshold:
        return f"is too far from every known one (similarity {similarity:.2f}, at least {threshold:.2f} is needed)"
    said = wording.content_words(_SIMILE.sub("", words))
    strange = [word for word in said if wording.stem(word) not in _familiar(bank.texts)]
    if composite.verb_of(words) in lexicon.words("english", "audience"):
        addressed = _AUDIENCE.search(words.lower())
        strange = [word for word in strange if not (addressed and word in addressed[0].split())]
    least = threshold + STRANGE
    if strange and similarity < least:
        return (
            f"is too far from every known one (similarity {similarity:.2f}, at least {least:.2f} is needed with "
            f"'{strange[0]}', which no known command has)"
        )
    also = next((word for word in _OBJECT.findall(words.lower()) if wording.stem(word) not in _stems(bank.texts)), "")
    if similarity < SURE and also and composite.verb_of(also) is None:
        return f"asks for something unknown: no known command has the word '{also}'"
    if similarity < SURE and not is_known:
        return f"asks for something unknown: no known command has the word '{leading}'"
    return ""


@lru_cache(maxsize=4)
def _texts(texts: tuple[str, ...]) -> frozenset[str]:
    return frozenset(text.lower() for text in texts)


@lru_cache(maxsize=4)
def _words(texts: tuple[str, ...]) -> frozenset[str]:
    """Words of the known commands."""
    return frozenset(word for text in texts for word in wording.tokens(text.replace("-", " ")))


@lru_cache(maxsize=4)
def _stems(texts: tuple[str, ...]) -> frozenset[str]:
    return wording.vocabulary(texts)


@lru_cache(maxsize=4)
def _leads(texts: tuple[str, ...]) -> frozenset[str]:
    """Stems of the words that say what to do in known commands; "banana" is known and is none."""
    return frozenset(wording.stem(wording.leading_word(text)) for text in texts)


@lru_cache(maxsize=4)
def _familiar(texts: tuple[str, ...]) -> frozenset[str]:
    """Stems of the words that a command may hold without being strange: known ones, people, animals, things."""
    listed = {w for key in ("living", "body", "limbs") for w in lexicon.words("refusals", key)}
    listed |= {w for key in ("settings", "familiar", "openers", "uncounted") for w in lexicon.words("english", key)}
    return _stems(texts) | {wording.stem(word) for word in listed}


@lru_cache(maxsize=4)
def _correctable(texts: tuple[str, ...]) -> frozenset[str]:
    """Words that a slip of the keyboard is mended to: those of known commands and those the lists look for."""
    english = lexicon.table("english")
    listed = {word for key in ("harm", "hurt", "living") for word in lexicon.words("refusals", key)}
    listed |= {word + "s" for word in lexicon.words("refusals", "living") if not word.endswith("s")}
    polite = {word for phrase in english["polite"] for word in wording.tokens(phrase)}
    return (
        _words(texts) | listed | polite | english["numbers"].keys() | english["times"].keys()
        | lexicon.words("english", "light") | lexicon.words("english", "settings")
    )  # fmt: skip


@lru_cache(maxsize=1)
def _verbs() -> frozenset[str]:
    """Verbs of one word."""
    return frozenset(p for entry in lexicon.table("moves").values() for p in entry["say"] if " " not in p)


def _readable(encoder: TextEncoder, known: Collection[str]) -> wording.Readable:
    """Whether a word is an English one; the dictionary is opened last, since that takes a moment."""
    return lambda word: word in known or encoder.holds(word) or dictionary.holds(word, "English")


def _by_verb(near: list[Nearest]) -> list[Nearest]:
    """The best text of each verb, in order."""
    best: dict[str, Nearest] = {}
    for item in near:
        best.setdefault(item.verb, item)
    return list(best.values())


def _different(bank: CommandBank, count: int) -> list[str]:
    """A few known verbs, those with the most texts."""
    tally: dict[str, int] = {}
    for verb in bank.verbs:
        tally[verb] = tally.get(verb, 0) + 1
    return sorted(tally, key=lambda verb: (-tally[verb], verb))[:count]
