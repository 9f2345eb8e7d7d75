"""What it brings to take new weights over in the middle of sequences, with the shipped generator of motion tokens.

One rollout worker in this process draws sequences of heavy-tailed length (lognormal, sigma 0.8, 4 to 50 steps), and
new weights arrive every so many token steps. "interruptible" takes them over at once and computes its cache anew; "not"
lets all running sequences end first, and begins none meanwhile. Counted are

- tokens per CPU second, and tokens per token step: the latter counts where a step takes as long with few lanes as
  with many, as on a GPU;
- steps that the weights wait for, from their arrival to the first token they draw;
- the time that taking them over costs, in token steps.

Rounds are interleaved. Usage: python benchmarks/engine/bench_interrupt.py [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from lagoon.engine.metrics import Stopwatch
from lagoon.engine.params import MemoryParameterStore
from lagoon.engine.streams.inline import InlineSampleStream
from lagoon.engine.tokens.rollout import RolloutSpec, RolloutWorker
from lagoon.engine.tokens.schema import Sequence, token_schema
from lagoon.text2motion.align.config import AlignConfig
from lagoon.text2motion.align.task import read_task

LANES, STEPS = 16, 240


class Endless:
    """There is always another sequence."""

    def __init__(self) -> None:
        self.next = 0

    def take(self) -> int:
        self.next += 1
        return self.next - 1


def sequence(number: int) -> Sequence:
    draw = np.random.default_rng((1, number)).standard_normal()
    return Sequence(number, number % 2, int(np.clip(np.exp(2.6 + 0.8 * draw), 4, 50)))


def rollout(task, interruptible: bool, every: int) -> dict[str, float]:
    store, samples = MemoryParameterStore(), InlineSampleStream(token_schema(task.sizes, 3), LANES + 1)
    watch, worker = Stopwatch(), RolloutWorker()
    worker.configure(
        RolloutSpec(task.sampler(LANES), LANES, samples, store, Endless(), sequence, 0, watch, interruptible)
    )
    worker.start()
    weights, version, arrived, waits = task.model().state_dict(), 0, 0, []
    store.push(weights, version)
    worker.poll()
    watch.take()
    worker.tokens = worker.steps = 0
    start, steps = time.process_time(), 0
    while steps < STEPS:
        if steps and steps % every == 0 and store.version == worker.version:
            version += 1
            store.push(weights, version)
            arrived = steps
        worker.poll()
        steps += 1
        if version and worker.version == version and arrived >= 0:
            waits.append(steps - 1 - arrived)
            arrived = -1
        while (slot := samples.take()) is not None:
            samples.release(slot)
    seconds, parts = time.process_time() - start, watch.take()
    return {
        "tokens_per_cpu_second": worker.tokens / seconds,
        "tokens_per_step": worker.tokens / worker.steps,
        "waits": float(np.mean(waits)),
        "longest_wait": float(max(waits)),
        "take_over_in_steps": parts.get("take_over", 0.0) / max(version, 1) / (parts["generation"] / worker.steps),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    task = read_task(AlignConfig(commands=("bow", "wave hello"), guidance=1.0))
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    for every in (10, 30, 60):
        arms: dict[str, list[dict[str, float]]] = {"interruptible": [], "not": []}
        for _ in range(args.rounds):
            for name, rows in arms.items():
                rows.append(rollout(task, name == "interruptible", every))
        found[str(every)] = arms
        ratio = {}
        for key in ("tokens_per_cpu_second", "tokens_per_step"):
            pairs = zip(arms["interruptible"], arms["not"], strict=True)
            ratio[key] = ", ".join(f"{own[key] / other[key]:.2f}" for own, other in pairs)
        print(f"new weights every {every} steps: per CPU second {ratio['tokens_per_cpu_second']}")
        print(f"  per step {ratio['tokens_per_step']}")
        for name, rows in arms.items():
            mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
            print(f"  {name}: " + ", ".join(f"{key} {value:.2f}" for key, value in mean.items()), flush=True)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
