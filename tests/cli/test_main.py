import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lagoon.cli import __main__ as cli
from lagoon.cli.help import flags_of
from lagoon.cli.schema import options_of
from lagoon.errors import LagoonError, RefusedCommandError, StageFailedError
from lagoon.record import Plan
from lagoon.skill import Skill


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(words)
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["make", ""], 'The command is empty. Say what to do, in words: lagoon make "wave hello"'),
        (["make", "  \n "], 'The command is empty. Say what to do, in words: lagoon make "wave hello"'),
        (["generate"], 'The command is missing. Say what to do, in words: lagoon generate "wave hello"'),
        (
            ["train"],
            'The skill is missing. Name it by its command, folder name or path: lagoon train "wave hello". '
            "'lagoon list' shows the skills there are.",
        ),
        (
            ["make", "bow", "robot=spto"],
            "Robot 'spto' is not known. Known: go1, go2, spot. Choose one of them, or see: lagoon robot list",
        ),
        (
            ["make", "bow", "train.minuts=5"],
            "The setting 'train.minuts' does not exist in 'lagoon make'. Nearest: train.ppo.minutes. "
            "All settings: lagoon make --cfg",
        ),
        (["make", "bow", "seed=-1"], "seed=-1: expected a whole number from 0 to 4294967295. Type seed=NUMBER."),
        (
            ["mkae", "bow"],
            f"The verb 'mkae' is not known. Verbs: {', '.join(cli.VERBS)}. Did you mean 'lagoon make'?",
        ),
        (
            ["wave hello"],
            f"The verb 'wave hello' is not known. Verbs: {', '.join(cli.VERBS)}. "
            'To make a skill: lagoon make "wave hello"',
        ),
        (
            ["train", "bow"],
            "There is no skill 'bow'. The skills folder skills does not exist. Name the one that you mean with "
            'skills_dir=PATH, or make a first skill: lagoon make "wave hello"',
        ),
        (
            ["train", "skills_dir=/x", "seed=3"],
            "There is no skill 'skills_dir=/x'. The skills folder skills does not exist. Name the one that you mean "
            'with skills_dir=PATH, or make a first skill: lagoon make "wave hello". The skill seems to be missing: '
            "'skills_dir=/x' was taken for it, since it came first. Type: lagoon train SKILL skills_dir=/x seed=3",
        ),
        (
            ["list", "skills_dir=none"],
            "The skills folder none does not exist. Name the one that you mean with skills_dir=PATH, or make a first "
            'skill: lagoon make "wave hello"',
        ),
        *(
            (
                [*words, "skills_dir= "],
                "skills_dir=' ': expected the name of a folder. Type skills_dir=PATH, or skills_dir=. for the current "
                "folder.",
            )
            for words in (["list"], ["make", "bow"], ["train", "bow"], ["generate", "bow"])
        ),
        (
            ["make", "bow", "seed=4294967296"],
            "seed=4294967296: expected a whole number from 0 to 4294967295. Type seed=NUMBER.",
        ),
        (
            ["evaluate", "bow", f"seed={10**30}"],
            f"seed={10**30}: expected whole number | null (default null). Seed of this stage, 0 to 4294967295; null "
            "takes the one that the motion was generated with. Type seed=VALUE.",
        ),
        (
            ["make", "bow", "train.num_envs=1e30"],
            "train.ppo.num_envs=1e30: expected whole number (default 256). Environments of the whole run; they are "
            "split evenly over the workers. Type train.ppo.num_envs=VALUE.",
        ),
        *(
            (["make", "bow", f"{key}={value}"], f"{key} is {value}; expected {expected}. Type {key}=VALUE.")
            for key, value, expected in (
                ("train.total_steps", 0, "a whole number of at least 1"),
                ("train.ppo.total_steps", 0, "a whole number of at least 1"),
                ("train.history", -1, "0 or more"),
                ("generate.threshold", 3.0, "-1 to 1"),
                ("retarget.passes", 0, "at least 1"),
                ("evaluate.trials", 0, "at least 1"),
                ("preview.fps", 0.5, "1 to 60 Hz"),
            )
        ),
        (
            ["play", "bow", "play.host="],
            "play.host is ''; expected an address such as 127.0.0.1, or 0.0.0.0 for all. Type play.host=VALUE.",
        ),
        (
            ["doctor", "--again"],
            "The flag --again does nothing in 'lagoon doctor'. Its flags: --help, --cfg.",
        ),
    ],
)
def test_bad_input_ends_with_one_paragraph_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _run(capsys, *words) == (2, "", f"Error: {message}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("retarget", "The stage 'generate' writes it: lagoon generate"),
        ("train", "The stage 'retarget' writes it: lagoon retarget"),
        ("export", "has no finished training (it is pending). Run: lagoon train"),
        ("evaluate", "The stage 'retarget' writes it: lagoon retarget"),
    ],
)
def test_a_verb_without_its_inputs_names_the_verb_before(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, stage: str, words: str
) -> None:
    Skill.new(tmp_path, "bow", "go2").save()
    code, _, err = _run(capsys, stage, "bow", f"skills_dir={tmp_path}")
    assert code == 2 and words in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (RefusedCommandError("Unknown. Known: bow. Use --force."), 3, "Error: Unknown. Known: bow. Use --force.\n"),
        (StageFailedError("It fell."), 1, "Error: It fell.\n"),
        (LagoonError("Odd [bold]\x1b[31m"), 2, "Error: Odd [bold]�[31m\n"),
        (
            OSError(28, os.strerror(28), "/x/y"),
            2,
            "Error: Could not write /x/y: No space left on device. Earlier stages are kept. Free some space or choose "
            "another folder with skills_dir=PATH, then run the same command again.\n",
        ),
        (
            KeyError("x"),
            70,
            "Error: This is a bug in lagoon, not in what you typed: KeyError: 'x'. See the traceback with "
            "LAGOON_DEBUG=1 and please report it with the command line.\n",
        ),
        (
            OSError(36, os.strerror(36), "a" * 300),
            2,
            f"Error: {'a' * 59}… cannot be followed: File name too long. Expected the path of a file or folder. Check "
            "what you typed.\n",
        ),
        (
            KeyboardInterrupt(),
            130,
            "Stopped. Finished stages and checkpoints are kept; go on with: lagoon make 'wave hello' seed=3\n",
        ),
    ],
)
def test_every_end_has_its_exit_code_and_text(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    text: str,
) -> None:
    def fails(words: list[str]) -> int:
        raise error

    monkeypatch.setattr(cli, "_run", fails)
    assert _run(capsys, "make", "wave hello", "seed=3") == (code, "", text)


