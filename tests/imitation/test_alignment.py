"""The alignment forgives time and nothing else: slower is near, backwards is far, and it only goes forward."""

import dataclasses

import numpy as np
import pytest
import torch

from lagoon.errors import BadInputError
from lagoon.imitation.alignment import OnlineAlignment
from lagoon.imitation.config import AlignmentConfig, RewardConfig, TaskConfig, TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.kinematics import FootKinematics
from lagoon.imitation.reference import Reference
from lagoon.imitation.rewards import tracking_error, tracking_reward
from lagoon.motion.robot_motion import RobotMotion, resample
from lagoon.sim.backend import SimState


@pytest.fixture
def bowing(make_stand):
    """Front knees bend, then one hip swings, then all returns: no half of it is the other one backwards."""
    base = make_stand(100)
    t = np.linspace(0.0, 1.0, 100)
    ease = lambda a, b: np.clip((t - a) / (b - a), 0.0, 1.0)  # noqa: E731
    joints = base.joint_pos.copy()
    joints[:, [1, 4]] += 0.6 * (ease(0.1, 0.3) - ease(0.7, 0.9))[:, None]
    joints[:, [2, 5]] -= 0.8 * (ease(0.2, 0.4) - ease(0.75, 0.95))[:, None]
    joints[:, 9] += 0.5 * (ease(0.4, 0.5) - ease(0.5, 0.8))
    joints[:, 0] -= 0.5 * (ease(0.55, 0.65) - ease(0.65, 0.9))
    return dataclasses.replace(base, joint_pos=joints)


def states_of(motion: RobotMotion, robot) -> list[SimState]:
    """What a simulator would report of a robot that plays the motion."""
    table = Reference(motion, robot)
    row = lambda values, t: values[t : t + 1]  # noqa: E731
    return [
        SimState(
            row(table.root_pos, t),
            row(table.root_quat, t),
            row(table.root_lin_vel, t),
            row(table.root_ang_vel, t),
            row(table.joint_pos, t),
            row(table.joint_vel, t),
        )
        for t in range(table.num_frames)
    ]


def slowed(motion, factor):
    """The same motion, so many times as long, at the same rate."""
    return resample(dataclasses.replace(motion, fps=motion.fps / factor), motion.fps)


def scores(played, reference_motion, robot, max_lag=10.0):
    """Mean tracking reward phase-locked and aligned, and the aligned frames."""
    reference, feet = Reference(reference_motion, robot), FootKinematics(robot)
    alignment = OnlineAlignment(reference, AlignmentConfig(share=1.0, max_lag=max_lag), 1, robot.control_dt)
    locked, aligned, frames = [], [], [0]
    for step, state in enumerate(states_of(played, robot)[1:], start=1):
        now, foot_pos = torch.tensor([step]), feet(state.joint_pos)
        alignment.advance(state, now)
        frames.append(int(alignment.frame))
        error = tracking_error(state, reference, alignment.frame, foot_pos, alignment.rate)
        aligned.append(float(tracking_reward(error, RewardConfig())))
        locked.append(float(tracking_reward(tracking_error(state, reference, now, foot_pos), RewardConfig())))
    return float(np.mean(locked)), float(np.mean(aligned)), np.array(frames)


def test_the_reference_itself_is_followed_frame_by_frame(bowing, robot):
    locked, aligned, frames = scores(bowing, bowing, robot)
    assert locked == pytest.approx(1.0, abs=1e-4) and aligned == pytest.approx(1.0, abs=1e-4)
    assert (frames == np.arange(len(frames))).all()


def test_a_slowed_reference_scores_near_the_original_when_aligned_and_much_less_on_the_clock(bowing, robot):
    locked, aligned, frames = scores(slowed(bowing, 2.0), bowing, robot)
    assert aligned > 0.95 and locked < aligned - 0.1
    assert abs(frames[100] - 50) <= 5 and frames[-1] >= 98


def test_the_path_is_monotone_takes_two_frames_at_most_and_stays_within_the_lag(bowing, robot):
    rng = np.random.default_rng(0)
    noisy = dataclasses.replace(bowing, joint_pos=bowing.joint_pos + 0.1 * rng.normal(size=bowing.joint_pos.shape))
    for motion, lag in ((noisy, 0.3), (slowed(bowing, 2.0), 0.3), (slowed(bowing, 0.6), 0.2)):
        frames = scores(motion, bowing, robot, lag)[2]
        steps, clock = np.diff(frames), np.minimum(np.arange(len(frames)), bowing.num_frames)
        assert steps.min() >= 0 and steps.max() <= 2
        assert np.abs(frames - clock).max() <= round(lag / robot.control_dt)


def test_a_reversed_clip_scores_low(bowing, robot):
    backwards = dataclasses.replace(bowing, joint_pos=bowing.joint_pos[::-1].copy())
    aligned = scores(backwards, bowing, robot)[1]
    forwards = scores(slowed(bowing, 1.5), bowing, robot)[1]
    assert aligned < 0.9 and aligned < forwards - 0.08


def test_without_lag_it_is_the_clock(bowing, robot):
    locked, aligned, frames = scores(slowed(bowing, 2.0), bowing, robot, max_lag=0.0)
    assert aligned == pytest.approx(locked) and (frames[:100] == np.arange(100)).all()


def test_robots_are_aligned_each_for_itself(bowing, robot):
    reference = Reference(bowing, robot)
    alignment = OnlineAlignment(reference, AlignmentConfig(share=1.0, max_lag=10.0), 3, robot.control_dt)
    alignment.begin(torch.tensor([2]), torch.tensor([40]))
    quick, slow = states_of(bowing, robot), states_of(slowed(bowing, 2.0), robot)
    for step in range(1, 50):
        rows = [quick[step], slow[step], quick[40 + step]]
        joined = SimState(
            **{name: torch.cat([getattr(s, name) for s in rows]) for name in SimState.__dataclass_fields__}
        )
        alignment.advance(joined, torch.tensor([step, step, 40 + step]))
    assert alignment.frame[0] == 49 and alignment.frame[2] == 89 and abs(int(alignment.frame[1]) - 25) <= 4
    assert alignment.rate[0] == pytest.approx(1.0) and float(alignment.rate[1]) == pytest.approx(0.5, abs=0.25)


def test_the_environment_pays_by_alignment_and_tells_the_critic(robot, make_crouch):
    task = TaskConfig(reset_joint_noise=0.0, reset_tilt_noise=0.0, reset_velocity_noise=0.0, start_share=1.0)
    aligned = dataclasses.replace(task, alignment=AlignmentConfig(share=1.0, max_lag=0.4))
    envs = [TrackingEnv(make_crouch(), robot, TrainConfig(task=t), 4, 0) for t in (task, aligned)]
    plain, late = envs
    assert late.last_step == plain.last_step + 20
    assert (
        late.obs_dims["critic"] == plain.obs_dims["critic"] + 14 and late.obs_dims["actor"] == plain.obs_dims["actor"]
    )
    late.reset()
    result = late.step(torch.zeros(4, 12))
    assert result.obs["critic"].shape == (4, late.obs_dims["critic"]) and result.metrics["lag_frames"] <= 1.0
    for env in envs:
        env.close()


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(BadInputError, match="share"):
        AlignmentConfig(share=1.1)
    with pytest.raises(BadInputError, match="max_lag"):
        AlignmentConfig(max_lag=-0.1)
