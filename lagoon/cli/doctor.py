"""``lagoon doctor``: what is installed, what is missing, and what to type.

Nothing here raises: a machine that is half set up is the very case it is for.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lagoon import __version__
from lagoon.cli.config import DoctorVerb
from lagoon.cli.console import Terminal, plain
from lagoon.cli.extras import CORE, EXTRAS, Packages, installed
from lagoon.cli.verb import Call, Verb

_NEEDED_GB = 2.0
"""Free space below which doctor warns: a skill takes some tens of megabytes, an environment more [GB]."""


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    what: str
    good: bool
    fact: str
    advice: str = ""
    """What to type; empty when nothing is to be done."""
    core: bool = False
    """True when lagoon cannot work at all without it."""


def examine() -> list[Finding]:
    """Look at everything; a check that breaks becomes a finding."""
    checks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("core", _core),
        ("extras", _extras),
        ("data", _data),
        ("processor", _processor),
        ("opengl", _opengl),
        ("ffmpeg", _ffmpeg),
        ("disk", _disk),
    ]
    found: list[Finding] = []
    for name, check in checks:
        try:
            found += check()
        except Exception as error:
            found.append(Finding(name, False, f"could not be examined ({type(error).__name__}: {error})"))
    return found


def run(call: Call, screen: Terminal | None = None) -> int:
    """Print the report; 2 only if lagoon cannot work at all."""
    from rich.table import Table

    screen = screen or Terminal()
    screen.say(f"lagoon {__version__}, Python {platform.python_version()}, {platform.platform()}")
    findings = examine()
    table = Table(header_style="bold")
    for column in ("what", "", "found"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        table.add_row(finding.what, "ok" if finding.good else "missing", plain(finding.fact))
    screen.console.print(table)
    advice = list(dict.fromkeys(finding.advice for finding in findings if finding.advice))
    for line in advice:
        screen.say(f"To do: {line}")
    if not advice:
        screen.say('Everything is there. Try: lagoon make "wave hello"')
    return 2 if any(finding.core and not finding.good for finding in findings) else 0


def _packages(packages: Packages) -> tuple[str, list[str]]:
    states = {distribution: installed(module, distribution) for module, distribution in packages}
    missing = [name for name, state in states.items() if state is None]
    return ", ".join(f"{name} {state or 'MISSING'}" for name, state in states.items()), missing


def _core() -> list[Finding]:
    python_ok = sys.version_info >= (3, 11)
    fact, missing = _packages(CORE)
    advice = "pip install --force-reinstall lagoon" if missing else ""
    return [
        Finding("python", python_ok, platform.python_version(), "" if python_ok else "install Python 3.11", core=True),
        Finding("core packages", not missing, fact, advice, core=True),
    ]


def _extras() -> list[Finding]:
    found: list[Finding] = []
    for extra, packages in EXTRAS.items():
        fact, missing = _packages(packages)
        found.append(Finding(extra, not missing, fact, f'pip install "lagoon[{extra}]"' if missing else ""))
    return found


def _data() -> list[Finding]:
    from lagoon.paths import data_dir
    from lagoon.robot import known_robots
    from lagoon.text2motion import registry
    from lagoon.text2motion.config import DEFAULT_MODEL

    robots = known_robots()
    model = data_dir("assets") / "models" / DEFAULT_MODEL
    has_model = (model / "weights.safetensors").is_file() and (model / "model.yaml").is_file()
    reinstall = "pip install --force-reinstall lagoon"
    return [
        Finding("robots", bool(robots), ", ".join(robots) or "none", "" if robots else reinstall, core=True),
        Finding("text model", has_model, str(model) if has_model else f"no {model}", "" if has_model else reinstall),
        Finding("generators", True, f"{', '.join(registry.known())}, and package.module:Class"),
    ]


def _processor() -> list[Finding]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    fact = f"{usable} usable of {os.cpu_count()} cores, OMP_NUM_THREADS {threads}, load {os.getloadavg()[0]:.1f}"
    return [Finding("processor", True, fact)]


def _opengl() -> list[Finding]:
    if importlib.util.find_spec("mujoco") is None:
        return [Finding("OpenGL", False, "not tried without mujoco; videos need it", 'pip install "lagoon[viewer]"')]
    from lagoon.sim.opengl import NoOpenGLError, find

    try:
        return [Finding("OpenGL", True, f"draws offscreen with MUJOCO_GL={find()}")]
    except NoOpenGLError as error:
        return [Finding("OpenGL", False, str(error), "apt-get install libegl1 libgl1-mesa-dri libosmesa6")]


def _ffmpeg() -> list[Finding]:
    if importlib.util.find_spec("imageio_ffmpeg") is None:
        return [Finding("ffmpeg", False, "imageio-ffmpeg is missing; videos need it", 'pip install "lagoon[viewer]"')]
    import imageio_ffmpeg

    return [Finding("ffmpeg", True, f"{imageio_ffmpeg.get_ffmpeg_version()}")]


def _disk() -> list[Finding]:
    found: list[Finding] = []
    for what, folder in (("disk here", Path.cwd()), ("disk for temporary files", Path(tempfile.gettempdir()))):
        free = shutil.disk_usage(folder).free / 1e9
        enough = free >= _NEEDED_GB and os.access(folder, os.W_OK)
        access = "" if os.access(folder, os.W_OK) else ", not writable"
        advice = "" if enough else f"free {_NEEDED_GB:.0f} GB in {folder}, or use skills_dir=PATH"
        found.append(Finding(what, enough, f"{free:.1f} GB free in {folder}{access}", advice))
    return found


VERB = Verb(
    name="doctor",
    purpose="say what is installed, what is missing, and what to type",
    text="none",
    config=DoctorVerb,
    run=run,
    examples=(("lagoon doctor", "examine this machine; changes nothing"),),
    main_options=(),
)
