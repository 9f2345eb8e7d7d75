import pytest

from lagoon.cli import __main__ as cli
from lagoon.cli import extras
from lagoon.cli.extras import EXTRAS, installed, need
from lagoon.errors import MissingExtraError, install_line


def _without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    real = extras.installed
    monkeypatch.setattr(extras, "installed", lambda m, d: None if m in modules else real(m, d))


def test_what_is_installed_is_found_without_importing_it() -> None:
    assert installed("numpy", "numpy") not in (None, "version unknown")
    assert installed("no_such_package", "no-such-package") is None
    for extra in EXTRAS.keys() - {"ray"}:  # Too heavy to be asked of everybody who runs the tests.
        need(extra)


def test_missing_packages_are_named_with_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    _without(monkeypatch, "daqp")
    with pytest.raises(MissingExtraError) as caught:
        need("retarget")
    assert str(caught.value) == (
        f"The package 'daqp' is not installed, and this step needs it. Install it with: {install_line('retarget')}"
    )
    _without(monkeypatch, "mujoco", "daqp")
    with pytest.raises(MissingExtraError) as caught:
        need("retarget")
    assert str(caught.value) == (
        "The packages mujoco, daqp are not installed, and this step needs them. "
        f"Install them with: {install_line('retarget')}"
    )


def test_a_missing_extra_ends_the_verb_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    _without(monkeypatch, "tokenizers")
    assert cli.main(["make", "bow", f"skills_dir={tmp_path}"]) == 2
    assert "The package 'tokenizers' is not installed" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
