"""The link to a Go2 over real DDS on the loopback interface, against a robot that is as choosy as the real one."""

import re
import time

import numpy as np
import pytest

from lagoon.deploy.controller.controller import Controller
from lagoon.deploy.controller.events import Mode
from lagoon.deploy.controller.requests import NOTHING, Action, Request
from lagoon.deploy.loop import run_loop
from lagoon.deploy.transport.base import MotorCommand, Transport, check_joint_order
from lagoon.deploy.unitree import idl
from lagoon.deploy.unitree.channel import LinkError, Participant, network_xml
from lagoon.deploy.unitree.config import UnitreeConfig
from lagoon.deploy.unitree.message import BadMessageError, low_cmd, low_state
from lagoon.deploy.unitree.transport import UnitreeTransport
from lagoon.errors import BadInputError


def lopsided(robot, seed=0):
    """A command in which no two numbers are equal, so that no swap goes unnoticed."""
    rng = np.random.default_rng(seed)
    values = {name: rng.uniform(0.1, 1.0, robot.num_joints) for name in ("joint_pos", "joint_vel", "kp", "kd")}
    return MotorCommand(torque=rng.uniform(-1.0, 1.0, robot.num_joints), **values)


def valid_command():
    msg = low_cmd()
    msg.fields["motor_cmd"]["mode"] = 1
    return msg


@pytest.fixture
def link(wire, robot, domain):
    opened = wire.link(robot, domain)
    yield opened
    opened.close()


def test_every_number_reaches_the_motor_of_its_name(wire, link, robot) -> None:
    command = lopsided(robot)
    link.write(command)
    wire.until(lambda: wire.go2.counts["obeyed"])
    sent, by_name = wire.sent[-1], {name: j for j, name in enumerate(robot.joint_names)}
    for ours, theirs in (("joint_pos", "q"), ("joint_vel", "dq"), ("kp", "kp"), ("kd", "kd"), ("torque", "tau")):
        for motor, name in enumerate(robot.motor_names):
            value = getattr(command, ours)[by_name[name]]
            assert getattr(sent, theirs)[motor] == pytest.approx(value, rel=1e-6), (ours, name)
    # The classic mistake leaves everything in joint order.
    assert not np.allclose(sent.q, command.joint_pos)


def test_every_measurement_comes_back_under_its_name(wire, link, robot) -> None:
    fake = wire.go2.fake
    pose = np.linspace(-0.3, 0.4, robot.num_joints)
    fake.data.qpos[fake._at.joint_qpos] = pose
    fake.data.qpos[3:7] = [0.8, 0.0, 0.6, 0.0]
    fake.faults.heat = {"RL_calf_joint": 71.0}
    fake._emit()
    wire.until(lambda: abs(link.read().joint_pos - pose).max() < 1e-5)
    state = link.read()
    assert state.imu_quat == pytest.approx([0.8, 0.0, 0.6, 0.0], abs=1e-6)
    assert state.motor_temperature[robot.joint_names.index("RL_calf_joint")] == 71.0
    assert (state.motor_temperature == 35.0).sum() == robot.num_joints - 1
    assert (state.battery, state.other_publishers) == (0.8, ())
    assert state.joint_torque.shape == (robot.num_joints,)


def test_it_is_a_transport_in_the_robots_order(link, robot) -> None:
    assert isinstance(link, Transport)
    check_joint_order(link, robot.joint_names)
    assert (link.name, link.is_real) == ("unitree:lo", False)


def test_a_simulator_that_tells_nothing_of_a_battery_has_none(wire, link) -> None:
    tell = wire.go2._told

    def without_battery(state):
        tell(state)
        fields = wire.go2._state.fields
        fields["bms_state"] = np.zeros((), fields["bms_state"].dtype)
        return wire.go2._state.encode()

    wire.go2._told = without_battery
    wire.advance(wire.time + 0.004, link)
    assert link.read().battery is None


def test_a_burst_of_states_gives_the_newest(wire, link, domain) -> None:
    """A reader with a backlog would act on the past for half a minute."""
    robot, msg = Participant("lo", domain).writer("rt/lowstate", idl.LowState), low_state()
    wire.until(lambda: robot.num_readers)
    start = round(link.read().time * 1000)
    for k in range(1, 3001):
        msg.fields["tick"] = start + k
        robot.write(msg.encode())
    patience, stamps = time.monotonic() + 5.0, []
    while round(link.read().time * 1000) != start + 3000 and time.monotonic() < patience:
        stamps.append(link.read().time)
    assert round(link.read().time * 1000) == start + 3000 and len(set(stamps)) < 1000


def test_the_robots_clock_is_kept_when_its_counter_turns_over(wire, link) -> None:
    fake = wire.go2.fake
    first = link.read().time
    fake.faults.clock_offset = 2**32 * 1e-3 - first - 0.004
    fake._emit()
    wire.until(lambda: link.read().time > first + 1e6)
    before = link.read().time
    wire.advance(wire.time + 0.01, link)
    assert link.read().time == pytest.approx(before + 0.01, abs=0.0021)


