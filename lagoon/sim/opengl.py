"""Finds a way to draw without a screen, or says what to install.

What enters: the environment variable MUJOCO_GL, if set. What leaves: a current OpenGL context. Each
way is first tried in a process of its own, since a broken driver may end the process that asks it, and
since PyOpenGL remembers the first platform it was imported for.
"""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
import sys
from functools import lru_cache
from typing import Any

from lagoon.errors import LagoonError

OFF = ("disable", "disabled", "off", "false", "0")
"""Values of MUJOCO_GL by which MuJoCo is told not to draw."""
_PROBE = """
import sys, importlib, numpy, mujoco
context = importlib.import_module("mujoco." + sys.argv[1]).GLContext(64, 64)
context.make_current()
model = mujoco.MjModel.from_xml_string("<mujoco/>")
drawn = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, drawn)
assert drawn.currentBuffer == mujoco.mjtFramebuffer.mjFB_OFFSCREEN, "no offscreen buffer"
print("drawn")
"""
_PROBE_SECONDS = 60.0


class NoOpenGLError(LagoonError):
    """The machine cannot draw offscreen."""


def candidates() -> tuple[str, ...]:
    """Names of MuJoCo's context modules to try, best first."""
    chosen = os.environ.get("MUJOCO_GL", "").lower().strip()
    if chosen in OFF:
        return ()
    if chosen in ("egl", "osmesa", "glfw", "cgl"):
        return (chosen,)
    return {"Linux": ("egl", "osmesa"), "Darwin": ("cgl",)}.get(platform.system(), ("glfw",))


def _try(name: str) -> str:
    """Draw once in another process; return an empty string, or why it failed."""
    environment = {**os.environ, "MUJOCO_GL": name}
    if name in ("egl", "osmesa"):
        environment["PYOPENGL_PLATFORM"] = name
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, name],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_PROBE_SECONDS:.0f} s"
    if done.returncode == 0 and "drawn" in done.stdout:
        return ""
    lines = done.stderr.strip().splitlines() or [f"the process ended with code {done.returncode}"]
    return lines[-1]


@lru_cache(maxsize=1)
def find() -> str:
    """Name of the first way to draw that works here; tried once per process.

    Raises:
        NoOpenGLError: none works; the text says why and what to install.
    """
    reasons = []
    for name in candidates():
        reason = _try(name)
        if not reason:
            return name
        reasons.append(f"{name}: {reason}")
    why = "; ".join(reasons) or f"MUJOCO_GL={os.environ.get('MUJOCO_GL')} turns drawing off"
    raise NoOpenGLError(
        f"This machine has no OpenGL that draws offscreen ({why}). Videos and pictures need it; the page "
        "preview.html does not. On Debian or Ubuntu install it with: "
        "apt-get install libegl1 libgl1-mesa-dri libosmesa6"
    )


def make_context(width: int, height: int) -> Any:
    """Return a current OpenGL context for drawing offscreen; call its ``free()`` when done.

    Args:
        width: largest picture width [pixel].
        height: largest picture height [pixel].

    Raises:
        NoOpenGLError: the machine cannot draw.
    """
    name = find()
    if name in ("egl", "osmesa") and "OpenGL" not in sys.modules:
        os.environ["PYOPENGL_PLATFORM"] = name
    try:
        context = importlib.import_module(f"mujoco.{name}").GLContext(width, height)
        context.make_current()
    except (ImportError, RuntimeError, AttributeError, OSError) as error:
        raise NoOpenGLError(
            f"OpenGL ({name}) works on this machine but not in this process: {error}. "
            f"Set MUJOCO_GL={name} before starting, and run the same command again."
        ) from error
    return context
