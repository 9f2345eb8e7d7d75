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
    """Return the settings of threads and processes that are tried for a library."""
    if name == "lagoon":
        return [{"processes": cores}]
    if name == "sample_factory":  # Its learner always has one thread.
        return [{"processes": n} for n in range(1, cores + 1)]
    if name == "rllib":
        local = [{"processes": 0, "torch_threads": t, "env_threads": t} for t in {1, cores}]
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


def tune(name: str, python: str, recipe: Recipe, cores: int) -> tuple[Recipe, list[dict[str, Any]]]:
    """Return the recipe with a library's fastest setting, and what was tried."""
    tried = []
    options = settings(name, cores)
    for option in options:
        candidate = replace(recipe, iterations=TUNING_ITERATIONS, **option)
        try:
            speed = run(name, python, candidate, WARM_UP)["samples_per_second"] if len(options) > 1 else 0.0
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


WARM_UP, TUNING_ITERATIONS = 3, 7


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
            recipes[name], result["tuning"][name] = tune(name, pythons[name], recipe, count)
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
                found[name] = run(name, pythons[name], replace(recipes[name], seed=number), WARM_UP)
                text = f"{found[name]['samples_per_second']:,.0f} samples/s"
            except (RuntimeError, AssertionError) as error:
                text = found.setdefault("errors", {})[name] = str(error)
            print(f"round {number + 1}: {name} {text} ({time.monotonic() - start:.0f} s)", flush=True)
        result["rounds"].append(found)
        save()


def ratios(rounds: list[dict[str, Any]], name: str, key: str = "samples_per_second") -> list[float]:
    """Return lagoon's number over a library's, by round in which both ran."""
    return [found["lagoon"][key] / found[name][key] for found in rounds if "lagoon" in found and name in found]


def bounds(rounds: list[dict[str, Any]], name: str, cores: int) -> list[float]:
    """Return the ratio that would be reached if lagoon's learning took no time at all, by round.

    The environment then is all that is left: its time per step, in each of ``cores`` processes. It is the same code in
    every row of the table, so no engine can do better on it than that.
    """
    return [
        1e6 / (found["lagoon"]["environment_us"] / cores) / found[name]["samples_per_second"]
        for found in rounds
        if "lagoon" in found and name in found
    ]


def table(result: dict[str, Any]) -> str:
    """Return the rounds as markdown."""
    rounds = result["rounds"]
    lines = [
        "| library | processes x threads (physics) | samples/s | lagoon is faster by | target "
        "| if lagoon's learning were free | CPU us per sample | physics / rest of the environment / update / rest |",
        "|" + "---|" * 8,
    ]
    for name in PEERS:
        runs = [found[name] for found in rounds if name in found]
        if not runs:
            continue
        setting = result["settings"][name]
        speed, cpu = (np.median([one[key] for one in runs]) for key in ("samples_per_second", "cpu_us"))
        shares = " / ".join(f"{np.median([one['shares'][phase] for one in runs]):.0%}" for phase in PHASES)
        factor, bound = "", ""
        if name != "lagoon" and (found := ratios(rounds, name)):
            factor = f"{np.median(found):.2f} ({min(found):.2f} to {max(found):.2f})"
            bound = f"{np.median(bounds(rounds, name, result['cores'])):.2f}"
        lines.append(
            f"| {PEERS[name].title} | {setting['processes']} x {setting['torch_threads']} ({setting['env_threads']}) "
            f"| {speed:,.0f} | {factor} | {TARGETS.get(name, '')} | {bound} | {cpu:.0f} | {shares} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venvs", type=Path, help="folder of the libraries' virtual environments")
    parser.add_argument("--share", action="store_true", help="let them use the packages of this interpreter")
    parser.add_argument("--motion", type=Path, help="robot.npz of a skill; by default one is made from --command")
    parser.add_argument("--command", default="wave hello")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=15, help=f"of each run, the first {WARM_UP} do not count")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--summarise", type=Path, help="only print the table of a JSON file")
    options = parser.parse_args()
    if options.summarise is not None:
        print(table(json.loads(options.summarise.read_text())))
        return
    if options.venvs is None:
        parser.error("say where the libraries may be installed: --venvs FOLDER")
    result: dict[str, Any] = {}

    def save() -> None:
        if options.json is not None:
            write_text(options.json, json.dumps(result, indent=1) + "\n")

    measure(options, result, save)
    print(table(result))
    for name, error in result["missing"].items():
        print(f"\n{PEERS[name].title} could not be used:\n{error}")


if __name__ == "__main__":
    main()
