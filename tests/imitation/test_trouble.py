"""Where a skill fails and why, on falls whose cause was put there."""

import dataclasses

import pytest
import torch

from lagoon.imitation.config import TerminationConfig
from lagoon.imitation.rewards import TrackingError
from lagoon.imitation.trouble import Watch, stalled, told


@pytest.mark.parametrize(
    ("survivals", "window", "verdict"),
    [
        ([0.5, 0.6, 0.7, 0.8, 0.9, 0.95], 6, False),
        ([0.1, 0.5, 0.8, 0.82, 0.81, 0.8], 4, True),
        ([0.1, 0.5, 0.8, 0.8, 0.81, 0.8], 4, False),
        ([0.8, 0.8, 0.8], 4, False),
        ([0.9, 0.8, 0.7, 0.6], 4, True),
        ([0.8, 0.8], 0, False),
        ([0.95, 0.95, 0.98, 0.95, 0.95, 0.98], 6, False),
    ],
)
def test_a_training_that_gets_no_better_is_told_from_one_that_does(survivals, window, verdict):
    assert stalled(survivals, window) is verdict


def error_of(tilt, height):
    zeros = torch.zeros(3)
    tilt, height = torch.full((3,), tilt), torch.full((3,), height)
    return TrackingError(zeros, zeros, zeros, height, tilt, tilt, zeros, zeros)


def test_falls_are_told_by_stretch_and_reason(make_stand):
    motion = dataclasses.replace(make_stand(200), segment_names=("stand", "rise", "end"), segment_starts=(0, 50, 150))
    watch = Watch(torch.full((12,), 20.0), torch.full((12,), 10.0), TerminationConfig(), 0.02)
    calm, strong = torch.zeros(3, 12), torch.full((3, 12), 5.0)
    strong[1, 3] = 30.0
    quick = calm.clone()
    quick[2, 0] = -9.5
    nobody = torch.zeros(3, dtype=torch.bool)
    for step in range(1, 80):
        watch.see(step, nobody, error_of(0.1, 0.0), strong, quick)
    watch.see(80, torch.tensor([True, True, False]), error_of(0.5, 0.0), strong, quick)
    watch.see(170, torch.tensor([False, False, True]), error_of(0.1, 0.2), strong, quick)
    assert [(kind, reason) for _, kind, reason in watch.falls] == [
        ("tilt", "balance"),
        ("tilt", "torque"),
        ("height", "speed"),
    ]
    lines = told(watch.falls, motion)
    assert lines[0].startswith("2 falls in rise, around 1.6 s, by tilt: ")
    assert lines[1] == "1 fall in end, around 3.4 s, by height: its joints are as fast as they can be"
    assert told([], motion) == () and "in hold" in told([(9.0, "tilt", "balance")], motion)[0]
