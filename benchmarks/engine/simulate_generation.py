"""Asynchronous against synchronous fine-tuning of a generator, simulated with measured costs and a core for everybody.

What the engine decides (permits, free lanes, judges' queues, batches, age) is played through event by event, with its
own StalenessController; how long a token step, a judgement and an update take is drawn or given. Costs by default are
those of the shipped generator, in CPU seconds: a step of 16 lanes, an update per sequence. Judges take a lognormal
time, sigma 1.

Usage: python benchmarks/engine/simulate_generation.py [--step 0.012] [--update 0.02] [--judge 1.0] [--json FILE]
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections import deque
from pathlib import Path

import numpy as np

from lagoon.engine.staleness import StalenessController

BATCH, LANES, UPDATES, WARM = 64, 16, 60, 5


class Run:
    """One rollout worker, several judges with a queue of two each, one trainer."""

    def __init__(self, eta: int, judges: int, step: float, update: float, judge: float, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.controller = StalenessController(BATCH, eta)
        self.step_seconds, self.update_seconds, self.judge_seconds = step, update * BATCH, judge
        self.lanes: list[list[int]] = []  # [steps left, version of the first token]
        self.waiting: deque[int] = deque()
        self.queues: list[deque[int]] = [deque() for _ in range(judges)]
        self.ready: list[int] = []
        self.version, self.stepping, self.updating = 0, False, False
        self.now, self.events, self.count = 0.0, list[tuple[float, int, str, int]](), 0
        self.times, self.ages, self.busy = [], [], 0.0

    def later(self, seconds: float, what: str, which: int = 0) -> None:
        self.count += 1
        heapq.heappush(self.events, (self.now + seconds, self.count, what, which))

    def length(self) -> int:
        return int(np.clip(np.exp(2.6 + 0.8 * self.rng.standard_normal()), 4, 50))

    def settle(self) -> None:
        """Begin whatever can begin now."""
        while len(self.lanes) < LANES and len(self.waiting) < LANES and self.controller.capacity(self.version) > 0:
            self.controller.begin()
            self.lanes.append([self.length(), self.version])
        if self.lanes and not self.stepping:
            self.stepping = True
            self.later(self.step_seconds * (0.4 + 0.6 * len(self.lanes) / LANES), "step")
        for index, queue in enumerate(self.queues):
            while self.waiting and len(queue) < 3:
                queue.append(self.waiting.popleft())
                if len(queue) == 1:
                    self.judge(index)
        if len(self.ready) >= BATCH and not self.updating:
            self.updating = True
            batch, self.ready = self.ready[:BATCH], self.ready[BATCH:]
            self.ages.append(self.version - min(batch))
            self.later(self.update_seconds, "update")

    def judge(self, index: int) -> None:
        seconds = self.judge_seconds * float(np.exp(self.rng.standard_normal()))
        self.busy += seconds
        self.later(seconds, "judged", index)

    def play(self) -> dict[str, float]:
        self.settle()
        while self.version < UPDATES:
            self.now, _, what, which = heapq.heappop(self.events)
            if what == "step":
                self.stepping = False
                for lane in self.lanes:
                    lane[0] -= 1
                self.waiting.extend(lane[1] for lane in self.lanes if lane[0] == 0)
                self.lanes = [lane for lane in self.lanes if lane[0] > 0]
            elif what == "judged":
                first = self.queues[which].popleft()
                if self.controller.too_old(first, self.version + len(self.ready) // BATCH + self.updating):
                    self.controller.reject()
                else:
                    self.ready.append(first)
                    self.controller.accept()
                if self.queues[which]:
                    self.judge(which)
            else:
                self.updating = False
                self.version += 1
                self.times.append(self.now)
            self.settle()
        rate = BATCH * (UPDATES - WARM) / (self.times[-1] - self.times[WARM - 1])
        share = self.busy / (self.now * len(self.queues))
        return {"rate": rate, "oldest": float(max(self.ages)), "judges_busy": min(share, 1.0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=float, default=0.012)
    parser.add_argument("--update", type=float, default=0.02)
    parser.add_argument("--judge", type=float, default=1.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    print("| judges | staleness 1 | 2 | 4 | 8 | judges busy, synchronous | with 4 |")
    for judges in (1, 4, 16, 64):
        rows = {
            str(eta): [Run(eta, judges, args.step, args.update, args.judge, seed).play() for seed in range(5)]
            for eta in (0, 1, 2, 4, 8)
        }
        found[str(judges)] = rows
        mean = {eta: float(np.mean([run["rate"] for run in runs])) for eta, runs in rows.items()}
        assert all(run["oldest"] <= float(eta) for eta, runs in rows.items() for run in runs)
        ratios = " | ".join(f"{mean[eta] / mean['0']:.2f}" for eta in ("1", "2", "4", "8"))
        busy = [float(np.mean([run["judges_busy"] for run in rows[eta]])) for eta in ("0", "4")]
        print(f"| {judges} | {ratios} | {busy[0]:.0%} | {busy[1]:.0%} |")
    if args.json:
        args.json.write_text(json.dumps({"costs": vars(args) | {"json": None}, "runs": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
