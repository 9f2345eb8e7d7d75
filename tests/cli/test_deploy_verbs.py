"""The verbs of deployment on a bundle without a skill, as a user types them."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from lagoon.bundle.playback import write_playback
from lagoon.cli import __main__ as cli
from lagoon.deploy import check
from lagoon.deploy.check_report import digest_of
from lagoon.robot import load_robot
from tests.robot_motions import still


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Half a second of standing."""
    robot = load_robot("go2")
    motion = still(robot, 25)
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
    assert "nothing is sent" in out and "FL_hip_joint" in out and "The robot could stand up. That would take" in out
    assert "trip" not in out and "joint_order" not in out
    assert not (bundle.parent / "recordings").exists()


def test_a_dry_run_over_a_robot_that_could_not_stand_up_says_why(capsys, bundle, monkeypatch):
    from lagoon.deploy.fake_robot import FakeRobot

    receive = FakeRobot.receive
    monkeypatch.setattr(FakeRobot, "receive", lambda self: None)
    assert cli.main(["deploy", "run", str(bundle), "--sim", "--dry-run", "deploy.dry_seconds=0.5"]) == 1
    assert "No state arrived." in capsys.readouterr().out

    def empty(self):
        state = receive(self)
        return state and dataclasses.replace(state, battery=0.15)

    monkeypatch.setattr(FakeRobot, "receive", empty)
    assert cli.main(["deploy", "run", str(bundle), "--sim", "--dry-run", "deploy.dry_seconds=0.5"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "could not stand up as it lies: The battery is at 15 %; a start needs 20 %." in out and "trip" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "BUNDLE"], "No link to a robot was named. For the fake robot add --sim"),
        (["run", "BUNDLE", "deploy.link=nowhere"], "Link 'nowhere' is not known"),
        (["run", "BUNDLE", "--sim", "deploy.record="], "expected auto, none or a folder"),
        (["run", "BUNDLE", "deploy.link=nowhere", "--dry-run"], "Link 'nowhere' is not known"),
        (["run", "BUNDLE", "--sim", "deploy.link=x"], "Link 'x' is not known. Known: ros, unitree"),
        (["run", "BUNDLE", "--sim", "deploy.link=ros"], "--sim cannot start the other end of the link 'ros'"),
        (
            ["run", "BUNDLE", "--sim", "deploy.link=unitree", "deploy.unitree.interface=eth0"],
            "--sim stays on this computer, and deploy.unitree.interface is 'eth0'",
        ),
        (["run", "BUNDLE", "deploy.video=true"], "deploy.video=true needs --sim"),
        (["check", "BUNDLE", "--sim"], "The flag --sim does nothing in 'lagoon deploy check'"),
        (["check", "POLICY"], "policy.onnx is a file, not a bundle: gains"),
        (
            ["run", "BUNDLE", "--sim", "deploy.record=/proc/bags"],
            "Bags cannot be written into /proc/bags: No such file",
        ),
        (["inspect", "BUNDLE"], "is a folder; a policy is an .onnx file. Name the file in it: lagoon deploy inspect"),
        (["check", "nothing"], "There is no skill 'nothing' in"),
        (["check", "BUNDLE", "deploy.controller.guards.tilt_margin=2"], "a guard has no 'off'"),
        (["check", "BUNDLE", "robot=spot"], "The bundle is for robot 'go2'; this robot is 'spot'"),
        (["chek", "BUNDLE"], "'lagoon deploy chek' is not known. There are: deploy check, deploy run"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_paragraph(capsys, bundle, tmp_path, words, message):
    takes_skills = words[0] not in ("chek", "inspect")
    names = {"BUNDLE": str(bundle), "POLICY": str(bundle / "policy.onnx")}
    words = [names.get(word, word) for word in words]
    code = cli.main(["deploy", *words, *([f"skills_dir={tmp_path}"] if takes_skills else [])])
    err = capsys.readouterr().err
    assert code == 2 and message in err and err.count("\n") == 1, err
    assert not (tmp_path / "deploy_check.json").exists()


def test_a_real_link_asks_for_a_check_before_it_is_opened(capsys, bundle, monkeypatch):
    from lagoon.deploy.transport import links

    monkeypatch.setitem(links.LINKS, "robot", ("lagoon.errors", "require"))
    assert cli.main(["deploy", "run", str(bundle), "deploy.link=robot"]) == 2
    err = capsys.readouterr().err
    assert "A real robot is only commanded after a passed check" in err and f"lagoon deploy check {bundle}" in err


@pytest.fixture
def recorded(bundle):
    """A bag of the bundle, as a run writes it, of joints that follow at once."""
    from lagoon.bundle import load
    from lagoon.deploy.controller import Controller, ControllerConfig
    from lagoon.deploy.controller.maneuvers import folded_posture
    from lagoon.deploy.dry_run import Obedient
    from lagoon.deploy.loop import run_loop
    from lagoon.deploy.recording.recorder import Recorder
    from lagoon.deploy.sequence import SkillSequence
    from lagoon.deploy.transport.base import RobotState

    robot, loaded = load_robot("go2"), load(bundle)
    config = ControllerConfig(speed=4.0, min_seconds=0.1, wiggle_seconds=0.06, steady_seconds=0.3)
    controller = Controller(robot, [loaded], config)
    quat, still = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(12)
    lying = RobotState(time=0, joint_pos=folded_posture(robot), joint_vel=still, imu_quat=quat, imu_ang_vel=still[:3])
    recorder = Recorder(controller, [loaded], "a link", 60.0)
    run_loop(controller, Obedient(robot, lying), SkillSequence([loaded.command]), recorder)
    return recorder.save(bundle.parent / "recordings")


def test_a_replay_finds_the_bundle_beside_the_bag_and_says_pass(capsys, recorded):
    assert cli.main(["deploy", "replay", str(recorded)]) == 0
    out = capsys.readouterr().out
    assert "stand still" in out and " 25 " in out and "PASS; 0.0001 rad are allowed." in out


def test_a_replay_names_the_first_mismatch_and_refuses_other_bundles(capsys, recorded, bundle, tmp_path):
    from lagoon.deploy.recording.bag import read_bag, write_bag

    info, steps = read_bag(recorded)
    at = np.flatnonzero(steps["ticked"])[12]
    steps["target"][at, 4] -= 0.02
    write_bag(tmp_path / "changed", info, steps)
    assert cli.main(["deploy", "replay", str(tmp_path / "changed"), f"bundle={bundle}"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "The first mismatch is at tick 12" in out and "target of FR_thigh_joint is 0.880000 rad" in out
    assert out.endswith("FAIL; 0.0001 rad are allowed.")
    write_bag(tmp_path / "other", {**info, "bundles": {"stand still": "abc"}}, steps)
    for words, message in (
        ([str(tmp_path / "other")], "was recorded with another bundle of 'stand still'"),
        ([str(tmp_path / "nowhere")], "There is no bag"),
        ([str(bundle)], "is damaged or no rosbag2 bag"),
    ):
        assert cli.main(["deploy", "replay", *words, f"bundle={bundle}"]) in (2, 3)
        assert message in capsys.readouterr().err
    bundle.rename(tmp_path / "elsewhere")
    assert cli.main(["deploy", "replay", str(recorded)]) == 2
    assert "Say which one ran" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("record", "real", "folder"),
    [("auto", False, None), ("auto", True, "recordings"), ("none", True, None), ("bags", False, "bags")],
)
def test_a_real_run_is_recorded_and_a_rehearsal_where_it_is_asked_for(bundle, record, real, folder, monkeypatch):
    from types import SimpleNamespace

    from lagoon.bundle import load
    from lagoon.cli import deploy_run
    from lagoon.deploy.config import DeployConfig
    from lagoon.deploy.controller import Controller

    loaded, config = load(bundle), DeployConfig(record=record)
    controller = Controller(load_robot("go2"), [loaded])
    made = deploy_run._recorder(config, controller, [loaded], SimpleNamespace(is_real=real, name="x"))
    assert (made is None) == (folder is None)
    if folder:
        assert deploy_run._folder(config, loaded).name == folder


def test_a_place_that_cannot_take_bags_is_refused_before_anything_moves(capsys, bundle):
    file = bundle / "bundle.yaml"
    assert cli.main(["deploy", "run", str(bundle), "--sim", f"deploy.record={file}"]) == 2
    assert "is a file; bags go into a folder" in capsys.readouterr().err


@pytest.fixture
def obedient(monkeypatch):
    """--sim over joints that follow at once, in simulated time; returns what was sent."""
    from lagoon.cli import deploy_run
    from lagoon.deploy.controller.maneuvers import folded_posture
    from lagoon.deploy.dry_run import Obedient
    from lagoon.deploy.transport.base import RobotState

    robot, quat, still = load_robot("go2"), np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(12)
    lying = RobotState(time=0, joint_pos=folded_posture(robot), joint_vel=still, imu_quat=quat, imu_ang_vel=still[:3])
    link, sent = Obedient(robot, lying), []
    write = link.write
    monkeypatch.setattr(link, "write", lambda command: (sent.append(command), write(command)))
    monkeypatch.setattr(deploy_run, "_rehearsal", lambda controller, config, is_dry: (link, None))
    return sent


SHORT = (
    "deploy.controller.speed=4",
    "deploy.controller.min_seconds=0.1",
    "deploy.controller.wiggle_seconds=0.06",
    "deploy.controller.steady_seconds=0.3",
)


@pytest.fixture
def second(made, tmp_path):
    """Another skill, of another name: the same bundle written again."""
    from lagoon.bundle import load
    from lagoon.bundle.playback import write_playback

    robot, first = load_robot("go2"), load(made)
    motion = still(robot, first.num_steps)
    folder = tmp_path / "second" / "bundle"
    folder.parent.mkdir()
    write_playback(folder, robot, motion, "stand again")
    return folder


def test_several_skills_run_in_the_order_given_with_a_stand_between(capsys, bundle, second, obedient):
    words = [str(second), str(bundle), str(second)]
    assert cli.main(["deploy", "run", words[0], "--sim", *words[1:], *SHORT, "deploy.record=none"]) == 0
    out = capsys.readouterr().out
    assert "'stand again' then 'stand still' then 'stand again' over" in out and "Torque limited in 0.0 %" in out
    log = json.loads((second.parent / "deploy_run.json").read_text())
    assert log["skills"] == ["stand again", "stand still", "stand again"] and log["torque_limited_steps"] == 0
    begun = [e["text"] for e in log["events"] if e["mode"] == "policy"]
    assert begun == ["'stand again' begins.", "'stand still' begins.", "'stand again' begins."]
    modes = [e["mode"] for e in log["events"] if e["kind"] == "mode"]
    assert modes == ["stand_up", "stand", *["policy", "settle", "stand"] * 3, "sit_down", "damping"]
    assert not (bundle.parent / "deploy_run.json").exists()


def test_every_skill_needs_its_own_check_on_a_real_link(capsys, bundle, second, monkeypatch):
    from lagoon.bundle import load
    from lagoon.deploy.check_report import (
        CheckReport,
        Finding,
        bundle_sha256,
        checked_settings,
        host_here,
        versions_here,
    )
    from lagoon.deploy.config import DeployConfig
    from lagoon.deploy.transport import links

    monkeypatch.setitem(links.LINKS, "robot", ("lagoon.errors", "require"))

    def passed(folder):
        loaded, here = load(folder), {"versions": versions_here(), "host": host_here(), "created": "now"}
        finding = (Finding("contract", True, "fine"),)
        settings = checked_settings(DeployConfig())
        CheckReport(loaded.command, "go2", bundle_sha256(folder), finding, {}, settings, **here).save(
            folder.parent / "deploy_check.json"
        )

    passed(bundle)
    line = ["deploy", "run", str(bundle), str(second), "deploy.link=robot"]
    assert cli.main(line) == 2
    err = capsys.readouterr().err
    assert f"There is no {second.parent}/deploy_check.json." in err and f"lagoon deploy check {second}" in err
    passed(second)
    assert cli.main(line) == 70 and "deploy_check" not in capsys.readouterr().err, "the link is opened, and is none"


def test_a_skill_without_quotes_and_skills_of_several_robots_are_told(capsys, bundle, second, tmp_path, monkeypatch):
    from types import SimpleNamespace

    from lagoon.cli import deploy_run

    assert cli.main(["deploy", "run", "wave", "hello", "--sim", f"skills_dir={tmp_path}"]) == 2
    err = capsys.readouterr().err
    assert "There is no skill 'wave'" in err and "If that is one, put it in quotes: 'wave hello'" in err
    others = {
        "a": SimpleNamespace(robot="go2", command="a", folder=bundle),
        "b": SimpleNamespace(robot="spot", command="b", folder=second),
    }
    monkeypatch.setattr(deploy_run, "load_target", lambda call, text: (others[text], None))
    assert cli.main(["deploy", "run", "a", "b", "--sim"]) == 2
    assert "these skills are for several: 'a' for 'go2', 'b' for 'spot'" in capsys.readouterr().err


def test_a_dry_run_of_several_skills_shows_the_targets_of_each(capsys, bundle, second, obedient):
    assert cli.main(["deploy", "run", str(bundle), str(second), "--sim", "--dry-run", "deploy.dry_seconds=0.5"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "stand still" in out and "stand again" in out and obedient == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_closed_terminal_kill_and_ctrl_c_end_in_damping_and_keep_the_log(capsys, bundle, obedient, monkeypatch, name):
    import os
    import signal

    from lagoon.deploy.sequence import SkillSequence

    step = SkillSequence.__call__

    def struck(self, controller, now):
        if controller.mode.value == "policy":
            os.kill(os.getpid(), getattr(signal, name))
        return step(self, controller, now)

    monkeypatch.setattr(SkillSequence, "__call__", struck)
    assert cli.main(["deploy", "run", str(bundle), "--sim", *SHORT, f"deploy.record={bundle.parent}/bags"]) == 130
    assert obedient[-6].kp.any() and all(not command.kp.any() for command in obedient[-5:])
    assert "Stopped. The last commands were damping" in capsys.readouterr().out
    assert json.loads((bundle.parent / "deploy_run.json").read_text())["events"][-1]["mode"] == "policy"
    assert len(list((bundle.parent / "bags").iterdir())) == 1


def test_a_terminal_that_breaks_in_the_midst_of_a_run_does_not_stop_the_robot(bundle, obedient, monkeypatch):
    from lagoon.cli.console import Terminal

    say = Terminal.say

    def broken(self, text):
        if "mode:" in text:
            raise BrokenPipeError
        say(self, text)

    monkeypatch.setattr(Terminal, "say", broken)
    assert cli.main(["deploy", "run", str(bundle), "--sim", *SHORT]) == 0
    log = json.loads((bundle.parent / "deploy_run.json").read_text())
    assert [e["mode"] for e in log["events"] if e["kind"] == "mode"][-1] == "damping"


def test_a_rehearsal_on_the_virtual_clock_needs_no_quick_computer_and_can_be_recorded(capsys, bundle):
    words = ["deploy", "run", str(bundle), "--sim", "deploy.clock=virtual", "deploy.controller.speed=3"]
    words += ["deploy.controller.min_seconds=0.5", f"deploy.record={bundle.parent}/bags"]
    assert cli.main(words) == 0
    out = capsys.readouterr().out
    assert "over in-process (virtual clock)" in out and "'stand still' begins." in out and "The robot lies." in out
    assert " 0 skipped;" in out and "What was read and sent:" in out
    assert cli.main(["deploy", "replay", str(next((bundle.parent / "bags").iterdir())), f"bundle={bundle}"]) == 0
