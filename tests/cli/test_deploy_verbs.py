"""The verbs of deployment on a bundle without a skill, as a user types them."""

import json
import shutil

import numpy as np
import pytest

from lagoon.bundle.playback import write_playback
from lagoon.cli import __main__ as cli
from lagoon.deploy import check
from lagoon.deploy.check_report import digest_of
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import load_robot


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Half a second of standing."""
    robot, frames = load_robot("go2"), 25
    motion = RobotMotion(
        fps=50.0,
        robot=robot.name,
        joint_names=robot.joint_names,
        root_pos_w=np.tile([0.0, 0.0, robot.default_root_height], (frames, 1)),
        root_quat_w=np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1)),
        joint_pos=np.tile(robot.default_joint_pos, (frames, 1)),
        foot_contact=np.ones((frames, 4), dtype=bool),
    )
    folder = tmp_path_factory.mktemp("skill") / "bundle"
    write_playback(folder, robot, motion, "stand still")
    return folder


@pytest.fixture
def bundle(made, tmp_path):
    return shutil.copytree(made, tmp_path / "bundle")


QUICK = (
    "deploy.runs=1",
    "deploy.timing_seconds=0.5",
    "deploy.controller.speed=3",
    "deploy.controller.min_seconds=0.5",
    "deploy.max_policy_ms=20",
    "deploy.max_late_ms=20",
)


def test_a_check_writes_a_report_and_prints_a_line_for_each_finding(capsys, bundle, monkeypatch):
    monkeypatch.setattr(check, "DRILLS", {"network cut": check.DRILLS["network cut"]})
    code = cli.main(["deploy", "check", str(bundle), *QUICK])
    out = capsys.readouterr().out
    report = json.loads((bundle.parent / "deploy_check.json").read_text())
    assert report["digest"] == digest_of(report)
    found = {finding["name"]: finding for finding in report["findings"]}
    assert all(
        name in out for name in ("contract", "tilt envelope", "policy timing", "loop timing", "drill: network cut")
    )
    # Timing is this machine's, and a test machine may be busy; everything else is simulated time.
    untimed = {name: finding for name, finding in found.items() if "timing" not in name}
    assert len(untimed) == 4 + 1 + 1
    short = {name for name, finding in untimed.items() if not finding["passed"]}
    assert short == set(), {name: found[name]["text"] for name in short}
    passed = all(finding["passed"] for finding in found.values())
    assert (
        code == (0 if passed else 1)
        and report["verdict"] == ("PASS" if passed else "FAIL")
        and report["verdict"] in out
    )


def test_a_dry_run_shows_the_commands_and_sends_none(capsys, bundle):
    assert cli.main(["deploy", "run", str(bundle), "--sim", "--dry-run", "deploy.dry_seconds=1.5"]) == 0
    out = capsys.readouterr().out
    assert "The robot stands up" in out and "stand_up fold" in out
    assert "nothing is sent" in out and "FL_hip_joint" in out and "asks for" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "BUNDLE"], "No link to a robot was named. For the fake robot add --sim"),
        (["run", "BUNDLE", "deploy.link=nowhere"], "Link 'nowhere' is not known"),
        (["run", "BUNDLE", "deploy.link=nowhere"], "Link 'nowhere' is not known"),
        (["run", "BUNDLE", "deploy.link=nowhere", "--dry-run"], "Link 'nowhere' is not known"),
        (["run", "BUNDLE", "--sim", "deploy.link=x"], "--sim and deploy.link=x exclude each other"),
        (["run", "BUNDLE", "deploy.video=true"], "deploy.video=true needs --sim"),
        (["check", "BUNDLE", "--sim"], "The flag --sim does nothing in 'lagoon deploy check'"),
        (["check", "nothing"], "There is no skill 'nothing' in"),
        (["check", "BUNDLE", "deploy.controller.guards.tilt_margin=2"], "a guard has no 'off'"),
        (["check", "BUNDLE", "robot=spot"], "The bundle is for robot 'go2'; this robot is 'spot'"),
        (["chek", "BUNDLE"], "'lagoon deploy chek' is not known. There are: deploy check, deploy run"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_paragraph(capsys, bundle, tmp_path, words, message):
    words = [str(bundle) if word == "BUNDLE" else word for word in words]
    code = cli.main(["deploy", *words, *([f"skills_dir={tmp_path}"] if "chek" not in words else [])])
    err = capsys.readouterr().err
    assert code == 2 and message in err and err.count("\n") == 1, err
    assert not (tmp_path / "deploy_check.json").exists()


def test_a_real_link_asks_for_a_check_before_it_is_opened(capsys, bundle, monkeypatch):
    from lagoon.deploy.transport import links

    monkeypatch.setitem(links.LINKS, "robot", ("lagoon.errors", "require"))
    assert cli.main(["deploy", "run", str(bundle), "deploy.link=robot"]) == 2
    err = capsys.readouterr().err
    assert "A real robot is only commanded after a passed check" in err and f"lagoon deploy check {bundle}" in err
