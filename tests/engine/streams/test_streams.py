"""One contract for every carrier of samples and of questions."""

import multiprocessing
import pickle
from contextlib import closing, contextmanager

import pytest
import torch
from orphans import orphaned_memory

from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.streams.base import Actions
from lagoon.engine.streams.inline import InlineSampleStream
from lagoon.engine.streams.shm import ShmInferenceStream, ShmSampleStream
from lagoon.engine.streams.zmq import (
    ZmqInferenceService,
    ZmqInferenceStream,
    ZmqSampleReceiver,
    ZmqSampleSender,
)
from lagoon.engine.trajectory import ppo_schema
from lagoon.errors import BadInputError
from tests.engine.waiting import soon

DIMS = {"actor": 3, "critic": 5}
SCHEMA = ppo_schema(4, 6, DIMS, 2)
OBS, ACTIONS = torch.arange(18.0).view(6, 3), Actions(torch.arange(12.0).view(6, 2), torch.arange(6.0), 7)


@contextmanager
def sample_ends(carrier):
    if carrier == "zmq":
        with (
            closing(ZmqSampleReceiver(SCHEMA, slots=2)) as receiver,
            closing(ZmqSampleSender(SCHEMA, receiver.address, slots=2)) as sender,
        ):
            yield sender, receiver
        return
    stream = InlineSampleStream(SCHEMA, slots=2) if carrier == "inline" else ShmSampleStream(SCHEMA, slots=2)
    yield stream, stream


@contextmanager
def inference_ends(carrier):
    if carrier == "zmq":
        with (
            closing(ZmqInferenceService(6, 3, 2)) as service,
            closing(ZmqInferenceStream(service.address, 6, 3, 2)) as stream,
        ):
            yield stream, service
        return
    stream = ShmInferenceStream(2, 6, 3, 2)
    yield stream, stream


def fill(slot, seed):
    generator = torch.Generator().manual_seed(seed)
    for name, field in SCHEMA.fields.items():
        slot[name].copy_(
            torch.randint(0, 2 if field.dtype == torch.bool else 100, slot[name].shape, generator=generator)
        )
    return {name: slot[name].clone() for name in SCHEMA.fields}


@pytest.mark.parametrize("carrier", ["inline", "shm", "zmq"])
def test_slots_go_round(carrier):
    with sample_ends(carrier) as (actor, trainer):
        assert trainer.take() is None
        first, second = actor.acquire(), actor.acquire()
        assert first is not second
        assert actor.acquire() is None  # All slots are in use: the actor has to wait.
        written = fill(second, 1)
        actor.post(second)
        fill(first, 2)
        actor.post(first)
        oldest = soon(trainer.take)
        assert all(torch.equal(oldest[name], written[name]) for name in SCHEMA.fields)
        assert actor.acquire() is None
        oldest["reward"].mul_(2)  # The trainer may write into what is its own.
        trainer.release(oldest)
        again = soon(actor.acquire)
        fill(again, 3)
        actor.post(again)
        newer = soon(trainer.take)
        assert not torch.equal(newer["actor"], written["actor"])


@pytest.mark.parametrize("carrier", ["shm", "zmq"])
def test_questions_get_their_answers_once(carrier):
    with inference_ends(carrier) as (actor, server):
        assert server.questions() == []
        assert actor.response(1) is None
        actor.request(0, OBS)
        actor.pin(1, 5)
        actor.request(1, OBS + 1)
        assert actor.response(0) is None
        soon(lambda: len(server.questions()) == 2)
        zero, one = server.questions()
        assert (zero.seat, zero.version, one.seat, one.version) == (0, -1, 1, 5)
        assert torch.equal(zero.obs, OBS) and torch.equal(one.obs, OBS + 1)
        server.answer(one, ACTIONS)
        assert [question.seat for question in server.questions()] == [0]
        answer = soon(lambda: actor.response(1))
        assert torch.equal(answer.action, ACTIONS.action) and torch.equal(answer.logp, ACTIONS.logp)
        assert answer.version == 7
        assert actor.response(1) is None
        assert actor.response(0) is None


