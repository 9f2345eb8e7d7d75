import tomllib
from pathlib import Path

import pytest

from lagoon.cli import __main__ as cli
from lagoon.cli import doctor
from lagoon.cli.doctor import Finding, examine
from lagoon.cli.extras import EXTRAS

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_doctor_reports_what_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("numpy", "torch", "mujoco", "onnxruntime", "go2", "OpenGL", "ffmpeg", "GB free", "cores"):
        assert word in out


def test_a_missing_package_gives_the_line_to_type(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = doctor.installed
    monkeypatch.setattr(doctor, "installed", lambda m, d: None if m in ("mink", "viser") else real(m, d))
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert 'To do: pip install "lagoon[retarget]"\n' in out and 'To do: pip install "lagoon[viewer]"\n' in out


def test_a_missing_core_package_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "installed", lambda module, distribution: None if module == "scipy" else "1")
    assert cli.main(["doctor"]) == 2
    assert "To do: pip install --force-reinstall lagoon\n" in capsys.readouterr().out


@pytest.mark.parametrize("check", ["_core", "_extras", "_data", "_processor", "_opengl", "_ffmpeg", "_disk"])
def test_a_check_that_breaks_becomes_a_finding(monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    def breaks() -> list[Finding]:
        raise RuntimeError("odd machine")

    monkeypatch.setattr(doctor, check, breaks)
    broken = [finding for finding in examine() if "odd machine" in finding.fact]
    assert len(broken) == 1 and not broken[0].good


def test_the_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    for name, packages in EXTRAS.items():
        for _, distribution in packages:
            wanted = "imageio[ffmpeg]" if distribution.startswith("imageio") else distribution
            assert any(line.startswith(wanted) for line in extras[name]), (name, distribution)
