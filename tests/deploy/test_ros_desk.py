"""Who gets what answer, and what the joystick's buttons do. No ROS, no robot: the desk sees only the mode."""

from types import SimpleNamespace

import pytest

from lagoon.deploy.controller import NOTHING, Action, Event, Kind, Mode, Request
from lagoon.deploy.ros.desk import QUEUE, Desk, JoyConfig

STAND_UP, START = Request(Action.STAND_UP), Request(Action.START, "wave")
DAMP, STOP = Request(Action.DAMP), Request(Action.STOP)


class Answers(list):
    def __call__(self, granted, text):
        self.append((granted, text))


def controller(mode=Mode.STAND):
    return SimpleNamespace(mode=mode)


def refused(text):
    return Event(0.0, Kind.REFUSED, Mode.DAMPING, text)


def test_an_answer_comes_after_the_step() -> None:
    desk, answers = Desk(), Answers()
    desk.ask(STAND_UP, answers)
    assert desk(controller(Mode.DAMPING), 0.0) == STAND_UP and answers == []
    assert desk(controller(Mode.STAND_UP), 0.005) is NOTHING
    assert answers == [(True, "The robot is in 'stand_up'.")]


def test_a_refusal_is_answered_with_its_reason_and_not_twice() -> None:
    desk, first, second = Desk(), Answers(), Answers()
    desk.ask(START, first)
    desk(controller(), 0.0)
    desk.tell(refused("It lies."))
    desk.tell(Event(0.0, Kind.WARNING, Mode.STAND, "warm"))
    desk.ask(START, second)
    assert desk(controller(), 0.005) == START
    assert desk(controller(Mode.POLICY), 0.01) is NOTHING
    assert (first, second) == ([(False, "It lies.")], [(True, "The robot is in 'policy'.")])


def test_a_start_that_waits_says_so() -> None:
    desk, answers = Desk(), Answers()
    desk.ask(START, answers)
    desk(controller(), 0.0)
    desk(controller(Mode.STAND), 0.005)
    assert answers == [(True, "'wave' begins when the robot stands steadily.")]


def test_damping_overtakes_and_is_never_turned_away() -> None:
    desk, answers = Desk(), Answers()
    for _ in range(QUEUE + 1):
        desk.ask(STAND_UP, answers)
    assert answers == [(False, "Too many requests are waiting.")]
    desk.ask(DAMP, answers)
    assert desk(controller(), 0.0) == DAMP


def test_nobody_waits_forever() -> None:
    desk, answers = Desk(), Answers()
    desk.ask(STAND_UP, answers)
    desk(controller(), 0.0)
    desk.ask(START, answers)
    desk.close()
    assert desk(controller(), 0.005) is None
    desk.settle_accounts()
    desk.settle_accounts()
    desk.ask(START, answers)
    assert [text for _, text in answers][1:] == ["The controller has stopped."] * 2
    assert len(answers) == 3


@pytest.mark.parametrize("buttons", [[], [0], [0, 0]])
def test_buttons_that_are_not_there_are_not_pressed(buttons) -> None:
    desk = Desk(JoyConfig(stop_button=1, deadman_button=-1))
    desk.on_joy(buttons)
    assert desk(controller(), 0.0) is NOTHING


def test_the_stop_button_is_damping_and_holds_everything_else_back() -> None:
    desk, answers = Desk(JoyConfig(stop_button=1)), Answers()
    desk.on_joy([0, 1])
    desk.ask(Request(Action.RESET), answers)
    assert desk(controller(Mode.POLICY), 0.0) == DAMP
    assert desk(controller(Mode.FAULT), 0.005) is NOTHING and answers == []
    # Until it is let go, silence means it is still down.
    assert desk(controller(Mode.STAND), 9.0) == DAMP
    desk.on_joy([0, 0])
    assert desk(controller(Mode.FAULT), 9.1) == Request(Action.RESET)


def test_without_the_dead_man_no_skill_starts() -> None:
    desk, answers = Desk(JoyConfig(deadman_button=0, timeout=0.5)), Answers()
    desk.ask(START, answers)
    assert desk(controller(), 0.0) is NOTHING
    assert answers == [(False, "The dead-man button is not held; hold it, then start.")]
    desk.on_joy([1])
    desk.ask(START, answers)
    assert desk(controller(), 0.1) == START


@pytest.mark.parametrize("how", ["released", "silent"])
def test_a_skill_is_stopped_once_when_the_dead_man_goes(how) -> None:
    desk = Desk(JoyConfig(deadman_button=0, timeout=0.5))
    desk.on_joy([1])
    assert desk(controller(Mode.POLICY), 0.0) is NOTHING
    assert desk(controller(Mode.POLICY), 0.4) is NOTHING
    if how == "released":
        desk.on_joy([0])
    assert desk(controller(Mode.POLICY), 0.6) == STOP
    assert desk(controller(Mode.POLICY), 0.605) is NOTHING
    assert desk(controller(Mode.STAND), 0.61) is NOTHING
    assert desk(controller(Mode.POLICY), 0.7) == STOP, "the next skill is stopped as well"
