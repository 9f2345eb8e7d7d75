import errno
import hashlib
import os
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lagoon.errors import BadInputError, CorruptFileError, LagoonError
from lagoon.record import Plan, git_revision, hash_of
from lagoon.skill import STAGES, Skill, slug

NASTY = [
    "",
    " ",
    "../../etc/passwd",
    "/",
    "a" * 400,
    "挥手",
    "👋🏽" * 100,
    "x=1",
    "a\nb\x85c\u2028d\r",
    "'\"`$(rm -rf ~);",
    "\x1b[31m",
]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)
PLAN = Plan({"train": {"steps": 3, "widths": [1, 2]}}, 7, {"robot.npz": "aa"})


@given(texts, st.sampled_from(["go2", "a1"]))
def test_a_slug_is_a_short_plain_folder_name(text: str, robot: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*-[0-9a-f]{8}", slug(text, robot))
    assert len(slug(text, robot)) <= 40


@pytest.mark.parametrize("text", NASTY)
def test_a_slug_is_safe_for_nasty_texts(text: str, tmp_path: Path) -> None:
    folder = tmp_path / slug(text, "go2")
    assert folder.resolve().parent == tmp_path.resolve()
    folder.mkdir()


def test_slugs_differ_when_texts_or_robots_do() -> None:
    long = "walk forward and then turn around and wave and bow and clap"
    names = {slug(t, r) for t in (long, long + "!", long.upper(), "", " ", "挥手", "招手") for r in ("go2", "a1")}
    assert len(names) == 14


def test_a_slug_never_changes_between_releases() -> None:
    assert slug("wave hello", "go2") == "wave-hello-b84e317c"


@settings(max_examples=60, deadline=None)
@given(texts)
@example("a\n\x85\u2028b")
@example("null")
@example("'\"\\: #- [x] {y}\t")
@example("\ufeff\x00\x1b[31m")
def test_the_command_comes_back_exactly(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    skill = Skill.new(tmp_path_factory.getbasetemp() / "exact", text, "go2")
    skill.save()
    assert Skill.open(skill.folder).command == text


def test_readable_texts_stay_readable_in_the_file(tmp_path: Path) -> None:
    skill = Skill.new(tmp_path, "挥手 'hello'", "go2")
    skill.save()
    assert "挥手" in (skill.folder / "skill.yaml").read_text(encoding="utf-8")


def test_the_documented_record_has_the_keys_of_a_real_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "skill_folder.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    real = yaml.safe_load((_done(tmp_path).folder / "skill.yaml").read_text())
    assert re.findall(r"^(\w+):", example, re.M) == list(real)
    stage = example[example.index("  generate:") : example.index("  retarget:")]
    assert re.findall(r"^    (\w+):", stage, re.M) == list(real["stages"]["train"])
    for name in ("config.yaml", "checkpoints/", "metrics.jsonl", "checks.jsonl", "tensorboard/"):
        assert f"`{name}`" in page, name


def _done(tmp_path: Path) -> Skill:
    skill = Skill.new(tmp_path, "bow", "go2")
    skill.begin("train", PLAN)
    (skill.folder / "train").mkdir()
    (skill.folder / "train" / "final.bin").write_bytes(b"weights")
    skill.finish("train", [skill.train_folder], "trained", 1.25)
    return Skill.open(skill.folder)


def test_the_record_tells_how_a_stage_came_to_be(tmp_path: Path) -> None:
    skill = _done(tmp_path)
    raw = yaml.safe_load((skill.folder / "skill.yaml").read_text())
    record = raw["stages"]["train"]
    assert raw["schema_version"] == 1
    assert (raw["command"], raw["robot"], raw["slug"]) == ("bow", "go2", skill.folder.name)
    assert list(raw["stages"]) == list(STAGES)
    assert record["state"] == "done" and record["seed"] == 7 and record["seconds"] == 1.25
    assert record["config"] == PLAN.config and record["config_sha256"] == hash_of(PLAN.config)
    assert record["inputs"] == {"robot.npz": "aa"}
    assert record["outputs"] == {"train/final.bin": hashlib.sha256(b"weights").hexdigest()}
    assert record["lagoon_version"] and record["git_revision"] and record["started"] <= record["finished"]
    assert raw["stages"]["export"]["state"] == "pending"


def test_a_finished_unchanged_stage_is_not_stale(tmp_path: Path) -> None:
    assert _done(tmp_path).staleness("train", PLAN) is None


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (Plan({"train": {"steps": 4, "widths": [1, 2]}}, 7, PLAN.inputs), "train.steps changed from 3 to 4"),
        (Plan({"train": {"steps": 3, "widths": [1, 3]}}, 7, PLAN.inputs), "train.widths changed from [1, 2] to [1, 3]"),
        (Plan(PLAN.config, 8, PLAN.inputs), "seed changed from 7 to 8"),
        (Plan(PLAN.config, 7, {"robot.npz": "bb"}), "robot.npz changed"),
    ],
)
def test_a_changed_plan_makes_a_stage_stale_and_says_why(tmp_path: Path, plan: Plan, reason: str) -> None:
    assert _done(tmp_path).staleness("train", plan) == reason


