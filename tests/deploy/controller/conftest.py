"""A puppet that does what it is told: the controller's other end without physics, so that a test takes milliseconds."""

import copy
import dataclasses

import numpy as np
import pytest

from lagoon.bundle.playback import write_playback
from lagoon.deploy.controller import NOTHING, Action, Controller, ControllerConfig, Mode, Request
from lagoon.deploy.controller.maneuvers import folded_posture
from lagoon.deploy.transport.base import RobotState
from lagoon.motion.rotations import quat_from_axis_angle

DT = 0.005


class Puppet:
    """Joints that follow their targets at once, on a robot that stays level."""

    def __init__(self, controller, seed=0):
        self.controller, self.robot = controller, controller.robot
        self.rng = np.random.default_rng(seed)
        self.now, self.offset = 3.0, 500.0
        self.q = folded_posture(self.robot) + 0.02
        self.command = None
        self.quat = np.array([1.0, 0.0, 0.0, 0.0])
        self.fields = {"battery": 0.9, "motor_temperature": np.full(12, 35.0)}
        self.events = []
        self.max_jump = 0.0

    def state(self, **changes):
        """What the robot would send now."""
        rng = self.rng
        torque = np.zeros(12) if self.command is None else self.command.kp * (self.command.joint_pos - self.q)
        state = RobotState(
            time=self.now + self.offset,
            joint_pos=self.q + rng.normal(0, 1e-4, 12),
            joint_vel=rng.normal(0, 1e-2, 12),
            joint_torque=torque,
            imu_quat=self.quat,
            imu_ang_vel=rng.normal(0, 1e-3, 3),
            **self.fields,
        )
        return dataclasses.replace(state, **changes)

    def step(self, request=NOTHING, state="fresh", dt=DT, **changes):
        """One step of the controller; the joints then go to their targets."""
        self.now += dt
        given = self.state(**changes) if isinstance(state, str) else state
        before = self.command
        self.command = self.controller.step(given, request, self.now)
        self.events += self.controller.take_events()
        if self.command.kp.any():
            if before is not None and before.kp.any():
                self.max_jump = max(self.max_jump, np.abs(self.command.joint_pos - before.joint_pos).max())
            self.q = self.command.joint_pos.copy()
        return self.command

    def until(self, mode, seconds=15.0, request=NOTHING):
        """Step until a mode is reached."""
        end = self.now + seconds
        self.step(request)
        while self.controller.mode is not mode:
            assert self.now < end, (self.controller.mode, self.events)
            self.step()
        return self

    def stand(self):
        """Stand up and wait until a skill may start."""
        self.step()
        self.until(Mode.STAND, request=Request(Action.STAND_UP))
        while not self.controller.steady:
            self.step()
        return self

    def run(self, skill, seconds=0.4):
        """Start a skill and be in the midst of it."""
        self.until(Mode.POLICY, request=Request(Action.START, skill))
        self.wait(seconds)
        return self

    def wait(self, seconds):
        """Step for a while."""
        for _ in range(round(seconds / DT)):
            self.step()

    @property
    def last(self):
        return self.events[-1]


@pytest.fixture(scope="session")
def reach(robot, stand, tmp_path_factory):
    """Two seconds in which every joint takes a way of its own; a symmetric stand would hide mixed-up joints."""
    frames = 100
    bump = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frames) / (frames - 1))
    ways = np.linspace(-0.12, 0.15, robot.num_joints)
    motion = dataclasses.replace(
        stand,
        root_pos_w=np.tile(stand.root_pos_w[:1], (frames, 1)),
        root_quat_w=np.tile(stand.root_quat_w[:1], (frames, 1)),
        joint_pos=robot.default_joint_pos + bump[:, None] * ways,
        foot_contact=np.ones((frames, 4), dtype=bool),
        segment_starts=(0, 25, 75),
    )
    return write_playback(tmp_path_factory.mktemp("reach") / "bundle", robot, motion, "reach")


@pytest.fixture(scope="session")
def rear(robot, stand, tmp_path_factory):
    """A skill whose reference pitches up by 1 rad and comes down again; the joints stay in the stand."""
    pitch = np.interp(np.arange(80), [0, 20, 30, 50, 60, 79], [0.0, 0.0, -1.0, -1.0, 0.0, 0.0])
    quat = quat_from_axis_angle(np.array([0.0, 1.0, 0.0]), pitch)
    motion = dataclasses.replace(stand, root_quat_w=quat)
    return write_playback(tmp_path_factory.mktemp("rear") / "bundle", robot, motion, "rear"), quat


QUICK = {"speed": 4.0, "min_seconds": 0.1, "wiggle_seconds": 0.06, "steady_seconds": 0.3}
"""Movements that a puppet can follow, to be done with them."""


def clone(puppet):
    """Copy a puppet in mid-movement; what is read-only, and what onnxruntime holds, is shared."""
    runners = puppet.controller._runners.values()
    shared = [puppet.robot, *(runner._session for runner in runners), *(runner.bundle for runner in runners)]
    return copy.deepcopy(puppet, {id(item): item for item in shared})


@pytest.fixture
def make_puppet(robot, stand_bundle, reach):
    def make(*bundles, **settings):
        config = ControllerConfig(**{**QUICK, **settings})
        return Puppet(Controller(robot, bundles or [stand_bundle, reach], config))

    return make


@pytest.fixture
def puppet(robot, stand_bundle, reach):
    """A puppet that lies, with the numbers of a real robot."""
    return Puppet(Controller(robot, [stand_bundle, reach]))


@pytest.fixture(scope="session")
def stood(robot, stand_bundle, reach):
    return Puppet(Controller(robot, [stand_bundle, reach])).stand()


@pytest.fixture(scope="session")
def acted(stood):
    return clone(stood).run("reach")


@pytest.fixture
def standing(stood):
    """A puppet that stands and may start a skill."""
    return clone(stood)


@pytest.fixture
def copy_of():
    """Copies a puppet in mid-movement."""
    return clone


@pytest.fixture
def acting(acted):
    """A puppet in the midst of the skill 'reach'."""
    return clone(acted)
