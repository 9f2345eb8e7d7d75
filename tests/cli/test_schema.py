from dataclasses import dataclass, field
from typing import Literal

from omegaconf import OmegaConf

from lagoon.cli.schema import build, field_docs, options_of, schema_of, to_plain


@dataclass(frozen=True)
class Inner:
    """A section."""

    range: tuple[float, float] = (0.5, 1.0)
    """Two numbers [m]."""
    limit: float | None = None
    """May be
    absent."""


@dataclass(frozen=True)
class Base:
    """What others share."""

    name: str = "x"
    """Of the thing."""


@dataclass(frozen=True)
class Outer(Base):
    """A config as stages write them."""

    way: Literal["fast", "slow"] = "fast"
    """How."""
    widths: tuple[int, ...] = (4, 2)
    """Sizes."""
    on: bool = False
    """Or off."""
    inner: Inner = field(default_factory=Inner)
    """More."""


def test_a_schema_holds_the_defaults_and_can_be_changed() -> None:
    node = OmegaConf.structured(schema_of(Outer))
    node.inner.limit = 3
    node.widths = [7]
    assert build(Outer, OmegaConf.to_container(node)) == Outer(widths=(7,), inner=Inner(limit=3.0))


def test_building_restores_tuples_and_nested_classes() -> None:
    built = build(Outer, to_plain(Outer(inner=Inner(range=(1.0, 2.0)))))
    assert built == Outer(inner=Inner(range=(1.0, 2.0)))
    assert isinstance(built.inner.range, tuple)


def test_absent_keys_keep_their_defaults() -> None:
    assert build(Outer, {"inner": {"limit": 1.0}}) == Outer(inner=Inner(limit=1.0))


def test_plain_data_has_no_tuples() -> None:
    assert to_plain(Outer()) == {
        "name": "x",
        "way": "fast",
        "widths": [4, 2],
        "on": False,
        "inner": {"range": [0.5, 1.0], "limit": None},
    }


def test_options_name_type_default_and_text_of_every_leaf() -> None:
    found = [(option.key, option.kind, option.default, option.doc) for option in options_of(Outer)]
    assert found == [
        ("name", "text", "x", "Of the thing."),
        ("way", "fast | slow", "fast", "How."),
        ("widths", "[whole number, ...]", (4, 2), "Sizes."),
        ("on", "true | false", False, "Or off."),
        ("inner.range", "[number, ...]", (0.5, 1.0), "Two numbers [m]."),
        ("inner.limit", "number | null", None, "May be absent."),
    ]


def test_field_texts_are_inherited() -> None:
    assert field_docs(Outer)["name"] == "Of the thing."
