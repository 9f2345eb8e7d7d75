"""The tables in the docs are the ones in the code."""

from pathlib import Path

import pytest

from lagoon.bundle import SCHEMA_VERSION, input_ports, output_ports
from lagoon.deploy.alignment import ALIGNMENT_METRICS
from lagoon.deploy.report import UNITS
from lagoon.deploy.smoothness import SMOOTHNESS_METRICS
from lagoon.deploy.tracking import METRICS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("port", input_ports(12, 5) + output_ports(12, 5), ids=lambda port: port.name)
def test_every_port_is_in_the_table_with_its_shape_and_unit(port):
    size = {12: "J", 5: "S"}.get(port.shape[1], port.shape[1])
    unit = "" if port.unit == "1" else f" {port.unit}"
    assert f"| `{port.name}` | (batch, {size}) |{unit} |" in (DOCS / "bundle.md").read_text()


def test_schema_version_is_the_one_told():
    assert f"schema version {SCHEMA_VERSION}" in (DOCS / "bundle.md").read_text()


def test_every_metric_is_explained():
    text = (DOCS / "evaluate.md").read_text()
    assert set(UNITS) == {*METRICS, *ALIGNMENT_METRICS, *SMOOTHNESS_METRICS}
    for name in UNITS:
        assert f"`{name}`" in text
