"""The built wheel, installed apart from the checkout, run from another folder."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(words, check=True, capture_output=True, timeout=300)
    (found,) = out.glob("lagoon-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*words, str(wheel)], check=True, capture_output=True, timeout=300)
    return target


def _run(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    script = [sys.executable, "-m", "lagoon.cli", *words]
    return subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_the_wheel_holds_configs_assets_and_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    data = [(ROOT / "configs").rglob("*.yaml"), (ROOT / "assets").glob("*/*/*")]
    wanted = [f"lagoon/_data/{path.relative_to(ROOT).as_posix()}" for paths in data for path in paths if path.is_file()]
    wanted += ["lagoon/py.typed", "lagoon/studio/page/preview.html"]
    assert set(wanted) <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "skills/")) for name in names)


def test_it_is_the_wheel_that_runs(installed: Path, tmp_path: Path) -> None:
    code = "import lagoon, lagoon.paths as p; print(lagoon.__file__, p.data_dir('assets'))"
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60)
    module, assets = done.stdout.split()
    assert module.startswith(str(installed)) and assets.startswith(str(installed))


def test_help_doctor_and_settings_work_from_another_folder(installed: Path, tmp_path: Path) -> None:
    done = _run(installed, tmp_path, "--help")
    assert done.returncode == 0 and "lagoon doctor" in done.stdout
    done = _run(installed, tmp_path, "doctor")
    assert done.returncode == 0 and "go2" in done.stdout, done.stderr
    done = _run(installed, tmp_path, "make", "bow", "train.minutes=1", "--cfg")
    assert done.returncode == 0 and "minutes: 1" in done.stdout
    done = _run(installed, tmp_path, "make", "bow", "robot=spto")
    assert done.returncode == 2 and "Known: go1, go2, spot" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_command_is_an_entry_point(installed: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    words = [sys.executable, str(installed / "bin" / "lagoon"), "--version"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("lagoon ")
