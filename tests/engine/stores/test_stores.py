"""One contract for every parameter store."""

import pickle
import threading
from contextlib import closing, contextmanager

import pytest
import torch

from lagoon.engine.params import MemoryParameterStore
from lagoon.engine.policy import GaussianActorCritic
from lagoon.engine.stores.shm import ShmParameterStore
from lagoon.engine.stores.zmq import ZmqParameterServer, ZmqParameterStore

STATE = GaussianActorCritic({"actor": 3, "critic": 5}, 2, hidden=(4,)).state_dict()


def state(value):
    return {name: torch.full_like(tensor, value) for name, tensor in STATE.items()}


@contextmanager
def ends(carrier):
    """Yield the trainer's store and the store of whoever acts."""
    if carrier == "memory":
        store = MemoryParameterStore()
        yield store, store
    elif carrier == "shm":
        store = ShmParameterStore(STATE)
        yield store, pickle.loads(pickle.dumps(store))
    else:
        store = MemoryParameterStore()
        with closing(ZmqParameterServer(store)) as server, closing(ZmqParameterStore(server.address)) as reader:
            stop = threading.Event()
            thread = threading.Thread(
                target=lambda: [server.poll() or stop.wait(0.001) for _ in iter(stop.is_set, True)]
            )
            thread.start()
            try:
                yield store, reader
            finally:
                stop.set()
                thread.join()


@pytest.mark.parametrize("carrier", ["memory", "shm", "zmq"])
def test_versions_and_tags(carrier):
    with ends(carrier) as (trainer, actor):
        assert actor.version == -1
        with pytest.raises(LookupError, match="No parameters were pushed yet"):
            actor.get()
        trainer.push(state(1.0), 3)
        version, tensors = actor.get()
        assert version == 3
        assert tensors.keys() == STATE.keys()
        for name, tensor in tensors.items():
            assert (tensor.shape, tensor.dtype) == (STATE[name].shape, STATE[name].dtype)
            assert (tensor == 1.0).all()
        trainer.tag("best")
        for number in range(4, 40):
            trainer.push(state(float(number)), number)
        assert actor.get()[0] == 39
        assert (actor.get()[1]["actor.0.weight"] == 39.0).all()
        version, tensors = actor.get("best")
        assert (version, float(tensors["actor.0.weight"][0, 0])) == (3, 1.0)
        assert actor.get(3)[0] == 3
        actor.tag("best", 39)
        assert actor.get("best")[0] == 39
        with pytest.raises(LookupError, match="no parameters 12; the newest are 39"):
            actor.get(12)
        with pytest.raises(LookupError, match="'worst'"):
            actor.tag("x", "worst")
        with pytest.raises(ValueError, match="Version 39 was pushed after version 39"):
            trainer.push(state(0.0), 39)


def test_the_last_few_versions_are_kept():
    store = ShmParameterStore(STATE, keep=3)
    for number in range(30):
        store.push(state(float(number)), number)
    assert [float(store.get(number)[1]["std"]) for number in (27, 28, 29)] == [27.0, 28.0, 29.0]
    for number in range(8):
        store.tag(f"tag {number}", 27 + number % 3)
    with pytest.raises(ValueError, match="All 8 tags are in use"):
        store.tag("one more")
    with pytest.raises(ValueError, match="1 to 56 bytes"):
        store.tag("latest")
    for number in range(30, 60):
        store.push(state(float(number)), number)
    assert float(store.get("tag 0")[1]["std"]) == 27.0
    assert float(store.get(58)[1]["std"]) == 58.0


def test_a_reader_never_sees_half_of_a_version():
    store = ShmParameterStore(STATE, keep=1)
    store.push(state(0.0), 0)
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            store.push(state(float(number)), number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            version, tensors = store.get()
            assert {float(tensor.double().mean()) for tensor in tensors.values()} == {float(version)}
    finally:
        stop.set()
        writer.join()
