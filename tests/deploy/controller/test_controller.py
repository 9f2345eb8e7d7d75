import ast
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import lagoon.deploy.controller as package
from lagoon.deploy.controller import NOTHING, Action, Controller, GuardConfig, Kind, Mode, Request
from lagoon.deploy.controller.maneuvers import folded_posture
from lagoon.errors import BadInputError

SKILL = Request(Action.START, "reach")


def modes(puppet):
    return [event.mode for event in puppet.events if event.kind is Kind.MODE]


def is_damping(command):
    return not command.kp.any() and (command.kd == 5.0).all() and not command.torque.any()


def test_from_lying_over_a_skill_back_to_lying_without_a_jump(puppet):
    puppet.stand().until(Mode.SETTLE, request=SKILL).until(Mode.STAND)
    np.testing.assert_allclose(puppet.q, puppet.robot.default_joint_pos, atol=1e-6)
    puppet.until(Mode.DAMPING, request=Request(Action.SIT_DOWN))
    assert modes(puppet) == ["stand_up", "stand", "policy", "settle", "stand", "sit_down", "damping"]
    assert {event.kind for event in puppet.events} == {Kind.MODE}
    np.testing.assert_allclose(puppet.q, folded_posture(puppet.robot), atol=1e-6)
    assert is_damping(puppet.command)
    # A movement of 1.5 rad/s on average has 1.875 times that at its peak; a wiggle of 0.15 rad in 0.2 s has 2.4 rad/s.
    assert puppet.max_jump < 0.015


def test_gains_pass_gradually_from_one_owner_to_the_next(puppet):
    puppet.step()
    kp = [puppet.step(Request(Action.STAND_UP)).kp[0]] + [puppet.step().kp[0] for _ in range(60)]
    assert kp[0] < 5.0 and kp[-1] == 80.0 and np.diff(kp).max() <= 80.0 * 0.005 / 0.2 + 1e-9


def test_every_policy_tick_is_taken_once_at_its_own_rate(standing):
    puppet = standing.until(Mode.POLICY, request=SKILL)
    runner, ticks = puppet.controller.runner("reach"), []
    for _ in range(81):
        puppet.step()
        ticks.append(runner.tick)
    assert np.bincount(np.diff(ticks)).tolist() == [60, 20]


def test_missed_ticks_are_not_made_up_for(acting):
    puppet = acting
    puppet.wait(0.01)
    runner = puppet.controller.runner("reach")
    before = runner.tick
    puppet.step(dt=0.035)
    assert runner.tick == before + 1
    puppet.step()
    assert runner.tick == before + 1
    puppet.wait(0.02)
    assert runner.tick == before + 2


def test_the_policy_decides_once_it_has_taken_over(acting, reach):
    puppet = acting
    np.testing.assert_allclose(puppet.command.joint_pos, puppet.controller.runner("reach").unclipped[0], atol=1e-6)
    np.testing.assert_array_equal(puppet.command.kp, reach.kp)


def test_a_second_skill_waits_for_the_stand(acting):
    puppet = acting
    puppet.step(Request(Action.START, "stand still"))
    assert puppet.controller.skill == "reach"
    puppet.until(Mode.STAND).until(Mode.POLICY)
    assert puppet.controller.skill == "stand still"
    assert modes(acting)[2:] == ["policy", "settle", "stand", "policy"]


def test_stop_leaves_a_level_skill_at_once_and_forgets_what_waits(acting):
    puppet = acting
    puppet.step(Request(Action.START, "stand still"))
    puppet.step(Request(Action.STOP))
    assert puppet.controller.mode is Mode.SETTLE and "was stopped" in puppet.last.text
    puppet.until(Mode.STAND).wait(1.5)
    assert puppet.controller.mode is Mode.STAND


def follow(puppet, quat, seconds):
    """Step with the trunk where the reference is."""
    for _ in range(round(seconds / 0.005)):
        tick = puppet.controller.runner("rear").tick
        puppet.quat = quat[min(tick, len(quat) - 1)]
        puppet.step()


def test_stop_waits_while_the_reference_is_tilted(make_puppet, rear):
    bundle, quat = rear
    puppet = make_puppet(bundle)
    puppet.stand().until(Mode.POLICY, request=Request(Action.START, "rear"))
    follow(puppet, quat, 0.8)
    puppet.step(Request(Action.STOP))
    assert puppet.controller.mode is Mode.POLICY
    assert puppet.last.kind is Kind.WARNING and "tilted by 1.0 rad" in puppet.last.text
    while puppet.controller.mode is Mode.POLICY:
        follow(puppet, quat, 0.005)
    assert puppet.controller.mode is Mode.SETTLE and "was stopped" in puppet.last.text
    # Level comes at tick 57 of 80: 1.0 rad at tick 50, 0.3 rad seven ticks later.
    assert puppet.controller.runner("rear").tick == 57


def test_sitting_down_out_of_a_skill_stops_it_first(acting):
    acting.until(Mode.DAMPING, request=Request(Action.SIT_DOWN))
    assert modes(acting)[2:] == ["policy", "settle", "stand", "sit_down", "damping"]


