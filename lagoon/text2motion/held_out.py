"""The generator beside baselines on the clips it was not trained on.

What enters: a data folder, a model, the judge. What leaves: for the real clips, the generator, and two baselines
(the training clip with the nearest caption; the generator without words) the field's scores, each as a mean over
seeds with its 95 % confidence interval. Every motion counts twice, as it is and mirrored, and so does its text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.progress import Progress, silent
from lagoon.text2motion import augment, dataset, plausibility, predicates, scores
from lagoon.text2motion.composite_scores import Speaker
from lagoon.text2motion.config import FPS, FRAMES_PER_STEP, MAX_SECONDS, MIN_SECONDS, GenerateConfig
from lagoon.text2motion.dataset import Clip
from lagoon.text2motion.generate import generate
from lagoon.text2motion.grounding import ground
from lagoon.text2motion.matching import Matcher
from lagoon.text2motion.model import Model
from lagoon.text2motion.novelty import TrainingClips
from lagoon.text2motion.sampling import one_thread
from lagoon.text2motion.text_encoder import default_encoder
from lagoon.text2motion.texts import text_batch
from lagoon.text2motion.wording import core

Array = NDArray[np.float64]
System = Callable[[Clip, int], Array]
"""Makes a motion (T, 22, 3) for a held-out clip's text and length, with a seed."""


@dataclass(frozen=True)
class Split:
    """The fixed split of a data folder."""

    train: list[Clip]
    """What the generator saw."""
    held_out: list[Clip]
    """What it did not see; at most as long as one pass of the generator."""


def load_split(folder: Path, sets: tuple[str, ...]) -> Split:
    """Read a data folder and split it as training does.

    Raises:
        BadInputError: nothing is held out, so there is nothing to compare with.
    """
    train, held_out = dataset.split(dataset.load(folder, sets))
    if len(held_out) < 8:
        raise BadInputError(
            f"The data folder {folder} has {len(held_out)} held-out clips; the scores need at least 8. "
            f"Add recordings: a verb needs {dataset.MIN_RECORDINGS} before any of them is held out."
        )
    longest = int(MAX_SECONDS * FPS) + 1
    return Split(train, [dataset.with_motion(c, "cut", c.joint_pos_w[:longest], c.captions) for c in held_out])


def generator(config: GenerateConfig) -> System:
    """The product as users run it, asked for the clip's first caption and duration."""

    def make(clip: Clip, seed: int) -> Array:
        asked = replace(config, duration=max(MIN_SECONDS, clip.seconds), force=True)
        return generate(clip.captions[0], asked, seed).joint_pos_w

    return make


def speaker(config: GenerateConfig) -> Speaker:
    """The product as users run it, asked for a command; how long it takes is predicted."""
    return lambda command, seed: generate(command, config, seed).joint_pos_w


def retrieval(train: list[Clip]) -> Speaker:
    """Baseline: a training clip with the caption most similar to the text, drawn at random among equals."""
    captions = [core(caption) for clip in train for caption in clip.captions]
    owners = [index for index, clip in enumerate(train) for _ in clip.captions]
    vectors = np.stack([e.sentence for e in default_encoder().encode(captions)])

    def find(text: str, seed: int) -> Array:
        similarity = vectors @ default_encoder().encode([core(text)])[0].sentence
        best = np.flatnonzero(similarity > similarity.max() - 1e-5)
        return train[owners[best[np.random.default_rng((seed, 21)).integers(len(best))]]].joint_pos_w

    return find


def nearest_caption(find: Speaker) -> System:
    """The retrieved clip, cut to the duration or held at its end."""

    def make(clip: Clip, seed: int) -> Array:
        # Clips with one caption draw apart, as the generator does.
        found = find(clip.captions[0], int(np.random.default_rng((seed, *clip.id.encode())).integers(2**31)))
        frames = len(clip.joint_pos_w)
        return found[:frames] if len(found) >= frames else augment.hold(found, 0, frames - len(found))

    return make


