"""How much of a batch is padding: sequences padded to the longest, against rows that short ones share.

Lengths are those of motions that the shipped generator makes for its own known commands: the predicted duration of
each, in token steps. Batches are drawn at random, as a training run draws them. "update" is the CPU time of one forward
and backward pass of the shipped transformer over a batch, padded and packed in turn.

Usage: python benchmarks/engine/bench_packing.py [--batches 20] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from lagoon.engine.tokens.packing import Packed, evenly, first_fit_decreasing, padding_share
from lagoon.text2motion.align.config import AlignConfig
from lagoon.text2motion.align.task import AlignTask, read_task
from lagoon.text2motion.bank import MAX_DEFAULT, MIN_DEFAULT
from lagoon.text2motion.config import FPS, FRAMES_PER_STEP
from lagoon.text2motion.model import load_model

BATCH, ROW = 64, 128
ROUNDS = 3


def known_lengths() -> np.ndarray:
    """Token steps of the motions of all known commands."""
    seconds = np.clip(load_model("default").bank.seconds, MIN_DEFAULT, MAX_DEFAULT)
    return np.ceil((seconds * FPS + 1) / FRAMES_PER_STEP).astype(int)


def shares(lengths: np.ndarray) -> dict[str, float]:
    some = lengths.tolist()
    arrival = [some[i : i + 8] for i in range(0, len(some), 8)]  # Minibatches of 8, each padded to its longest.
    by_minibatch = 1 - sum(some) / sum(8 * max(part) for part in arrival)
    return {
        "padded to the batch's longest": padding_share(some, [[i] for i in range(len(some))]),
        "padded to each minibatch's longest": by_minibatch,
        "first fit, rows of 128": padding_share(some, first_fit_decreasing(some, ROW), ROW),
        "first fit, even rows (used)": padding_share(some, evenly(some, ROW)),
    }


def update_seconds(task: AlignTask, lengths: np.ndarray, packed: Packed) -> float:
    model = task.model()
    codes = torch.randint(512, (int(lengths.max()), len(lengths), 9), generator=torch.Generator().manual_seed(0))
    prompts = torch.arange(len(lengths)) % len(task.prompts)
    start = time.process_time()
    for some in torch.arange(len(packed.sequence)).split(max(1, len(packed.sequence) // 4)):
        part = packed.rows(some)
        logp = model.log_probs(part.gather(codes), part, torch.from_numpy(lengths), prompts)
        logp[part.real].sum().backward()
    return time.process_time() - start


def alone(lengths: np.ndarray) -> Packed:
    """One sequence in each row, padded to the longest."""
    width = torch.arange(int(lengths.max())).expand(len(lengths), -1)
    real = width < torch.from_numpy(lengths)[:, None]
    own = torch.arange(len(lengths))[:, None].expand_as(width)
    return Packed(torch.where(real, own, -1), torch.where(real, width, 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    every, rng = known_lengths(), np.random.default_rng(0)
    batches = [rng.choice(every, BATCH) for _ in range(args.batches)]
    found = [shares(batch) for batch in batches]
    mean = {name: float(np.mean([row[name] for row in found])) for name in found[0]}
    worst = {name: float(max(row[name] for row in found)) for name in found[0]}
    print(f"lengths [steps]: 5 % {np.percentile(every, 5):.0f}, median {np.median(every):.0f}, longest {every.max()}")
    for name, share in mean.items():
        print(f"| {name} | {share:.1%} | {worst[name]:.1%} |")
    task, ratios = read_task(AlignConfig(guidance=1.0)), []
    for batch in batches[:ROUNDS]:
        seconds = [update_seconds(task, batch, packed) for packed in (alone(batch), Packed.of(batch.tolist(), ROW))]
        ratios.append(seconds[0] / seconds[1])
    print(f"update, padded over packed, CPU time: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")
    if args.json:
        args.json.write_text(json.dumps({"mean": mean, "worst": worst, "update_ratios": ratios}, indent=1) + "\n")


if __name__ == "__main__":
    main()