@pytest.mark.parametrize("words", [["list", "skills_dir={}"], ["deploy", "inspect", "{}"], ["deploy", "replay", "{}"]])
@pytest.mark.parametrize("name", ["a" * 300, "loop"])
def test_a_path_that_cannot_be_followed_is_no_bug_of_lagoon(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    code, _, err = _run(capsys, *(word.format(name) for word in words))
    assert code == 2 and "bug" not in err and err.count("\n") == 1


@pytest.mark.parametrize("words", [["list"], ["robot", "list"], ["--help"]])
def test_output_that_nobody_reads_has_an_exit_code_of_its_own(tmp_path: Path, words: list[str]) -> None:
    Skill.new(tmp_path, "bow", "go2").save()
    words = [*words, f"skills_dir={tmp_path}"] if words == ["list"] else words
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-u", "-m", "lagoon.cli", *words]
    ran = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, "")


def test_tracebacks_are_shown_on_request(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAGOON_DEBUG", "1")
    code, _, err = _run(capsys, "make", "")
    assert code == 2 and "Traceback" in err and "BadInputError" in err


def test_the_overview_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "--help")
    assert code == 0
    width = max(len(name) for name in cli.VERBS)
    for name in cli.VERBS:
        assert f"\n  {name:<{width}} {cli.load_verb(name).purpose}\n" in out


