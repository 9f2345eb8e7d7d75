"""The test-time alignment finds where a trial is, forwards only, and does not flatter another motion."""

import dataclasses

import numpy as np
import pytest
import torch

from lagoon.deploy.alignment import Aligned, best_path, features
from lagoon.sim.backend import SimState


@pytest.fixture
def sway(stand):
    """One hip goes out and back, then a knee bends and stays until near the end: every frame has its own pose."""
    t = np.linspace(0.0, 1.0, stand.num_frames)
    joints = stand.joint_pos.copy()
    joints[:, 0] += 0.5 * np.sin(np.pi * np.clip(t / 0.5, 0, 1))
    joints[:, 5] -= 0.4 * np.clip((t - 0.4) / 0.2, 0, 1) * np.clip((1 - t) / 0.1, 0, 1)
    return dataclasses.replace(stand, joint_pos=joints)


def state_of(motion, frames):
    rows = np.asarray(frames)
    tensor = lambda a: torch.from_numpy(np.asarray(a, dtype=np.float32))  # noqa: E731
    zeros = torch.zeros(len(rows), 3)
    joints = tensor(motion.joint_pos[rows])
    quat, pos = tensor(motion.root_quat_w[rows]), tensor(motion.root_pos_w[rows])
    return SimState(pos, quat, zeros, zeros, joints, torch.zeros_like(joints))


def test_late_trials_are_found_and_a_fallen_one_counts_until_its_fall(sway):
    late = np.concatenate([np.repeat(np.arange(40), 2)[:30], np.arange(15, 80)])
    aligned, last = Aligned(sway), sway.num_frames - 1
    for tick in range(1, 95):
        aligned.record(
            state_of(sway, [min(tick, last), late[tick], min(tick, last)]), np.array([True, True, tick < 20])
        )
    found = aligned.metrics()
    error, lag = found["aligned_joint_error"], found["time_lag"]
    assert np.nanmax(error[:, 0]) < 1e-6 and np.nanmax(lag[:, 0]) == 0.0
    assert np.nanmean(error[:, 1]) < 0.002 and lag[28:60, 1] == pytest.approx(0.3, abs=0.06)
    assert np.isnan(error[19:, 2]).all() and np.nanmax(error[:, 2]) < 1e-6


def test_the_path_goes_forward_by_two_at_most_and_within_the_lag(sway):
    reference = features(sway.joint_pos, sway.root_quat_w, sway.root_pos_w[:, 2])
    rng = np.random.default_rng(0)
    did = np.repeat(reference[1:, None], 70, axis=1) + rng.normal(0, 0.3, (79, 70, reference.shape[1]))
    path = best_path(did, reference, np.full(70, 79), 5)
    steps = np.diff(np.concatenate([np.zeros((1, 70), dtype=int), path]), axis=0)
    assert steps.min() >= 0 and steps.max() <= 2 and (steps != 1).any()
    assert np.abs(path - np.arange(1, 80)[:, None]).max() <= 5


def test_backwards_is_far(sway):
    aligned = Aligned(sway)
    for tick in range(1, 80):
        aligned.record(state_of(sway, [79 - tick, tick]), np.array([True, True]))
    error = np.nanmean(aligned.metrics()["aligned_joint_error"], axis=0)
    assert error[0] > 0.015 and error[1] < 1e-6
