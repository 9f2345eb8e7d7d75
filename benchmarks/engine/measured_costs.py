"""What each act of the worker graph costs on one core of this machine, for ``simulate.py``.

What enters: a motion. What leaves: ``Costs``. Times are CPU times, but for the meeting of two processes, which is
mostly waiting; on a machine that others use they are still too high, since caches and memory are shared.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from peers.recipe import CountedEnv, Recipe
from peers.tally import Tally
from simulate import Costs, Line

from lagoon.engine.acting import ActingPolicy
from lagoon.engine.batcher import Batcher
from lagoon.engine.board import Board
from lagoon.engine.config import PPOConfig
from lagoon.engine.decoupled_ppo import DecoupledPPO
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.staleness import StalenessController
from lagoon.engine.stores.shm import ShmParameterStore
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.trajectory import Field, Trajectory, TrajectorySchema, ppo_schema

HORIZON = 32


def timed(act: Callable[[], object], repeats: int) -> np.ndarray:
    """Return the CPU time of each repetition [s], after one that does not count."""
    act()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        act()
        seconds.append(time.process_time() - start)
    return np.asarray(seconds)


def measure(motion: str, config: PPOConfig) -> Costs:
    """Measure everything, in some twenty seconds of computing."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        env, spread = _environment(Recipe(motion), Tally(Path(folder)))
        probe = CountedEnv(Recipe(motion), 1, 0, Tally(Path(folder)))
        dims, actions = probe.obs_dims, probe.action_dim
        probe.close()
    policy = GaussianActorCritic.from_config(dims, actions, config, 0)
    act, take, publish = _policy(policy, dims["actor"])
    update, update_spread = _update(policy, config, dims, actions)
    schema = ppo_schema(HORIZON, 64, dims, actions)
    vector = torch.cat([parameter.detach().flatten() for parameter in policy.parameters()])
    return Costs(
        env=env,
        act=act,
        update=update,
        take=take,
        publish=publish,
        copy=_copy(schema),
        add=_add(len(vector)),
        meet=_meet(),
        grant=_grant(),
        spread=spread,
        update_spread=update_spread,
        sample_bytes=schema.offsets()[1] / (HORIZON * 64),
        parameter_bytes=float(sum(t.numel() * t.element_size() for t in policy.state_dict().values())),
    )


def _environment(recipe: Recipe, tally: Tally) -> tuple[Line, float]:
    """Return the cost of a control step by number of robots, and the spread of rollouts."""
    sizes, medians, spreads = [16, 64, 128, 256], [], []
    for rows in sizes:
        env = CountedEnv(recipe, rows, 0, tally)
        env.reset()
        noise = torch.Generator().manual_seed(0)

        def rollout(env: CountedEnv = env, rows: int = rows, noise: torch.Generator = noise) -> None:
            for _ in range(HORIZON):
                env.step(0.35 * torch.randn(rows, env.action_dim, generator=noise))

        seconds = timed(rollout, max(6, 1024 // rows))
        medians.append(float(np.median(seconds)) / HORIZON)
        spreads.append(float(seconds.std() / seconds.mean()))
        env.close()
    return Line.through([float(size) for size in sizes], medians), float(np.median(spreads))


def _policy(policy: GaussianActorCritic, width: int) -> tuple[Line, float, float]:
    store = ShmParameterStore(policy.state_dict())
    store.push(policy.state_dict(), 0)
    acting, noise = ActingPolicy(policy.facts(), store), torch.Generator().manual_seed(0)
    acting.take()
    sizes, seconds = [16, 64, 256, 1024], []
    for rows in sizes:
        obs = torch.randn(rows, width)
        seconds.append(float(timed(lambda obs=obs: acting.act(obs, noise), 40).min()))

    def take() -> None:
        acting.version = -1
        acting.take()

    version = iter(range(1, 10**6))
    publish = timed(lambda: store.push(policy.state_dict(), next(version)), 20).min()
    return Line.through([float(size) for size in sizes], seconds), float(timed(take, 20).min()), float(publish)


def _update(policy: GaussianActorCritic, config: PPOConfig, dims: dict, actions: int) -> tuple[Line, float]:
    """Return the cost of an update by samples, and the spread of a gradient step's."""
    sizes, seconds, spread = [64, 256], [], 0.0
    for rows in sizes:
        slot = Trajectory(ppo_schema(HORIZON, rows, dims, actions))
        for name in ("actor", "critic", "last_critic"):
            slot[name].normal_()
        slot["reward"].uniform_()
        with torch.no_grad():  # By chance, but from this policy: ratios far from 1 make numbers too small to be fast.
            action, logp = policy.act(slot.flat("actor"), 0.35, torch.Generator().manual_seed(0))
        slot.flat("action").copy_(action)
        slot.flat("logp").copy_(logp)
        algorithm = DecoupledPPO(policy, config, torch.Generator().manual_seed(0))
        seconds.append(float(np.median(timed(lambda a=algorithm, s=slot: a.update(s, 0.35), 5))))
        batch, _ = algorithm.prepare(slot)
        part = {name: tensor.tensor_split(config.minibatches)[0] for name, tensor in batch.items()}
        steps = timed(lambda a=algorithm, p=part: a.gradients(p, 0.35), 30)
        spread = float(steps.std() / steps.mean())
    return Line.through([float(size * HORIZON) for size in sizes], seconds), spread


def _copy(schema: TrajectorySchema) -> float:
    """Return what copying a slot into a batch takes, per sample."""
    slot = Trajectory(schema)
    batch = Trajectory(TrajectorySchema(schema.horizon, schema.batch * 4, schema.fields))

    def copy() -> None:
        for name, item in schema.fields.items():
            part = batch[name][:, : schema.batch] if item.per_step else batch[name][: schema.batch]
            part.copy_(slot[name])

    return float(timed(copy, 40).min()) / (schema.horizon * schema.batch)


def _add(count: int) -> float:
    """Return what one more vector in the sum takes."""
    few, many = (torch.zeros(n, count) for n in (2, 18))
    out = torch.empty(count)
    seconds = [timed(lambda lane=lane: torch.sum(lane, 0, out=out), 20).min() for lane in (few, many)]
    return float(seconds[1] - seconds[0]) / 16


def _answer(mine, theirs, count: int) -> None:
    for _ in range(count):
        mine.acquire()
        theirs.release()


def _meet(count: int = 2000) -> float:
    """Return half of what it takes to wake another process and be woken by it."""
    context = get_context("spawn")
    mine, theirs = context.Semaphore(0), context.Semaphore(0)
    child = context.Process(target=_answer, args=(theirs, mine, count + 100), daemon=True)
    child.start()
    for number in range(count + 100):
        if number == 100:
            start = time.perf_counter()
        theirs.release()
        mine.acquire()
    seconds = time.perf_counter() - start
    child.join()
    return seconds / count / 2


def _grant(seats: int = 512) -> float:
    """Return what the trainer's bookkeeping takes per seat, each time that a rollout has ended."""
    bell = Doorbell()
    schema = TrajectorySchema(1, 1, {"version": Field((), torch.int64)})
    stream = ShmSampleStream(schema, seats, 1, bell, [bell] * seats)
    batcher = Batcher(stream, Board(seats), bell, StalenessController(seats, 0), 0, False)
    try:
        time.sleep(0.5)  # All permits have been given out by now.
        with batcher._lock:
            return float(timed(batcher._grant, 20).min()) / seats
    finally:
        batcher.close()
