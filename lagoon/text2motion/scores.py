"""The field's scores of generated motion, in the space of a matching network.

What enters: unit vectors of motions and texts. What leaves: numbers. Arrays in, arrays out; randomness only
through a generator.

Source: the measures of Guo et al. 2022, "Generating Diverse and Natural 3D Human Motions from Text", section 5:
Frechet distance, R-precision, matching score, diversity, multimodality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from lagoon.text2motion.dataset import Clip
from lagoon.text2motion.matching import Matcher
from lagoon.text2motion.text_encoder import Encoding

Array = NDArray[np.float64]
POOL = 32
"""Texts among which the right one must be found."""
TOPS = (1, 2, 3)
"""Ranks that count as found."""


def frechet(first: Array, second: Array) -> float:
    """Frechet distance of two sets of vectors (N, D) and (M, D), each taken for a normal distribution.

    ||m1 - m2||^2 + tr(S1 + S2 - 2 (S1 S2)^1/2); 0 for equal means and covariances.
    """
    gap = first.mean(0) - second.mean(0)
    one, two = np.cov(first, rowvar=False), np.cov(second, rowvar=False)
    root = linalg.sqrtm(one @ two)
    return float(max(0.0, gap @ gap + np.trace(one) + np.trace(two) - 2.0 * np.trace(np.real(root))))


def r_precision(
    motions: Array, texts: Array, names: Sequence[str], others: Array, other_names: Sequence[str], seed: int = 0
) -> dict[int, float]:
    """Share of motions whose own text is among the k nearest of a pool of 32; k is each of TOPS.

    The other texts of the pool are about other things, each about another one: with "walk" and "walk forward" in
    one pool the right answer would be a matter of luck.

    Args:
        motions: (N, D) unit vectors.
        texts: (N, D) unit vector of each motion's own text.
        names: N names of what the texts are about.
        others: (M, D) unit vectors of texts to mix in.
        other_names: M names of what those are about.
        seed: seed of the draw.
    """
    rng = np.random.default_rng(seed)
    by_name: dict[str, list[int]] = {}
    for index, name in enumerate(other_names):
        by_name.setdefault(name, []).append(index)
    ranks = []
    for motion, text, name in zip(motions, texts, names, strict=True):
        strangers = [other for other in sorted(by_name) if other != name]
        drawn = rng.choice(strangers, min(POOL - 1, len(strangers)), replace=False)
        pool = others[[by_name[other][rng.integers(len(by_name[other]))] for other in drawn]]
        ranks.append(int((pool @ motion >= text @ motion).sum()))
    return {top: float(np.mean([rank < top for rank in ranks])) for top in TOPS}


def matching_score(motions: Array, texts: Array) -> float:
    """Mean distance of each motion (N, D) from its text (N, D); lower is better."""
    return float(np.linalg.norm(motions - texts, axis=-1).mean())


def diversity(motions: Array) -> float:
    """Mean distance between two of the motions (N, D), over all pairs; others estimate it from 300 drawn at random."""
    count = len(motions)
    return float(np.linalg.norm(motions[:, None] - motions[None], axis=-1).sum() / (count * (count - 1)))


def multimodality(motions: Array) -> float:
    """Mean distance between motions of one text; motions (S, N, D) of S seeds and N texts."""
    pairs = [(i, j) for i in range(len(motions)) for j in range(i)]
    return float(np.mean([np.linalg.norm(motions[i] - motions[j], axis=-1).mean() for i, j in pairs])) if pairs else 0.0


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean of a few runs, and half the width of its 95 % confidence interval (Student's t); 0 for one run."""
    count = len(values)
    if count < 2:
        return float(np.mean(values)), 0.0
    half = stats.t.ppf(0.975, count - 1) * np.std(values, ddof=1) / np.sqrt(count)
    return float(np.mean(values)), float(half)


def of_real_clips(network: Matcher, held_out: list[Clip], encodings: Mapping[str, Encoding]) -> dict[str, float]:
    """R-precision of the network on held-out clips and their first captions, among the held-out captions."""
    motions = network.embed_motions([clip.joint_pos_w for clip in held_out])
    texts = network.embed_texts([encodings[clip.captions[0]] for clip in held_out])
    names = [clip.verb for clip in held_out]
    found = r_precision(motions, texts, names, texts, names)
    return {f"held_out_r_precision_{top}": round(share, 3) for top, share in found.items()}
