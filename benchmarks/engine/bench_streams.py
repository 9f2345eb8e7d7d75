"""How fast rollouts of 6 MB go from one process to another: shared memory, ZeroMQ, and a queue of the standard library.

One process writes a rollout (it copies one from its own memory, as an environment would), the other reads every byte.
Carriers are interleaved over rounds; only the ratios within a round carry over to other machines.

Usage: python benchmarks/engine/bench_streams.py [--rounds 5] [--batches 150] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from pathlib import Path

import numpy as np
import torch

from lagoon.engine.shared_memory import Doorbell
from lagoon.engine.streams.shm import ShmSampleStream
from lagoon.engine.streams.zmq import ZmqSampleReceiver, ZmqSampleSender
from lagoon.engine.trajectory import Field, TrajectorySchema

# 32 steps of 256 robots, with observations as on the Go2: 6.3 MB.
SCHEMA = TrajectorySchema(32, 256, {"actor": Field((84,)), "critic": Field((96,)), "action": Field((12,))})


def send_shm(samples, bell, count):
    source = torch.rand(SCHEMA.offsets()[1] // 4).view(torch.uint8)
    for _ in range(count):
        while (slot := samples.acquire()) is None:
            bell.wait(0.1)
        slot.memory.copy_(source)
        samples.post(slot)


def send_zmq(address, count):
    sender = ZmqSampleSender(SCHEMA, address)
    source = torch.rand(SCHEMA.offsets()[1] // 4).view(torch.uint8)
    for _ in range(count):
        while (slot := sender.acquire()) is None:
            time.sleep(1e-4)
        slot.memory.copy_(source)
        sender.post(slot)
    while sender._sent:  # Until everything has been taken.
        slot = sender.acquire()
        time.sleep(1e-4)
    sender.close()


def send_queue(queue, count):
    source = np.random.default_rng(0).random(SCHEMA.offsets()[1] // 4, dtype=np.float32)
    for _ in range(count):
        queue.put(source.copy())


def read(memory: torch.Tensor) -> float:
    return float(memory.view(torch.float32).sum())


def measure(carrier: str, count: int) -> float:
    """Return GB/s; the first fifth, in which the process starts, does not count."""
    context = multiprocessing.get_context("spawn")
    skip, received, start = count // 5, 0, 0.0
    size = SCHEMA.offsets()[1]
    if carrier == "shared memory":
        mine, theirs = Doorbell(), Doorbell()
        samples = ShmSampleStream(SCHEMA, 1, 2, mine, [theirs])
        child = context.Process(target=send_shm, args=(samples, theirs, count))

        def step() -> bool:
            slot = samples.take()
            if slot is None:
                mine.wait(0.1)
                return False
            read(slot.memory)
            samples.release(slot)
            return True
    elif carrier == "ZeroMQ":
        receiver = ZmqSampleReceiver(SCHEMA)
        child = context.Process(target=send_zmq, args=(receiver.address, count))

        def step() -> bool:
            slot = receiver.take()
            if slot is None:
                receiver._socket.poll(100)
                return False
            read(slot.memory)
            receiver.release(slot)
            return True
    else:
        queue = context.Queue(2)
        child = context.Process(target=send_queue, args=(queue, count))

        def step() -> bool:
            read(torch.from_numpy(queue.get()))
            return True

    child.start()
    while received < count:
        received += step()
        if received == skip and not start:
            start = time.monotonic()
    seconds = time.monotonic() - start
    child.join()
    return size * (count - skip) / seconds / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=150)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, list[float]] = {"shared memory": [], "ZeroMQ": [], "queue": []}
    for _ in range(args.rounds):
        for carrier, speeds in found.items():
            speeds.append(measure(carrier, args.batches))
    print(f"| carrier of {SCHEMA.offsets()[1] / 1e6:.1f} MB | GB/s, median | over the queue, by round |\n|---|---|---|")
    for carrier, speeds in found.items():
        ratios = [own / other for own, other in zip(speeds, found["queue"], strict=True)]
        print(f"| {carrier} | {np.median(speeds):.2f} | {', '.join(f'{ratio:.1f}' for ratio in ratios)} |")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
