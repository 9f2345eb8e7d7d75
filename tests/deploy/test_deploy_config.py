import dataclasses

import pytest
import yaml

from lagoon.deploy.config import EvaluateConfig
from lagoon.errors import BadInputError
from lagoon.paths import data_dir


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"trials": 0}, "^EvaluateConfig\\.trials is 0; expected at least 1\\. Set it with trials=VALUE\\."),
        ({"threads": -1}, "threads is -1"),
        ({"physics": "moon"}, "physics is 'moon'; expected checking or training"),
        ({"friction": (1.0, 0.5)}, "friction is .*the lower one first"),
        ({"friction": (0.5,)}, "two numbers"),
        ({"gain_scale": (0.0, 1.0)}, "gain_scale is .*factors above 0"),
        ({"delay": (-0.01, 0.0)}, "delay is .*0 or more"),
        ({"tilt_noise": -0.1}, "tilt_noise is -0.1; expected 0 or more"),
        ({"min_survival": 1.5}, "min_survival is 1.5"),
    ],
)
def test_bad_settings_are_named(values, words):
    with pytest.raises(BadInputError, match=words):
        EvaluateConfig(**values)


def test_lists_become_tuples():
    assert EvaluateConfig(friction=[0.3, 0.4]).friction == (0.3, 0.4)


def test_shipped_settings_are_valid_and_mean_what_they_say():
    folder = data_dir("configs") / "evaluate"
    made = {path.stem: EvaluateConfig(**(yaml.safe_load(path.read_text()) or {})) for path in folder.glob("*.yaml")}
    assert made["default"] == EvaluateConfig() and made["default"].trials >= 100
    assert (made["default"].min_survival, made["default"].max_joint_error) == (0.95, 0.15)
    assert made["quick"] == dataclasses.replace(EvaluateConfig(), trials=32)
    normal, stress = made["default"], made["stress"]
    for name in ("friction", "payload", "gain_scale", "delay"):
        low, high = getattr(stress, name)
        assert low <= getattr(normal, name)[0] and high > getattr(normal, name)[1]
