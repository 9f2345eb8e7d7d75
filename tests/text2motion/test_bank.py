from __future__ import annotations

import numpy as np
import pytest

from lagoon.errors import CorruptFileError
from lagoon.text2motion.bank import CommandBank, build_bank, quantise
from lagoon.text2motion.corpus import Example
from lagoon.text2motion.text_encoder import Encoding


def unit(*values: float) -> np.ndarray:
    vector = np.zeros(384, np.float32)
    vector[: len(values)] = values
    return vector / np.linalg.norm(vector)


@pytest.fixture
def bank() -> CommandBank:
    vectors = np.stack([unit(1.0), unit(0.0, 1.0), unit(1.0, 1.0)])
    return CommandBank(
        ("wave", "bow", "wave and bow"),
        ("wave", "bow", "both"),
        np.array([3.0, 12.0, 5.0]),
        np.ones((3, 4)),
        quantise(vectors),
    )


def test_nearest_are_sorted_by_cosine(bank):
    near = bank.nearest(unit(1.0, 0.1), 3)
    assert [n.text for n in near] == ["wave", "wave and bow", "bow"]
    assert near[0].similarity == pytest.approx(1 / np.sqrt(1.01), abs=1e-3)


def test_duration_is_of_the_text_itself_or_of_its_neighbours_within_2_to_8_s(bank):
    assert bank.duration(unit(1.0)) == 3.0
    assert bank.duration(unit(0.0, 1.0)) == 8.0  # 12 s, clipped
    assert bank.duration(unit(0.4, 0.0, 1.0)) == 5.0  # median of all three


def test_quantised_vectors_keep_their_direction():
    vectors = np.random.default_rng(0).normal(size=(5, 384)).astype(np.float32)
    back = quantise(vectors).astype(float)
    cosine = (back * vectors).sum(1) / np.linalg.norm(back, axis=1) / np.linalg.norm(vectors, axis=1)
    assert cosine.min() > 0.9995


def test_round_trip_on_disk(bank, tmp_path):
    bank.save(tmp_path / "commands.safetensors")
    again = CommandBank.load(tmp_path / "commands.safetensors")
    assert again.texts == bank.texts and again.verbs == bank.verbs
    for name in ("vectors", "seconds", "activity"):
        assert (getattr(again, name) == getattr(bank, name)).all()


def test_a_damaged_file_is_refused(bank, tmp_path):
    path = tmp_path / "commands.safetensors"
    bank.save(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(CorruptFileError, match=r"commands\.safetensors"):
        CommandBank.load(path)


def test_polite_and_composite_texts_stay_out():
    motion = np.zeros((41, 22, 3))
    examples = [
        Example(motion, ("wave", "please wave"), "wave", "plain", "r"),
        Example(motion, ("wave, then bow",), "wave + bow", "join", "r"),
    ]
    texts = ("wave", "please wave", "wave, then bow")
    bank = build_bank(examples, {t: Encoding(np.zeros((2, 384), np.float32), unit(1.0), ()) for t in texts})
    assert bank.texts == ("wave",) and bank.seconds.tolist() == [2.0]
