"""The whole way over the fake robot: lying, stand, skill, stand, lying; and faults that need physics."""

import dataclasses

import numpy as np
import pytest

from lagoon.bundle.playback import write_playback
from lagoon.deploy import check
from lagoon.deploy.config import DeployConfig, FakeRobotConfig
from lagoon.deploy.controller import NOTHING, Action, Controller, ControllerConfig, Kind, Mode, Request
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.loop import run_loop
from lagoon.deploy.rehearsal import Film, simulate
from lagoon.deploy.sequence import SkillSequence, StandUpFor
from lagoon.deploy.transport.in_process import InProcessTransport

QUICK = ControllerConfig(speed=3.0, min_seconds=0.5, steady_seconds=0.6)


@pytest.fixture(scope="module")
def lean(robot, stand, tmp_path_factory):
    """A second in which the legs give way unevenly, level enough to stay on all four feet."""
    frames = 50
    bump = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frames) / (frames - 1))
    ways = np.array([0.05, 0.1, -0.2, -0.05, 0.05, -0.1, 0.05, 0.08, -0.16, 0.0, 0.02, -0.04])
    motion = dataclasses.replace(
        stand,
        root_pos_w=stand.root_pos_w[:frames],
        root_quat_w=stand.root_quat_w[:frames],
        joint_pos=robot.default_joint_pos + bump[:, None] * ways,
        foot_contact=stand.foot_contact[:frames],
        segment_starts=(0, 10, 40),
    )
    return write_playback(tmp_path_factory.mktemp("lean") / "bundle", robot, motion, "lean")


def test_up_skill_stand_down_with_delay_noise_and_losses(robot, lean):
    trace, loop, sequence = simulate(lean, robot, DeployConfig(), seed=1)
    assert sequence.problem == ""
    changes = [event.mode for event in loop.events if event.kind is Kind.MODE]
    assert changes == ["stand_up", "stand", "policy", "settle", "stand", "sit_down", "damping"]
    for when in ("before", "after"):
        assert trace.joint_error[when] < 0.1
        assert abs(trace.height[when] - robot.default_root_height) < 0.03
    assert trace.max_tilt_error < 0.25 and trace.max_fall < 0.3
    pos, quat, _ = trace.fake.truth()
    assert pos[2] < 0.14 and np.linalg.norm(pos[:2]) < 0.15 and abs(quat[0]) > 0.97


def test_a_film_has_the_modes_and_the_skill_as_its_stretches(robot, lean):
    fake = FakeRobot(robot, FakeRobotConfig.perfect())
    controller = Controller(robot, [lean], QUICK)
    film = Film(fake, controller)
    loop = run_loop(controller, InProcessTransport(fake), SkillSequence(["lean"]), film)
    motion = film.motion()
    assert motion.segment_names == ("damping", "stand_up", "stand", "lean", "settle", "stand", "sit_down", "damping")
    assert motion.fps == 50.0 and abs(motion.num_frames - loop.seconds * 50.0) < 2.0
    highest = motion.root_pos_w[:, 2].max()
    assert motion.root_pos_w[0, 2] < 0.14 and abs(highest - robot.default_root_height) < 0.05


class Rehearsal:
    """A controller over the fake robot on the virtual clock, with a hand on both."""

    def __init__(self, robot, bundle, fake_config=None):
        self.controller = Controller(robot, [bundle], QUICK)
        self.fake = FakeRobot(robot, fake_config)
        self.link = InProcessTransport(self.fake)
        self.events = []

    def step(self, request=NOTHING):
        now = self.link.now()
        command = self.controller.step(self.link.read(), request, now)
        self.events += self.controller.take_events()
        self.link.write(command)
        self.link.sleep_until(now + 0.005)
        return command

    def until(self, *modes, request=NOTHING, seconds=12.0):
        end = self.link.now() + seconds
        while self.controller.blocker is not None or self.link.now() < 0.05:
            self.step()
        self.step(request)
        while self.controller.mode not in modes:
            assert self.link.now() < end, (self.controller.mode, self.controller.phase)
            self.step()
        return self

    def stand(self):
        return self.until(Mode.STAND, Mode.FAULT, request=Request(Action.STAND_UP))

    def skill(self):
        if self.controller.mode is not Mode.STAND:
            self.stand()
        self.until(Mode.POLICY, Mode.FAULT, request=Request(Action.START, "lean"))
        for _ in range(60):
            self.step()
        return self


