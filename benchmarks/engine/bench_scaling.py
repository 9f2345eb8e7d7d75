"""How the engine scales: one and two workers measured, many simulated from measured costs.

- measured: ``colocated`` with one and two workers, ``async`` and ``decoupled`` with one and two actors beside the
  trainer (with two actors there are more processes than cores here), 128 robots per worker, interleaved rounds.
- validated: the simulation of the same systems on as many cores as there are, from the costs of each act.
- studied: up to 512 actors with a core each, also with what this machine does not have (a faster trainer, a network).

Usage: python benchmarks/engine/bench_scaling.py --motion robot.npz [--rounds 3] [--json FILE] [--plot FILE.png]
       python benchmarks/engine/bench_scaling.py --study FILE.json [--plot FILE.png]   (from an earlier run's costs)
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from simulate import Costs, Line, System, simulate

from lagoon.engine.config import PPOConfig
from lagoon.paths import write_text

ACTORS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SHOWN = (1, 2, 8, 64, 512)
FASTER, LINK = 20.0, 1.25e9
"""Assumed, not measured: an accelerator learns 20 times as fast as a core; a link of 10 Gbit/s."""
POINTS = [(topology, workers) for topology in ("colocated", "async", "decoupled") for workers in (1, 2)]
STUDY: dict[str, dict[str, Any]] = {
    "colocated, sums in shared memory": {"topology": "colocated"},
    "colocated, sums over 10 Gbit/s": {"topology": "colocated", "link": LINK},
    "async": {"topology": "async"},
    "async, environment 20 times slower": {"topology": "async", "slower": 20.0},
    "async, trainer 20 times faster": {"topology": "async", "trainer_speed": FASTER},
    "async, trainer 20 times faster, 10 Gbit/s": {"topology": "async", "trainer_speed": FASTER, "link": LINK},
    "decoupled, trainer 20 times faster": {"topology": "decoupled", "trainer_speed": FASTER},
    "decoupled, trainer 20 times faster, a policy worker per 16 actors": {
        "topology": "decoupled",
        "trainer_speed": FASTER,
        "per_policy_worker": 16,
    },
}


def measure_points(motion: Path, rounds: int, iterations: int = 14, warm_up: int = 4) -> dict[str, list[float]]:
    """Return samples per second of every point, by round."""
    from peers.recipe import Recipe
    from peers.runs import run

    found: dict[str, list[float]] = {f"{topology} {workers}": [] for topology, workers in POINTS}
    for number in range(rounds):
        for topology, workers in POINTS:
            recipe = Recipe(
                str(motion.resolve()), iterations=iterations, num_envs=128 * workers, processes=workers, seed=number
            )
            # Actors go on while the trainer learns, so that a window ends in the middle of rollouts.
            tolerance = 0.0 if topology == "colocated" else 0.1
            speed = run("lagoon", sys.executable, recipe, warm_up, (topology,), tolerance)["samples_per_second"]
            found[f"{topology} {workers}"].append(speed)
            print(f"round {number + 1}: {topology} {workers}: {speed:,.0f} samples/s", flush=True)
    return found


def predict(costs: Costs, cores: int) -> dict[str, float]:
    """Return the simulated samples per second of the measured points."""
    return {
        f"{topology} {workers}": simulate(System(topology, workers, cores=cores), costs, 14).samples_per_second
        for topology, workers in POINTS
    }


def system_of(name: str, actors: int) -> tuple[System, float]:
    """Return a studied system with so many actors, and how much slower its environment is."""
    facts = dict(STUDY[name])
    slower = facts.pop("slower", 1.0)
    if per := facts.pop("per_policy_worker", 0):
        facts["policy_workers"] = max(1, actors // per)
    return System(actors=actors, **facts), slower


def study(costs: Costs, actors: tuple[int, ...] = ACTORS) -> dict[str, list[dict[str, Any]]]:
    """Return what every studied system does with every number of actors."""
    found = {}
    for name in STUDY:
        found[name] = []
        for count in actors:
            system, slower = system_of(name, count)
            own = replace(costs, env=Line(costs.env.fixed * slower, costs.env.row * slower))
            result = simulate(system, own, updates=6, warm_up=3)
            found[name].append({"actors": count, "cause": result.cause, **asdict(result)})
        print(f"simulated: {name}", flush=True)
    return found


def bend(rows: list[dict[str, Any]], share: float = 0.8) -> int | None:
    """Return the first number of actors with less than a share of what ideal scaling from one would give."""
    first = rows[0]["samples_per_second"] / rows[0]["actors"]
    return next((row["actors"] for row in rows if row["samples_per_second"] < share * first * row["actors"]), None)


def tables(result: dict[str, Any]) -> str:
    """Return measured against simulated, and the study, as markdown."""
    lines = ["| system | measured here, samples/s | simulated | simulated over measured |", "|---|---|---|---|"]
    for name, speeds in result["measured"].items():
        middle, expected = float(np.median(speeds)), result["predicted"][name]
        lines.append(
            f"| {name} | {middle:,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f}) | {expected:,.0f} "
            f"| {expected / middle:.2f} |"
        )
    for topology in ("colocated", "async", "decoupled"):
        one, two = (result["measured"].get(f"{topology} {workers}", []) for workers in (1, 2))
        pairs = zip(one, two, strict=True)
        ratios = [two / one for one, two in pairs]
        if ratios:
            ours = result["predicted"][f"{topology} 2"] / result["predicted"][f"{topology} 1"]
            lines.append(f"\n{topology}, two over one: {np.median(ratios):.2f} by round, simulated {ours:.2f}")
    heads = " | ".join(f"{count}" for count in SHOWN)
    lines += [f"\n| thousand samples/s with so many actors | {heads} | below 80 % of ideal from | busiest with 512 |"]
    lines += ["|" + "---|" * (len(SHOWN) + 3)]
    for name, rows in result["study"].items():
        by = {row["actors"]: row for row in rows}
        thousands = [by[count]["samples_per_second"] / 1e3 for count in SHOWN]
        speeds = " | ".join(f"{value:,.0f}" if value >= 10 else f"{value:.1f}" for value in thousands)
        last = rows[-1]
        lines.append(
            f"| {name} | {speeds} | {bend(rows) or 'never'} | {last['cause']} {last['busy'][last['cause']]:.0%} |"
        )
    lines += ["\n| trainer busy / mean age of samples | " + heads + " |", "|" + "---|" * (len(SHOWN) + 1)]
    for name, rows in result["study"].items():
        if "trainer" in rows[0]["busy"]:
            by = {row["actors"]: row for row in rows}
            cells = (f"{by[n]['busy']['trainer']:.0%} / {by[n]['staleness_mean']:.2f}" for n in SHOWN)
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(result: dict[str, Any], path: Path) -> None:
    """Draw samples per second and the trainer's share over the number of actors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (speed, busy) = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
    colors = plt.get_cmap("tab10").colors
    for number, (color, (name, rows)) in enumerate(zip(colors, result["study"].items(), strict=False)):
        actors = [row["actors"] for row in rows]
        # Systems with the same bottleneck lie on one another: later lines are thinner.
        style = {"color": color, "marker": "o", "markersize": 3, "label": name, "linewidth": 3.5 - 0.4 * number}
        speed.loglog(actors, [row["samples_per_second"] for row in rows], **style)
        if "trainer" in rows[0]["busy"]:
            busy.semilogx(actors, [row["busy"]["trainer"] for row in rows], **style)
    first = result["study"]["colocated, sums in shared memory"][0]["samples_per_second"]
    counts = [row["actors"] for row in result["study"]["colocated, sums in shared memory"]]
    speed.loglog(
        counts, [first * count for count in counts], "k:", linewidth=1, label="ideal, from one colocated worker"
    )
    points = [(int(name.split()[1]), np.median(speeds)) for name, speeds in result["measured"].items() if speeds]
    if points:
        speed.loglog(*zip(*points, strict=True), "kx", label="measured here, on 2 cores")
    speed.set(xlabel="actors (colocated: workers)", ylabel="samples/s")
    busy.set(xlabel="actors", ylabel="share of the time that the trainer works", ylim=(0, 1.05))
    for axes in (speed, busy):
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.legend(*speed.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def load_costs(facts: dict[str, Any]) -> Costs:
    """Return costs from JSON."""
    known: dict[str, Any] = facts | {name: Line(**facts[name]) for name in ("env", "act", "update")}
    return Costs(**known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--motion", type=Path, help="robot.npz of a skill")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--study", type=Path, help="take measurements and costs from this JSON file")
    parser.add_argument("--actors", nargs="+", type=int, default=list(ACTORS), help=f"simulated; with {SHOWN} in it")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    if options.study is not None:
        result = json.loads(options.study.read_text())
    elif options.motion is not None:
        from measured_costs import measure
        from peers.runs import cores

        result = {"cores": cores(), "costs": asdict(measure(str(options.motion.resolve()), PPOConfig()))}
        result["measured"] = measure_points(options.motion, options.rounds)
    else:
        parser.error("say which motion to learn: --motion robot.npz")
    costs = load_costs(result["costs"])
    result |= {"predicted": predict(costs, result["cores"]), "study": study(costs, tuple(options.actors))}
    target = options.json or options.study
    if target is not None:
        write_text(target, json.dumps(result, indent=1) + "\n")
    if options.plot is not None:
        plot(result, options.plot)
    print(tables(result))


if __name__ == "__main__":
    main()
