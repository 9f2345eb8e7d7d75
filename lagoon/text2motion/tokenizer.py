"""Motion to tokens and back: residual quantisation of short pieces, and a network that smooths the result.

What enters: (T, 71) features, T a multiple of 4. What leaves: (T/4, G) integer codes, and features again.
A piece of 4 frames is projected on principal components; G codebooks, coarse to fine, each name the
entry nearest to what is still left over. Legs, trunk and arms may have components and codebooks of their
own: an entry is then zero in the components of the other parts, so that codes still simply add up. A small
convolutional network then repairs seams and rounding with the frames around.

Source: residual vector quantisation as in SoundStream (Zeghidour et al. 2021, section III-C), here with
codebooks fitted by k-means, which this little data allows in closed form.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy, silu, smooth_l1_loss

from lagoon.text2motion.config import FPS, FRAMES_PER_STEP, PARTS, ModelConfig
from lagoon.text2motion.features import (
    CONTACTS,
    FEET,
    HEIGHT,
    NUM_FEATURES,
    POSITIONS,
    VELOCITY,
    YAW,
    columns,
    part_columns,
)

SCALE_POSITION, SCALE_HEIGHT, SCALE_VELOCITY, SCALE_YAW = 0.2, 0.2, 0.5, 1.0
"""What counts as one unit of error: metres, metres, metres per second, radians per second."""
PIECE = FRAMES_PER_STEP * NUM_FEATURES


def feature_scale(head_weight: float = 1.0) -> Tensor:
    """(71,) divisor of each feature; one number per kind, so that a centimetre weighs the same but on the head."""
    scale = torch.ones(NUM_FEATURES)
    for part, size in (
        (POSITIONS, SCALE_POSITION),
        (HEIGHT, SCALE_HEIGHT),
        (VELOCITY, SCALE_VELOCITY),
        (YAW, SCALE_YAW),
    ):
        scale[part] = size
    scale[columns(["head"])] /= head_weight
    return scale


def coarse_to_fine(part_codes: tuple[int, ...]) -> list[int]:
    """Part (G,) that each code belongs to: the first code of every part, then the second, and so on."""
    return [part for level in range(max(part_codes)) for part, count in enumerate(part_codes) if level < count]


class ResidualQuantiser(nn.Module):
    """Latents <-> codes, coarse to fine."""

    books: Tensor

    def __init__(self, groups: int, codes: int, width: int) -> None:
        """Start with empty codebooks; fit() or load_state_dict() fills them."""
        super().__init__()
        self.register_buffer("books", torch.zeros(groups, codes, width))

    def encode(self, latent: Tensor) -> Tensor:
        """Codes (..., G) of latents (..., D)."""
        left, codes = latent, []
        for book in self.books:
            codes.append(nearest(left.reshape(-1, left.shape[-1]), book).view(left.shape[:-1]))
            left = left - book[codes[-1]]
        return torch.stack(codes, dim=-1)

    def partial(self, codes: Tensor) -> Tensor:
        """What the first 1, 2, ... G codes (..., G) add up to: (..., G, D)."""
        entries = [book[codes[..., group]] for group, book in enumerate(self.books)]
        return torch.stack(entries, dim=-2).cumsum(-2)

    def values(self, codes: Tensor) -> Tensor:
        """Latents (..., D) of codes (..., G)."""
        return self.partial(codes)[..., -1, :]

    @torch.no_grad()
    def fit(
        self, latents: Tensor, generator: torch.Generator, rounds: int = 12, slices: list[slice] | None = None
    ) -> None:
        """Fill the codebooks by k-means on latents (M, D), one after the other on what is left over.

        Args:
            latents: samples.
            generator: source of randomness.
            rounds: iterations of k-means.
            slices: G ranges of components, one for each codebook; all components without it.
        """
        left = latents.clone()
        for group, part in enumerate(slices or [slice(None)] * len(self.books)):
            book = k_means(left[:, part], self.books.shape[1], generator, rounds)
            self.books[group] = 0.0
            self.books[group, :, part] = book
            left[:, part] -= book[nearest(left[:, part], book)]


def nearest(points: Tensor, book: Tensor) -> Tensor:
    """Index (M,) of the entry of book (K, D) nearest to each of points (M, D)."""
    return (book.pow(2).sum(1) - 2 * points @ book.T).argmin(1)


def k_means(points: Tensor, count: int, generator: torch.Generator, rounds: int) -> Tensor:
    """(count, D) centres of points (M, D) by Lloyd's algorithm; empty clusters restart at a random point."""
    book = points[torch.randint(len(points), (count,), generator=generator)].clone()
    for _ in range(rounds):
        chosen = nearest(points, book)
        total = torch.zeros_like(book).index_add_(0, chosen, points)
        size = torch.bincount(chosen, minlength=count)[:, None]
        fresh = points[torch.randint(len(points), (count,), generator=generator)]
        book = torch.where(size > 0, total / size.clamp(min=1), fresh)
    return book


