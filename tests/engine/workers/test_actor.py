import torch
from point_mass import PointMass

from lagoon.engine.metrics import Stopwatch
from lagoon.engine.streams.base import Actions
from lagoon.engine.streams.inline import InlineSampleStream
from lagoon.engine.trajectory import ppo_schema
from lagoon.engine.workers.actor import ActorSpec, ActorWorker


class Scripted:
    """Answers with constant actions, and with versions that count the answers."""

    def __init__(self, action):
        self.action, self.version, self.open = action, 0, {}

    def request(self, key, obs):
        self.open[key] = obs.clone()

    def response(self, key):
        obs = self.open.pop(key, None)
        if obs is None:
            return None
        self.version += 1
        return Actions(torch.full((len(obs), 1), self.action), torch.full((len(obs),), -1.5), self.version)


def start(envs, action=1.0, horizon=6, slots=1):
    stream = InlineSampleStream(ppo_schema(horizon, envs[0].num_envs, envs[0].obs_dims, 1), slots)
    actor = ActorWorker()
    actor.configure(ActorSpec(envs, Scripted(action), stream, Stopwatch()))
    actor.start()
    return actor, stream


def test_what_happened_is_what_is_written():
    actor, stream = start([PointMass(4, seed=0)])
    twin = PointMass(4, seed=0)
    obs = twin.reset()
    expected = []
    for _ in range(6):
        result = twin.step(torch.ones(4, 1))
        expected.append((obs, result))
        obs = result.obs
    for _ in range(6):
        assert actor.poll().samples == 4
    slot = stream.take()
    assert slot is not None
    for t, (before, result) in enumerate(expected):
        assert torch.equal(slot["actor"][t], before["actor"])
        assert torch.equal(slot["critic"][t], before["critic"])
        assert torch.equal(slot["reward"][t], result.reward)
        assert torch.equal(slot["terminated"][t], result.terminated)
        assert torch.equal(slot["truncated"][t], result.truncated)
        assert torch.equal(slot["final_critic"][t][result.done_ids], result.final_obs["critic"])
    assert torch.equal(slot["last_critic"], expected[-1][1].obs["critic"])


def test_every_sample_tells_its_version():
    actor, stream = start([PointMass(4, seed=0)])
    for _ in range(6):
        actor.poll()
    slot = stream.take()
    assert slot is not None
    assert slot["version"].tolist() == [[t] * 4 for t in range(1, 7)]
    assert (slot["logp"] == -1.5).all()


def test_it_waits_for_a_free_slot():
    actor, stream = start([PointMass(4, seed=0)])
    for _ in range(6):
        actor.poll()
    assert actor.poll().samples == 0
    slot = stream.take()
    assert slot is not None
    stream.release(slot)
    assert actor.poll().samples == 4


def test_a_ring_steps_its_environments_in_turn():
    envs = [PointMass(4, seed=0), PointMass(4, seed=1)]
    actor, stream = start(envs, slots=2)
    for _ in range(12):
        assert actor.poll().samples == 4
    first, second = stream.take(), stream.take()
    assert first is not None and second is not None
    assert not torch.equal(first["actor"], second["actor"])
    assert first["version"][:, 0].tolist() == [1, 3, 5, 7, 9, 11]


def test_metrics_are_averaged_and_environments_closed():
    env = PointMass(4, seed=0)
    actor, _ = start([env], action=1.0, horizon=30)
    total = 0.0
    for _ in range(30):
        actor.poll()
    averages = actor.averages()
    twin = PointMass(4, seed=0)
    twin.reset()
    for _ in range(30):
        total += twin.step(torch.ones(4, 1)).metrics["falls"]
    assert total > 0
    assert averages["falls"] == total / 30
    actor.stop()
    assert env.closed
