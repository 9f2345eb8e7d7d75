"""``lagoon doctor``: what is installed, what is missing, and what to type.

Nothing here raises: a machine that is half set up is the very case it is for. Parts are required, without
which no verb works, or optional, without which some do not.
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
from lagoon.cli.extras import CORE, EXTRAS, SERVES, Packages, installed
from lagoon.cli.verb import Call, Verb
from lagoon.errors import LagoonError, install_line, restore_line

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
    required: bool = False
    """True when lagoon cannot work at all without it."""
    fault: str = "missing"
    """What it is when it is not good, in a word."""

    @property
    def verdict(self) -> str:
        """The word between what and fact."""
        return "ok" if self.good else f"{self.fault}, {'required' if self.required else 'optional'}"


def examine() -> list[Finding]:
    """Look at everything; a check that breaks becomes a finding."""
    checks: list[tuple[str, Callable[[], list[Finding]], bool]] = [
        ("core packages", _core, True),
        ("extras", _extras, False),
        ("robots", _data, True),
        ("processor", _processor, False),
        ("OpenGL", _opengl, False),
        ("ffmpeg", _ffmpeg, False),
        ("disk", _disk, False),
    ]
    found: list[Finding] = []
    for name, check, required in checks:
        try:
            found += check()
        except ModuleNotFoundError as error:
            package = (error.name or str(error)).partition(".")[0]
            found.append(Finding(name, False, f"not examined: the package {package} is not installed", "", required))
        except LagoonError as error:
            found.append(Finding(name, False, str(error), "", required))
        except Exception as error:
            fact = f"could not be examined ({type(error).__name__}: {error})"
            found.append(Finding(name, False, fact, "", required))
    return found


def run(call: Call, screen: Terminal | None = None) -> int:
    """Print the report; 1 only if a required part is missing."""
    from rich.table import Table

    screen = screen or Terminal()
    screen.say(f"lagoon {__version__}, Python {platform.python_version()}, {platform.platform()}")
    findings = examine()
    table = Table(header_style="bold")
    for column in ("what", "", "found"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        table.add_row(finding.what, finding.verdict, plain(finding.fact))
    screen.console.print(table)
    lost = [finding for finding in findings if not finding.good]
    required = [finding.what for finding in lost if finding.required]
    optional = [finding.what for finding in lost if not finding.required]
    if required:
        screen.say(f"Not in order, and required: {', '.join(required)}. Nothing works without it.")
    if optional:
        screen.say(f"Not in order, but optional: {', '.join(optional)}. {_without(optional)}")
    for line in dict.fromkeys(finding.advice for finding in lost if finding.advice):
        screen.say(f"To do: {line}")
    if not lost:
        screen.say('Everything is there. Try: lagoon make "wave hello"')
    return 1 if required else 0


def _without(optional: list[str]) -> str:
    """Say which verbs wait for the extras that are missing."""
    serves = SERVES | {"text model": ("generate",)}
    verbs = list(dict.fromkeys(verb for what in optional for verb in serves.get(what, ())))
    return f"Without it these verbs cannot run: {', '.join(['make', *verbs])}." if verbs else "All verbs can run."


def _packages(packages: Packages) -> tuple[str, list[str]]:
    states = {distribution: installed(module, distribution) for module, distribution in packages}
    missing = [name for name, state in states.items() if state is None]
    return ", ".join(f"{name} {state or 'MISSING'}" for name, state in states.items()), missing


def _core() -> list[Finding]:
    python_ok = sys.version_info >= (3, 11)
    fact, missing = _packages(CORE)
    advice = "" if python_ok else "install Python 3.11 or newer"
    return [
        Finding("Python", python_ok, platform.python_version(), advice, required=True),
        Finding("core packages", not missing, fact, install_line() if missing else "", required=True),
    ]


RARE = {"ray": "only lagoon train scheduler=ray needs it"}
"""Extras that hardly anybody misses."""


def _extras() -> list[Finding]:
    states = {extra: _packages(packages) for extra, packages in EXTRAS.items()}
    for extra, need in RARE.items():
        if states[extra][1]:
            states[extra] = (f"not installed; {need}", [])
    wanted = [extra for extra, (_, missing) in states.items() if missing]
    line = install_line(",".join(wanted))
    return [Finding(extra, not missing, fact, line if missing else "") for extra, (fact, missing) in states.items()]


def _data() -> list[Finding]:
    from lagoon.paths import data_dir
    from lagoon.robot import known_robots, load_robot
    from lagoon.text2motion import registry
    from lagoon.text2motion.config import DEFAULT_MODEL

    robots, drafts = [], []
    for name in known_robots():
        try:
            load_robot(name)
            robots.append(name)
        except LagoonError:
            drafts.append(name)
    model = data_dir("assets") / "models" / DEFAULT_MODEL
    has_model = (model / "weights.safetensors").is_file() and (model / "model.yaml").is_file()
    restore = restore_line()
    return [
        Finding("robots", bool(robots), ", ".join(robots) or "none", "" if robots else restore, required=True),
        *[Finding("robots", False, f"{name} is not finished", f"lagoon robot check {name}") for name in drafts],
        Finding("text model", has_model, str(model) if has_model else f"no {model}", "" if has_model else restore),
        Finding("generators", True, f"{', '.join(registry.known())}, and package.module:Class"),
    ]


def _processor() -> list[Finding]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return [Finding("processor", True, f"{usable} usable of {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")]


def _opengl() -> list[Finding]:
    if importlib.util.find_spec("mujoco") is None:
        return [Finding("OpenGL", False, "not tried: the package mujoco is not installed; videos need both")]
    from lagoon.sim.opengl import NoOpenGLError, find

    try:
        return [Finding("OpenGL", True, f"draws offscreen with MUJOCO_GL={find()}")]
    except NoOpenGLError as error:
        return [Finding("OpenGL", False, str(error), "apt-get install libegl1 libgl1-mesa-dri libosmesa6")]


def _ffmpeg() -> list[Finding]:
    if importlib.util.find_spec("imageio_ffmpeg") is None:
        return [Finding("ffmpeg", False, "not there: the package imageio-ffmpeg brings it; videos need it")]
    import imageio_ffmpeg

    return [Finding("ffmpeg", True, f"{imageio_ffmpeg.get_ffmpeg_version()}")]


def _disk() -> list[Finding]:
    found: list[Finding] = []
    for what, folder in (("disk here", Path.cwd()), ("disk for temporary files", Path(tempfile.gettempdir()))):
        free = shutil.disk_usage(folder).free / 1e9
        enough = free >= _NEEDED_GB and os.access(folder, os.W_OK)
        access = "" if os.access(folder, os.W_OK) else ", not writable"
        advice = "" if enough else f"free {_NEEDED_GB:.0f} GB in {folder}, or use skills_dir=PATH"
        found.append(Finding(what, enough, f"{free:.1f} GB free in {folder}{access}", advice, fault="short"))
    return found


VERB = Verb(
    name="doctor",
    purpose="say what is installed, what is missing, and what to type",
    text="none",
    config=DoctorVerb,
    run=run,
    examples=(("lagoon doctor", "examine this machine; changes nothing"),),
    main_options=(),
    details=(
        "Required parts are those without which no verb works; optional ones serve some verbs. Exit code 0: all that "
        "is required is there; 1: it is not."
    ),
)
