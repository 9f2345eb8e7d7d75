"""What the second process of tests/engine/test_processes.py does; it must be importable there."""

from __future__ import annotations

import atexit
import os
import signal

import torch

from lagoon.engine.config import PPOConfig
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.ppo import PPO
from lagoon.engine.trajectory import Trajectory, ppo_schema

DIMS, ACTIONS, ENVS, HORIZON, STD = {"actor": 6, "critic": 9}, 3, 16, 12, 0.3
# One minibatch: only then do both ranks together use the rows that the single process uses.
CONFIG = PPOConfig(num_envs=ENVS, horizon=HORIZON, hidden=(32, 16), epochs=6, minibatches=1, amx=False)


def make_ppo(group):
    policy = GaussianActorCritic.from_config(DIMS, ACTIONS, CONFIG, seed=0)
    return policy, PPO(policy, CONFIG, torch.Generator().manual_seed(0), group)


def rollout(rank, size):
    """Return one random rollout, or the share of a rank of the very same rollout."""
    rng = torch.Generator().manual_seed(7)
    policy = GaussianActorCritic.from_config(DIMS, ACTIONS, CONFIG, seed=0)
    whole = Trajectory(ppo_schema(HORIZON, ENVS, DIMS, ACTIONS))
    for name in ("actor", "critic", "reward", "final_critic", "last_critic"):
        whole[name].normal_(1.0, 2.0, generator=rng)
    for name in ("terminated", "truncated"):
        whole[name].copy_(torch.rand(whole[name].shape, generator=rng) < 0.1)
    with torch.no_grad():
        whole["action"][:], whole["logp"][:] = policy.act(whole["actor"], STD, rng)
    own = ENVS // size
    share = Trajectory(ppo_schema(HORIZON, own, DIMS, ACTIONS))
    for name, field in share.schema.fields.items():
        columns = slice(rank * own, (rank + 1) * own)
        share[name].copy_(whole[name][:, columns] if field.per_step else whole[name][columns])
    return share


def learn(group):
    """Return gradients at the start, and parameters and statistics after two updates, as one vector each."""
    policy, ppo = make_ppo(group)
    share = rollout(group.rank, group.size)
    batch, _ = ppo.prepare(share)
    ppo.gradients(batch, STD)
    first = group.sum_(ppo.flat.reduced).div_(group.size).clone()
    for _ in range(2):
        ppo.update(share, STD)
    state = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    return first, state, ppo.lr


def follow(group):
    """Learn beside rank 0, then show that both ended with equal bits."""
    group.gather(learn(group))
    for length in (1, 5, 2000, 2000, 1500):
        group.gather(group.sum_(torch.arange(length, dtype=torch.float32) * (group.rank + 1)).clone())
    group.gather((os.sched_getaffinity(0), torch.get_num_threads()))


def mark_the_end(path, group):
    """Exchange tensors, and leave a file behind if the interpreter comes to its end."""
    atexit.register(path.touch)
    group.gather({"noise": torch.zeros(5000, dtype=torch.uint8)})


def fail(group):
    """Fail as an environment might."""
    raise ValueError("the floor is missing")


def vanish(group):
    """Be killed from outside."""
    os.kill(os.getpid(), signal.SIGKILL)
