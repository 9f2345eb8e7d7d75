"""``lagoon import`` and ``lagoon make --motion``: files become skills, and stay them."""

import json
import os
import sys
from pathlib import Path

import pytest
import yaml

from lagoon.cli import __main__ as cli
from lagoon.cli.config import MakeVerb
from lagoon.cli.console import Terminal
from lagoon.cli.import_stage import caption_of, import_stage, kept_import
from lagoon.cli.pipeline import run_stages
from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.robot_motion import RobotMotion
from lagoon.skill import Skill

sys.path.insert(0, str(Path(__file__).parents[1] / "importers"))
from motion_files import walk_and_wave, write_bvh
from quadruped_files import rows_of, trot, write_rows


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_bvh(Path("07_walk.bvh"), walk_and_wave(20.0))


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(words)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_file_becomes_a_skill_that_says_what_was_guessed(capsys: pytest.CaptureFixture[str], walk: Path) -> None:
    code, out, err = _run(capsys, "import", str(walk), "--caption", "a person walks", "skills_dir=out")
    assert (code, err) == (0, "")
    for word in ("up axis", "import.up=", "frame rate", "20 Hz", "left is blue", "Next:              lagoon retarget"):
        assert word in out
    (folder,) = Path("out").iterdir()
    assert {path.name for path in folder.iterdir()} == {"skill.yaml", "human.npz", "import.json", "import.png"}
    motion = HumanMotion.load(folder / "human.npz")
    assert motion.text == "a person walks" and motion.source["file"] == "07_walk.bvh" and motion.fps == 20
    decisions = json.loads((folder / "import.json").read_text())["decisions"]
    assert {"format", "unit", "up axis", "left and right"} <= {d["what"] for d in decisions}
    record = yaml.safe_load((folder / "skill.yaml").read_text())["stages"]["generate"]
    assert record["state"] == "done" and record["config"]["import"]["unit"] == "auto"
    assert set(record["inputs"]) == {"07_walk.bvh", "command"}
    assert (folder / "import.png").read_bytes().startswith(b"\x89PNG")

    words = ("import", str(walk), "--caption", "a person walks", "skills_dir=out")
    assert "generate: unchanged, kept" in _run(capsys, *words)[1]
    assert "import.height changed from None to 1.5" in _run(capsys, *words, "import.height=1.5")[1]


def test_make_keeps_an_import_and_generate_replaces_it(capsys: pytest.CaptureFixture[str], walk: Path) -> None:
    assert _run(capsys, "import", str(walk))[0] == 0
    skill = Skill.new(Path("skills"), "07 walk", "go2")
    walk.unlink()
    stage = kept_import(skill)
    assert stage is not None and skill.staleness("generate", stage.plan(skill)) is None
    rows = run_stages(skill, [stage], Terminal(), again=["generate"])
    assert rows[0].result == "4.0 s from 07_walk.bvh" and skill.human_path.is_file(), "--again keeps it too"
    skill.human_path.unlink()
    with pytest.raises(BadInputError, match=r"human.npz is gone. Name the file again with motion=FILE"):
        kept_import(skill)
    assert kept_import(Skill.new(Path("skills"), "another", "go2")) is None


def test_an_animals_clip_goes_on_to_the_robot_and_can_be_replaced(
    capsys: pytest.CaptureFixture[str], walk: Path
) -> None:
    write_rows(Path("dog_trot.txt"), rows_of(trot(cycles=1.0)), 60.0, "Wrap")
    code, out, err = _run(capsys, "import", "dog_trot.txt", "--caption", "trot")
    assert (code, err) == (0, "")
    for word in (
        "Laikago",
        "import.legs=[FL,FR,RL,RR]",
        "6 times",
        "quadruped.npz",
        "Next:              lagoon retarget",
    ):
        assert word in out
    skill = Skill.open(next(Path("skills").iterdir()))
    assert {path.name for path in skill.folder.iterdir()} == {
        "skill.yaml",
        "quadruped.npz",
        "import.json",
        "import.png",
    }
    assert skill.is_quadruped and skill.source_path == skill.quadruped_path
    code, out, _ = _run(capsys, "retarget", "trot", "retarget.passes=1", "retarget.speed=1")
    assert code == 0 and "its own legs at" in out and "verdict" in out and "of the animal's speed" in out
    motion = RobotMotion.load(skill.robot_path)
    assert motion.segment_names == ("stand", "lead_in", "motion", "lead_out", "stand") and motion.robot == "go2"
    assert "unchanged, kept" in _run(capsys, "retarget", "trot", "retarget.passes=1", "retarget.speed=1")[1]
    code, _, err = _run(capsys, "convert", "trot")
    assert code == 2 and "is a quadruped's; .bvh is written for people only" in err
    assert kept_import(skill) is not None
    # The same caption for a person's motion: nothing of the animal stays.
    assert _run(capsys, "import", str(walk), "--caption", "trot")[0] == 0
    skill = Skill.open(skill.folder)
    assert not skill.is_quadruped and skill.human_path.is_file() and not skill.quadruped_path.exists()


