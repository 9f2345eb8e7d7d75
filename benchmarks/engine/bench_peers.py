"""PPO on the Go2 with other libraries: same environment, networks, batch, epochs; samples per second of wall time.

Every library runs through its own training loop, in a process of its own, and at the setting of threads and processes
that is fastest for it here; that is found first, with one short run of each setting. Then come rounds in which all run
one after the other. A run counts only if the library did the environment steps, gradient steps and rows of the recipe.

Libraries are installed into virtual environments of their own below ``--venvs`` (some GB and minutes).

Usage: python benchmarks/engine/bench_peers.py --venvs FOLDER [--share] [--motion FILE] [--rounds 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lagoon.paths import write_text

sys.path.insert(0, str(Path(__file__).parent))
from peers.install import PEERS, interpreter
from peers.recipe import Recipe
from peers.runs import cores, run

TARGETS = {"rsl_rl": 2.5, "sb3": 2.5, "skrl": 2.5, "sample_factory": 1.5, "rllib": 4.0}
PHASES = ("physics", "environment", "update", "rest")


def settings(name: str, cores: int) -> list[dict[str, int]]:
    """Return the settings of threads and processes that are tried for a library; the first has the fewest threads."""
    if name in ("lagoon", "lagoon_alone"):
        return [{"processes": cores if name == "lagoon" else 1}]
    if name == "sample_factory":  # Its learner always has one thread.
        return [{"processes": n} for n in range(1, cores + 1)]
    if name == "rllib":
        local = [{"processes": 0, "torch_threads": t, "env_threads": t} for t in sorted({1, cores})]
        return [*local, {"processes": cores, "torch_threads": cores}]
    return [{"torch_threads": t, "env_threads": e} for t in sorted({1, cores}) for e in sorted({1, cores})]


def motion_of(command: str, folder: Path) -> Path:
    """Return a motion for the Go2, made from a command where it does not exist yet."""
    from lagoon.retarget.config import RetargetConfig
    from lagoon.retarget.retarget import retarget
    from lagoon.robot import load_robot
    from lagoon.text2motion.config import GenerateConfig
    from lagoon.text2motion.generate import generate

    path = folder / f"{command.replace(' ', '_')}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        retarget(generate(command, GenerateConfig(), 0), load_robot("go2"), RetargetConfig())[0].save(path)
    return path


def tune(name: str, python: str, recipe: Recipe, cores: int, untuned: bool) -> tuple[Recipe, list[dict[str, Any]]]:
    """Return the recipe with a library's fastest setting, and what was tried."""
    tried = []
    options = settings(name, cores)[: 1 if untuned else None]
    for option in options:
        candidate = replace(recipe, iterations=5, **option)
        try:
            speed = run(name, python, candidate, 2)["samples_per_second"] if len(options) > 1 else 0.0
            tried.append(option | {"samples_per_second": speed})
            print(f"  {name} {option}: {speed:,.0f} samples/s", flush=True)
        except (RuntimeError, AssertionError) as error:
            tried.append(option | {"error": str(error)})
            print(f"  {name} {option}: {error}", flush=True)
    good = [entry for entry in tried if "error" not in entry]
    if not good:
        raise RuntimeError(tried[0]["error"])
    best = max(good, key=lambda entry: entry["samples_per_second"])
    return replace(recipe, **{key: best[key] for key in options[tried.index(best)]}), tried


def measure(options: argparse.Namespace, result: dict[str, Any], save: Any) -> None:
    """Install, tune, and run the rounds; what is found goes into ``result`` as it comes."""
    count = cores()
    motion = options.motion or motion_of(options.command, options.venvs)
    recipe = Recipe(str(motion.resolve()), iterations=options.iterations)
    result |= {"machine": platform.machine(), "cores": count, "recipe": json.loads(recipe.to_json())}
    result["recipe"]["motion"] = motion.name
    result |= {"settings": {}, "tuning": {}, "missing": {}, "rounds": []}
    recipes, pythons = {}, {}
    for name in options.peers:
        try:
            pythons[name] = interpreter(name, options.venvs, options.share)
            recipes[name], result["tuning"][name] = tune(name, pythons[name], recipe, count, options.untuned)
            chosen = recipes[name]
            result["settings"][name] = {k: getattr(chosen, k) for k in ("torch_threads", "env_threads", "processes")}
        except RuntimeError as error:
            result["missing"][name] = str(error)
            print(f"{PEERS[name].title} is left out: {error}", flush=True)
        save()
    for number in range(options.rounds):
        found: dict[str, Any] = {}
        names = [*recipes]
        # Another one begins each time, so that none always follows the same one.
        for name in names[number % len(names) :] + names[: number % len(names)]:
            start = time.monotonic()
            try:
                found[name] = run(name, pythons[name], replace(recipes[name], seed=number), options.warm_up)
                text = f"{found[name]['samples_per_second']:,.0f} samples/s"
            except (RuntimeError, AssertionError) as error:
                text = found.setdefault("errors", {})[name] = str(error)
            print(f"round {number + 1}: {name} {text} ({time.monotonic() - start:.0f} s)", flush=True)
        result["rounds"].append(found)
        save()