def test_an_answer_to_a_dead_actors_question_is_not_taken_for_another():
    stream = ShmInferenceStream(1, 6, 3, 2)
    dead, alive = stream.of_actor(0), stream.of_actor(0)
    dead.request(0, OBS)
    (old,) = stream.questions()
    alive.request(0, OBS + 1)
    stream.answer(old, ACTIONS)
    assert alive.response(0) is None
    (new,) = stream.questions()
    assert torch.equal(new.obs, OBS + 1)
    stream.answer(new, ACTIONS)
    assert alive.response(0) is not None


def test_what_a_dead_actor_was_writing_is_free_again_and_what_it_posted_stays():
    stream = ShmSampleStream(SCHEMA, seats=2, slots=2)
    posted, writing = stream.of_actor(1).acquire(), stream.of_actor(1).acquire()
    written = fill(posted, 4)
    stream.post(posted)
    assert stream.of_actor(1).acquire() is None
    stream.abandon(1)
    assert stream.of_actor(1).acquire() is writing
    assert (stream.waiting(), stream.waiting(0), stream.waiting(1)) == (1, 0, 1)
    taken = stream.take(seat=1)
    assert stream.seat_of(taken) == 1
    assert torch.equal(taken["actor"], written["actor"])


def test_policy_workers_share_the_seats():
    stream = ShmInferenceStream(5, 6, 3, 2)
    for seat in range(5):
        stream.of_actor(seat).request(0, OBS)
    assert [question.seat for question in stream.of_server(0, 2).questions()] == [0, 2, 4]
    assert [question.seat for question in stream.of_server(1, 2).questions()] == [1, 3]


def test_another_layout_is_refused():
    with closing(ZmqSampleReceiver(SCHEMA)) as receiver:
        other = ppo_schema(5, 6, DIMS, 2)
        with closing(ZmqSampleSender(other, receiver.address)) as sender:
            sender.post(sender.acquire())
            with pytest.raises(BadInputError, match="another layout than horizon 4, 6 environments"):
                soon(receiver.take)
    with (
        closing(ZmqInferenceService(6, 3, 2)) as service,
        closing(ZmqInferenceStream(service.address, 6, 4, 2)) as stream,
    ):
        stream.request(0, torch.zeros(6, 4))
        with pytest.raises(BadInputError, match="6 observations of 3 numbers"):
            soon(service.questions)
    with pytest.raises(BadInputError, match=r"'tcp://nowhere'.*Expected tcp://HOST:PORT"):
        ZmqSampleReceiver(SCHEMA, "tcp://nowhere")


def test_a_bell_is_heard_once_however_often_it_rang():
    bell = Doorbell()
    assert not bell.wait(0.0)
    for _ in range(100_000):  # More than a pipe holds: a ring never blocks.
        bell.ring()
    assert bell.wait(1.0)
    while bell.wait(0.0):
        pass
    assert not bell.wait(0.0)


def echo(samples, inference, consumer, bell):
    """In another process: answer one question, then give every slot back with its reward doubled."""
    while not (questions := inference.questions()):
        bell.wait(1.0)
    inference.answer(questions[0], ACTIONS)
    slot = samples.acquire()
    slot["reward"].fill_(2.0)
    samples.post(slot)


def test_two_processes_share_memory_without_a_name_for_it(tmp_path):
    before = orphaned_memory()
    consumer, bell = Doorbell(), Doorbell()
    samples = ShmSampleStream(SCHEMA, consumer=consumer)
    inference = ShmInferenceStream(1, 6, 3, 2, servers=[bell])
    context = multiprocessing.get_context("fork")  # What is pickled for "spawn" is tested with whole runs.
    child = context.Process(target=echo, args=(samples, inference, consumer, bell))
    child.start()
    inference.request(0, OBS)
    assert consumer.wait(30)
    taken = samples.take()
    assert (taken["reward"] == 2.0).all()
    answer = inference.response(0)
    assert answer is not None and torch.equal(answer.action, ACTIONS.action)
    child.join()
    assert orphaned_memory() <= before
    copy = pickle.loads(pickle.dumps(samples.__getstate__()["_block"]))
    assert torch.equal(copy.memory, samples._block.memory)