@pytest.mark.parametrize(
    "spoil",
    [lambda data: data[:200] + bytes([data[200] ^ 4]) + data[201:], lambda data: data[:-4] + bytes(4)],
    ids=["a_bit", "no_checksum"],
)
def test_the_robot_ignores_a_wrong_checksum(wire, domain, spoil) -> None:
    writer = Participant("lo", domain).writer("rt/lowcmd", idl.LowCmd)
    wire.until(lambda: writer.num_readers)
    writer.write(spoil(valid_command().encode()))
    wire.until(lambda: wire.go2.counts)
    assert (dict(wire.go2.counts), wire.sent) == ({"checksum": 1}, [])
    writer.write(valid_command().encode())
    wire.until(lambda: wire.go2.counts["obeyed"])
    assert len(wire.sent) == 1


def test_the_robot_ignores_disabled_motors_and_old_commands(wire, domain) -> None:
    writer = Participant("lo", domain).writer("rt/lowcmd", idl.LowCmd)
    wire.until(lambda: writer.num_readers)
    disabled = valid_command()
    disabled.fields["motor_cmd"]["mode"][5] = 0
    writer.write(disabled.encode())
    wire.until(lambda: wire.go2.counts["mode"])
    writer.write(valid_command().encode(), sent_ns=time.time_ns() - 200_000_000)
    wire.until(lambda: wire.go2.counts["stale"])
    assert wire.sent == []


def test_another_sender_keeps_the_link_from_opening(wire, robot, domain) -> None:
    """Re-running past this message is how a Go2 squirmed on hardware after it had stood in simulation."""
    other = Participant("lo", domain).writer("rt/lowcmd", idl.LowCmd)
    step = wire.go2.step
    wire.go2.step = lambda: (other.write(valid_command().encode()), step())
    with pytest.raises(
        LinkError, match=r"Another program sends rt/lowcmd on interface 'lo' \(participant [0-9a-f-]+\)"
    ):
        wire.link(robot, domain, listen_seconds=0.5)


def test_another_sender_at_work_trips_the_controller_and_a_silent_one_does_not(wire, link, robot, domain) -> None:
    controller = Controller(robot, [])
    controller.mode = Mode.STAND
    other = Participant("lo", domain).writer("rt/lowcmd", idl.LowCmd)
    wire.until(lambda: len(link._others.senders()) == 1)
    wire.advance(wire.time + 0.005, link)
    controller.step(link.read(), NOTHING, link.now())
    assert controller.mode is Mode.STAND
    other.write(valid_command().encode())
    wire.until(lambda: link.read().other_publishers)
    controller.step(link.read(), NOTHING, link.now())
    assert (controller.mode, controller.fault.guard) == (Mode.FAULT, "other_publisher")
    wire.time += 1.1
    assert link.read().other_publishers == ()


def test_a_wrong_checksum_of_the_robot_is_no_state(wire, link, domain) -> None:
    before = link.read()
    impostor = Participant("lo", domain).writer("rt/lowstate", idl.LowState)
    while not impostor.num_readers:
        time.sleep(0.005)
    impostor.write(low_state().encode()[:-4] + bytes(4))
    patience = time.monotonic() + 5.0
    while not link.dropped and time.monotonic() < patience:
        assert link.read() is before
    assert link.dropped == 1


def test_without_a_robot_the_error_says_what_to_check(robot, domain) -> None:
    with pytest.raises(LinkError) as caught:
        UnitreeTransport(robot, UnitreeConfig(domain=domain, find_seconds=0.5))
    assert str(caught.value) == (
        f"No rt/lowstate came in on interface 'lo', DDS domain {domain}, for 0.5 s; nobody announces it. Check the "
        "cable, that this computer has an address in the robot's network (192.168.123.x), and that "
        "'ping 192.168.123.161' answers; docs/deploy_unitree.md has the steps."
    )


def test_an_unknown_interface_is_named_with_those_there_are(robot, domain) -> None:
    with pytest.raises(BadInputError, match=r"no network interface 'eth\"/>9'. It has: .*\blo\b"):
        UnitreeTransport(robot, UnitreeConfig(interface='eth"/>9', domain=domain))
    assert "&quot;" in network_xml("a\"b'c") and "<x" not in network_xml("<x")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"interface": ""}, "UnitreeConfig.interface is ''; expected the name of a network interface"),
        ({"domain": 231}, "expected a whole number from 0 to 230"),
        ({"domain": True}, "expected a whole number from 0 to 230"),
        ({"listen_seconds": 0.0}, "UnitreeConfig.listen_seconds is 0.0; expected 0.5 to 60 seconds"),
        ({"find_seconds": float("nan")}, "expected 0.5 to 600 seconds"),
    ],
)
def test_bad_settings_are_refused(settings, says) -> None:
    with pytest.raises(BadInputError, match=re.escape(says)):
        UnitreeConfig(**settings)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e39])
