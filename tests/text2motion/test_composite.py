from __future__ import annotations

import pytest

from lagoon.text2motion import composite, lexicon
from lagoon.text2motion.composite import Plan, Step

COMMANDS = """
wave -> wave
wave hello -> wave
wave twice, then bow -> wave x2 > bow
wave two times and then bow -> wave x2 > bow
walk forward while waving -> walk + wave
wave while walking forward -> walk + wave
while walking forward, wave -> walk + wave
turn left and sit down -> turn left > sit
do three squats -> squat x3
do 3 squats -> squat x3
3 squats -> squat x3
two jumps -> jump x2
jump 3 times -> jump x3
jump once -> jump x1
clap your hands four times -> clap x4
take two bows -> bow x2
squat down low and come back up -> squat
bow and straighten up, then wave -> bow > wave
sit down and come back up -> sit > stand up
squat and come here -> squat > walk
ten push-ups -> push-ups x10
give me 10 pushups -> push-ups x10
do a dozen jumping jacks -> jumping jacks x12
do a hundred sit-ups -> sit-ups x100
take two steps to the left -> walk x2 left
walk three steps forward -> walk x3
kick with your left foot -> kick left
punch with the right hand twice -> punch x2 right
hop on one leg -> hop on one foot
go down on one knee -> kneel
give me a high five -> high five
stand on one leg -> arabesque
march in place for five seconds -> march
clap with both hands -> clap
look left and right -> look around
turn right now -> turn right
raise your left arm -> raise the hand left
walk slowly -> walk slow
slowly bow -> bow slow
run as fast as you can -> run fast
walk backwards quickly -> walk backwards fast
a quick bow -> bow fast
do a slow forward roll -> roll slow
sit down, then stand up -> sit > stand up
sit down; stand up; bow -> sit > stand up > bow
wave. bow. sit down. -> wave > bow > sit
first wave, then bow, finally sit down -> wave > bow > sit
wave, bow and sit down -> wave > bow > sit
squat, jump, and clap -> squat > jump > clap
bow before you sit down -> bow > sit
bow before the king -> bow
sit down after bowing -> bow > sit
after waving, take a bow -> wave > bow
do a cartwheel followed by a backflip -> cartwheel > backflip
do two squats and jump three times -> squat x2 > jump x3
stretch your arms and legs -> stretch
crawl on your hands and knees -> crawl
bow to the king and the queen -> bow
march in place while saluting -> march + salute
nod while clapping your hands -> nod + clap
dance and clap at the same time -> dance + clap
clap and nod simultaneously -> clap + nod
walk forward and wave at the same time -> walk + wave
wave and walk at the same time -> walk + wave
run forward, stop, then turn around -> run > stand still > turn around
walk slowly while waving twice with your left hand -> walk slow + wave x2 left
wave, then walk forward while clapping, then sit -> wave > walk + clap > sit
kick left, kick right -> kick left > kick right
bow like a dog -> play bow
play dead -> fall
stand on your hands -> handstand
put your hands together -> clap
jumping -> jump
clapping -> clap
do a flying kick -> kick
spin around twice and fall down -> spin x2 > fall
turn around and walk back -> turn around > walk backwards
jump and then spin while raising your arms -> jump > spin + raise the hand
play the violin -> -
wave and play the violin -> wave
flibber -> -
""".strip().splitlines()


def show(plan: Plan) -> str:
    """A plan in a line: "wave x2 left slow + nod > bow"."""

    def one(step: Step) -> str:
        said = [step.verb or "-", f"x{step.count}" if step.count else "", step.side or "", step.speed or ""]
        return " ".join(filter(None, said)) + (f" + {one(step.meanwhile)}" if step.meanwhile else "")

    return " > ".join(map(one, plan.steps))


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.split(" -> ")[0])
def test_commands_become_plans(line):
    command, wanted = line.split(" -> ")
    assert show(composite.parse(command)) == wanted


def test_the_words_of_a_step_can_stand_alone():
    steps = composite.parse("Wave twice with your left hand, then walk forward while clapping.").steps
    assert [step.words for step in steps] == ["wave twice with your left hand", "walk forward"]
    assert steps[1].meanwhile is not None and steps[1].meanwhile.words == "clap"


def test_a_known_text_is_one_motion_even_with_and():
    assert len(composite.parse("sit down and stand up").steps) == 2
    plan = composite.parse("Sit down and stand up", known={"sit down and stand up"})
    assert plan.is_single and plan.steps[0].verb == "sit"


def test_what_goes_on_meanwhile_leaves_the_legs_alone():
    for command in ("wave while walking", "walk while waving"):
        (step,) = composite.parse(command).steps
        assert step.body == "lower" and step.meanwhile is not None and step.meanwhile.body == "upper"
        assert [part.verb for part in composite.parse(command).parts()] == ["walk", "wave"]


@pytest.mark.parametrize(
    "command", ["", "   ", "and", ", then ,", "then", "while", "twice", "0 jumps", "and and and", "🙂"]
)
def test_odd_input_still_gives_one_step(command):
    plan = composite.parse(command)
    assert len(plan.steps) == 1 and plan.steps[0].meanwhile is None


def test_every_verb_says_which_part_of_the_body_it_needs_and_is_found():
    for verb, entry in lexicon.table("moves").items():
        assert entry["body"] in ("upper", "lower", "whole")
        for phrase in entry["say"]:
            assert composite.verb_of(phrase) == verb, phrase
