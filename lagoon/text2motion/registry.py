"""Finds the generator that a user names: built in, installed as a plug-in, or a class of their own.

What enters: ``small``, the name of a plug-in, or ``package.module:Class``. What leaves: the class. Nothing is
imported before it is asked for, so that naming a generator costs nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from lagoon.errors import BadInputError, LagoonError, MissingExtraError, unknown_name

BUILT_IN = {
    "small": "lagoon.text2motion.generate:SmallGenerator",
    "mdm": "lagoon.text2motion.mdm.generator:MdmGenerator",
}
"""Name to class of the generators that lagoon brings."""
GROUP = "lagoon.generators"
"""Entry points of this group make a class known by a short name."""
ADVICE = "A class of your own is named as generate.generator=package.module:Class."


def known() -> list[str]:
    """Short names that can be used."""
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))})


def load(name: str) -> type:
    """Import the class of a generator.

    The current folder is searched last, so that ``my_generator.py`` in it can be named.

    Raises:
        BadInputError: no such name, module or class, or the class has no fitting ``generate``.
    """
    target = _target(name)
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", target):
        raise BadInputError(
            f"The generator '{name}' leads to '{target}', which is not of the form package.module:Class. {ADVICE}"
        )
    module_name, _, path = target.partition(":")
    found: object = _import(name, module_name)
    for part in path.split("."):
        if not hasattr(found, part):
            raise BadInputError(f"The generator '{name}': {_no_class(found, part)}")
        found = getattr(found, part)
    if not inspect.isclass(found):
        raise BadInputError(
            f"The generator '{name}' is a {type(found).__name__}, not a class. Name the class itself; lagoon calls "
            "Class(config), then generate(request)."
        )
    _check_method(name, found)
    return found


def source_files(name: str) -> list[Path]:
    """Files that hold a generator's class, without importing it: another content makes another motion."""
    try:
        module_name = _target(name).partition(":")[0]
        if module_name.startswith("lagoon."):
            return []
        with current_folder():
            spec = importlib.util.find_spec(module_name)
    except (LagoonError, ImportError, AttributeError, ValueError):
        return []  # The stage itself says what is wrong.
    path = Path(spec.origin) if spec and spec.origin else None
    return [path] if path is not None and path.is_file() else []


def _target(name: str) -> str:
    """What a name stands for: module:Class."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if ":" in name:
        return name
    points: list[EntryPoint] = [point for point in entry_points(group=GROUP) if point.name == name]
    if not points:
        raise unknown_name("Generator", name, known(), ADVICE)
    if len({point.value for point in points}) > 1:
        packages = ", ".join(sorted({point.dist.name if point.dist else "?" for point in points}))
        values = ", ".join(sorted({point.value for point in points}))
        raise BadInputError(
            f"The generator '{name}' is brought by several packages ({packages}). "
            f"Name one class in full, generate.generator=CLASS, among: {values}"
        )
    return points[0].value


def _import(name: str, module_name: str) -> ModuleType:
    try:
        with current_folder():
            return importlib.import_module(module_name)
    except MissingExtraError:
        raise
    except Exception as error:
        package = module_name.split(".")[0]
        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == package:
            raise BadInputError(
                f"The generator '{name}': there is no module '{error.name}', neither installed nor in {Path.cwd()}. "
                f"Check the spelling, install it, or run lagoon in the folder that holds it. {ADVICE}"
            ) from error
        if module_name.startswith("lagoon."):
            raise
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        raise BadInputError(
            f"The generator '{name}': importing {module_name} failed with {cause}. Mend the module, or install what "
            "it needs. LAGOON_DEBUG=1 shows the traceback."
        ) from error


def title(name: str, kind: type) -> str:
    """A generator's name for messages."""
    full = f"{kind.__module__}:{kind.__qualname__}"
    return f"The generator {full}" if name == full else f"The generator '{name}' ({full})"


def _check_method(name: str, kind: type) -> None:
    method = getattr(kind, "generate", None)
    owner = title(name, kind)
    if not callable(method):
        raise BadInputError(
            f"{owner} has no method generate. Expected generate(self, request) that returns a "
            "HumanMotion; see docs/text2motion.md."
        )
    bound = isinstance(inspect.getattr_static(kind, "generate"), (staticmethod, classmethod))
    try:
        inspect.signature(method).bind(*[None] * (1 if bound else 2))
    except TypeError as error:
        raise BadInputError(
            f"{owner} has generate{inspect.signature(method)}. Expected "
            "generate(self, request); see docs/text2motion.md."
        ) from error


def _no_class(holder: object, part: str) -> str:
    owner = getattr(holder, "__name__", str(holder))
    there = [n for n, v in vars(holder).items() if inspect.isclass(v) and hasattr(v, "generate")]
    which = f"Classes there with a method generate: {', '.join(sorted(there))}." if there else ADVICE
    return f"there is no '{part}' in {owner}. {which}"


@contextmanager
def current_folder() -> Iterator[None]:
    """Let modules in the current folder be imported, after all installed ones."""
    folder = str(Path.cwd())
    added = folder not in sys.path
    if added:
        sys.path.append(folder)
    try:
        yield
    finally:
        if added and folder in sys.path:
            sys.path.remove(folder)
