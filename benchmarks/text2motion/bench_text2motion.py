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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results.json"
COMMANDS = ("wave hello", "walk forward", "do three squats", "dance")
CANDIDATES = (1, 8, 24)
LONGER = (
    "bow twice",
    "walk forward, then wave, then bow",
    "jump, then clap your hands",
    "sit down, then stand up",
    "kick, then turn right",
    "lie down, then wave",
)
"""Further commands with joins, beside those of composite_scores."""
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


def revision() -> str:
    """What is measured, as git names it."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=RESULTS.parent
    )
    return told.stdout.strip() or "unknown"


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


@contextmanager
def joins_recorded() -> Iterator[list[dict]]:
    """Write down how smooth every join is that is made meanwhile.

    Speed is the largest of any joint, a jump the largest change of a joint's velocity from frame to frame, both over
    every difference that a frame of the blend takes part in, as a share of the 99th percentile of the fastest joint's
    over all frames of the two motions that are joined.
    """
    from lagoon.text2motion import dataset, joining
    from lagoon.text2motion.config import FPS

    found: list[dict] = []
    join = joining.join

    def recorded(first: np.ndarray, second: np.ndarray, lengths: np.ndarray) -> joining.Joined:
        made = join(first, second, lengths)
        around = made.joint_pos_w[max(made.start - 2, 0) : made.stop + 2]
        found.append(
            {
                "speed": made.speed,
                "jump": made.jump,
                "seconds": (made.stop - made.start) / FPS,
                "slide": dataset.slide(around),
            }
        )
        return made

    joining.join = recorded
    try:
        yield found
    finally:
        joining.join = join


def joins(found: list[dict], commands: int) -> dict:
    """What became of all joins."""
    result: dict = {"joins": len(found), "commands": commands}
    for name in ("speed", "jump"):
        values = np.array([row[name] for row in found])
        result[name] = {
            "median": round(float(np.median(values)), 3),
            "largest": round(float(values.max()), 3),
            "within": round(float((values <= 1.0).mean()), 3),
        }
    result["seconds"] = [round(float(np.percentile([row["seconds"] for row in found], p)), 2) for p in (50, 100)]
    result["slide"] = round(float(np.mean([row["slide"] for row in found])), 3)
    return result


def join_lines(found: dict) -> list[str]:
    """The joins in one table."""
    lines = [
        f"{found['joins']} joins of {found['commands']} commands; a join lasts {found['seconds'][0]:g} s in the "
        f"median and {found['seconds'][1]:g} s at most, feet slide in it at {found['slide']:.3f} m/s on average:",
        "",
        "| in a join, as a share of the 99th percentile of the two motions | median | largest | within |",
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
        from lagoon.text2motion.config import GenerateConfig
        from lagoon.text2motion.evaluate import EvaluateConfig, evaluate

        config = EvaluateConfig(options.model, options.seeds, data=options.data, commands=options.commands)
        report = lambda fraction, message="": print(f"{fraction:4.0%} {message}", file=sys.stderr)  # noqa: E731
        from lagoon.text2motion.composite_scores import COMPOSITES
        from lagoon.text2motion.generate import generate

        with joins_recorded() as found:
            evaluation = evaluate(config, report)
            for command in LONGER:
                for seed in range(2):
                    generate(command, GenerateConfig(model=options.model), seed)
        result = {
            "revision": revision(),
            "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()},
            "cost": [probe(count, options.model) for count in CANDIDATES],
            "joins": joins(found, len(LONGER) + sum(not c.at_once for c in COMPOSITES)),
            "evaluation": evaluation,
        }
        RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print("\n".join(table(json.loads(RESULTS.read_text(encoding="utf-8")))))


if __name__ == "__main__":
    main()
