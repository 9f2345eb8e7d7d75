from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lagoon.cli.arguments import FLAGS, SETTINGS, VALUES, Arguments, split
from lagoon.errors import BadInputError

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=200)
overrides = st.lists(st.from_regex(r"[a-z_]+(\.[a-z_]+)*=[^\x00]*", fullmatch=True), max_size=3)
flags = st.lists(st.sampled_from(sorted(set(FLAGS) - set(VALUES) - set(SETTINGS) - {"--each"})), max_size=3)


@settings(max_examples=40)
@given(texts, overrides, flags)
@example("seed=3", ["seed=4"], [])
@example("--help", [], ["--help"])
@example("--", [], [])
@example("-", [], [])
@example("", [], [])
@example("make", [], [])
def test_after_two_dashes_any_text_is_the_text(text: str, changes: list[str], given_flags: list[str]) -> None:
    found = split([*given_flags, "--", text, *changes], "make", takes_text=True)
    assert found == Arguments(text, tuple(changes), frozenset(given_flags))


@settings(max_examples=40)
@given(texts.filter(lambda text: not text.startswith("-") or text == "-"), overrides, flags)
@example("robot=go2 seed=3", [], [])
@example("../../etc/passwd", ["skills_dir=out"], [])
@example("挥手 👋 'a' \"b\" $(c)\nd", ["seed=1"], ["--again"])
def test_the_first_plain_argument_is_the_text(text: str, changes: list[str], given_flags: list[str]) -> None:
    found = split([text, *changes, *given_flags], "make", takes_text=True)
    assert found == Arguments(text, tuple(changes), frozenset(given_flags))


def test_a_flag_may_be_another_way_to_write_a_setting() -> None:
    found = split(["x", "--fix", "a=1"], "retarget", takes_text=True)
    assert found == Arguments("x", ("retarget.fix=true", "a=1"), frozenset({"--fix"}))


def test_each_makes_every_plain_argument_a_text() -> None:
    found = split(["wave hello", "a=1", "--each", "bow"], "make", takes_text=True)
    assert found == Arguments("wave hello", ("a=1",), frozenset({"--each"}), more=("bow",))
    assert split(["--", "--each"], "make", takes_text=True) == Arguments("--each", (), frozenset())


def test_a_text_may_be_absent() -> None:
    assert split([], "make", takes_text=True).text is None
    assert split(["--cfg"], "make", takes_text=True) == Arguments(None, (), frozenset({"--cfg"}))


def test_flags_may_stand_between_settings_and_have_short_names() -> None:
    assert split(["x", "a=1", "-h", "b=2"], "make", takes_text=True) == Arguments(
        "x", ("a=1", "b=2"), frozenset({"--help"})
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["wave", "hello"],
            "The argument 'hello' after the command text 'wave' is not a setting KEY=VALUE. If it belongs to the text, "
            'put the whole text in quotes: lagoon make "wave hello"',
        ),
        (
            ["--agian", "x"],
            "The flag '--agian' is not known. Flags of 'lagoon make': --help, --cfg, --again, --force, "
            "--motion, --caption. Did you mean "
            '--again? If it is the command text, put -- before it: lagoon make -- "--agian"',
        ),
        (
            ["x", "--xyz"],
            "The flag '--xyz' is not known. Flags of 'lagoon make': --help, --cfg, --again, --force, "
            "--motion, --caption. See: lagoon make --help",
        ),
        (
            ["a\udcff"],
            "The command text 'a\\udcff' is not valid UTF-8. Set a UTF-8 locale (LC_ALL=C.UTF-8) and type it again.",
        ),
    ],
)
def test_what_fits_nowhere_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(BadInputError) as caught:
        split(arguments, "make", takes_text=True)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "first", "more", "changes"),
    [
        (["wave hello", "bow", "--sim"], "wave hello", ("bow",), ()),
        (
            ["wave hello", "robot=go2", "bow", "deploy.video=true"],
            "wave hello",
            ("bow",),
            ("robot=go2", "deploy.video=true"),
        ),
        (["a=b", "bow"], "a=b", ("bow",), ()),
        (["wave hello", "robot=go2", "--", "x=1", "--sim"], "wave hello", ("x=1", "--sim"), ("robot=go2",)),
        (["--", "--sim", "bow"], "--sim", ("bow",), ()),
        (["wave", "wave"], "wave", ("wave",), ()),
        (["wave"], "wave", (), ()),
        ([], None, (), ()),
    ],
)
def test_a_verb_of_skills_takes_every_plain_argument_in_order(arguments, first, more, changes) -> None:
    found = split(arguments, "deploy run", takes_text=True, known=("--sim",), takes_more=True)
    assert (found.text, found.more, found.overrides) == (first, more, changes)


def test_verbs_without_text_take_settings_only() -> None:
    assert split(["skills_dir=out"], "list", takes_text=False) == Arguments(None, ("skills_dir=out",), frozenset())
    with pytest.raises(BadInputError) as caught:
        split(["wave"], "list", takes_text=False)
    assert str(caught.value) == (
        "The argument 'wave' is not a setting. 'lagoon list' takes settings KEY=VALUE and flags only. "
        "See: lagoon list --help"
    )


def test_a_flag_with_a_value_writes_a_setting_whatever_the_value_holds() -> None:
    found = split(["--motion", "a.bvh", "import.up=y", "seed=3"], "make", takes_text=True)
    assert found.overrides == ("motion=a.bvh", "import.up=y", "seed=3") and found.text is None
    assert split(["--motion", "a.bvh", "--", "seed=3"], "make", takes_text=True).text == "seed=3"
    found = split(["--motion", "--odd=name.bvh", "wave", "--caption=a=b"], "make", takes_text=True)
    assert found.overrides == ("motion=--odd=name.bvh", "caption=a=b") and found.text == "wave"
    with pytest.raises(BadInputError, match=r"The flag --motion needs a value after it: lagoon make"):
        split(["wave", "--motion"], "make", takes_text=True)


def test_a_verb_of_files_takes_all_that_is_no_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run=2.bvh").touch()
    words = ["a.bvh", "run=2.bvh", "import.up=y", "b c.bvh", "--again", "--", "fps=3", "-x.bvh"]
    found = split(words, "import", takes_text=False, takes_files=True)
    assert found.files == ("a.bvh", "run=2.bvh", "b c.bvh", "fps=3", "-x.bvh")
    assert found.overrides == ("import.up=y",) and found.flags == {"--again"} and found.text is None
