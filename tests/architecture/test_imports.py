import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "lagoon").rglob("*.py"))
HEAVY = (
    "torch",
    "mujoco",
    "onnx",
    "onnxruntime",
    "viser",
    "imageio",
    "daqp",
    "tokenizers",
    "tensorboard",
    "cyclonedds",
)

LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"
LIST_MODULES = """
import sys
from lagoon.cli.__main__ import VERBS, load_verb
import lagoon.cli.stages, lagoon.cli.compose, lagoon.cli.help, lagoon.skill
for name in VERBS:
    load_verb(name)
print(*sys.modules, sep="\\n")
"""


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT / "lagoon"))


def test_the_command_line_starts_without_heavy_packages() -> None:
    done = subprocess.run([sys.executable, "-c", LIST_MODULES], capture_output=True, text=True, check=True, timeout=60)
    loaded = {line.split(".")[0] for line in done.stdout.splitlines()}
    assert "lagoon" in loaded and loaded.isdisjoint(HEAVY), sorted(loaded & set(HEAVY))


@pytest.mark.parametrize("path", [p for p in MODULES if p.name.endswith("config.py")], ids=_short)
def test_a_config_module_is_plain_data_and_loads_nothing_that_uses_it(path: Path) -> None:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    code = f"import {module}, sys; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    modules = done.stdout.splitlines()
    loaded = {line.split(".")[0] for line in modules} & {*HEAVY, "numpy", "scipy"}
    users = [name for name in modules if name.startswith(("lagoon.bundle", "lagoon.deploy.controller."))]
    assert not loaded and not users, (sorted(loaded), users)


def test_the_import_rules_hold() -> None:
    importlinter = pytest.importorskip("importlinter")
    assert importlinter
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_says_what_it_is_and_stays_readable(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), f"{path} has no module docstring"
    assert text.count("\n") <= 500, f"{path} is longer than 500 lines; split it by what it says"


@pytest.mark.parametrize("path", [p for p in MODULES if p.name == "__init__.py"], ids=lambda p: p.parent.name)
def test_a_package_init_loads_nothing_heavy(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & set(HEAVY)
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in HEAVY


def test_there_is_no_drawer_for_everything() -> None:
    names = {path.stem for path in MODULES} | {path.parent.name for path in MODULES}
    assert names.isdisjoint({"utils", "util", "common", "helpers", "core", "misc"})


def test_no_file_is_unpickled() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import) and path != ROOT / "lagoon" / "importers" / "pickled.py":
                assert not {alias.name for alias in node.names} & {"pickle", "dill", "shelve"}, path
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant) and node.value.value is False, path


def test_the_reader_of_foreign_pickles_resolves_names_by_its_own_table_only() -> None:
    tree = ast.parse((ROOT / "lagoon" / "importers" / "pickled.py").read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _name(node.value) == "pickle"}
    assert used == {"Unpickler"}
    (reader,) = [
        n
        for n in tree.body
        if isinstance(n, ast.ClassDef) and [ast.unparse(b) for b in n.bases] == ["pickle.Unpickler"]
    ]
    assert {"find_class", "persistent_load"} == {n.name for n in reader.body if isinstance(n, ast.FunctionDef)}
    called = {_name(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert called.isdisjoint({"getattr", "__import__", "import_module", "eval", "exec", "super"})


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""
