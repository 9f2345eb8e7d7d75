from lagoon.deploy.controller import Kind, Mode
from lagoon.deploy.sequence import SkillSequence, StandUpFor


def run(puppet, operator, **fields):
    """Ask an operator at every step until it ends; fields of the state change once the puppet stands."""
    while (request := operator(puppet.controller, puppet.now)) is not None:
        if puppet.controller.mode is Mode.STAND:
            puppet.fields.update(fields)
        puppet.step(request)
        assert puppet.now < 60.0
    return [event.mode for event in puppet.events if event.kind is Kind.MODE]


def test_skills_come_in_turn_between_standing_up_and_sitting_down(make_puppet):
    puppet, sequence = make_puppet(), SkillSequence(["reach", "stand still"])
    modes = run(puppet, sequence)
    skill = ["policy", "settle", "stand"]
    assert modes == ["stand_up", "stand", *skill, *skill, "sit_down", "damping"] and sequence.problem == ""


def test_a_skill_that_is_refused_is_told_and_the_robot_sits_down(make_puppet):
    puppet, sequence = make_puppet(), SkillSequence(["reach", "stand still"])
    assert run(puppet, sequence, battery=0.15) == ["stand_up", "stand", "sit_down", "damping"]
    assert sequence.problem == "'reach' did not start"


def test_a_trip_ends_it_with_the_reason(make_puppet):
    puppet, sequence = make_puppet(), SkillSequence(["reach"])
    assert run(puppet, sequence, battery=0.05)[-1] == "stand" and "battery is at 5 %" in sequence.problem


def test_a_robot_that_may_not_stand_up_ends_it(make_puppet):
    puppet, sequence = make_puppet(), SkillSequence(["reach"])
    puppet.fields["battery"] = 0.15
    assert run(puppet, sequence) == [] and "a start needs 20 %" in sequence.problem


def test_standing_up_for_a_while_ends_by_itself(make_puppet):
    puppet, operator = make_puppet(), StandUpFor(1.5)
    begin = puppet.now
    assert run(puppet, operator)[0] == "stand_up" and operator.asked and 1.4 < puppet.now - begin < 1.6
