"""Actors of other machines: who may join, what is refused, and that a training gains and never loses by them."""

import json
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from point_mass import make_point_mass

from lagoon.engine.checkpoint import load_checkpoint
from lagoon.engine.config import GraphConfig, PPOConfig
from lagoon.engine.graph import GraphSession
from lagoon.engine.nodes import identity_of
from lagoon.engine.remote import gateway, joiner
from lagoon.engine.remote.joiner import Line, LostError, act_for, parcel
from lagoon.engine.run import run
from lagoon.engine.topology import graph_of
from lagoon.errors import BadInputError, BadSettingError

SMALL = PPOConfig(
    num_envs=64,
    horizon=16,
    hidden=(32, 32),
    gamma=0.95,
    total_steps=8 * 1024,
    tensorboard=False,
    topology="async",
    graph=GraphConfig(actors=1, max_staleness=2, listen="tcp://127.0.0.1:*", remote_seats=3),
)
IDENTITY = identity_of(make_point_mass)


@pytest.fixture
def session(monkeypatch):
    """A trainer whose own actors never start, so that every rollout comes from a joiner."""
    monkeypatch.setattr(GraphSession, "_actor", lambda self, number, starts: idle)
    session = GraphSession(make_point_mass, SMALL, 0, graph_of(SMALL, [0]), None)
    yield session
    session.close()


def idle(report):
    time.sleep(60)


def join(line, **changes):
    header = {"what": "join", "protocol": gateway.PROTOCOL, "identity": IDENTITY, "seats": 2, "name": "there"}
    return line.ask(header | changes)[0]