@pytest.mark.parametrize(
    ("fault", "joint"),
    [
        ({"swap": {"FL_thigh_joint": "FR_thigh_joint", "FR_thigh_joint": "FL_thigh_joint"}}, "FL_thigh_joint"),
        ({"reverse": ("RL_hip_joint",)}, "RL_hip_joint"),
        ({"stuck": ("RR_thigh_joint",)}, "RR_thigh_joint"),
    ],
)
def test_a_motor_under_a_wrong_name_is_found_while_the_robot_lies(robot, lean, fault, joint):
    run = Rehearsal(robot, lean)
    for name, value in fault.items():
        setattr(run.fake.faults, name, value)
    highest = 0.0
    run.until(Mode.STAND_UP, request=Request(Action.STAND_UP))
    while run.controller.mode is Mode.STAND_UP:
        run.step()
        highest = max(highest, run.fake.truth()[0][2])
    assert run.controller.fault.guard in ("joint_order", "torque", "joint_position")
    if run.controller.fault.guard == "joint_order":
        assert run.controller.fault.values["joint"] == joint
    assert highest < 0.2, "the robot rose before the mistake was found"


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_wrong_gains_in_the_robot_are_found_before_a_skill_starts(robot, lean, scale):
    run = Rehearsal(robot, lean)
    run.fake.faults.gain_scale = scale
    run.stand()
    if run.controller.mode is Mode.STAND:
        run.until(Mode.FAULT, Mode.POLICY, request=Request(Action.START, "lean"))
    assert run.controller.mode is Mode.FAULT and run.controller.fault.guard in ("gains", "joint_order", "posture")


def test_a_network_cut_of_200_ms_ends_in_damping_on_both_sides_and_stays_so(robot, lean):
    run = Rehearsal(robot, lean).skill()
    run.fake.faults.cut = True
    for k in range(40):
        command = run.step()
        if k >= 12 + 8:
            assert not command.kp.any()
    assert run.controller.fault.guard == "stale" and run.fake.is_damping
    run.fake.faults.cut = False
    for _ in range(40):
        assert not run.step().kp.any()
    assert not run.fake.is_damping, "damping commands of the controller have arrived again"
    assert run.controller.mode is Mode.FAULT
    for _ in range(200):
        run.step()
    run.step(Request(Action.RESET))
    assert run.controller.mode is Mode.DAMPING


def test_a_light_push_and_a_short_burst_are_borne_and_a_backlog_is_not(robot, lean):
    run = Rehearsal(robot, lean, FakeRobotConfig(loss=0.0)).stand()
    run.fake.push((0.0, 0.3, 0.0))
    for _ in range(100):
        run.step()
    assert run.controller.mode is Mode.STAND
    run.skill()
    run.fake.faults.hold = True
    for _ in range(6):
        run.step()
    run.fake.faults.hold = False
    for _ in range(5):
        run.step()
    assert run.controller.mode is Mode.POLICY
    # From now on states come one by one while 500 Hz pile up: each new state is older than the one before.
    run.fake.faults.oldest_first = True
    for _ in range(60):
        run.step()
    assert run.controller.fault.guard == "stale" and "later than the fastest" in run.controller.fault.text


def test_a_robot_that_is_knocked_over_goes_to_damping(robot, lean):
    run = Rehearsal(robot, lean).skill()
    run.fake.push((0.0, 2.5, 1.0), (12.0, 0.0, 0.0))
    for _ in range(200):
        command = run.step()
    assert run.controller.mode is Mode.FAULT and run.controller.fault.guard in ("tilt", "joint_velocity")
    assert not command.kp.any()


def test_a_real_time_run_keeps_its_commands_going(robot, lean):
    """The wall clock, as briefly as it can show that time passes by itself."""
    controller = Controller(robot, [lean])
    report = run_loop(controller, InProcessTransport(FakeRobot(robot), clock="wall"), StandUpFor(0.5))
    assert 0.5 <= report.wall_seconds < 60.0
    assert report.steps >= 1 and (report.steps + report.skipped - 1) * 0.005 <= report.seconds + 0.01


def test_a_drill_says_which_guard_answered_and_when(robot, lean):
    finding = check._drill(lean, robot, DeployConfig(controller=QUICK), "frozen sensors")
    assert finding.passed and finding.values["guard"] == "frozen" and 0.04 < finding.values["seconds"] < 0.1
