"""Results add up to what they say, and are kept."""

import dataclasses
import json

import pytest

from lagoon.deploy.config import EvaluateConfig
from lagoon.deploy.suite import (
    METRICS,
    NOMINAL,
    OTHER,
    RANDOMIZED,
    Result,
    Results,
    conditions,
    fingerprint_of,
    seed_interval,
    summarise,
)
from lagoon.deploy.suite_page import page
from lagoon.errors import CorruptFileError


def result(command="bow", seed=0, condition=OTHER, survived=190, passed=True):
    numbers = dict.fromkeys(METRICS, 0.1 * (seed + 1)) | {"foot_slip": None}
    fingerprint = f"{command}{seed}{condition}{survived}"
    return Result(command, seed, condition, fingerprint, passed, 200, survived, numbers, ("PASS: <b>", "Falls in x"))


def test_the_three_kinds_of_trials_differ_as_they_say():
    kinds = conditions(EvaluateConfig(payload=(0.0, 2.0)), 200)
    assert list(kinds) == [NOMINAL, RANDOMIZED, OTHER] and {k.trials for k in kinds.values()} == {200}
    assert [k.physics for k in kinds.values()] == ["training", "training", "checking"]
    assert kinds[NOMINAL].payload == (0.0, 0.0) and kinds[NOMINAL].pushes == (0, 0) and kinds[NOMINAL].delay == (0, 0)
    assert kinds[OTHER].payload == kinds[RANDOMIZED].payload == (0.0, 2.0)


def test_seeds_are_the_samples_and_one_alone_has_no_interval():
    assert seed_interval([0.9]) is None
    low, high = seed_interval([0.90, 0.95, 1.00]) or (0, 0)
    assert low == pytest.approx(0.95 - 4.3027 * 0.05 / 3**0.5, abs=1e-4) and high == 1.0
    rows = [result(seed=s, survived=n, passed=n > 190) for s, n in ((0, 180), (1, 190), (2, 200))]
    (summary,) = summarise(rows)
    assert summary.survival == pytest.approx(0.95) and summary.interval == pytest.approx((low, high))
    assert summary.passed == 1 and summary.seeds == (0, 1, 2) and summary.pooled[0] > low
    assert summary.numbers["power"] == pytest.approx(0.2) and summary.numbers["foot_slip"] is None


def test_results_are_kept_found_and_replaced(tmp_path):
    path = tmp_path / "suite" / "results.json"
    kept = Results.open(path)
    kept.add(result())
    kept.add(result(seed=1))
    again = Results.open(path)
    assert again.rows == kept.rows and again.find(result().fingerprint) == result() and again.find("other") is None
    again.add(result(survived=170))
    assert len(again.rows) == 2 and Results.open(path).find(result().fingerprint) is None
    path.write_text(json.dumps({"schema_version": 1, "results": [{"command": "bow"}]}))
    with pytest.raises(CorruptFileError, match="Move it away"):
        Results.open(path)


def test_a_fingerprint_names_policy_settings_and_seed_but_not_threads():
    config = EvaluateConfig()
    name = fingerprint_of("a", config, 0)
    assert name == fingerprint_of("a", dataclasses.replace(config, threads=2), 0)
    others = {fingerprint_of("b", config, 0), fingerprint_of("a", config, 1)}
    assert len({name, *others, fingerprint_of("a", dataclasses.replace(config, trials=5), 0)}) == 4


def test_the_page_shows_what_fails_and_trusts_no_text():
    rows = [result(seed=0), result(seed=1, survived=100, passed=False), result("<script>", survived=200)]
    text = page(summarise(rows), rows, ["<i>kick</i> is missing"], {("bow", 0): "6 M"}, {("bow", 0): "../a'b.mp4"})
    assert "<script>" not in text and "<i>" not in text and "PASS: <b>" not in text and "a'b" not in text
    assert "1 of 2" in text and "72.5 %" in text and "bow, seed 1, other physics: PASS: &lt;b&gt; Falls in x" in text
    assert "is missing" in text and "video" in text and "not run" in text
