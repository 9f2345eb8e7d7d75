import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.motion.robot_motion import RobotMotion
from lagoon.studio.play_session import MOST_BEHIND, PlaySession
from tests.robot_motions import still


class HoldReference:
    """A policy that asks for the reference's joint angles, tick by tick."""

    def __init__(self, reference: RobotMotion) -> None:
        self.reference, self.calls, self.resets = reference, 0, 0

    def reset(self) -> None:
        self.calls, self.resets = 0, self.resets + 1

    def step(self, *sensors: np.ndarray) -> np.ndarray:
        self.last = sensors
        self.calls += 1
        return self.reference.joint_pos[min(self.calls, self.reference.num_frames - 1)]


@pytest.fixture
def session(human, reference, go2) -> PlaySession:
    return PlaySession(human, reference, HoldReference(reference), go2, pause_at_end=0.1)


def play(session: PlaySession, seconds: float, dt: float = 0.02) -> None:
    for _ in range(round(seconds / dt)):
        session.step(dt)


def test_policy_is_asked_once_per_control_period(session) -> None:
    play(session, 0.5, dt=1 / 30)
    assert session.stepper.calls == 25
    snapshot = session.snapshot()
    assert snapshot.segment == "stand" and snapshot.fell_at is None
    assert snapshot.joint_error is not None and snapshot.joint_error < 0.05
    play(session, 0.8)
    assert session.snapshot().segment == "motion"


def test_pause_and_slow_motion(session) -> None:
    session.speed = 0.5
    play(session, 0.4)
    assert session.time == pytest.approx(0.2)
    session.playing = False
    play(session, 0.4)
    assert session.time == pytest.approx(0.2) and session.stepper.calls == 10


def test_sensors_are_what_a_robot_measures(session, go2) -> None:
    play(session, 0.1)
    joint_pos, joint_vel, imu_quat, imu_ang_vel = session.stepper.last
    assert joint_pos.shape == joint_vel.shape == (12,) and imu_ang_vel.shape == (3,)
    np.testing.assert_allclose(joint_pos, go2.default_joint_pos, atol=0.1)
    np.testing.assert_allclose(np.abs(imu_quat), [1, 0, 0, 0], atol=0.05)


def test_push_moves_the_robot_that_way(session) -> None:
    play(session, 0.2)
    before = session.snapshot().policy.root_pos_w.copy()
    session.push(0.6, np.pi / 2)
    assert session.snapshot().push is not None
    play(session, 0.2)
    moved = session.snapshot().policy.root_pos_w - before
    assert moved[1] > 0.02 and abs(moved[0]) < moved[1] / 2
    play(session, 0.4)
    assert session.snapshot().push is None


def test_hard_push_is_a_fall_and_then_it_starts_again(session) -> None:
    play(session, 0.1)
    session.push(4.0, np.pi / 2)  # a kick that topples it
    while not session.finished and session.time < 1.5:
        session.step(0.02)
    assert session.fell_at is not None
    fell_at = session.fell_at
    assert session.snapshot().finished and session.snapshot().fell_at == fell_at
    play(session, 0.12)
    assert session.fell_at is None and session.time < 0.05
    assert session.stepper.resets == 2


def test_end_is_held_without_looping(session) -> None:
    session.loop, session.speed = False, 4.0
    play(session, 1.0)
    assert session.finished and session.snapshot().time == pytest.approx(session.duration)
    assert session.snapshot().human_time == pytest.approx(2.0)
    assert session.stepper.resets == 1


def test_a_stall_is_dropped_not_caught_up_with(session) -> None:
    session.step(60.0)
    assert session.time <= MOST_BEHIND


def test_shown_poses_move_evenly_between_ticks(human, go2) -> None:
    frames = 101
    root = np.zeros((frames, 3))
    root[:, 0], root[:, 2] = np.linspace(0.0, 1.0, frames), 0.3
    walk = still(go2, frames, root_pos_w=root)
    session = PlaySession(human, walk, None, go2)
    shown = []
    for _ in range(30):
        session.step(1 / 30)
        shown.append(session.snapshot().reference.root_pos_w[0])
    np.testing.assert_allclose(np.diff(shown)[2:], 0.5 / 30, atol=1e-6)


def test_physics_that_diverges_is_a_fall(human, reference, go2, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # MuJoCo logs its warning into the current folder
    session = PlaySession(human, reference, HoldReference(reference), go2, loop=False)
    play(session, 0.1)
    session._live.data.qvel[:] = 1e9
    play(session, 0.1)
    assert session.fell_at is not None
    assert np.isfinite(session.snapshot().policy.root_pos_w).all()


def test_person_alone_and_nothing(human, reference, go2) -> None:
    session = PlaySession(human, None, None, go2)
    play(session, 1.0)
    snapshot = session.snapshot()
    assert snapshot.reference is None and snapshot.policy is None
    assert snapshot.human_time == pytest.approx(1.0, abs=0.05)
    with pytest.raises(BadInputError, match="nothing to play"):
        PlaySession(None, None, None, go2)
    with pytest.raises(BadInputError, match="beside its reference"):
        PlaySession(human, None, HoldReference(reference), go2)