def without_words(model: Model, config: GenerateConfig) -> System:
    """Baseline: the generator, told the duration but no words; one motion, taken as it comes."""

    def make(clip: Clip, seed: int) -> Array:
        frames = len(clip.joint_pos_w)
        steps = min(-(-frames // FRAMES_PER_STEP), model.config.max_steps)
        number = int(np.random.default_rng((seed, 22, *clip.id.encode())).integers(2**31))
        with one_thread(), torch.no_grad():
            codes = model.transformer.sample(
                steps, text_batch([None]), torch.Generator().manual_seed(number), 1.0, config.temperature
            )
            rows = model.tokenizer.decode(codes).double().numpy()[0, :frames]
        return ground(rows, model.bone_lengths, model.rest, settle=False).joint_pos_w

    return make


def compare(
    split: Split, systems: dict[str, System], judge: Matcher, seeds: int, progress: Progress = silent
) -> dict[str, dict[str, list[float]]]:
    """Score each system on the held-out clips.

    Args:
        split: training and held-out clips.
        systems: name to system; the real clips are added as ``real``.
        judge: the network whose space the scores are taken in.
        seeds: motions per text.
        progress: told what is being done.

    Returns:
        For each system its scores as [mean, half width of the 95 % interval].
    """
    clips = split.held_out
    real = [clip.joint_pos_w for clip in clips]
    known = TrainingClips([clip.joint_pos_w for clip in split.train])
    ruler = _Ruler(split, judge)
    result = {"real": {name: [value, 0.0] for name, value in ruler.scores(real, ruler.real, known, 0).items()}}
    total, done = len(systems) * seeds * len(clips), 0
    for name, system in systems.items():
        rows: list[dict[str, float]] = []
        vectors = []
        for seed in range(seeds):
            made: list[Array] = []
            for clip in clips:
                made.append(system(clip, seed))
                done += 1
                progress(done / total, f"{name}, seed {seed}: {clip.captions[0]}")
            vectors.append(ruler.embed(made))
            rows.append(ruler.scores(made, vectors[-1], known, seed))
        result[name] = {key: [round(v, 4) for v in scores.interval([row[key] for row in rows])] for key in rows[0]}
        result[name]["multimodality"] = [round(scores.multimodality(np.array(vectors)), 4), 0.0]
    return {name: {key: [round(v, 4) for v in pair] for key, pair in row.items()} for name, row in result.items()}


class _Ruler:
    """Scores sets of motions for the held-out texts in the judge's space."""

    def __init__(self, split: Split, judge: Matcher) -> None:
        self.clips, self.judge = split.held_out, judge
        texts = [clip.captions[0] for clip in self.clips]
        names = [clip.verb for clip in self.clips]
        flip = augment.mirror_text
        self.names = names + [flip(name) for name in names]
        self.texts = self._embed_texts(texts + [flip(text) for text in texts])
        self.real = self.embed([clip.joint_pos_w for clip in self.clips])
        verbs = {clip.verb: clip.captions[0] for clip in [*split.train, *self.clips]}
        verbs |= {flip(verb): flip(text) for verb, text in verbs.items()}
        self.other_names = sorted(verbs)
        self.others = self._embed_texts([verbs[name] for name in self.other_names])

    def _embed_texts(self, texts: list[str]) -> Array:
        return self.judge.embed_texts(default_encoder().encode(texts))

    def embed(self, motions: list[Array]) -> Array:
        """Vectors (2 N, D) of motions and their mirror images."""
        return self.judge.embed_motions([*motions, *(augment.mirror(motion) for motion in motions)])

    def scores(self, motions: list[Array], vectors: Array, known: TrainingClips, seed: int) -> dict[str, float]:
        found = scores.r_precision(vectors, self.texts, self.names, self.others, self.other_names, seed)
        asked = [(m, predicates.of_verb(clip.verb)) for m, clip in zip(motions, self.clips, strict=True)]
        answers = [question(motion) for motion, question in asked if question is not None]
        return {
            "fid": scores.frechet(vectors, self.real),
            **{f"r_precision_{top}": share for top, share in found.items()},
            "matching_score": scores.matching_score(vectors, self.texts),
            "diversity": scores.diversity(vectors),
            "foot_slide_m_per_s": float(np.mean([plausibility.measure(m).foot_slide for m in motions])),
            "predicates": float(np.mean(answers)) if answers else float("nan"),
            "nearest_training_clip_m": float(np.median([known.nearest(m)[1] for m in motions])),
        }
