import re
import shlex
from pathlib import Path

import pytest

from lagoon.cli import __main__ as cli
from lagoon.cli.help import flags_of

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
TARGETS = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M))


def _command_lines(program: str) -> list[tuple[str, str]]:
    """Lines of code blocks that begin with a program, with the page's name."""
    found = []
    for page in PAGES:
        for block in re.findall(r"^```(?:bash|sh)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            found += [(page.name, line) for line in block.splitlines() if line.startswith(program + " ")]
    return found


@pytest.mark.parametrize(("page", "line"), _command_lines("lagoon"))
def test_a_documented_command_is_accepted(capsys: pytest.CaptureFixture[str], page: str, line: str) -> None:
    words = [word for word in shlex.split(line, comments=True)[1:] if word != "--again"]
    code = cli.main([*words, "--cfg"])
    assert (code, capsys.readouterr().err) == (0, ""), f"{page}: {line}"


@pytest.mark.parametrize(("page", "line"), _command_lines("make"))
def test_a_documented_make_target_exists(page: str, line: str) -> None:
    assert shlex.split(line, comments=True)[1] in TARGETS, f"{page}: {line}"


def test_advice_to_train_longer_is_longer_than_the_default() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    found = re.findall(r"train\.total_steps=([\d.e]+)", text)
    assert found and all(float(steps) > cli.load_verb("train").config().train.ppo.total_steps for steps in found)


def test_verbs_and_targets_mentioned_in_prose_exist() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for words in re.findall(r"`lagoon ([a-z]+(?: [a-z]+)?)", text):
            group = words.split(" ")[0]
            grouped = any(verb.startswith(group + " ") for verb in cli.VERBS)
            assert (words if grouped and " " in words else group) in {*cli.VERBS, *((group,) if grouped else ())}, (
                f"{page.name}: lagoon {words}"
            )
        for target in re.findall(r"`make ([a-z-]+)", text):
            assert target in TARGETS, f"{page.name}: make {target}"


def test_the_readme_shows_every_verb() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for verb in cli.VERBS:
        assert f"| `lagoon {verb}" in text or f", `lagoon {verb}" in text
    assert flags_of(cli.load_verb("make"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_in_code_marks_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:lagoon|docs|configs|assets|tests|benchmarks)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), f"{page.name} names {name}"
    packages = "motion|sim|engine|text2motion|importers|retarget|imitation|deploy|studio|cli|bundle"
    for name in re.findall(rf"`((?:{packages})/\w+\.py)`", text):
        assert (ROOT / "lagoon" / name).exists(), f"{page.name} names {name}"


def test_the_architecture_page_has_a_row_for_every_package_and_the_rules_as_checked() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in (ROOT / "lagoon").iterdir():
        if path.is_dir() and (path / "__init__.py").exists():
            assert f"| `lagoon/{path.name}/` |" in text
    layers = re.search(r"layers = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(), re.S)
    shown = re.search(r"## Who may import whom\n\n```\n(.*?)```", text, re.S)
    assert layers and shown
    wanted = re.findall(r'"([^"]+)"', layers[1])
    assert [re.split(r"\s{2,}", line)[0] for line in shown[1].splitlines()] == wanted


def test_the_tour_can_be_read_in_ten_minutes() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tour = text[text.index("## Ten-minute tour") : text.index("## Layout")]
    first = [name for line in tour.splitlines() for name in re.findall(r"^\d+\. `(lagoon/[\w./]+)`", line)]
    assert len(first) >= 8 and all((ROOT / name).is_file() for name in first)
    lines = sum((ROOT / name).read_text(encoding="utf-8").count("\n") for name in first)
    assert lines <= 2500, lines
