"""The page names every guard that the controller has, with the numbers that decide, and no other."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from lagoon.deploy.controller import GuardConfig

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")


def rows():
    """Guard to the line of its row."""
    table = PAGE.split("| guard | trips when |")[1].split("\n\n")[0]
    return {match[1]: line for line in table.splitlines() if (match := re.match(r"\| `(\w+)` \|", line))}


def guards_in_code():
    found = set()
    for path in (ROOT / "lagoon" / "deploy" / "controller").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Trip":
                assert isinstance(node.args[0], ast.Constant), path
                found.add(node.args[0].value)
    return found


def test_every_guard_has_a_row_and_every_row_a_guard():
    assert set(rows()) == guards_in_code()


@pytest.mark.parametrize("item", dataclasses.fields(GuardConfig), ids=lambda item: item.name)
def test_every_number_is_on_the_page_with_its_default_and_its_ceiling(item):
    (line,) = [line for line in rows_and_refusals() if f"`{item.name}`" in line]
    numbers = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", line)}
    for value in (item.default, item.metadata["ceiling"]):
        # As it is, in ms, or in per cent.
        assert numbers & {round(scale * value, 6) for scale in (1.0, 1e3, 1e2)}, (item.name, value)


def rows_and_refusals():
    paragraph = PAGE.split("Refused before anything moves:")[1].split("\n\n")[0]
    return [*rows().values(), paragraph.replace("\n", " ")]
