import tomllib
from pathlib import Path

import pytest

from lagoon.cli import __main__ as cli
from lagoon.cli import doctor
from lagoon.cli.doctor import Finding, examine
from lagoon.cli.extras import CORE, EXTRAS
from lagoon.errors import install_line

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
    monkeypatch.setattr(doctor, "installed", lambda m, d: None if m in ("daqp", "viser") else real(m, d))
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert f"To do: {install_line('retarget,viewer')}\n" in out and out.count("To do:") == 1
    assert "Not in order, but optional: retarget, viewer. Without it these verbs cannot run: " in out
    assert "make, retarget, preview, play." in out


def test_a_missing_core_package_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "installed", lambda module, distribution: None if module == "scipy" else "1")
    assert cli.main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert f"To do: {install_line()}\n" in out and "Not in order, and required: core packages. Nothing works" in out
    assert "missing, required" in out and "missing, optional" not in out


def test_a_machine_without_any_extra_is_told_so_and_is_no_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    core = {module for module, _ in CORE}
    monkeypatch.setattr(doctor, "installed", lambda module, distribution: "1" if module in core else None)
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    missed = [extra for extra in EXTRAS if extra not in doctor.RARE]
    assert f"optional: {', '.join(missed)}, OpenGL, ffmpeg." in out
    assert "only lagoon train scheduler=ray needs it" in " ".join(out.split())
    assert "make, generate, retarget, train, export, evaluate, preview, play." in out
    assert f"To do: {install_line(','.join(missed))}\n" in out and out.count("To do:") == 1
    assert "ModuleNotFoundError" not in out and "No module named" not in out


@pytest.mark.parametrize("check", ["_core", "_extras", "_data", "_processor", "_opengl", "_ffmpeg", "_disk"])
def test_a_check_that_breaks_becomes_a_finding(monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    def breaks() -> list[Finding]:
        raise RuntimeError("odd machine")

    monkeypatch.setattr(doctor, check, breaks)
    broken = [finding for finding in examine() if "odd machine" in finding.fact]
    assert len(broken) == 1 and not broken[0].good


@pytest.mark.parametrize(
    ("check", "what"), [("_core", "core packages"), ("_data", "robots"), ("_opengl", "OpenGL"), ("_ffmpeg", "ffmpeg")]
)
def test_a_check_that_lacks_a_package_names_it_in_words(monkeypatch: pytest.MonkeyPatch, check: str, what: str) -> None:
    def breaks() -> list[Finding]:
        raise ModuleNotFoundError("No module named 'odd.part'", name="odd.part")

    monkeypatch.setattr(doctor, check, breaks)
    (found,) = [finding for finding in examine() if finding.what == what]
    assert found.fact == "not examined: the package odd is not installed"
    assert found.required == (check in ("_core", "_data"))


def test_the_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    for name, packages in EXTRAS.items():
        for _, distribution in packages:
            wanted = "imageio[ffmpeg]" if distribution.startswith("imageio") else distribution
            assert any(line.startswith(wanted) for line in extras[name]), (name, distribution)


def test_a_robot_that_is_not_finished_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lagoon.robot import load_robot

    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "robots" / "mine"
    folder.mkdir(parents=True)
    text = load_robot("go2").model_path.with_name("robot.yaml").read_text()
    (folder / "robot.yaml").write_text(text.replace("torque: 23.7", "torque: null"))
    found = [finding for finding in doctor.examine() if finding.what == "robots"]
    assert "mine" not in found[0].fact and found[0].good
    assert (found[1].good, found[1].advice) == (False, "lagoon robot check mine")
