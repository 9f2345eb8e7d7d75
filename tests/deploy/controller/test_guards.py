"""Each guard, tripped by its fault: damping within two control periods, latched, told as data."""

import dataclasses
import json

import numpy as np
import onnx
import pytest

from lagoon.bundle.playback import write_playback
from lagoon.deploy.controller import Action, GuardConfig, Kind, Mode, Request
from lagoon.deploy.controller.state_guard import StateGuard
from lagoon.deploy.transport.base import RobotState
from lagoon.motion.rotations import quat_from_axis_angle

PERIODS = 2
STEPS = round(PERIODS * 0.02 / 0.005)
X, Y = np.eye(3)[:2]


def spoil(**changes):
    """A fault that lies in every state from now on; values may be functions of the state."""

    def fault(puppet, k):
        state = puppet.state()
        return {name: value(getattr(state, name)) if callable(value) else value for name, value in changes.items()}

    return fault


def at(index, value):
    def put(array):
        array = array.copy()
        array[index] = value
        return array

    return put


FAULTS = {
    "nan position": ("bad_state", spoil(joint_pos=at(3, np.nan))),
    "inf velocity": ("bad_state", spoil(joint_vel=at(0, np.inf))),
    "nan gyro": ("bad_state", spoil(imu_ang_vel=at(2, np.nan))),
    "nan battery": ("bad_state", spoil(battery=float("nan"))),
    "nan temperature": ("bad_state", spoil(motor_temperature=at(1, np.nan))),
    "nan stamp": ("bad_state", spoil(time=float("nan"))),
    "no stamp": ("bad_state", spoil(time=None)),
    "words for a battery": ("bad_state", spoil(battery="full")),
    "no gyro": ("bad_state", spoil(imu_ang_vel=None)),
    "no orientation": ("bad_state", spoil(imu_quat=np.zeros(4))),
    "xyzw orientation of half norm": ("bad_state", spoil(imu_quat=np.array([0.5, 0, 0, 0]))),
    "eleven joints": ("bad_state", spoil(joint_pos=np.zeros(11))),
    "text": ("bad_state", spoil(joint_pos=np.array(["a"] * 12))),
    "stamp goes back": ("clock", spoil(time=lambda t: t - 0.5)),
    "stamp jumps ahead": ("clock", spoil(time=lambda t: t + 2.0)),
    "on its side": ("tilt", spoil(imu_quat=quat_from_axis_angle(X, 0.7))),
    "on its nose": ("tilt", spoil(imu_quat=-quat_from_axis_angle(Y, 0.7))),
    "upside down": ("tilt", spoil(imu_quat=quat_from_axis_angle(X, np.pi))),
    "joint past its stop": ("joint_position", spoil(joint_pos=at(5, -2.9))),
    "joint too fast": ("joint_velocity", spoil(joint_vel=at(8, -25.0))),
    "hot motor": ("temperature", spoil(motor_temperature=at(4, 90.0))),
    "empty battery": ("battery", spoil(battery=0.05)),
    "second publisher": ("other_publisher", spoil(other_publishers=("sport_mode",))),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("mode", ["standing", "acting"])
def test_a_fault_ends_in_damping_within_two_periods(request, name, mode):
    guard, fault = FAULTS[name]
    puppet = request.getfixturevalue(mode)
    for k in range(STEPS):
        command = puppet.step(**fault(puppet, k))
        if puppet.controller.mode is Mode.FAULT:
            break
    assert puppet.controller.mode is Mode.FAULT, "no guard tripped"
    assert not command.kp.any() and (command.kd == 5.0).all() and np.isfinite(command.joint_pos).all()
    assert puppet.controller.fault.guard == guard
    (trip,) = [event for event in puppet.events if event.kind is Kind.TRIP]
    assert trip.guard == guard and trip.mode is Mode.FAULT and trip.values["during"] in ("stand", "motion")
    assert trip.to_dict()["kind"] == "trip" and "in damping until it is reset" in trip.text
    # Latched: a sound state and a wish do not end it, a reset does.
    puppet.wait(0.1)
    puppet.step(Request(Action.STAND_UP))
    assert puppet.controller.mode is Mode.FAULT and not puppet.command.kp.any()
    puppet.step(Request(Action.RESET))
    assert puppet.controller.mode is Mode.DAMPING


@pytest.mark.parametrize("name", ["nan position", "second publisher"])
def test_a_fault_that_is_still_there_cannot_be_reset(standing, name):
    _, fault = FAULTS[name]
    puppet = standing
    for k in range(STEPS):
        puppet.step(**fault(puppet, k))
    puppet.step(Request(Action.RESET), **fault(puppet, 0))
    assert puppet.controller.mode is Mode.FAULT and "The cause is still there" in puppet.last.text


def test_a_state_that_stays_the_same_is_stale_after_its_timeout(standing):
    puppet = standing
    held = puppet.state()
    steps = 0
    while puppet.controller.mode is Mode.STAND:
        puppet.step(state=held)
        steps += 1
    assert puppet.controller.fault.guard == "stale"
    assert 0.05 / 0.005 <= steps <= 0.05 / 0.005 + STEPS


def test_duplicates_within_the_timeout_are_no_fault(standing):
    puppet = standing
    for _ in range(50):
        state = puppet.state()
        for _ in range(8):
            puppet.step(state=state)
    assert puppet.controller.mode is Mode.STAND


def test_a_link_with_nothing_for_a_moment_does_not_drop_the_robot(standing):
    for _ in range(8):
        assert standing.step(state=None).kp.all()
    while standing.controller.mode is Mode.STAND:
        standing.step(state=None)
    assert standing.controller.fault.guard == "stale" and not standing.command.kp.any()


def test_no_state_at_all_never_lets_the_robot_stand_up(make_puppet):
    puppet = make_puppet()
    for _ in range(40):
        command = puppet.step(Request(Action.STAND_UP), state=None)
    assert puppet.controller.mode is Mode.DAMPING and not command.kp.any()
    assert "No state has arrived" in puppet.last.text


def test_new_stamps_over_old_numbers_are_a_frozen_sensor(standing):
    puppet = standing
    held, steps = puppet.state(), 0
    while puppet.controller.mode is Mode.STAND:
        puppet.step(state=dataclasses.replace(held, time=puppet.now + 0.005 + puppet.offset))
        steps += 1
    assert puppet.controller.fault.guard == "frozen"
    assert steps <= 0.05 / 0.005 + STEPS


def test_messages_that_come_later_and_later_are_stale_though_each_is_new(standing):
    puppet = standing
    lag = 0.0
    while puppet.controller.mode is Mode.STAND:
        lag += 0.001
        puppet.step(time=puppet.now + 0.005 + puppet.offset - lag)
        assert lag < 0.1
    assert puppet.controller.fault.guard == "stale" and "later than the fastest" in puppet.controller.fault.text


def test_clocks_that_drift_apart_are_no_fault(robot, standing):
    guard, state = StateGuard(robot, GuardConfig()), standing.state()
    # Ten minutes in which the robot's clock falls back by 100 ppm: 60 ms, more than the age of a usable state.
    for k in range(16000):
        now = 0.0375 * k
        gyro = np.array([0.0, 0.0, 1e-3 * (k % 2)])
        trip = guard.observe(dataclasses.replace(state, time=(1 - 1e-4) * now, imu_ang_vel=gyro), now)
        assert trip is None, trip


def test_the_callers_clock_may_not_go_back(standing):
    puppet = standing
    puppet.now -= 1.0
    puppet.step()
    assert puppet.controller.fault.guard == "clock" and "time went back by 0.995 s" in puppet.controller.fault.text


@pytest.mark.parametrize("now", [float("nan"), float("inf")])
def test_a_time_that_is_no_number_is_damping_and_told_at_the_last_good_time(standing, now):
    command = standing.controller.step(standing.state(), Request(), now)
    (event,) = standing.controller.take_events()
    assert not command.kp.any() and event.guard == "clock" and np.isfinite(event.time)


@pytest.mark.parametrize("mode", ["standing", "acting"])
def test_a_gap_between_steps_is_an_overrun(request, mode):
    puppet = request.getfixturevalue(mode)
    puppet.step(dt=0.045)
    assert puppet.controller.fault.guard == "overrun" and not puppet.command.kp.any()


def test_a_policy_that_is_late_again_and_again_is_an_overrun(make_puppet, robot, stand, tmp_path):
    long = dataclasses.replace(
        stand,
        root_pos_w=np.repeat(stand.root_pos_w, 3, 0),
        root_quat_w=np.repeat(stand.root_quat_w, 3, 0),
        joint_pos=np.repeat(stand.joint_pos, 3, 0),
        foot_contact=np.repeat(stand.foot_contact, 3, 0),
    )
    puppet = make_puppet(write_playback(tmp_path / "bundle", robot, long, "long"))
    puppet.stand().until(Mode.POLICY, request=Request(Action.START, "long"))
    for _ in range(120):
        puppet.step(dt=0.034)
        if puppet.controller.mode is Mode.FAULT:
            break
    assert puppet.controller.fault.guard == "overrun" and "of the last 50 policy ticks" in puppet.controller.fault.text


def test_a_blocked_joint_trips_after_a_second_and_is_never_asked_for_more_than_its_torque(standing):
    puppet = standing
    robot, seconds = puppet.robot, 0.0
    while puppet.controller.mode is Mode.STAND:
        away = robot.default_joint_pos.copy()
        away[4] += 0.6
        command = puppet.step(joint_pos=away, joint_vel=np.zeros(12), joint_torque=None)
        asked = command.kp * (command.joint_pos - away)
        assert (np.abs(asked) <= robot.torque_limit + 1e-9).all()
        seconds += 0.005
    assert puppet.controller.fault.guard == "torque" and "FR_thigh_joint" in puppet.controller.fault.text
    assert 1.0 <= seconds <= 1.0 + PERIODS * 0.02


def test_gains_that_are_not_applied_are_found_in_the_stand_before_a_skill_may_start(make_puppet):
    puppet = make_puppet(steady_seconds=1.0).until(Mode.STAND, request=Request(Action.STAND_UP))
    puppet.step(Request(Action.START, "reach"))
    # The joint hangs 0.1 rad below its target: 8 Nm at the gain that was sent, 4 at the half of it.
    low = puppet.robot.default_joint_pos.copy()
    low[1] -= 0.1
    while puppet.controller.mode is Mode.STAND:
        puppet.step(joint_pos=low, joint_torque=np.r_[0.0, 4.0, np.zeros(10)])
    assert puppet.controller.fault.guard == "gains"
    values = puppet.controller.fault.values
    assert values["joint"] == "FL_thigh_joint" and values["expected"] == pytest.approx(2 * values["reported"], rel=0.05)


def graph_with(bundle_motion, robot, folder, change):
    """A playback bundle whose graph is changed after its golden record was made at early ticks."""
    from lagoon.bundle import write_bundle
    from lagoon.bundle.playback import playback_graph, record

    info = write_playback(folder / "plain", robot, bundle_motion, "odd")
    model = onnx.load_model_from_string(playback_graph(change))
    policy = model.SerializeToString()
    golden = record(
        policy, info, {n: info.golden.inputs[n][:10] for n in ("joint_pos", "joint_vel", "imu_quat", "imu_ang_vel")}
    )
    return write_bundle(folder / "bundle", policy, info, golden)


@pytest.mark.parametrize(("value", "words"), [(np.nan, "not finite"), (9.0, "beyond its limit")])
def test_a_policy_that_returns_nonsense_in_mid_skill(make_puppet, robot, stand, tmp_path, value, words):
    table = np.tile(robot.default_joint_pos, (80, 1))
    table[40:, 6] = value
    bundle = graph_with(stand, robot, tmp_path, table)
    puppet = make_puppet(bundle)
    puppet.stand().max_jump = 0.0
    puppet.until(Mode.FAULT, request=Request(Action.START, "odd"))
    assert puppet.controller.fault.guard == "bad_output" and words in puppet.controller.fault.text
    assert puppet.controller.runner("odd").tick == 41 and not puppet.command.kp.any()
    assert puppet.max_jump < 0.02


def test_a_policy_that_rattles_is_slowed_down_and_then_stopped(make_puppet, robot, stand, tmp_path):
    table = np.tile(robot.default_joint_pos, (80, 1))
    table[40::2] += 0.8
    table[41::2] -= 0.8
    puppet = make_puppet(graph_with(stand, robot, tmp_path, table))
    puppet.stand().until(Mode.POLICY, request=Request(Action.START, "odd"))
    while puppet.controller.mode is Mode.POLICY:
        puppet.step()
    assert puppet.controller.fault.guard == "target_speed"
    # A calf moves at 15.7 rad/s at most: 0.314 rad in one tick.
    assert puppet.controller.runner("odd").tick <= 40 + 8


def test_upright_skills_keep_a_tilt_guard_in_every_direction(make_puppet, rear):
    bundle, quat = rear
    for wrong in ([1.0, 0, 0, 0], quat_from_axis_angle(X, 1.0), quat_from_axis_angle(Y, 1.0)):
        puppet = make_puppet(bundle)
        puppet.stand().until(Mode.POLICY, request=Request(Action.START, "rear"))
        while puppet.controller.runner("rear").tick < 40:
            puppet.quat = quat[puppet.controller.runner("rear").tick]
            puppet.step()
        assert puppet.controller.mode is Mode.POLICY
        puppet.quat = np.array(wrong, dtype=float)
        puppet.step()
        assert puppet.controller.fault.guard == "tilt", wrong


def test_a_bundle_without_directions_still_has_a_tilt_guard(make_puppet, rear):
    bundle = dataclasses.replace(rear[0], up_b=None)
    puppet = make_puppet(bundle)
    puppet.stand().run("rear", 0.2)
    puppet.quat = quat_from_axis_angle(X, 0.7)
    puppet.step()
    assert puppet.controller.fault.guard == "tilt"


def test_a_narrower_guard_trips_earlier(make_puppet):
    puppet = make_puppet(guards=GuardConfig(tilt_margin=0.2))
    puppet.stand()
    puppet.quat = quat_from_axis_angle(X, 0.25)
    puppet.step()
    assert puppet.controller.fault.guard == "tilt"


@pytest.mark.parametrize("wrong", ["swapped", "reversed", "dead"])
def test_a_motor_that_answers_to_another_name_is_found_before_the_robot_stands(puppet, wrong):
    puppet.step()
    puppet.step(Request(Action.STAND_UP))
    order = [3, 4, 5, 0, 1, 2, *range(6, 12)]
    rest = puppet.q.copy()
    while puppet.controller.mode is Mode.STAND_UP:
        if puppet.controller.phase.startswith("check"):
            moved = puppet.q - rest
            shown = {"swapped": moved[order], "reversed": np.where(np.arange(12) == 4, -moved, moved)}
            q = rest + shown.get(wrong, np.where(np.arange(12) == 9, 0.0, moved))
        else:
            q = rest = puppet.q.copy()
        puppet.step(joint_pos=q + puppet.rng.normal(0, 1e-4, 12))
    assert puppet.controller.fault is not None and puppet.controller.fault.guard == "joint_order"
    name = {"swapped": "FL_hip_joint", "reversed": "FR_thigh_joint", "dead": "RR_hip_joint"}[wrong]
    assert puppet.controller.fault.values["joint"] == name


@pytest.mark.parametrize("mode", ["rising", "settling", "sitting"])
@pytest.mark.parametrize("name", ["nan gyro", "stamp jumps ahead", "on its side", "joint too fast", "second publisher"])
def test_the_guards_watch_the_movements_too(request, standing, mode, name):
    guard, fault = FAULTS[name]
    if mode == "rising":
        puppet = request.getfixturevalue("puppet")
        puppet.step()
        puppet.step(Request(Action.STAND_UP))
    elif mode == "settling":
        puppet = standing.run("reach", 0.3).until(Mode.SETTLE, request=Request(Action.STOP))
    else:
        puppet = standing.until(Mode.SIT_DOWN, request=Request(Action.SIT_DOWN))
    puppet.wait(0.1)
    for k in range(STEPS):
        puppet.step(**fault(puppet, k))
    assert puppet.controller.mode is Mode.FAULT and puppet.controller.fault.guard == guard
    assert not puppet.command.kp.any()


GARBAGE = [None, np.nan, 1e308, "x", b"x", [], [[1], [2, 3]], {}, object(), True, 10**400, (1, 2), np.arange(12)]
GARBAGE += [np.zeros((12, 1)), np.ones(12, bool), np.full(12, 1e300), np.zeros(12, complex), np.array([None] * 12)]
GARBAGE += [np.array([1e200] * 4)]


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(RobotState)])
def test_whatever_a_field_holds_a_step_returns_a_finite_command(acting, copy_of, name):
    for value in GARBAGE:
        puppet = copy_of(acting)
        for _ in range(4):
            command = puppet.step(**{name: value})
            numbers = (command.joint_pos, command.joint_vel, command.kp, command.kd, command.torque)
            assert all(np.isfinite(array).all() for array in numbers), value
        for event in puppet.events:
            json.dumps(event.to_dict(), allow_nan=False)


def test_a_spike_in_a_velocity_does_not_carry_the_target_away(acting, copy_of):
    robot = acting.robot
    quiet = copy_of(acting).step(joint_vel=np.zeros(12))
    command = acting.step(joint_vel=at(4, 500.0)(np.zeros(12)))
    assert acting.controller.mode is Mode.POLICY
    furthest = robot.kd * 1.2 * robot.joint_vel_limit / robot.kp
    assert (np.abs(command.joint_pos - quiet.joint_pos) <= furthest + 0.02).all()
