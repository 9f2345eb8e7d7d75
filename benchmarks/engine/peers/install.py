"""One virtual environment per library, since they disagree about versions: Sample Factory wants numpy below 2.

What enters: a folder. What leaves: the interpreter of each library's environment, or pip's error.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Peer:
    """A library and its adapter."""

    title: str
    module: str
    """The adapter, in this package."""
    package: str
    """What is imported to see whether it is installed."""
    pins: tuple[str, ...]
    """What pip installs; nothing for lagoon itself."""


PEERS = {
    "lagoon": Peer("lagoon", "with_lagoon", "lagoon", ()),
    "lagoon_alone": Peer("lagoon, one process", "with_lagoon", "lagoon", ()),
    "rsl_rl": Peer("rsl-rl-lib", "with_rsl_rl", "rsl_rl.runners", ("rsl-rl-lib==5.5.1", "tensordict==0.15.3")),
    "sb3": Peer("Stable-Baselines3", "with_sb3", "stable_baselines3", ("stable-baselines3==2.9.2", "gymnasium==1.4.0")),
    "skrl": Peer("skrl", "with_skrl", "skrl", ("skrl==2.1.1", "gymnasium==1.4.0")),
    "sample_factory": Peer(
        "Sample Factory, asynchronous", "with_sample_factory", "sample_factory.train", ("sample-factory==2.1.1",)
    ),
    "rllib": Peer("RLlib", "with_rllib", "ray.rllib", ("ray[rllib]==2.60.0",)),
}


def interpreter(name: str, folder: Path, share: bool) -> str:
    """Return the Python that has a library, after installing it if it has not.

    Args:
        name: key of ``PEERS``.
        folder: where the virtual environments lie; never the one that runs this.
        share: let them see the packages of this interpreter, which saves gigabytes; otherwise each is made from
            nothing.

    Raises:
        RuntimeError: pip refused; the text holds the end of what it said.
    """
    peer = PEERS[name]
    if not peer.pins:
        return sys.executable
    home = folder / name
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if python.exists() and not _run([python, "-c", f"import {peer.package}"])[0]:
        return str(python)
    print(f"installing {', '.join(peer.pins)} into {home}", flush=True)
    _check([sys.executable, "-m", "venv", home])
    if share:
        purelib = _check([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
        (Path(purelib) / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    else:
        _check([python, "-m", "pip", "install", *requirements(ROOT / "pyproject.toml")])
    # After lagoon's own requirements and not together: a peer may want older ones, and then gets them.
    _check([python, "-m", "pip", "install", *peer.pins])
    _check([python, "-c", f"import {peer.package}"])
    return str(python)


def requirements(pyproject: Path) -> list[str]:
    """Return what lagoon needs to train, without lagoon itself, which every adapter gets by path."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["train"]]


def _run(command: list) -> tuple[int, str]:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def _check(command: list) -> str:
    status, said = _run(command)
    if status:
        raise RuntimeError("\n".join(said.strip().splitlines()[-8:]))
    return said