def test_make_with_a_file_plans_the_same_import(capsys: pytest.CaptureFixture[str], walk: Path) -> None:
    assert _run(capsys, "import", str(walk))[0] == 0
    skill = Skill.new(Path("skills"), caption_of(walk), "go2")
    assert skill.staleness("generate", import_stage(walk, MakeVerb().import_, 0).plan(skill)) is None
    code, out, _ = _run(capsys, "make", "--motion", str(walk), "--cfg", "import.up=y")
    values = yaml.safe_load(out)
    assert code == 0 and values["motion"] == str(walk) and values["import"]["up"] == "y"


def test_several_files_make_a_skill_each_and_bad_ones_are_named(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.bvh").write_text("HIERARCHY\n")
    code, out, err = _run(capsys, "import", str(walk), "bad.bvh")
    assert code == 2 and "Not imported: bad.bvh has no line MOTION" in out
    assert err == "Error: 1 of 2 files were not imported; the reasons are above.\n"
    assert [path.name[:7] for path in Path("skills").iterdir()] == ["07-walk"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("import",), "The motion file is missing. Name it: lagoon import walk.bvh"),
        (("import", "none.bvh"), "There is no file none.bvh. Check the path; lagoon import --help lists the formats."),
        (("import", "a" * 3000), "There is no file " + "a" * 3000),
        (("import", "."), ". is a folder; expected a motion file. Name the file in it."),
        (
            ("import", "a.asf"),
            "a.asf is a skeleton without motion; expected an AMC file too. Type: lagoon import a.asf MOTION.amc",
        ),
        (
            ("import", "07_walk.bvh", "caption="),
            'caption= is empty. Say what the motion shows: caption="a person walks"',
        ),
        (
            ("import", "a.bvh", "b.bvh", "caption=x"),
            "caption= goes with one file, not with 2. Import them one by one, or leave it out.",
        ),
        (
            ("make", "--motion", "none.bvh"),
            "There is no file none.bvh. Check the path; lagoon import --help lists the formats.",
        ),
        (("import", "x.fbx"), "x.fbx is in no format that lagoon reads: it is binary FBX. It reads "),
        (("import", "empty.bvh"), "empty.bvh is empty (0 bytes); expected a motion. Export or copy it again."),
    ],
)
def test_bad_calls_end_with_one_paragraph_and_leave_nothing(
    capsys: pytest.CaptureFixture[str], walk: Path, words: tuple[str, ...], message: str
) -> None:
    Path("x.fbx").write_bytes(b"Kaydara FBX Binary  \x00")
    Path("empty.bvh").touch()
    code, _, err = _run(capsys, *words)
    assert code == 2 and err.startswith(f"Error: {message}") and err.count("\n") == 1, err
    assert not list(Path(".").glob("skills/*"))


def test_a_caption_from_a_file_name() -> None:
    assert [caption_of(name) for name in ("07_01-walk.bvh", "a/b/Wave Hello.npz", ".bvh")] == [
        "07 01 walk",
        "Wave Hello",
        "bvh",
    ]


def test_make_from_a_file_begins_with_the_import_and_needs_no_text_model(
    walk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lagoon.cli import make

    seen: list[tuple[str, list[str]]] = []
    needed: list[str] = []
    monkeypatch.setattr(make, "need", lambda *names: needed.extend(names))
    monkeypatch.setattr(
        make,
        "climb",
        lambda skill, config, rungs, stages, *_: seen.append((skill.command, [s.title for s in stages(config)])) or [],
    )
    monkeypatch.setattr(make, "run_stages", lambda skill, stages, *_: seen[-1][1].extend(s.title for s in stages) or [])
    monkeypatch.setattr(make, "show_end", lambda *_: 0)
    assert _run(capsys, "make", "--motion", str(walk))[0] == 0
    assert _run(capsys, "make", "a person walks", f"motion={walk}")[0] == 0
    assert _run(capsys, "make", "a person walks")[0] == 0
    assert [command for command, _ in seen] == ["07 walk", "a person walks", "a person walks"]
    assert [titles[0] for _, titles in seen] == [*["import of 07_walk.bvh"] * 2, "words to human motion"]
    assert all(titles[1:] == seen[0][1][1:] and len(titles) == 6 for _, titles in seen)
    assert needed == [*["retarget", "train", "viewer"] * 2, "text2motion", "retarget", "train", "viewer"]


def test_a_file_that_may_not_be_read_is_told_so(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk.chmod(0)
    if os.access(walk, os.R_OK):
        pytest.skip("this user may read everything")
    code, _, err = _run(capsys, "import", str(walk))
    assert code == 2 and "07_walk.bvh may not be read (Permission denied). Type: chmod u+r 07_walk.bvh" in err


def test_make_takes_the_caption_for_its_words(capsys, walk, monkeypatch):
    seen = []
    monkeypatch.setattr("lagoon.cli.make.climb", lambda skill, *_: seen.append(skill) or [])
    monkeypatch.setattr("lagoon.cli.make.run_stages", lambda *_: [])
    monkeypatch.setattr("lagoon.cli.make.show_end", lambda *_: 0)
    assert _run(capsys, "make", "--motion", str(walk), "--caption", "somebody walks")[0] == 0
    assert seen[0].command == "somebody walks"
    for words in (("a walk", "--motion", str(walk)), ("a walk",)):
        code, _, err = _run(capsys, "make", *words, "--caption", "somebody walks")
        assert code == 2
        assert "caption= says in words what a motion file shows" in err
    assert len(seen) == 1
