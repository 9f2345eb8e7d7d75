import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NASTY = [
    "wave hello",
    "",
    'it\'s a "quoted" `touch pwned` $(touch pwned) ${HOME} $HOME $$ text',
    "$(shell touch pwned)",
    "a; touch pwned # & | > x \\ % = robot=spot",
    "挥手 👋",
    "--help",
    "../../etc/passwd",
    "two\nlines",
    "x" * 400,
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder in which everything seems installed and lagoon writes down what it was told."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    binary = tmp_path / ".venv" / "bin" / "lagoon"
    binary.parent.mkdir(parents=True)
    binary.write_text('#!/bin/bash\nprintf "%s\\0" "$@" > told\n')
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    (tmp_path / ".venv" / ".installed").touch()
    return tmp_path


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("by_environment", [False, True])
def test_make_skill_hands_any_text_on_as_it_is(checkout: Path, text: str, by_environment: bool) -> None:
    words = ["make", "skill", *([] if by_environment else [f"COMMAND={text}"]), "ARGS=seed=3 skills_dir=out"]
    environment = {**os.environ, "COMMAND": text} if by_environment else dict(os.environ)
    subprocess.run(words, cwd=checkout, env=environment, check=True, capture_output=True, timeout=30)
    told = (checkout / "told").read_bytes().decode().split("\0")[:-1]
    assert told == ["make", "--", text, "seed=3", "skills_dir=out"]
    assert not (checkout / "pwned").exists()


def test_an_old_python_is_refused_with_what_to_install(checkout: Path) -> None:
    (checkout / ".venv" / ".installed").unlink()
    empty = checkout / "bin"
    empty.mkdir()
    for tool in ("bash", "touch"):
        (empty / tool).symlink_to(shutil.which(tool) or "")
    done = subprocess.run(
        [shutil.which("make") or "make", "install"],
        cwd=checkout,
        env={"PATH": str(empty)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2 and "No Python 3.11 or newer was found. Install one" in done.stderr


def test_every_target_is_listed_by_help() -> None:
    words = ["make", "--no-print-directory", "help"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    listed = {line.split()[0] for line in done.stdout.splitlines()}
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert phony and listed == set(phony[1].split())


@pytest.mark.parametrize(
    ("check", "test", "ros", "code"),
    [(0, 0, 0, 0), (3, 0, 0, 3), (0, 4, 0, 4), (3, 4, 0, 4), (0, 0, 5, 5), (3, 0, 5, 5), (3, 4, 5, 4)],
)
def test_continuous_integration_runs_checks_and_tests_and_needs_all(
    tmp_path: Path, check: int, test: int, ros: int, code: int
) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    fake = tmp_path / "bin" / "make"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/bash\necho "$1 $OMP_NUM_THREADS"\n'
        f"case $1 in check) exit {check};; test) exit {test};; test-ros) exit {ros};; esac\n"
    )
    fake.chmod(0o755)
    environment = {**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"}
    words = [str(tmp_path / ".ci" / "run")]
    done = subprocess.run(words, cwd="/", env=environment, capture_output=True, text=True, timeout=30)
    assert done.stdout.splitlines() == ["install 1", "check 1", "test 1", "test-ros 1"] and done.returncode == code
