"""Makes the motion of a plan: each step the best of its candidates, joined, laid over one another, repeated.

What enters: a model and a request that passed the gate. What leaves: one motion on its feet. Where a step begins
standing and the one before ended on the floor or on a seat, getting up is put in between, as a person would.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import augment, corpus, features, joining, selection
from lagoon.text2motion.bank import Nearest
from lagoon.text2motion.composite import Plan, Step
from lagoon.text2motion.config import FPS, LONGEST, MIN_SECONDS, GenerateConfig
from lagoon.text2motion.generator import Request
from lagoon.text2motion.grounding import ground, lift
from lagoon.text2motion.model import Model
from lagoon.text2motion.sampling import sample
from lagoon.text2motion.selection import Asked, Candidate, suits
from lagoon.text2motion.text_encoder import Encoding, default_encoder

Array = NDArray[np.float64]
LOW, HIGH = 0.65, 0.8
"""Heights of the pelvis [m] below which a person sits or lies, and above which they stand."""
LYING = 0.4
"""Height of the pelvis [m] below which a person lies."""
STILL = 0.005
"""Way [m] of the feet within which they stay."""
SAME = 0.8
"""Similarity from which a step means the verb of its nearest known text, whose repetitions can then be counted."""
ALIKE = 0.7
"""Similarity from which two steps near the same verb are taken for two ways to say it."""
BRIEF, SHORTEST = 0.5, 2.0
"""Share of the usual length, but no less than so many seconds, that is tried where the robot can do none of that."""
BUSIER = 1.5
"""How many times farther one wrist goes than the other where a motion is done with one arm."""


@dataclass(frozen=True)
class Made:
    """A motion and what is worth telling about it."""

    joint_pos_w: Array
    """(T, 22, 3) joint positions [m]."""
    planted: bool
    """Whether both feet stay for the whole motion."""
    notes: dict[str, str] = field(default_factory=dict)
    """For HumanMotion.source: the plan, repetitions."""


class Assembler:
    """Makes the motion of one request."""

    def __init__(self, model: Model, config: GenerateConfig, request: Request) -> None:
        """Take what is needed; make() does the work."""
        self.model, self.config, self.request = model, config, request
        self.made = 0
        self.encoded: dict[str, Encoding] = {}

    def make(self) -> Made:
        """The motion of the whole plan."""
        reading = self.request.reading
        plan: Plan = reading.plan
        if plan.is_single:
            self._tell(0.2, 1, reading.words, self.request.seconds)
            step = plan.steps[0]
            best = self._repeated(step, reading.words, reading.encoding, reading.nearest[0], self.request.seconds)
            return Made(*self._finished(best.joint_pos_w), _counted(step, best))
        return self._sequence(replace(plan, steps=self._said_once(plan.steps)))

    def _said_once(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Steps without those that say the one before in other words: "turn around and face the other way"."""
        kept: list[tuple[Step, str]] = []
        for step in steps:
            near = self._nearest(self._encode(step.words))
            verb = near.verb if near.similarity > ALIKE else ""
            plain = step.count is None and step.meanwhile is None and step.side is None
            before, last = kept[-1] if kept else (None, "")
            same = bool(verb) and verb == last and before is not None and before.words != step.words
            if not (same and plain and before is not None and before.count is None):
                kept.append((step, verb))
        return tuple(step for step, _ in kept)

    def _sequence(self, plan: Plan) -> Made:
        """Steps one after another."""
        shares = self._seconds(plan)
        whole: Array | None = None
        for step, seconds in zip(plan.steps, shares, strict=True):
            self._tell(self.made / (len(shares) + 1), len(shares), step.words, seconds)
            piece = self._step(step, seconds)
            if whole is None:
                whole = piece
                continue
            if whole[-1, 0, 2] < LOW and piece[0, 0, 2] > HIGH:
                rise = "get up from the floor" if whole[-1, 0, 2] < LYING else "stand up"
                whole = joining.join(whole, self._plain(rise).joint_pos_w, self.model.bone_lengths).joint_pos_w
            whole = joining.join(whole, piece, self.model.bone_lengths).joint_pos_w
        assert whole is not None, "a plan has at least one step"
        words = " > ".join(
            f"{step.words} (while: {step.meanwhile.words})" if step.meanwhile else step.words for step in plan.steps
        )
        return Made(*self._finished(whole), {"plan": words})

    def _finished(self, pos: Array) -> tuple[Array, bool]:
        """A motion as long as was asked for, with nothing below the floor, and whether its feet stay."""
        frames = len(pos) if self.config.duration is None else round(self.config.duration * FPS) + 1
        if frames != len(pos):
            pos = joining.retime(pos, frames, self.model.bone_lengths)
        pos = features.canonical(lift(pos))
        feet = pos[:, list(features.FEET)]
        return pos, bool(np.abs(feet - feet[0]).max() < STILL)

    def _seconds(self, plan: Plan) -> list[float]:
        """Duration of each step [s]: as predicted, or the duration asked for, split like that."""
        predicted = [self.model.bank.duration(self._encode(step.words).sentence) for step in plan.steps]
        if self.config.duration is None:
            return predicted
        # No step is shorter than one pass can be; what joins add is taken back at the end, by playing a little faster.
        return [max(MIN_SECONDS, self.config.duration * share / sum(predicted)) for share in predicted]

    def _step(self, step: Step, seconds: float) -> Array:
        """One step, with what goes on meanwhile laid over it."""
        encoding = self._encode(step.words)
        lower = self._repeated(step, step.words, encoding, self._nearest(encoding), seconds).joint_pos_w
        if step.meanwhile is None:
            return lower
        other = self._encode(step.meanwhile.words)
        asked = len(lower) - 1
        upper = self._repeated(step.meanwhile, step.meanwhile.words, other, self._nearest(other), asked / FPS)
        above = upper.joint_pos_w[: len(lower)]
        above = augment.hold(above, 0, len(lower) - len(above))
        # Legs and trunk are those of the lower motion, which stands on its feet already.
        return augment.overlay(lower, above)

    def _repeated(self, step: Step, words: str, encoding: Encoding, nearest: Nearest, seconds: float) -> Candidate:
        """One motion with as many repetitions as the step asks for, done with the side that it names."""
        entry = corpus.phrases().get(nearest.verb, {}) if nearest.similarity > SAME else {}
        cycle = tuple(entry["cycle"]) if "cycle" in entry else None
        if step.count and step.count > 1 and cycle is None and entry.get("count"):
            return self._again(step, nearest, seconds)
        asked = Asked(encoding, nearest.activity, step.count, cycle, self.model.rest, step.body == "upper")
        best = self._best(words, asked, seconds)
        if cycle and step.count and best.count != step.count:
            best = self._edited(best, cycle, step.count)
        return self._on_side(best, step)

    def _again(self, step: Step, nearest: Nearest, seconds: float) -> Candidate:
        """A motion whose repetitions cannot be seen in one signal, done once and played so often."""
        assert step.count is not None, "the caller asks for several"
        share = None if self.config.duration is None else max(MIN_SECONDS, seconds / step.count)
        once = self._on_side(self._plain(nearest.verb, share), step)
        whole, count = once.joint_pos_w, 1
        while count < step.count and len(whole) + len(once.joint_pos_w) <= LONGEST * FPS:
            whole = joining.join(whole, once.joint_pos_w, self.model.bone_lengths).joint_pos_w
            count += 1
        return replace(once, joint_pos_w=whole, count=count)

    def _edited(self, best: Candidate, cycle: tuple[str, float], count: int) -> Candidate:
        """The candidate with repetitions cut out or put in, if it has two that fit together."""
        marks = augment.peaks(augment.cycle_signal(best.joint_pos_w, cycle[0]), cycle[1])
        cut = augment.repeat_cycles(best.joint_pos_w, marks, count)
        if cut is None or len(cut) > LONGEST * FPS:
            return best
        clean = ground(features.encode(cut), self.model.bone_lengths, self.model.rest, self.config.settle)
        seen = selection.repetitions(clean.joint_pos_w, cycle)
        if abs(seen - count) >= abs((best.count or 0) - count):
            return best
        return replace(best, joint_pos_w=clean.joint_pos_w, planted=clean.planted, count=seen)

    def _on_side(self, best: Candidate, step: Step) -> Candidate:
        """The mirror image of a motion that is done with the other arm than was asked for."""
        if step.side is None or step.body != "upper":
            return best
        pos = best.joint_pos_w
        wrists = [pos[:, JOINT_NAMES.index(f"{side}_wrist")] - pos[:, 0] for side in ("left", "right")]
        left, right = (float(np.linalg.norm(np.diff(w, axis=0), axis=-1).sum()) for w in wrists)
        wrong = right > BUSIER * left if step.side == "left" else left > BUSIER * right
        if not wrong:
            return best
        return replace(best, joint_pos_w=augment.mirror(pos))

    def _plain(self, words: str, seconds: float | None = None) -> Candidate:
        """The best motion of known words, as long as it usually is or as long as is said."""
        encoding = self._encode(words)
        asked = Asked(encoding, self._nearest(encoding).activity, rest=self.model.rest)
        return self._best(words, asked, seconds or self.model.bank.duration(encoding.sentence))

    def _best(self, words: str, asked: Asked, seconds: float) -> Candidate:
        """The best candidate of one text; every text of a request draws with a seed of its own."""
        seed = self.request.seed
        if self.made:
            seed = int(np.random.default_rng((self.request.seed, self.made)).integers(2**31))
        self.made += 1
        ordered = self._sampled(words, asked, seconds, seed)
        brief = max(SHORTEST, BRIEF * seconds)
        if self.config.duration is None and asked.count is None and brief < seconds and suits(ordered[0]) is False:
            # A robot that cannot hold a whole kick or walk may hold a shorter one.
            shorter = self._sampled(words, asked, brief, seed)
            shorter = [replace(c, number=c.number + len(ordered)) for c in shorter]
            ordered = sorted([*ordered, *shorter], key=lambda c: ("robot" not in c.costs, c.cost, c.number))
        self.request.keep(words, ordered)
        return ordered[0]

    def _sampled(self, words: str, asked: Asked, seconds: float, seed: int) -> list[Candidate]:
        """Candidates of one length, best first."""
        config = self.config
        takes, gain = sample(self.model, asked.encoding, min(seconds, LONGEST), config, seed)
        scored = selection.score(takes, gain, asked, self.model.matcher, config.match_weight)
        return selection.choose(
            scored, self.request.appraise, config.appraised, config.variety, seed, config.appraised_at_most
        )

    def _encode(self, words: str) -> Encoding:
        """The words as vectors; a step is asked about several times and encoded once."""
        if words not in self.encoded:
            self.encoded[words] = default_encoder().encode([words])[0]
        return self.encoded[words]

    def _nearest(self, encoding: Encoding) -> Nearest:
        return self.model.bank.nearest(encoding.sentence, 1)[0]

    def _tell(self, share: float, steps: int, words: str, seconds: float) -> None:
        which = f" of '{words}'" if steps > 1 else ""
        self.request.progress(
            min(0.2 + 0.7 * share, 0.95), f"sampling {self.config.candidates} motions{which}, {seconds:.1f} s"
        )


def _counted(step: Step, best: Candidate) -> dict[str, str]:
    """How often a motion does what it was asked to do so often."""
    return {} if step.count is None or best.count is None else {"repetitions": str(best.count)}