@pytest.mark.parametrize(
    ("who", "request_", "words"),
    [
        ("puppet", SKILL, "does not stand, it is in 'damping'"),
        ("puppet", Request(Action.SIT_DOWN), "does not stand"),
        ("puppet", Request(Action.RESET), "no fault to reset"),
        ("standing", Request(Action.START, "fly"), "'fly' is not loaded. Loaded: stand still, reach"),
        ("standing", Request(Action.STOP), "No skill is running"),
        ("standing", Request(Action.STAND_UP), "is in 'stand' already"),
        ("damped", SKILL, r"in fault \(Damping was asked for.\) Reset it first"),
    ],
)
def test_a_request_that_does_not_fit_is_refused_and_changes_nothing(request, who, request_, words):
    puppet = request.getfixturevalue("standing" if who == "damped" else who)
    puppet.step(Request(Action.DAMP) if who == "damped" else NOTHING)
    before = puppet.controller.mode
    puppet.step(request_)
    assert puppet.controller.mode is before
    assert puppet.last.kind is Kind.REFUSED
    assert re.search(words, puppet.last.text)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"battery": 0.15}, "battery is at 15 %; a start needs 20 %"),
        ({"motor_temperature": np.r_[np.full(11, 30.0), 70.0]}, "motor of RR_calf_joint has 70 deg C"),
        ({"imu_quat": np.array([0.8, 0.6, 0.0, 0.0])}, "lies tilted by 1.29 rad"),
        ({"joint_pos": np.full(12, 3.6)}, "beyond|past a stop"),
    ],
)
def test_a_robot_that_is_not_fit_does_not_stand_up(puppet, fields, words):
    for _ in range(4):
        puppet.step(**fields)
    puppet.step(Request(Action.STAND_UP), **fields)
    assert puppet.controller.mode is Mode.DAMPING and puppet.last.kind is Kind.REFUSED
    assert any(word in puppet.last.text for word in words.split("|")), puppet.last.text


def test_a_tired_robot_does_not_start_a_skill(standing):
    puppet = standing
    puppet.fields["battery"] = 0.15
    puppet.step(SKILL)
    assert puppet.controller.mode is Mode.STAND and "battery is at 15 %" in puppet.last.text


def test_emergency_stop_works_from_every_mode_and_stays(make_puppet, standing, acting):
    rising = make_puppet().until(Mode.STAND_UP, request=Request(Action.STAND_UP))
    rising.wait(0.3)
    for puppet, mode in ((make_puppet(), "damping"), (rising, "stand_up"), (standing, "stand"), (acting, "policy")):
        puppet.step()
        assert puppet.controller.mode == mode
        assert is_damping(puppet.step(Request(Action.DAMP)))
        puppet.wait(0.1)
        assert puppet.controller.mode is Mode.FAULT and is_damping(puppet.command)
        puppet.step(Request(Action.RESET))
        assert puppet.controller.mode is Mode.DAMPING


def test_the_same_calls_give_the_same_commands(make_puppet):
    def run():
        puppet = make_puppet()
        puppet.stand().run("reach")
        return puppet.command.joint_pos, [str(event) for event in puppet.events]

    (a, told_a), (b, told_b) = run(), run()
    np.testing.assert_array_equal(a, b)
    assert told_a == told_b


def test_the_controller_has_no_clock_of_its_own():
    for path in Path(package.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            module = node.module if isinstance(node, ast.ImportFrom) else ""
            assert not {"time", "datetime", "threading", "random"} & {*names, module}, path.name


def test_bundles_that_do_not_fit_are_refused(robot, stand_bundle):
    with pytest.raises(BadInputError, match="Two bundles have the same command: stand still, stand still"):
        Controller(robot, [stand_bundle, stand_bundle])
    stiff = dataclasses.replace(stand_bundle, kp=np.where(np.arange(12) == 7, 400.0, stand_bundle.kp))
    with pytest.raises(BadInputError, match="kp of RL_thigh_joint is 400; the robot's own is 80, and a factor of 2"):
        Controller(robot, [stiff])
    soft = dataclasses.replace(stand_bundle, kd=stand_bundle.kd / 5)
    with pytest.raises(BadInputError, match=r"kd of FL_hip_joint is 0\.4"):
        Controller(robot, [soft])
    names = stand_bundle.joint_names
    swapped = dataclasses.replace(stand_bundle, joint_names=(*names[3:6], *names[:3], *names[6:]))
    with pytest.raises(BadInputError, match="in another order: index 0: FR_hip_joint instead of FL_hip_joint"):
        Controller(robot, [swapped])


def test_guards_can_be_narrowed_and_widened_to_a_ceiling_but_not_switched_off(make_puppet):
    assert GuardConfig(tilt_margin=0.2, battery_trip=0.5).widened() == {}
    for name, value in (("tilt_margin", 3.0), ("state_timeout", float("inf")), ("torque_share", 1.01)):
        with pytest.raises(BadInputError, match=f"{name} is .*a guard has no 'off'"):
            GuardConfig(**{name: value})
    for value in (0.0, -1.0, float("nan"), None, True):
        with pytest.raises(BadInputError, match="tilt_margin is "):
            GuardConfig(tilt_margin=value)
    with pytest.raises(BadInputError, match=r"battery_trip is 0\.01; expected at least 0\.03"):
        GuardConfig(battery_trip=0.01)
    puppet = make_puppet(guards=GuardConfig(tilt_margin=0.9, battery_trip=0.05))
    puppet.step()
    puppet.step()
    warnings = [event for event in puppet.events if event.kind is Kind.WARNING]
    assert [event.guard for event in warnings] == ["tilt_margin", "battery_trip"]
    assert "tilt_margin is 0.9, wider than its default 0.6" in warnings[0].text
