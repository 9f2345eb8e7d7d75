"""What continuous integration runs fails when a part of it fails, and what it may skip is written down."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("broken", ["install", "check", "test", "test-ros", "nothing"])
def test_whatever_part_fails_the_whole_fails(tmp_path, broken) -> None:
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "made $1"\n[ "$1" != {broken} ]\n')
    make.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(ROOT / ".ci" / "run")], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode == 0) == (broken == "nothing"), done.stdout + done.stderr
    if broken != "install":
        assert all(f"made {part}\n" in done.stdout for part in ("check", "test", "test-ros")), done.stdout


def test_without_rclpy_its_tests_are_an_error_and_no_skip(tmp_path) -> None:
    """As in ``make test-ros``, in an environment in which rclpy cannot be found."""
    blind = tmp_path / "sitecustomize.py"
    blind.write_text(
        "import importlib.util\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'rclpy' else find(name, *more)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "ros", "tests/deploy/ros", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 4 and "has no rclpy. make test-ros sets up" in done.stdout + done.stderr
    recipe = (ROOT / "Makefile").read_text().split("\ntest-ros:")[1].split("\n\n")[0]
    assert "\t$(ROS_VENV)/bin/python -m pytest -m ros tests/deploy/ros" in recipe


def test_packages_that_a_test_may_lack_are_in_dev_or_named_with_a_reason() -> None:
    """``make test`` installs the extra dev, so a skip for the lack of one of its packages cannot happen there."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    def names(extra: str) -> set[str]:
        found = set()
        for line in extras[extra]:
            name, inner = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", line).groups()
            if name == "lagoon":
                found |= set().union(*(names(part) for part in inner.split(",")))
            found.add(name.lower().replace("-", "_"))
        return found

    comes_with = {"PIL": "imageio", "imageio_ffmpeg": "imageio", "importlinter": "import_linter"}
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for path in (ROOT / "tests").rglob("*.py"):
        for module in re.findall(r'importorskip\(\s*"([\w.]+)"', path.read_text(encoding="utf-8")):
            package = module.split(".")[0]
            known = package == "lagoon" or comes_with.get(package, package) in names("dev")
            assert known or f"`{package}`" in text, f"{path}: {module}"