def test_what_is_no_number_never_leaves(wire, link, robot, bad) -> None:
    command = lopsided(robot)
    command.kd[robot.joint_names.index("FR_calf_joint")] = bad
    with pytest.raises(BadMessageError, match=f"kd of FR_calf_joint is {re.escape(str(bad))}, which must not reach"):
        link.write(command)
    link.write(lopsided(robot, seed=1))
    wire.until(lambda: wire.go2.counts["obeyed"])
    assert len(wire.sent) == 1 and np.isfinite(wire.sent[0].kd).all()


def test_the_last_words_are_damping(wire, link, robot) -> None:
    link.write(lopsided(robot))
    with pytest.raises(BadMessageError):
        link.write(MotorCommand(**{**vars(lopsided(robot)), "kd": np.full(robot.num_joints, np.nan)}))
    link.close()
    link.close()
    wire.until(lambda: wire.go2.counts["obeyed"] >= 2)
    last = wire.sent[-1]
    assert (last.kp, last.tau, last.dq) == (pytest.approx(0.0),) * 3 and last.kd == pytest.approx(3.0)
    with pytest.raises(LinkError, match="is closed; nothing is sent"):
        link.write(lopsided(robot))
    patience = time.monotonic() + 5.0
    while wire.go2._commands.senders():
        assert time.monotonic() < patience, "a closed link is still on the network"
        time.sleep(0.005)


def test_a_link_that_could_not_be_opened_leaves_nothing_on_the_network(robot, domain) -> None:
    listener = Participant("lo", domain).writer("rt/lowstate", idl.LowState)
    with pytest.raises(LinkError) as caught:
        UnitreeTransport(robot, UnitreeConfig(domain=domain, find_seconds=0.5))
    assert "someone announces rt/lowstate (participant" in str(caught.value)
    patience = time.monotonic() + 5.0
    while listener.num_readers:
        assert time.monotonic() < patience
        time.sleep(0.005)


def test_a_link_that_has_sent_nothing_closes_in_silence(wire, link) -> None:
    link.close()
    time.sleep(0.05)
    wire.go2.step()
    assert not wire.go2.counts


def test_buttons_of_the_remote_are_seen(wire, link) -> None:
    wire.go2.remote = bytes([0x55, 0x51, 0x20, 0x02]) + bytes(36)
    wire.advance(wire.time + 0.004, link)
    wire.until(lambda: link.read() and link.buttons)
    assert link.buttons == {"L2", "B"} and link.stop_pressed
    wire.go2.remote = bytes([0x55, 0x51, 0x20, 0x00]) + bytes(36)
    wire.advance(wire.time + 0.004, link)
    wire.until(lambda: link.read() and link.buttons == {"L2"})
    assert not link.stop_pressed


def test_the_remotes_stop_reaches_the_controller_through_any_loop(wire, link, robot) -> None:
    controller = Controller(robot, [])
    wire.go2.remote = bytes([0x55, 0x51, 0x20, 0x02]) + bytes(36)
    end = link.now() + 0.1
    run_loop(controller, link, lambda _, now: NOTHING if now < end else None)
    assert (controller.mode, controller.fault.guard) == (Mode.FAULT, "operator")


def test_from_lying_through_a_skill_and_back(wire, link, robot, stand_bundle) -> None:
    """Everything but the motors: controller, codec, DDS, checksum, motor order, physics."""
    controller = Controller(robot, [stand_bundle])
    script = iter(
        [
            (Mode.DAMPING, Request(Action.STAND_UP)),
            (Mode.STAND, Request(Action.START, stand_bundle.command)),
            (Mode.STAND, Request(Action.SIT_DOWN)),
        ]
    )
    wanted, deadline, modes = next(script), link.now(), []
    heights = {}
    while link.now() < 40.0:
        deadline += 0.005
        link.sleep_until(deadline)
        request = NOTHING
        if wanted and controller.mode is wanted[0] and (controller.steady or controller.mode is Mode.DAMPING):
            request, wanted = wanted[1], next(script, None)
        link.write(controller.step(link.read(), request, link.now()))
        if not modes or controller.mode is not modes[-1]:
            modes.append(controller.mode)
        heights[controller.mode] = float(wire.go2.fake.truth()[0][2])
        if wanted is None and controller.mode is Mode.DAMPING and len(modes) > 3:
            break
    assert controller.fault is None
    assert [m for m in modes if m is not Mode.DAMPING] == [
        Mode.STAND_UP,
        Mode.STAND,
        Mode.POLICY,
        Mode.SETTLE,
        Mode.STAND,
        Mode.SIT_DOWN,
    ]
    assert modes[-1] is Mode.DAMPING and heights[Mode.STAND] > 0.25 and heights[Mode.DAMPING] < 0.15
    assert set(wire.go2.counts) <= {"obeyed", "stale"} and wire.go2.counts["obeyed"] > 1000
    assert link.dropped == 0
