"""What a generated motion is worth: words, person, robot. The same measures that choose among candidates.

What enters: motion tokens of a prompt; a function that knows a robot, if the caller has one. What leaves: three terms,
each 0 at best, whose sum the generator is trained on: what selection among many candidates finds, it learns to draw at
once.
"""

from __future__ import annotations

from collections.abc import Sequence as Several

import numpy as np
import torch
from numpy.typing import NDArray

from lagoon.engine.tokens.schema import Sequence
from lagoon.text2motion import corpus
from lagoon.text2motion.assembly import SAME
from lagoon.text2motion.config import FRAMES_PER_STEP
from lagoon.text2motion.gate import Reading
from lagoon.text2motion.grounding import Grounded, ground
from lagoon.text2motion.model import Model
from lagoon.text2motion.selection import ROBOT_COST, Appraise, Asked, score

TERMS = ("words", "person", "robot")


class MotionReward:
    """Judges the motions of some prompts."""

    def __init__(
        self, model: Model, readings: Several[Reading], weights: tuple[float, float, float], appraise: Appraise | None
    ) -> None:
        """Prepare.

        Args:
            model: decodes tokens; its matching network compares words and motion.
            readings: the prompts, as the gate read them.
            weights: of words, person and robot.
            appraise: cost of a motion (T, 22, 3) [m] on the robot; None leaves the robot out.
        """
        self._model, self._weights, self._appraise = model, weights, appraise
        self._asked = [self._of(reading) for reading in readings]

    def _of(self, reading: Reading) -> Asked:
        step, nearest = reading.plan.steps[0], reading.nearest[0]
        entry = corpus.phrases().get(nearest.verb, {}) if nearest.similarity > SAME else {}
        cycle = tuple(entry["cycle"]) if "cycle" in entry else None
        gesture = step.body == "upper"
        return Asked(reading.encoding, nearest.activity, step.count, cycle, self._model.rest, gesture)

    def motion(self, codes: NDArray[np.int64]) -> Grounded:
        """The motion of codes (L, G), cleaned up as a generated one."""
        with torch.no_grad():
            rows = self._model.tokenizer.decode(torch.from_numpy(codes)[None])[0]
        frames = len(codes) * FRAMES_PER_STEP
        return ground(rows.double().numpy()[:frames], self._model.bone_lengths, self._model.rest, True)

    def __call__(self, sequence: Sequence) -> NDArray[np.float64]:
        """Return the terms (3,) of a sequence, in the order of ``TERMS``."""
        assert sequence.codes is not None, "only drawn sequences are judged"
        take = self.motion(sequence.codes)
        costs = score([take], [0.0], self._asked[sequence.prompt], self._model.matcher, 0.0)[0].costs
        words = costs.pop("words", 0.0)
        # Far beyond what is acceptable, twice as bad is not twice as much worse.
        person = float(np.log1p(max(sum(costs.values()), 0.0)))
        robot = 0.0
        if self._appraise is not None and self._weights[2] > 0:
            robot = ROBOT_COST * float(np.log1p(max(self._appraise(take.joint_pos_w), 0.0)))
        return -np.array(self._weights) * [words, person, robot]
