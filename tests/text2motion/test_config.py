from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys

import pytest
import yaml

from lagoon.errors import BadInputError
from lagoon.paths import data_dir
from lagoon.text2motion import config, matching_config


@pytest.mark.parametrize(
    "values",
    [{"duration": 0.1}, {"duration": 60.0}, {"top_p": 0.0}, {"temperature": 0.0}, {"candidates": 0}, {"model": ""}],
)
def test_values_out_of_range_are_refused_by_name(values):
    with pytest.raises(BadInputError, match=rf"^GenerateConfig\.{next(iter(values))} is .*expected"):
        config.GenerateConfig(**values)


def test_unknown_data_set_lists_the_known_ones():
    with pytest.raises(BadInputError, match=r"'secret' is not known\. Known: authored, permissive, restricted"):
        config.TrainConfig(data="x", sets=("secret",))


def test_width_must_split_over_heads():
    with pytest.raises(BadInputError, match="multiple of heads=7"):
        config.ModelConfig(width=160, heads=7)


def test_yaml_holds_exactly_the_fields():
    folder = data_dir("configs") / "text2motion"
    train = yaml.safe_load((folder / "train" / "small.yaml").read_text())
    # Hydra refuses a key that is not there, so that a size could not be set.
    assert set(train["model"]) == {f.name for f in dataclasses.fields(config.ModelConfig)}
    model = config.ModelConfig(**train.pop("model"))
    names = {f.name for f in dataclasses.fields(config.TrainConfig)} - {"model"}
    assert {k for k in train if k not in ("hydra", "defaults")} == names
    assert model == config.ModelConfig()


@pytest.mark.parametrize(
    "kind",
    [
        config.GenerateConfig,
        config.ModelConfig,
        config.TrainConfig,
        matching_config.MatcherConfig,
        matching_config.MatcherTrainConfig,
    ],
)
def test_every_field_has_a_docstring(kind):
    source = inspect.getsource(kind)
    for field in dataclasses.fields(kind):
        after = source.split(f"    {field.name}:")[1].split("\n", 1)[1]
        assert after.lstrip().startswith('"""'), field.name


def test_config_loads_no_torch():
    code = "import sys, lagoon.text2motion.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
