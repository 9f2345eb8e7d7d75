"""How good is text to motion, and what does it cost? The field's scores, predicates, latency and memory.

Usage: python benchmarks/text2motion/bench_text2motion.py --data FOLDER [--commands FILE] [--model default]
       python benchmarks/text2motion/bench_text2motion.py --table          (print results.json as Markdown)

The scores are those of `python -m lagoon.text2motion.evaluate`; latency and peak memory come from processes of their
own, one thread each, so that neither torch's caches nor another command's weights are counted. Writes
results.json beside this file; the table in benchmarks/README.md is printed from it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results.json"
COMMANDS = ("wave hello", "walk forward", "do three squats", "dance")
CANDIDATES = (1, 8, 24)
PROBE = """
import json, resource, sys, time
from lagoon.text2motion.config import GenerateConfig
from lagoon.text2motion.generate import generate
commands, candidates, model = json.loads(sys.argv[1])
config = GenerateConfig(model=model, candidates=candidates)
cold = time.perf_counter()
generate(commands[0], config, 0)
cold = time.perf_counter() - cold
wall, cpu = [], []
for seed in range(3):
    for command in commands:
        started, used = time.perf_counter(), time.process_time()
        generate(command, config, seed)
        wall.append(time.perf_counter() - started)
        cpu.append(time.process_time() - used)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"first_s": cold, "wall_s": sorted(wall), "cpu_s": sorted(cpu), "peak_mib": peak}))
"""


def probe(candidates: int, model: str) -> dict:
    """Seconds per command and peak memory of a fresh process with one thread."""
    settings = json.dumps([COMMANDS, candidates, model])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, settings], env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    middle = len(found["wall_s"]) // 2
    return {
        "candidates": candidates,
        "first_with_loading_s": round(found["first_s"], 2),
        "median_s": round(found["wall_s"][middle], 2),
        "slowest_s": round(found["wall_s"][-1], 2),
        "median_cpu_s": round(found["cpu_s"][middle], 2),
        "peak_memory_mib": round(found["peak_mib"]),
    }


def joins(model: str, seeds: int) -> dict:
    """How smooth the joins of commands of several steps are, beside the motions that they join.

    Speed is the largest of any joint [m/s], a jump the largest change of a joint's velocity from frame to frame [m/s];
    both around a join as a share of the larger 99th percentile of the two motions.
    """
    import numpy as np

    from lagoon.text2motion import composite_scores, joining
    from lagoon.text2motion.config import FPS, GenerateConfig
    from lagoon.text2motion.generate import generate

    found: dict[str, list[float]] = {"speed": [], "jump": []}
    join = joining.join

    def measured(first: np.ndarray, second: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        whole = join(first, second, lengths)
        around = slice(len(first) - 2, len(whole) - len(second) + max(joining.BLENDS) + 2)
        for order, name in ((1, "speed"), (2, "jump")):
            change = lambda pos, n=order: np.linalg.norm(np.diff(pos, n, axis=0), axis=-1).max(axis=1) * FPS  # noqa: E731
            usual = max(np.percentile(change(part), 99) for part in (first, second))
            found[name].append(float(change(whole)[around].max() / usual))
        return whole

    joining.join = measured
    try:
        for composite in composite_scores.COMPOSITES:
            for seed in range(seeds):
                generate(composite.command, GenerateConfig(model=model), seed)
    finally:
        joining.join = join
    shares = {name: np.array(values) for name, values in found.items()}
    return {"joins": len(found["speed"])} | {
        name: {
            "median": round(float(np.median(values)), 3),
            "largest": round(float(values.max()), 3),
            "within": round(float((values <= 1.0 + 1e-6).mean()), 3),
        }
        for name, values in shares.items()
    }


def join_lines(found: dict) -> list[str]:
    """The joins in one table."""
    lines = [
        f"{found['joins']} joins, as a share of the 99th percentile of the two motions that are joined:",
        "",
        "| around a join | median | largest | within the 99th percentile |",
        "|---|---|---|---|",
    ]
    names = {"speed": "largest speed of a joint", "jump": "largest change of a joint's velocity per frame"}
    rows = [
        f"| {text} | {found[n]['median']} | {found[n]['largest']} | {found[n]['within']:.0%} |"
        for n, text in names.items()
    ]
    return [*lines, *rows, ""]


def table(result: dict) -> list[str]:
    """What benchmarks/README.md shows."""
    from lagoon.text2motion.model_card import composite_lines, held_out_lines, typed_lines

    overall, seeds = result["evaluation"]["overall"], result["evaluation"]["seeds"]
    lines = [
        *held_out_lines(result["evaluation"]),
        *composite_lines(result["evaluation"]),
        *join_lines(result["joins"]),
        f"Of the {len(result['evaluation']['commands'])} fixed commands, {seeds} seeds each, "
        f"{overall['share_of_motions_that_pass']:.1%} of the motions satisfy their predicate; "
        f"{overall['commands_that_pass_in_80_percent']} commands do in 80 % of the seeds or more.",
        *typed_lines(result["evaluation"]),
        "",
        "| candidates | first command, with loading [s] | later ones, median [s] | slowest [s] | CPU, median [s] "
        "| peak memory [MiB] |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['candidates']} | {row['first_with_loading_s']} | {row['median_s']} | {row['slowest_s']} "
        f"| {row['median_cpu_s']} | {row['peak_memory_mib']} |"
        for row in result["cost"]
    ]
    return lines


def main() -> None:
    """Measure, write results.json, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="", help="folder with NAME.npz and NAME.jsonl")
    parser.add_argument("--commands", default="", help="table of further commands: split, label, command")
    parser.add_argument("--model", default="default")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--table", action="store_true", help="print the table of results.json, measure nothing")
    options = parser.parse_args()
    if not options.table:
        from lagoon.text2motion.evaluate import EvaluateConfig, evaluate

        config = EvaluateConfig(options.model, options.seeds, data=options.data, commands=options.commands)
        report = lambda fraction, message="": print(f"{fraction:4.0%} {message}", file=sys.stderr)  # noqa: E731
        result = {
            "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()},
            "cost": [probe(count, options.model) for count in CANDIDATES],
            "joins": joins(options.model, 2),
            "evaluation": evaluate(config, report),
        }
        RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print("\n".join(table(json.loads(RESULTS.read_text(encoding="utf-8")))))


if __name__ == "__main__":
    main()
