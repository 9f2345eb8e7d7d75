import dataclasses

import pytest
import yaml

from lagoon.engine.config import PPOConfig
from lagoon.errors import BadInputError
from lagoon.paths import data_dir


def test_the_yaml_holds_exactly_the_fields_and_the_defaults():
    values = yaml.safe_load((data_dir("configs") / "engine" / "ppo.yaml").read_text())
    assert PPOConfig(**values) == PPOConfig()
    assert set(values) == {field.name for field in dataclasses.fields(PPOConfig)}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("gamma", 1.0, "between 0 and 1"),
        ("num_envs", 0, "at least 1"),
        ("std_end", 0.0, "above 0"),
        ("lr", 1.0, "lr_min <= lr <= lr_max"),
        ("activation", "gelu", "elu, relu, silu, tanh"),
        ("minibatches", 10**6, "num_envs x horizon = 8192"),
        ("minutes", 0.0, "null for no limit"),
        ("hidden", (), "one or more widths"),
    ],
)
def test_bad_values_are_refused_by_name(field, value, expected):
    with pytest.raises(BadInputError) as error:
        PPOConfig(**{field: value})
    assert expected in str(error.value)
    assert "engine." in str(error.value)


def test_reward_factor():
    assert PPOConfig(gamma=0.98).reward_factor == pytest.approx(0.04)
    assert PPOConfig(reward_scale=False).reward_factor == 1.0
