import torch

from lagoon.engine.metrics import Stopwatch
from lagoon.engine.params import MemoryParameterStore
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.streams.inline import InlineInferenceStream, InlineSampleStream
from lagoon.engine.trajectory import ppo_schema

DIMS = {"actor": 3, "critic": 5}


def test_slots_go_round_and_are_never_copied():
    stream = InlineSampleStream(ppo_schema(2, 4, DIMS, 1), slots=2)
    first, second = stream.acquire(), stream.acquire()
    assert first is not second
    assert stream.acquire() is None
    assert stream.take() is None
    stream.post(second)
    stream.post(first)
    assert stream.take() is second
    assert stream.take() is first
    stream.release(first)
    assert stream.acquire() is first


def make(policy, store, seed=0):
    return InlineInferenceStream(policy, store, torch.Generator().manual_seed(seed), Stopwatch())


def test_the_answer_comes_from_the_newest_parameters():
    policy, store = GaussianActorCritic(DIMS, 1, hidden=(4,)), MemoryParameterStore()
    stream = make(policy, store)
    store.push(policy.state_dict(), version=0)
    stream.request(0, torch.ones(2, 3))
    with torch.no_grad():
        policy.actor[-1].bias.fill_(100.0)
    store.push(policy.state_dict(), version=1)
    answer = stream.response(0)
    assert answer is not None
    assert answer.version == 1
    assert (answer.action > 90).all()


def test_a_question_is_answered_once():
    policy, store = GaussianActorCritic(DIMS, 1, hidden=(4,)), MemoryParameterStore()
    store.push(policy.state_dict(), version=0)
    stream = make(policy, store)
    assert stream.response(0) is None
    stream.request(3, torch.ones(2, 3))
    assert stream.response(0) is None
    assert stream.response(3) is not None
    assert stream.response(3) is None


def test_a_policy_that_is_a_copy_takes_over_what_was_pushed():
    learned, copy, store = (
        *(GaussianActorCritic(DIMS, 1, hidden=(4,), seed=s) for s in (1, 2)),
        MemoryParameterStore(),
    )
    learned.normalizer["actor"].update(learned.normalizer["actor"].moments(torch.randn(9, 3) + 4))
    stream = make(copy, store)
    store.push({name: tensor.clone() for name, tensor in learned.state_dict().items()}, version=7)
    stream.request(0, torch.ones(2, 3))
    answer = stream.response(0)
    assert answer is not None
    expected = make(learned, store)
    expected.request(0, torch.ones(2, 3))
    other = expected.response(0)
    assert other is not None
    assert torch.equal(answer.action, other.action)
    assert answer.version == 7
