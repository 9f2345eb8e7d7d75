from __future__ import annotations

import json

import numpy as np
import pytest

from lagoon.cli import candidates
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.skill import Skill
from lagoon.text2motion.selection import Candidate


@pytest.fixture
def skill(tmp_path) -> Skill:
    return Skill.new(tmp_path, "wave, then bow", "go2")


def some(number: int, cost: float) -> Candidate:
    pose = np.random.default_rng(number).normal(size=(1, 22, 3))
    moved = pose + np.arange(30)[:, None, None] * 0.01
    return Candidate(number, moved, True, {"plausibility": cost, "words": 0.5}, 0.8, 0.1, 2)


def test_scores_and_motions_are_kept_and_shown(skill):
    kept = [("wave", [some(2, 1.0), some(0, 3.0)]), ("bow", [some(1, 2.0)])]
    written = candidates.save(skill, kept)
    assert [path.name for path in written] == ["candidates.json", "candidates.npz"]
    steps = json.loads(written[0].read_text())["steps"]
    assert [step["words"] for step in steps] == ["wave", "bow"] and steps[0]["chosen"] == 2
    assert steps[0]["candidates"][1]["terms"] == {"plausibility": 3.0, "words": 0.5}
    page = candidates.show(skill).read_text(encoding="utf-8")
    assert "wave: chosen (candidate 2)" in page and "wave: 2. (candidate 0)" in page and "cost 3.5" in page


def test_without_candidates_the_error_says_what_to_do(skill):
    with pytest.raises(BadInputError, match=r"has no candidates\.json.*--again"):
        candidates.show(skill)


@pytest.mark.parametrize("damage", ["json", "npz"])
def test_damaged_files_are_told(skill, damage):
    paths = candidates.save(skill, [("wave", [some(0, 1.0)])])
    broken = paths[damage == "npz"]
    broken.write_bytes(broken.read_bytes()[:20])
    with pytest.raises(CorruptFileError, match="Generate them again with --again"):
        candidates.show(skill)
