from pathlib import Path

import pytest

from lagoon.cli import __main__ as cli
from lagoon.robot import load_robot


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_init_then_check(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "My Go2.xml").write_text(load_robot("go2").model_path.read_text())
    code, out, _ = _run(capsys, "robot", "init", "My Go2.xml")
    assert code == 0 and "robots/my_go2/robot.yaml" in out.replace("\n", "") and "velocity" in out
    # MJCF has no velocity limits: the check refuses until they are filled in.
    code, _, err = _run(capsys, "robot", "check", "my_go2")
    assert code == 2 and "no 'velocity'" in err
    path = tmp_path / "robots/my_go2/robot.yaml"
    text = path.read_text().replace("velocity: null", "velocity: 20")
    path.write_text(text.replace("torque: null", "torque: 30"))
    code, out, _ = _run(capsys, "robot", "check", "my_go2")
    assert code == 0 and "robot=my_go2" in out
    path.write_text(path.read_text().replace("mass: 15", "mass: 25"))
    code, out, _ = _run(capsys, "robot", "check", "my_go2")
    assert code == 1 and "Not fit for use: mass" in out


def test_list_shows_an_unfinished_robot_with_what_it_lacks(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _run(capsys, "robot", "init", str(load_robot("go2").model_path), "name=mine")[0] == 0
    code, out, _ = _run(capsys, "robot", "list")
    assert code == 0 and "mine" in out and "spot" in out and "has no" in " ".join(out.split())


def test_bad_names_and_files(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = _run(capsys, "robot", "init", "nothing.xml")
    assert code == 2 and "There is no file nothing.xml" in err
    code, _, err = _run(capsys, "robot", "init", str(load_robot("go2").model_path), "name=../x")
    assert code == 2 and "cannot be a robot's name" in err
    assert not (tmp_path / "robots").exists()
    code, _, err = _run(capsys, "robot", "chekc")
    assert code == 2 and "robot check" in err
    code, _, err = _run(capsys, "robot", "check")
    assert code == 2 and "The name of the robot is missing" in err


def test_a_group_explains_itself(capsys):
    code, out, _ = _run(capsys, "robot")
    assert code == 0 and "robot init" in out and "robot check" in out and "\n  evaluate" not in out