def permit(line, seconds=60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = line.ask({"what": "beat"})[0]
        if found.get("permits"):
            return found
        time.sleep(0.02)
    raise AssertionError("no permit")


class Joined:
    """A joiner in a thread."""

    def __init__(self, address, **options):
        self.stop, self.result, self.status = threading.Event(), [], []
        make = options.pop("make_env", make_point_mass)

        def work():
            try:
                self.result.append(act_for(address, make, IDENTITY, 2, self.stop.is_set, self.status.append, **options))
            except Exception as error:
                self.result.append(error)

        self.thread = threading.Thread(target=work)
        self.thread.start()

    def end(self):
        self.stop.set()
        self.thread.join(60)
        assert not self.thread.is_alive()
        return self.result[0]


def test_a_training_learns_from_another_machine_alone_and_knows_the_age_of_every_sample(session):
    other = Joined(session.gateway.address)
    for iteration in range(5):
        assert session.ready(lambda: False)
        logged = session.iterate(iteration / 5)
        assert logged["staleness/max"] <= SMALL.graph.max_staleness and logged["queue/remote"] == 2.0
    assert session.version == 5 and logged["train/reward"] > 0
    # What the joiner's environments say comes by its own clock, so it may miss the log of any one iteration.
    wait_until(lambda: session.ready(lambda: False) and "env/falls" in session.iterate(1.0))
    assert other.end() == "Stopped here."
    wait_until(lambda: session.gateway.in_use == 0)


def wait_until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "It took too long."
        time.sleep(0.02)


def test_who_differs_is_refused_with_the_difference(session):
    line = Line(session.gateway.address)
    assert "the environment other" in join(line, identity="other-robot")["error"]
    assert "speaks protocol 99" in join(line, protocol=99)["error"]
    assert "asks for 0 seats" in join(line, seats=0)["error"]
    assert join(line)["seats"] == [2, 3] and join(Line(session.gateway.address), seats=9)["seats"] == [4]
    assert "0 are free" in join(Line(session.gateway.address))["error"]
    with pytest.raises(BadInputError, match=r"refuses\. This machine has the environment nobody"):
        act_for(session.gateway.address, make_point_mass, "nobody", 1, lambda: False)
    assert parcel(session.gateway.address) == (IDENTITY, b"")


def test_noise_and_lies_cost_the_sender_its_seats_and_nobody_else(session):
    address = session.gateway.address
    for frames in ([b"\x80\x04noise"], [b"[1]"], [b"{}"], [b"9" * 100_000], [b'{"what": "join"}'], [b"[" * 60_000]):
        line = Line(address)
        line._socket.send_multipart(frames)
        assert line.receive(5.0)[0]["what"] == "refused"
    asked = Line(address).ask({"what": "tag", "name": "mine", "which": "latest", "number": 1})[0]
    assert asked["what"] == "unknown"  # Strangers read parameters and change nothing.
    size = session.stream.schema.offsets()[1]
    bad_floats = torch.full((size // 4,), float("nan")).view(torch.uint8).numpy().tobytes()
    future = bytearray(size)
    place = session.stream.schema.offsets()[0]["version"]
    future[place : place + 8] = (10**9).to_bytes(8, "little")
    for layout, body in ((None, b"short"), ("00", bytes(size)), (None, bad_floats), (None, bytes(future))):
        line = Line(address)
        layout = layout or join(line)["layout"]
        if layout == "00":
            join(line)
        seat = permit(line)["permits"][0]
        line.send({"what": "rollout", "seat": seat, "layout": layout}, body)
        assert line.receive(5.0)[0]["what"] == "refused"
        assert line.ask({"what": "beat"})[0] == {"what": "unknown"} and session.gateway.in_use == 0
    line = Line(address)
    answer = join(line)
    line.send({"what": "rollout", "seat": answer["seats"][0], "layout": answer["layout"]}, bytes(size))
    assert line.receive(5.0)[0]["what"] == "refused"  # Without a permit.
    assert session.stream.waiting() == 0 and session.batcher.staleness.running <= 2 * 3


def test_a_joiner_that_dies_is_forgotten_and_one_that_comes_back_is_welcome(session, monkeypatch):
    monkeypatch.setattr(gateway, "SILENT_SECONDS", 0.5)
    line = Line(session.gateway.address)
    seats = join(line, seats=3)["seats"]
    assert permit(line)["permits"]
    wait_until(lambda: session.gateway.in_use == 0)
    wait_until(lambda: sum(session.batcher._outstanding[seat] for seat in seats) == 0)
    assert line.ask({"what": "beat"})[0] == {"what": "unknown"}
    again = join(line, seats=3)
    assert again["seats"] == seats and again["seeds"] != join(line, seats=3)["seeds"]
    for _ in range(3):  # No permit was lost with the dead: all of them can be had again.
        line.close()
        line = Line(session.gateway.address)
        wait_until(lambda: session.gateway.in_use == 0)
        join(line, seats=3)
        permit(line)


def test_a_joiner_waits_for_a_trainer_that_is_away_and_gives_up_in_the_end(monkeypatch):
    monkeypatch.setattr(joiner, "_ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(joiner, "_AGAIN_SECONDS", 0.1)
    with pytest.raises(LostError, match=r"No trainer answers at tcp://127\.0\.0\.1:9"):
        act_for("tcp://127.0.0.1:9", make_point_mass, IDENTITY, 1, lambda: False, patience=0.5)


def test_settings_that_cannot_work_are_refused():
    for address in ("everywhere", "tcp://host", "ipc:///tmp/x", "tcp://a b:1"):
        with pytest.raises(BadSettingError, match="listen"):
            GraphConfig(listen=address)
    with pytest.raises(BadSettingError, match="lockstep"):
        GraphConfig(listen="tcp://127.0.0.1:1", lockstep=True)


OTHER_MACHINE = """
import sys, time
sys.path.insert(0, sys.argv[2])
from point_mass import make_point_mass
from lagoon.engine.nodes import identity_of
from lagoon.engine.remote.joiner import act_for
end = time.monotonic() + 120
print(act_for(sys.argv[1], make_point_mass, identity_of(make_point_mass), 2, lambda: time.monotonic() > end))
"""


def namespaces():
    """Two network namespaces joined by a cable, or None where this user may not make them."""
    steps = (
        "ip netns add lagoon-there",
        "ip link add lagoon0 type veth peer name lagoon1 netns lagoon-there",
        "ip addr add 10.237.91.1/30 dev lagoon0",
        "ip link set lagoon0 up",
        "ip -n lagoon-there addr add 10.237.91.2/30 dev lagoon1",
        "ip -n lagoon-there link set lagoon1 up",
    )
    try:
        return all(subprocess.run(step.split(), capture_output=True).returncode == 0 for step in steps)
    except OSError:
        return False


@pytest.fixture
def cable():
    made = namespaces()
    yield made
    if made:
        subprocess.run(["ip", "netns", "del", "lagoon-there"], capture_output=True)


@pytest.mark.slow
def test_two_machines_train_together_over_a_network_and_one_may_be_killed(tmp_path, cable):
    if not cable:
        pytest.skip("this user may not make network namespaces")
    listen, folder = "tcp://10.237.91.1:29517", str(Path(__file__).parents[1])
    config = replace(SMALL, total_steps=60 * 1024, graph=replace(SMALL.graph, listen=listen))
    command = ["ip", "netns", "exec", "lagoon-there", sys.executable, "-c", OTHER_MACHINE, listen, folder]
    first = subprocess.Popen(command)

    class Watch:
        second = None
        seen = 0.0

        def on_iteration(self, info, policy):
            self.seen = max(self.seen, info.metrics["queue/remote"])
            if self.seen and first.poll() is None:
                first.kill()
                self.second = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            return False

    watch = Watch()
    gateway_seconds, gateway.SILENT_SECONDS = gateway.SILENT_SECONDS, 1.0
    try:
        path = run(make_point_mass, config, tmp_path, 0, watch)
    finally:
        gateway.SILENT_SECONDS = gateway_seconds
        first.kill()
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert load_checkpoint(path).facts["finished"] and max(row["staleness/max"] for row in rows) <= 2
    if watch.second is not None:
        assert watch.second.communicate(timeout=60)[0].strip() == "The training has ended."
    assert watch.seen >= 2.0
