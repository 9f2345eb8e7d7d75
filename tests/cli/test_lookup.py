from pathlib import Path

import pytest

from lagoon.cli.lookup import all_skills, find_skill
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.skill import Skill


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    for command, robot in (("wave hello", "go2"), ("bow", "go2"), ("bow", "a1"), ("../up", "go2")):
        Skill.new(tmp_path / "skills", command, robot).save()
    return tmp_path / "skills"


def test_a_skill_is_found_by_text_by_folder_name_and_by_path(skills: Path) -> None:
    wave = Skill.new(skills, "wave hello", "go2")
    for text in ("wave hello", wave.folder.name, str(wave.folder), str(wave.folder) + "/"):
        assert find_skill(text, skills, None).folder.resolve() == wave.folder.resolve()
    assert find_skill("../up", skills, None).command == "../up"


def test_a_text_for_several_robots_needs_the_robot(skills: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        find_skill("bow", skills, None)
    assert str(caught.value) == "The command 'bow' exists for several robots: a1, go2. Choose with robot=NAME."
    assert find_skill("bow", skills, "a1").robot == "a1"


def test_a_text_for_another_robot_says_for_which_it_is(skills: Path) -> None:
    with pytest.raises(BadInputError, match=r"'wave hello' in .* is for go2, not for 'a1'.*make 'wave hello' robot=a1"):
        find_skill("wave hello", skills, "a1")


def test_a_folder_for_another_robot_is_refused(skills: Path) -> None:
    folder = Skill.new(skills, "wave hello", "go2").folder
    with pytest.raises(BadInputError, match="is for robot 'go2', not 'a1'"):
        find_skill(str(folder), skills, "a1")


@pytest.mark.parametrize("text", ["nothing", "x" * 5000, "../../etc", "a\x00b", "👋"])
def test_what_does_not_exist_lists_what_does(skills: Path, text: str) -> None:
    with pytest.raises(
        BadInputError, match=r"^There is no skill .* Skills there: .*wave-hello-b84e317c \('wave hello'\)"
    ):
        find_skill(text, skills, None)


def test_an_empty_folder_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as caught:
        find_skill("bow", tmp_path, None)
    assert str(caught.value) == (
        f"There is no skill 'bow' in {tmp_path}/. There are no skills there yet. Make one: lagoon make \"wave hello\""
    )


def test_a_damaged_skill_hides_no_other_but_is_told_when_named(skills: Path) -> None:
    folder = Skill.new(skills, "wave hello", "go2").folder
    (folder / "skill.yaml").write_text("[")
    assert find_skill("../up", skills, None).command == "../up"
    found, damaged = all_skills(skills)
    assert len(found) == 3 and list(damaged) == [folder]
    for text in (folder.name, "wave hello", str(folder)):
        with pytest.raises(CorruptFileError, match=r"skill\.yaml cannot be read as a skill record"):
            find_skill(text, skills, None)
    with pytest.raises(BadInputError, match=r"Damaged there: wave-hello-b84e317c\.$"):
        find_skill("hop", skills, None)


def test_a_record_that_may_not_be_read_is_damaged_too(skills: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Path, *_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refused)
    found, damaged = all_skills(skills)
    assert found == [] and all("Permission denied" in str(error) for error in damaged.values())
