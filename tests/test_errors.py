import json
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from lagoon import __version__, errors
from lagoon.errors import MissingExtraError, install_line, require, restore_line

ROOT = Path(__file__).parents[1]


def test_in_the_checkout_the_line_is_short_and_elsewhere_it_has_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    assert install_line("train") == 'pip install -e ".[train]"' and install_line() == 'pip install -e "."'
    assert restore_line() == "git restore assets configs"
    monkeypatch.chdir(tmp_path)
    assert install_line("train,viewer") == f'pip install -e "{ROOT}[train,viewer]"'


def test_an_installed_wheel_is_named_by_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = tmp_path / "a folder" / f"lagoon-{__version__}-py3-none-any.whl"
    noted = {"url": wheel.as_uri()}

    class Installed:
        def read_text(self, name: str) -> str | None:
            return json.dumps(noted) if name == "direct_url.json" else None

    monkeypatch.setattr(errors, "__file__", str(tmp_path / "site-packages" / "lagoon" / "errors.py"))
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    placeholder = f'pip install "PATH/lagoon-{__version__}-py3-none-any.whl[train]"'
    assert install_line("train") == placeholder, "the wheel is gone"
    wheel.parent.mkdir()
    wheel.touch()
    assert install_line("train") == f'pip install "{wheel}[train]"'
    assert restore_line() == f'pip install --force-reinstall --no-deps "{wheel}"'

    def unknown(name: str) -> Installed:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", unknown)
    assert install_line("train") == placeholder


def test_a_missing_package_is_told_with_the_line() -> None:
    with pytest.raises(MissingExtraError, match=re.escape(f"Install it with: {install_line('viewer')}")):
        require("no_such_package", "viewer")


def test_nobody_is_sent_to_the_package_of_the_same_name() -> None:
    """PyPI's lagoon is another project, so no text may say to install the bare name."""
    bare = re.compile("pip3? " + r"install\s+(?:-\S+\s+)*[\"'\\]*lagoon(?![-\w./])")
    assert bare.search("pip " + 'install "lagoon[train]"') and bare.search("pip " + "install --upgrade lagoon")
    assert not bare.search("pip " + 'install "PATH/lagoon-1.whl"')
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.splitlines() or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
    texts = [ROOT / name for name in names if Path(name).suffix in ("", ".md", ".py", ".toml", ".yaml", ".html", ".js")]
    assert len(texts) > 200
    found = [path for path in texts if path.is_file() and bare.search(path.read_text(encoding="utf-8"))]
    assert found == []
