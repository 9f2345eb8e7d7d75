import pytest

from lagoon.engine.config import PPOConfig
from lagoon.errors import BadInputError


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
    assert str(error.value).startswith("PPOConfig.")


def test_reward_factor():
    assert PPOConfig(gamma=0.98).reward_factor == pytest.approx(0.04)
    assert PPOConfig(reward_scale=False).reward_factor == 1.0
