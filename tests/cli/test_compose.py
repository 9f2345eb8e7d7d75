from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lagoon.cli.compose import compose_config, is_setting
from lagoon.errors import BadInputError


@dataclass(frozen=True)
class Deep:
    """Inner settings."""

    minutes: float | None = None
    """Time limit [min]."""
    steps: int = 1000
    """How many."""
    way: Literal["fast", "slow"] = "fast"
    """How."""


@dataclass(frozen=True)
class Section:
    """A stage's settings."""

    deep: Deep = field(default_factory=Deep)
    """More."""
    widths: tuple[int, ...] = (4, 2)
    """Sizes."""
    scale: float = 1.0
    """Factor."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.scale < 0:
            raise BadInputError(f"section.scale={self.scale}: expected 0 or more.")


@dataclass(frozen=True)
class Config:
    """A verb's settings."""

    seed: int = 0
    """Of chance."""
    folder: str = "skills"
    """Where."""
    robot: str | None = None
    """Which."""
    section: Section = field(default_factory=Section)
    """A stage."""
    other: Section = field(default_factory=Section)
    """Another stage."""


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("configs")
    (folder / "section").mkdir()
    (folder / "try.yaml").write_text("defaults:\n  - /schema/try@_here_\n  - section: default\n  - _self_\nseed: 5\n")
    (folder / "section" / "default.yaml").write_text("{}\n")
    (folder / "section" / "wide.yaml").write_text("widths: [64, 64]\n")
    (folder / "section" / "broken.yaml").write_text("width: [64, 64]\n")
    return folder


def test_values_come_from_dataclass_then_file_then_overrides(configs: Path) -> None:
    composed = compose_config("try", Config, ["section.scale=2", "section=wide", "section.deep.minutes=5"], configs)
    assert composed.config == Config(seed=5, section=Section(deep=Deep(minutes=5.0), widths=(64, 64), scale=2.0))
    assert composed.given == {"section.scale", "section.deep.minutes"}
    assert composed.typed == (
        ("section.scale", "section.scale=2"),
        ("section", "section=wide"),
        ("section.deep.minutes", "section.deep.minutes=5"),
    )
    assert composed.values["section"]["widths"] == [64, 64]


def test_a_text_that_reads_like_a_setting_is_told_apart() -> None:
    assert all(
        is_setting(text, Config) for text in ("seed=3", "section=wide", "section.minutes=", "section.deep.way=x")
    )
    assert not any(is_setting(text, Config) for text in ("seed", "wave = hello", "x=1", "=", "say seed=3", ""))


def test_names_in_the_middle_may_be_left_out(configs: Path) -> None:
    composed = compose_config("try", Config, ["section.minutes=5"], configs)
    assert composed.config.section.deep.minutes == 5.0


@pytest.mark.parametrize(("text", "steps"), [("20", 20), ("1e6", 1_000_000), ("2_000", 2000)])
def test_whole_numbers_may_be_written_as_step_counts_are(configs: Path, text: str, steps: int) -> None:
    assert compose_config("try", Config, [f"section.steps={text}"], configs).config.section.deep.steps == steps


@settings(max_examples=12, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
@example("/tmp/a b(1)")
@example("${oc.env:HOME}")
@example("a,b")
@example("null")
@example('it\'s "x"\\')
@example("")
def test_text_settings_are_taken_as_they_are(configs: Path, text: str) -> None:
    assert compose_config("try", Config, [f"folder={text}"], configs).config.folder == text


def test_null_clears_a_text_that_may_be_absent(configs: Path) -> None:
    assert compose_config("try", Config, ["robot=go2", "robot=null"], configs).config.robot is None


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "section.minuts=5",
            "The setting 'section.minuts' does not exist in 'lagoon try'. Nearest: section.deep.minutes, "
            "other.deep.minutes. All settings: lagoon try --cfg",
        ),
        (
            "sed=5",
            "The setting 'sed' does not exist in 'lagoon try'. Nearest: seed. All settings: lagoon try --cfg",
        ),
        (
            "zzzz=5",
            "The setting 'zzzz' does not exist in 'lagoon try'. Groups and settings: seed, folder, robot, section, "
            "other. All settings: lagoon try --cfg",
        ),
        (
            "minutes=5",
            "The setting 'minutes' could be any of: section.deep.minutes, other.deep.minutes. "
            "Type one of them in full.",
        ),
        (
            "section.deep=5",
            "'section.deep' is a group of settings, such as section.deep.minutes, section.deep.steps, "
            "section.deep.way. All settings: lagoon try --cfg",
        ),
        (
            "section=wid",
            "Preset of 'section' 'wid' is not known. Known: broken, default, wide. Choose one with section=NAME.",
        ),
        ("seed=abc", "seed=abc: expected whole number (default 0). Of chance. Type seed=VALUE."),
        ("seed=1.5", "seed=1.5: expected whole number (default 0). Of chance. Type seed=VALUE."),
        ("seed=1,2", "seed=1,2: expected whole number (default 0). Of chance. Type seed=VALUE."),
        ("seed=", "seed=: expected whole number (default 0). Of chance. Type seed=VALUE."),
        ("seed=[1", "seed=[1: expected whole number (default 0). Of chance. Type seed=VALUE."),
        ("seed=${x}", "seed=${x}: expected whole number (default 0). Of chance. Type seed=VALUE."),
        (
            "section.way=slwo",
            "section.deep.way=slwo: expected fast | slow (default fast). How. Type section.deep.way=VALUE.",
        ),
        (
            "section.widths=[a]",
            "section.widths=[a]: expected [whole number, ...] (default [4, 2]). Sizes. Type section.widths=VALUE.",
        ),
        ("+new=1", "The setting '+new=1' adds or removes a key. Settings can only be changed: new=VALUE."),
        ("~seed=1", "The setting '~seed=1' adds or removes a key. Settings can only be changed: seed=VALUE."),
        ("section.scale=-1", "section.scale=-1.0: expected 0 or more."),
    ],
)
def test_a_wrong_setting_is_refused_in_one_paragraph(configs: Path, override: str, message: str) -> None:
    with pytest.raises(BadInputError) as caught:
        compose_config("try", Config, [override], configs)
    assert str(caught.value) == message


def test_a_misspelt_key_in_a_file_is_refused_with_its_name(configs: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        compose_config("try", Config, ["section=broken"], configs)
    text = str(caught.value)
    assert "'width'" in text and "try.yaml" in text and "\n" not in text


def test_composing_leaves_no_litter(configs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    compose_config("try", Config, [], configs)
    assert list(tmp_path.iterdir()) == []
    assert Path.cwd() == tmp_path