NEW = {"train": {"steps": 3, "widths": [1, 2], "noise": 0.1, "style": {"share": 0.0, "rows": 9}}}
"""The settings of PLAN, and some that came later."""


def _with(noise: float = 0.1, share: float = 0.0, steps: int = 3) -> Plan:
    style = {"share": share, "rows": 9}
    config = {"train": {"steps": steps, "widths": [1, 2], "noise": noise, "style": style}}
    return Plan(config, PLAN.seed, PLAN.inputs, NEW)


def test_new_settings_at_their_defaults_make_nothing_stale(tmp_path: Path) -> None:
    skill = _done(tmp_path)
    assert skill.staleness("train", _with()) is None
    assert skill.staleness("train", _with(noise=0.2)) == "train.noise changed from None to 0.2"
    assert skill.staleness("train", _with(share=0.5)) == "train.style.share changed from None to 0.5"
    assert skill.staleness("train", _with(steps=4)) == "train.steps changed from 3 to 4"
    skill.begin("train", _with())
    assert skill.stages["train"].config == NEW, "what ran is told whole"


def test_a_setting_that_was_chosen_once_counts_also_when_it_returns_to_its_default(tmp_path: Path) -> None:
    skill = _done(tmp_path)
    skill.begin("train", _with(noise=0.2))
    skill.finish("train", [skill.folder / "train" / "final.bin"], "", 1.0)
    assert skill.staleness("train", _with()) == "train.noise changed from 0.2 to 0.1"


def test_a_missing_output_makes_a_stage_stale(tmp_path: Path) -> None:
    skill = _done(tmp_path)
    (skill.folder / "train" / "final.bin").unlink()
    assert skill.staleness("train", PLAN) == "train/final.bin is missing"


def test_an_edited_output_is_kept_and_named(tmp_path: Path) -> None:
    skill = _done(tmp_path)
    (skill.folder / "train" / "final.bin").write_bytes(b"mine")
    assert skill.staleness("train", PLAN) is None
    assert skill.edited("train") == ["train/final.bin"]


def test_interrupted_and_failed_stages_are_stale(tmp_path: Path) -> None:
    skill = _done(tmp_path)
    skill.begin("train", PLAN)
    assert Skill.open(skill.folder).staleness("train", PLAN) == "was interrupted"
    skill.fail("train", "no luck", 0.1)
    assert Skill.open(skill.folder).staleness("train", PLAN) == "failed before"
    assert Skill.open(skill.folder).stages["train"].error == "no luck"


@given(
    st.dictionaries(st.text(max_size=5), st.integers() | st.floats(allow_nan=False) | st.text(max_size=5), max_size=5)
)
def test_fingerprints_do_not_depend_on_key_order(config: dict) -> None:
    turned = dict(reversed(config.items()))
    assert Plan(config, 0, {}).fingerprint == Plan(turned, 0, {}).fingerprint


def test_no_folder_exists_before_the_first_stage_begins(tmp_path: Path) -> None:
    skill = Skill.new(tmp_path / "out", "bow", "go2")
    assert not skill.folder.exists() and not (tmp_path / "out").exists()


def test_a_folder_renamed_to_anothers_slug_is_refused(tmp_path: Path) -> None:
    skill = _done(tmp_path)
    skill.folder.rename(tmp_path / slug("clap", "go2"))
    with pytest.raises(CorruptFileError, match=r"holds the command 'bow' for robot 'go2', not 'clap'"):
        Skill.new(tmp_path, "clap", "go2")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "cannot be read as a skill record"),
        ("[1", "cannot be read as a skill record"),
        ("schema_version: 2\n", "has schema_version 2; this lagoon reads 1"),
        ("schema_version: 1\ncommand: x\n", "cannot be read as a skill record"),
        (
            "schema_version: 1\ncommand: x\nrobot: go2\nstages: {train: {stat: done}}\n",
            "unexpected keyword argument 'stat'",
        ),
        ("schema_version: 1\ncommand: x\nrobot: go2\nstages: {train: {state: odd}}\n", "{'train': 'odd'}"),
    ],
)
def test_a_damaged_record_is_refused_with_what_to_do(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "skill.yaml").write_text(content)
    with pytest.raises(CorruptFileError) as caught:
        Skill.open(tmp_path)
    assert words in str(caught.value) and "Delete" in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_input_names_the_stage_that_writes_it(tmp_path: Path) -> None:
    skill = Skill.new(tmp_path, "bow", "go2")
    with pytest.raises(
        BadInputError, match=r"robot\.npz does not exist yet\. The stage 'retarget' writes it: lagoon retarget"
    ):
        skill.checksums([skill.robot_path])


def test_a_full_disk_leaves_the_old_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skill = _done(tmp_path)
    before = (skill.folder / "skill.yaml").read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LagoonError, match=r"No space left on device\. Nothing was changed there\."):
        skill.begin("export", PLAN)
    assert (skill.folder / "skill.yaml").read_bytes() == before
    assert [path.name for path in skill.folder.iterdir() if path.name.startswith(".")] == []


def test_the_git_revision_is_a_commit_or_says_unknown() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?|unknown", git_revision())