def ratios(rounds: list[dict[str, Any]], name: str) -> list[float]:
    """Return lagoon's samples per second over a library's, by round in which both ran."""
    return [
        found["lagoon"]["samples_per_second"] / found[name]["samples_per_second"]
        for found in rounds
        if "lagoon" in found and name in found
    ]


def cpu_ratios(rounds: list[dict[str, Any]], name: str, phases: tuple[str, ...] = ("all",)) -> list[float]:
    """Return a library's CPU time per sample over that of lagoon in one process, by round.

    Args:
        rounds: what was measured.
        name: of the library.
        phases: of lagoon's time that are counted. With the environment alone, which is the same code for everybody, the
            result is what no engine can exceed, however fast it learns.
    """
    return [
        found[name]["cpu_us"]["all"] / sum(found["lagoon_alone"]["cpu_us"][phase] for phase in phases)
        for found in rounds
        if "lagoon_alone" in found and name in found
    ]


def _spread(values: list[float]) -> str:
    return f"{np.median(values):.2f} ({min(values):.2f} to {max(values):.2f})" if values else ""


def _runs(result: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [found[name] for found in result["rounds"] if name in found]


def wall_table(result: dict[str, Any]) -> str:
    """Return samples per second as markdown."""
    lines = [
        "| library | processes x threads (physics) | samples/s | lagoon is faster by | target "
        "| physics / rest of the environment / update / rest |",
        "|" + "---|" * 6,
    ]
    for name in PEERS:
        if not (runs := _runs(result, name)):
            continue
        setting = result["settings"][name]
        shares = " / ".join(f"{np.median([one['shares'][phase] for one in runs]):.0%}" for phase in PHASES)
        lines.append(
            f"| {PEERS[name].title} | {setting['processes']} x {setting['torch_threads']} ({setting['env_threads']}) "
            f"| {np.median([one['samples_per_second'] for one in runs]):,.0f} "
            f"| {_spread(ratios(result['rounds'], name)) if name in TARGETS else ''} "
            f"| {TARGETS.get(name, '')} | {shares} |"
        )
    return "\n".join(lines)


def cpu_table(result: dict[str, Any]) -> str:
    """Return CPU time per sample as markdown, and what it says about wall time on cores that nobody else uses."""
    lines = [
        "| library | CPU us per sample | physics / rest of the environment / update / rest [us] | over lagoon's "
        "| if lagoon's learning were free |",
        "|" + "---|" * 5,
    ]
    for name in PEERS:
        if not (runs := _runs(result, name)):
            continue
        parts = " / ".join(f"{np.median([one['cpu_us'][phase] for one in runs]):.0f}" for phase in PHASES)
        own, free = cpu_ratios(result["rounds"], name), cpu_ratios(result["rounds"], name, PHASES[:2])
        lines.append(
            f"| {PEERS[name].title} | {np.median([one['cpu_us']['all'] for one in runs]):.0f} | {parts} "
            f"| {_spread(own)} | {f'{np.median(free):.2f}' if free else ''} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venvs", type=Path, help="folder of the libraries' virtual environments")
    parser.add_argument("--share", action="store_true", help="let them use the packages of this interpreter")
    parser.add_argument("--motion", type=Path, help="robot.npz of a skill; by default one is made from --command")
    parser.add_argument("--command", default="wave hello")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument(
        "--untuned", action="store_true", help="one thread each: for CPU time where others use the machine"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=15, help="of each run")
    parser.add_argument("--warm-up", type=int, default=3, help="iterations of these that do not count")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--summarise", type=Path, help="only print the table of a JSON file")
    options = parser.parse_args()
    if options.summarise is not None:
        result = json.loads(options.summarise.read_text())
        print(f"{wall_table(result)}\n\n{cpu_table(result)}")
        return
    if options.venvs is None:
        parser.error("say where the libraries may be installed: --venvs FOLDER")
    result: dict[str, Any] = {}

    def save() -> None:
        if options.json is not None:
            write_text(options.json, json.dumps(result, indent=1) + "\n")

    measure(options, result, save)
    print(f"{wall_table(result)}\n\n{cpu_table(result)}")
    for name, error in result["missing"].items():
        print(f"\n{PEERS[name].title} could not be used:\n{error}")


if __name__ == "__main__":
    main()
