import pytest

from lagoon.cli import __main__ as cli
from lagoon.cli import extras
from lagoon.skill import Skill


def test_without_ray_the_line_to_install_it_is_told(tmp_path, monkeypatch, capsys: pytest.CaptureFixture[str]):
    Skill.new(tmp_path, "bow", "go2").save()
    real = extras.installed
    monkeypatch.setattr(extras, "installed", lambda m, d: None if m == "ray" else real(m, d))
    assert cli.main(["train", "bow", "scheduler=ray", f"skills_dir={tmp_path}"]) == 2
    err = capsys.readouterr().err
    assert "The package 'ray' is not installed" in err and "[ray]" in err