class Residual(nn.Module):
    """x + conv(act(conv(act(x)))), the first dilated."""

    def __init__(self, width: int, dilation: int, padding_mode: Literal["replicate", "zeros"] = "replicate") -> None:
        """Build it: channels, dilation of the first convolution, what stands beyond the ends."""
        super().__init__()
        self.first = nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation, padding_mode=padding_mode)
        self.second = nn.Conv1d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(N, width, T) to the same shape."""
        return x + self.second(silu(self.first(silu(x))))


class Refiner(nn.Module):
    """Correction (N, T, 71) of decoded frames (N, T, 71), seen with their neighbours and their place in the piece."""

    def __init__(self, width: int) -> None:
        """The last layer starts at zero, so that an untrained refiner changes nothing."""
        super().__init__()
        self.enter = nn.Conv1d(NUM_FEATURES + FRAMES_PER_STEP, width, 3, padding=1, padding_mode="replicate")
        self.blocks = nn.Sequential(*(Residual(width, dilation) for dilation in (1, 2, 4, 1)))
        self.leave = nn.Conv1d(width, NUM_FEATURES, 3, padding=1, padding_mode="replicate")
        nn.init.zeros_(self.leave.weight)
        nn.init.zeros_(self.leave.bias)  # type: ignore[arg-type]

    def forward(self, frames: Tensor) -> Tensor:
        """Correct decoded frames; T must be a multiple of 4."""
        place = torch.eye(FRAMES_PER_STEP).repeat(frames.shape[1] // FRAMES_PER_STEP, 1).expand(len(frames), -1, -1)
        x = torch.cat([frames, place], dim=-1).transpose(1, 2)
        return self.leave(silu(self.blocks(self.enter(x)))).transpose(1, 2)


class MotionTokenizer(nn.Module):
    """Features (N, T, 71) <-> codes (N, T/4, G)."""

    mean: Tensor
    basis: Tensor
    scale: Tensor

    def __init__(self, config: ModelConfig) -> None:
        """Build it; fit() and training, or load_state_dict(), fill it."""
        super().__init__()
        self.register_buffer("mean", torch.zeros(PIECE))
        self.register_buffer("basis", torch.zeros(PIECE, config.latent))
        self.register_buffer("scale", feature_scale(config.head_weight), persistent=False)
        self.config = config
        self.quantiser = ResidualQuantiser(config.groups, config.codes, config.latent)
        self.refiner = Refiner(config.refiner_width)

    @torch.no_grad()
    def fit(self, pieces: Tensor, weights: Tensor, generator: torch.Generator, samples: int = 60_000) -> None:
        """Find the principal components and the codebooks.

        Args:
            pieces: (M, 4, 71) features of pieces of 4 frames.
            weights: (M,) how much each piece counts.
            generator: source of randomness.
            samples: pieces drawn by weight for k-means.
        """
        x = (pieces / self.scale).flatten(1).double()
        w = (weights / weights.sum()).double()[:, None]
        self.mean.copy_((x * w).sum(0))
        x = x - (x * w).sum(0)
        parts = [list(range(NUM_FEATURES))]
        if self.config.part_codes:
            parts = [part_columns()[name] for name in PARTS]
        sizes = self.config.part_latents or (self.config.latent,)
        ends = [sum(sizes[: part + 1]) for part in range(len(sizes))]
        self.basis.zero_()
        for columns_of, end, size in zip(parts, ends, sizes, strict=True):
            rows = torch.tensor([frame * NUM_FEATURES + c for frame in range(FRAMES_PER_STEP) for c in columns_of])
            variance, vectors = torch.linalg.eigh((x[:, rows] * w).T @ x[:, rows])
            best = vectors[:, variance.argsort(descending=True)][:, :size]
            # Fewer samples than components leave the last ones unused.
            self.basis[rows, end - size : end - size + best.shape[1]] = best.float()
        drawn = torch.multinomial(w[:, 0], min(samples, 8 * len(x)), replacement=True, generator=generator)
        slices = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        chosen = coarse_to_fine(self.config.part_codes) if self.config.part_codes else [0] * self.config.groups
        latents = (x @ self.basis.double())[drawn].float()
        self.quantiser.fit(latents, generator, slices=[slices[part] for part in chosen])

    def latents(self, features: Tensor) -> Tensor:
        """Latents (N, T/4, D) of features (N, T, 71); T must be a multiple of 4."""
        assert features.shape[1] % FRAMES_PER_STEP == 0, "the caller pads to whole steps"
        pieces = (features / self.scale).unflatten(1, (-1, FRAMES_PER_STEP)).flatten(2)
        return (pieces - self.mean) @ self.basis

    def encode(self, features: Tensor) -> Tensor:
        """Codes (N, T/4, G) of features (N, T, 71)."""
        return self.quantiser.encode(self.latents(features))

    def decode(self, codes: Tensor) -> Tensor:
        """Features (N, T, 71) of codes (N, T/4, G); contacts as probabilities."""
        return self.decode_latents(self.quantiser.values(codes))

    def decode_latents(self, latent: Tensor) -> Tensor:
        """Features (N, T, 71) of latents (N, T/4, D)."""
        pieces = latent @ self.basis.T + self.mean
        frames = pieces.unflatten(2, (FRAMES_PER_STEP, NUM_FEATURES)).flatten(1, 2)
        out = (frames + self.refiner(frames)) * self.scale
        return torch.cat([out[..., : CONTACTS.start], out[..., CONTACTS].clamp(0.0, 1.0)], dim=-1)


def _foot_velocity(features: Tensor) -> Tensor:
    """(N, T-1, 4, 2) velocity of the feet over the ground [m/s], in the heading frame; features in SI units."""
    local = features[..., POSITIONS].unflatten(-1, (21, 3))[..., [foot - 1 for foot in FEET], :2]
    moved = (local[:, 1:] - local[:, :-1]) * FPS
    spun = torch.stack([-local[:, 1:, :, 1], local[:, 1:, :, 0]], dim=-1) * features[:, 1:, None, YAW]
    return moved + spun + features[:, 1:, None, VELOCITY]


def reconstruction_loss(tokenizer: MotionTokenizer, output: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """How far features output (N, T, 71) are from target; mask (N, T) is 1 where a frame is real.

    Smooth L1 of the features, of their change per frame, and of the feet's velocity over the ground, plus
    cross entropy of the contacts.
    """
    body = slice(0, CONTACTS.start)
    both = mask[:, 1:] * mask[:, :-1]
    error = ((output - target) / tokenizer.scale)[..., body]
    plain = smooth_l1_loss(error, torch.zeros_like(error), reduction="none", beta=0.1).mean(-1)
    change = error.diff(dim=1)
    velocity = smooth_l1_loss(change, torch.zeros_like(change), reduction="none", beta=0.05).mean(-1)
    slip = _foot_velocity(output) - _foot_velocity(target)
    planted = 1.0 + 3.0 * target[:, 1:, CONTACTS]
    feet = (smooth_l1_loss(slip, torch.zeros_like(slip), reduction="none", beta=0.2).mean(-1) * planted).mean(-1)
    sure = output[..., CONTACTS].clamp(1e-3, 1 - 1e-3)
    contact = binary_cross_entropy(sure, target[..., CONTACTS], reduction="none").mean(-1)
    frames, pairs = mask.sum(), both.sum()
    return (
        (plain * mask).sum() / frames
        + 2.0 * (velocity * both).sum() / pairs
        + 0.1 * (feet * both).sum() / pairs
        + 0.05 * (contact * mask).sum() / frames
    )