@pytest.mark.parametrize("name", cli.VERBS)
def test_help_is_complete_and_fits_a_terminal(capsys: pytest.CaptureFixture[str], name: str) -> None:
    verb = cli.load_verb(name)
    code, out, _ = _run(capsys, name, "--help")
    assert code == 0 and out.startswith(f"lagoon {name}: ") and f"\nUsage: lagoon {name}" in out
    options = {option.key: option for option in options_of(verb.config)}
    for key in verb.main_options:
        assert f"\n  {key}  (" in out and options[key].doc
    for line, _ in verb.examples:
        assert line.startswith(f"lagoon {name}") and f"\n  {line}\n" in out
    assert all(flag in out for flag in flags_of(verb))
    assert max(len(line) for line in out.splitlines()) <= 110


@pytest.mark.parametrize("name", cli.VERBS)
def test_the_examples_of_the_help_are_accepted(capsys: pytest.CaptureFixture[str], name: str) -> None:
    import shlex

    for line, _ in cli.load_verb(name).examples:
        words = [word for word in shlex.split(line)[1:] if word != "--again"]
        code, _, err = _run(capsys, *words, "--cfg")
        assert (code, err) == (0, ""), line


def test_cfg_prints_settings_and_runs_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yaml

    monkeypatch.chdir(tmp_path)
    code, out, _ = _run(capsys, "make", "bow", "train.minutes=5", "retarget=upright", "--force", "--cfg")
    values = yaml.safe_load(out)
    assert code == 0 and values["train"]["ppo"]["minutes"] == 5 and values["retarget"]["morphology"] == "upright"
    assert values["generate"]["force"] is True
    assert list(tmp_path.iterdir()) == []


def test_list_shows_commands_as_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Skill.new(tmp_path, "[red]挥手\x1b", "go2").save()
    code, out, _ = _run(capsys, "list", f"skills_dir={tmp_path}")
    assert code == 0 and "[red]挥手" in out and "\x1b" not in out


def test_list_before_the_first_skill_says_how_to_begin(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _run(capsys, "list") == (0, 'There are no skills in skills/ yet. Make one: lagoon make "wave hello"\n', "")
    (tmp_path / "file").touch()
    code, out, err = _run(capsys, "list", "skills_dir=file")
    assert (code, out) == (2, "") and "The skills folder file is a file, not a folder." in err


def test_list_shows_a_damaged_skill_with_its_fault(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Skill.new(tmp_path, "bow", "go2").save()
    broken = Skill.new(tmp_path, "wave hello", "go2")
    broken.save()
    (broken.folder / "skill.yaml").write_text("stages: [")
    code, out, _ = _run(capsys, "list", f"skills_dir={tmp_path}")
    flat = " ".join(out.split())
    assert code == 0 and "bow" in out and "damaged" in out
    assert f"{broken.folder / 'skill.yaml'} cannot be read as a skill record" in flat and "Delete " in flat


def test_list_tells_what_is_outdated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    skill = Skill.new(tmp_path, "bow", "go2")
    for stage, reads, writes in (
        ("generate", [], skill.human_path),
        ("retarget", [skill.human_path], skill.robot_path),
        ("evaluate", [skill.robot_path], skill.evaluation_path),
    ):
        skill.begin(stage, Plan({}, 0, skill.checksums(reads)))
        writes.write_text(stage)
        skill.finish(stage, [writes], "PASS" if stage == "evaluate" else "", 1.0)
    assert "PASS" in _run(capsys, "list", f"skills_dir={tmp_path}")[1]
    skill.robot_path.write_text("another one")
    _, out, _ = _run(capsys, "list", f"skills_dir={tmp_path}")
    assert "PASS" not in out and "outdated" in out


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m lagoon.cli make --cfg | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "robot: go2\n" and done.stderr == ""


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert re.fullmatch(r"lagoon \d+\.\d+\.\d+\n", _run(capsys, "--version")[1])


@pytest.mark.parametrize("package", ["rich", "hydra", "yaml"])
def test_a_missing_core_package_is_told_without_a_traceback(package: str) -> None:
    code = (
        f"import sys; sys.modules['{package}'] = None; from lagoon.cli.__main__ import main; sys.exit(main(['doctor']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert re.match(rf"Error: The package '{package}[\w.]*' is not installed, and nothing in lagoon works", done.stderr)
