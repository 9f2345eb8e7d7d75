from __future__ import annotations

import numpy as np
import pytest

from lagoon.text2motion import augment, corpus, dataset, features, kinematics


@pytest.fixture
def examples(data_folder):
    clips = dataset.load(data_folder, ("permissive", "authored"))
    return corpus.build(clips, 20, np.random.default_rng(0))


def test_every_example_has_a_mirror_with_its_words_swapped(examples):
    half = len(examples) // 2
    for example, flipped in zip(examples[:half], examples[half:], strict=True):
        assert (flipped.joint_pos_w == augment.mirror(example.joint_pos_w)).all()
        assert flipped.texts == tuple(augment.mirror_text(t) for t in example.texts)


def test_counted_examples_do_so_many(examples):
    squats = [e for e in examples if e.verb == "squat" and e.kind == "count"]
    assert {"do three squats", "squat twice"} <= {t for e in squats for t in e.texts}
    for example in squats:
        marks = augment.peaks(augment.cycle_signal(example.joint_pos_w, "down"), 0.15)
        words = {augment.NUMBERS[len(marks)], augment.TIMES[len(marks)]}
        assert any(w in text for w in words for text in example.texts)


def test_gestures_are_at_least_three_seconds_long(examples):
    waves = [e for e in examples if e.verb == "wave" and e.kind == "plain"]
    assert waves and min(len(e.joint_pos_w) for e in waves) >= corpus.GESTURE_FRAMES


def test_joined_examples_name_both(examples):
    joined = [e for e in examples if e.kind == "join"]
    assert joined
    for example in joined:
        assert "+" in example.verb and all(" and " in t or "then" in t for t in example.texts)


def test_tempo_changes_the_length_and_the_words(examples):
    walks = {e.texts: len(e.joint_pos_w) for e in examples if e.verb == "walk" and e.kind == "tempo"}
    slow = [n for texts, n in walks.items() if "slow" in texts[0]]
    fast = [n for texts, n in walks.items() if "slow" not in texts[0]]
    assert slow and fast and min(slow) > max(fast)


def test_weights_share_out_by_kind(examples):
    weights = corpus.weights(examples)
    assert weights.sum() == pytest.approx(1.0)
    kinds = np.array([e.kind for e in examples])
    assert weights[kinds == "plain"].sum() == pytest.approx(corpus.KIND_SHARES["plain"], abs=1e-9)


def test_same_seed_same_corpus(data_folder):
    clips = dataset.load(data_folder, ("authored",))
    a, b = (corpus.build(clips, 5, np.random.default_rng(3)) for _ in range(2))
    assert [e.texts for e in a] == [e.texts for e in b]


def test_phrases_are_texts_and_cycles_are_known(people):
    for verb, entry in corpus.phrases().items():
        assert all(isinstance(text, str) and text for text in entry["say"]), verb
        if "cycle" in entry:
            kind, least = entry["cycle"]
            assert augment.cycle_signal(people["waving"](), kind).shape == (60,) and least > 0


def test_walking_backwards_is_walking_played_backwards(data_folder):
    clips = dataset.load(data_folder, ("permissive", "authored"))
    found = corpus.reversed_clips(clips, corpus.phrases())
    assert {clip.verb for clip in found} == {"walk backwards"}
    for clip in found:
        assert kinematics.ahead(clip.joint_pos_w) < -0.5
        assert abs(features.heading(clip.joint_pos_w)[0]) < 1e-6
    examples = [e for e in corpus.build(clips, 0, np.random.default_rng(0)) if e.verb == "walk backwards"]
    assert any("back up" in e.texts for e in examples)


def test_laid_over_examples_do_both(examples):
    found = [e for e in examples if e.kind == "while"]
    assert found and {e.verb for e in found} <= {"walk + wave", "walk backwards + wave"}
    for example in found:
        assert all("walk" in text and "wav" in text for text in example.texts)
        assert abs(kinematics.ahead(example.joint_pos_w)) > 0.5
        wrist, shoulder = (kinematics.joint(example.joint_pos_w, f"right_{n}")[:, 2] for n in ("wrist", "shoulder"))
        other = kinematics.joint(example.joint_pos_w, "left_wrist")[:, 2] > shoulder
        assert (wrist > shoulder).any() or other.any()


def test_verbs_of_phrases_that_are_played_backwards_are_known():
    words = corpus.phrases()
    assert all(entry["reverse"] in words for entry in words.values() if "reverse" in entry)


def test_who_stands_up_does_not_sit_on_first(data_folder, people):
    down = people["squatting"](80, 1)[:41]
    sitting = dataset.Clip(
        "a/sit", "sit down", ("sit down",), np.concatenate([down, np.repeat(down[-1:], 60, axis=0)]), "a", "CC0"
    )
    (up,) = corpus.reversed_clips([sitting], corpus.phrases())
    height = up.joint_pos_w[:, 0, 2]
    assert up.verb == "stand up" and len(height) < 41 + 10
    assert height[-1] - height[0] > 0.2 and height[20] > height[0] + 0.05
