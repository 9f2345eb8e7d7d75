"""The training set of the transformer: motions as they are shown, each with the texts that are true of it.

What enters: clips and phrases.yaml. What leaves: examples, with mirrored, reversed, slowed, quickened,
counted, joined and laid-over ones among them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from lagoon.text2motion import augment, features
from lagoon.text2motion.config import FPS, FRAMES_PER_STEP
from lagoon.text2motion.dataset import Clip
from lagoon.text2motion.lexicon import LOADER

MAX_FRAMES = 196
"""Longest example [frames], 9.8 s."""
GESTURE_FRAMES = 60
"""Gestures are shown with stands around them until they are this long, 3 s."""
REST_SPEED = 0.5
"""Mean joint speed [m/s] below which a person counts as standing still."""
STILL_SPEED, STILL_FRAMES = 0.15, 4
"""Mean joint speed [m/s] below which a motion has not begun yet, and how many such frames are left of it."""
TEMPI = ((0.75, ("{} slowly", "slowly {}", "{} in slow motion")), (1.35, ("{} quickly", "quickly {}", "{} fast")))
POLITE = ("please {}", "{} please", "can you {}", "could you please {}", "{} for me", "I want you to {}", "now {}")
JOINTS = ("{}, then {}", "{} and then {}", "first {}, then {}", "{} and {}")
WHILES = ("{} while {}", "{} and {} at the same time")
MOST_HELD = 4
"""Most token steps that a motion which comes to rest is held at its end."""
KIND_SHARES = {"plain": 0.65, "tempo": 0.09, "count": 0.14, "join": 0.06, "while": 0.06}
"""Share of each kind of example in a batch."""


@dataclass(frozen=True)
class Example:
    """One motion to learn, with its texts."""

    joint_pos_w: NDArray[np.float64]
    """(T, 22, 3) joint positions [m]."""
    texts: tuple[str, ...]
    """Texts that are all true of it."""
    verb: str
    """What it shows; two verbs for a joined or laid-over one."""
    kind: str
    """plain, tempo, count, join or while."""
    recording: str
    """Recording it comes from."""


@cache
def phrases() -> dict[str, dict]:
    """The content of phrases.yaml; callers do not change it."""
    return yaml.load((Path(__file__).parent / "phrases.yaml").read_text(encoding="utf-8"), Loader=LOADER)


def relaxed_stand(clips: list[Clip]) -> NDArray[np.float64]:
    """Pose (22, 3) [m] in which most gestures start and end: median of first frames that return at the end."""
    poses = []
    for clip in clips:
        first, last = clip.joint_pos_w[0], clip.joint_pos_w[-1]
        if first[0, 2] > 0.9 and np.linalg.norm(first - last, axis=-1).max() < 0.02:
            poses.append(first)
    return np.median(poses, axis=0) if poses else clips[0].joint_pos_w[0]


def says(clip: Clip, words: dict[str, dict]) -> tuple[str, ...]:
    """Every text of a clip: its captions and what phrases.yaml adds for its verb."""
    return tuple(dict.fromkeys([*clip.captions, *words.get(clip.verb, {}).get("say", [])]))


def commands(clip: Clip, words: dict[str, dict]) -> list[str]:
    """The texts of a clip that are imperatives, the verb first."""
    subjects = ("a ", "an ", "the ", "someone ", "athlet")
    return [text for text in says(clip, words) if not text.startswith(subjects)]


def is_gesture(pos: NDArray[np.float64], rest: NDArray[np.float64]) -> bool:
    """Whether a motion starts and ends in the relaxed stand, nearly at rest."""
    ends = (augment.rest_distance(pos[0], rest), augment.rest_distance(pos[-1], rest))
    speed = np.linalg.norm(np.diff(pos, axis=0), axis=-1).mean(-1) * FPS
    return max(ends) < augment.STAND_TOLERANCE and max(speed[:2].max(), speed[-2:].max()) < REST_SPEED


def reversed_clips(clips: list[Clip], words: dict[str, dict]) -> list[Clip]:
    """Clips played backwards where phrases.yaml says that this is another verb: walking becomes backing up."""
    found = []
    for clip in clips:
        verb = words.get(clip.verb, {}).get("reverse")
        if verb:
            backwards = features.canonical(_from_its_beginning(clip.joint_pos_w[::-1]))
            captions = (verb,)
            found.append(replace(clip, id=f"{clip.id}+reversed", verb=verb, captions=captions, joint_pos_w=backwards))
    return found


def _from_its_beginning(pos: NDArray[np.float64]) -> NDArray[np.float64]:
    """A motion without the stillness that it begins with, but for a moment: who stands up does not sit on first."""
    speed = np.linalg.norm(np.diff(pos, axis=0), axis=-1).mean(-1) * FPS
    moving = np.flatnonzero(speed > STILL_SPEED)
    first = max(0, int(moving[0]) - STILL_FRAMES) if len(moving) else 0
    return pos[first:]


def comes_to_rest(pos: NDArray[np.float64]) -> bool:
    """Whether a motion ends nearly at rest, in whatever pose."""
    return bool((np.linalg.norm(np.diff(pos[-4:], axis=0), axis=-1).mean(-1) * FPS).max() < REST_SPEED)


def build(clips: list[Clip], joins: int, rng: np.random.Generator) -> list[Example]:
    """All examples of the clips, mirrored ones included."""
    words, rest = phrases(), relaxed_stand(clips)
    clips = [*clips, *reversed_clips(clips, words)]
    examples: list[Example] = []
    gestures: list[tuple[Clip, NDArray[np.float64]]] = []
    for clip in clips:
        pos, verb = clip.joint_pos_w, clip.verb
        if is_gesture(pos, rest):
            gestures.append((clip, pos))
            pos = _held(pos, int(rng.integers(0, 3)))
        elif comes_to_rest(pos):
            pos = augment.hold(pos, 0, FRAMES_PER_STEP * int(rng.integers(0, MOST_HELD + 1)))
        plain = says(clip, words)
        short = commands(clip, words)
        polite = [rng.choice(POLITE).format(rng.choice(short)) for _ in range(3)]
        examples.append(Example(pos[:MAX_FRAMES], (*plain, *polite), verb, "plain", clip.recording))
        for factor, templates in TEMPI:
            moved = augment.resample(clip.joint_pos_w, factor)
            if len(moved) <= MAX_FRAMES:
                texts = tuple(rng.choice(templates).format(rng.choice(short[:6])) for _ in range(3))
                examples.append(Example(moved, texts, verb, "tempo", clip.recording))
        counted = _counted(clip, words.get(verb, {}), rest)
        examples.extend(e for e, _ in counted)
        # Three or more repetitions are what the plain word means, too.
        several = [e for e, count in counted if count >= 3]
        examples.extend(replace(e, texts=plain, kind="plain") for e in several)
    examples.extend(_joined(gestures, words, joins, rng))
    examples.extend(_laid_over(clips, gestures, words, joins, rng))
    flipped = [
        Example(augment.mirror(e.joint_pos_w), tuple(map(augment.mirror_text, e.texts)), e.verb, e.kind, e.recording)
        for e in examples
    ]
    return examples + flipped


def _held(pos: NDArray[np.float64], extra: int) -> NDArray[np.float64]:
    """A gesture with a stand before and after, until it is long enough; ``extra`` steps more are held before it.

    What is held before is a whole number of token steps: the same gesture then makes the same tokens wherever
    it begins, which a small model learns sooner.
    """
    missing = max(0, GESTURE_FRAMES - len(pos))
    before = (missing // 2 // FRAMES_PER_STEP + extra) * FRAMES_PER_STEP
    return augment.hold(pos, before, max(0, missing - before))


def _counted(clip: Clip, entry: dict, rest: NDArray[np.float64]) -> list[tuple[Example, int]]:
    """The clip repeated one to five times, with the count, if the verb is one that people count."""
    templates = entry.get("count") or []
    found: list[tuple[Example, int]] = []
    pos = clip.joint_pos_w
    gesture = is_gesture(pos, rest)
    marks = np.zeros(0, int)
    if "cycle" in entry:
        kind, least = entry["cycle"]
        marks = augment.peaks(augment.cycle_signal(pos, kind), least)
    for count in range(1, 6):
        motion = None
        if "cycle" in entry:
            motion = augment.repeat_cycles(pos, marks, count)
            if motion is None and len(marks) == 1 and gesture:
                motion = _again(pos, count)
        elif gesture and templates:
            motion = _again(pos, count)
        if motion is None or len(motion) > MAX_FRAMES:
            continue
        if gesture and len(motion) < GESTURE_FRAMES:
            motion = _held(motion, 0)
        texts = [t.format(n=augment.NUMBERS[count], times=augment.TIMES[count]) for t in templates]
        texts += [t.format(n=str(count), times=f"{count} times") for t in templates]
        if texts and count > 1:
            found.append((Example(motion, tuple(dict.fromkeys(texts)), clip.verb, "count", clip.recording), count))
        elif texts:
            once = tuple(t.format(times="once") for t in templates if "{times}" in t)
            if once:
                found.append((Example(motion, once, clip.verb, "count", clip.recording), count))
    return found


def _again(pos: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    whole = pos
    for _ in range(count - 1):
        whole = augment.follow(whole, pos)
    return whole


def _joined(
    gestures: list[tuple[Clip, NDArray[np.float64]]], words: dict[str, dict], count: int, rng: np.random.Generator
) -> list[Example]:
    """Motions 'A, then B' of clips that both start and end standing."""
    found: list[Example] = []
    verbs = sorted({clip.verb for clip, _ in gestures})
    for _ in range(count if len(verbs) > 1 else 0):
        chosen = rng.choice(verbs, 2, replace=False)
        pair = []
        for verb in chosen:
            options = [(clip, pos) for clip, pos in gestures if clip.verb == verb]
            pair.append(options[rng.integers(len(options))])
        motion = augment.follow(pair[0][1], pair[1][1])
        if len(motion) > MAX_FRAMES:
            continue
        texts = []
        for template in rng.choice(JOINTS, 2, replace=False):
            first, second = (str(rng.choice(commands(clip, words)[:5])) for clip, _ in pair)
            texts.append(template.format(first, second))
        names = (pair[0][0], pair[1][0])
        found.append(
            Example(
                motion, tuple(texts), " + ".join(c.verb for c in names), "join", "+".join(c.recording for c in names)
            )
        )
    return found


def _laid_over(
    clips: list[Clip],
    gestures: list[tuple[Clip, NDArray[np.float64]]],
    words: dict[str, dict],
    count: int,
    rng: np.random.Generator,
) -> list[Example]:
    """Motions 'A while B-ing': arms and head of a gesture over the legs of a way to go."""
    lowers: dict[str, list[Clip]] = {}
    for clip in clips:
        if "over" in words.get(clip.verb, {}):
            lowers.setdefault(clip.verb, []).append(clip)
    uppers: dict[str, list[tuple[Clip, NDArray[np.float64]]]] = {}
    for clip, pos in gestures:
        if "while" in words.get(clip.verb, {}):
            uppers.setdefault(clip.verb, []).append((clip, pos))
    found: list[Example] = []
    for _ in range(count if lowers and uppers else 0):
        below, above = lowers[str(rng.choice(sorted(lowers)))], uppers[str(rng.choice(sorted(uppers)))]
        lower = below[rng.integers(len(below))]
        upper, gesture = above[rng.integers(len(above))]
        frames = min(len(lower.joint_pos_w), len(gesture))
        if frames < GESTURE_FRAMES // 2:
            continue
        motion = augment.overlay(lower.joint_pos_w[:frames], gesture[:frames])
        doing = str(rng.choice(words[upper.verb]["while"]))
        going = str(rng.choice(words[lower.verb]["over"]))
        texts = tuple(template.format(going, doing) for template in WHILES)
        names = (lower, upper)
        verbs, recordings = (" + ".join(c.verb for c in names), "+".join(c.recording for c in names))
        found.append(Example(motion, texts, verbs, "while", recordings))
    return found


def weights(examples: list[Example]) -> NDArray[np.float64]:
    """Probability of each example in a batch: kinds by KIND_SHARES, within a kind verbs by the root of their number."""
    verb_counts: dict[tuple[str, str], int] = {}
    recordings: dict[tuple[str, str], int] = {}
    for e in examples:
        verb_counts[e.kind, e.verb] = verb_counts.get((e.kind, e.verb), 0) + 1
        recordings[e.kind, e.recording] = recordings.get((e.kind, e.recording), 0) + 1
    raw = np.array([(verb_counts[e.kind, e.verb] * recordings[e.kind, e.recording]) ** -0.5 for e in examples])
    kinds = np.array([e.kind for e in examples])
    for kind, share in KIND_SHARES.items():
        chosen = kinds == kind
        if chosen.any():
            raw[chosen] *= share / raw[chosen].sum()
    return raw / raw.sum()
