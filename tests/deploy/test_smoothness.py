"""What counts as chatter, on targets whose spectrum is known."""

import numpy as np
import pytest

from lagoon.deploy.smoothness import SHORTEST, SMOOTHNESS_METRICS, Smoothness, chatter_of

DT = 0.02
TIME = np.arange(400) * DT


def wave(hertz, amplitude):
    return amplitude * np.sin(2 * np.pi * hertz * TIME + 0.3)


def targets_of(*series):
    """(K, N, 3): every joint of trial n moves as series n."""
    return np.repeat(np.stack(series, axis=1)[:, :, None], 3, axis=2)


@pytest.mark.parametrize("hertz", [9.0, 12.5, 20.0])
def test_fast_targets_are_chatter_of_their_amplitude(hertz):
    amplitude, share = chatter_of(targets_of(wave(hertz, 0.2)), np.array([400]), DT)
    assert amplitude[0] == pytest.approx(0.2 / np.sqrt(2), rel=0.03) and share[0] > 0.99


def test_slow_motion_is_none_even_where_it_ends_elsewhere():
    ramp = np.linspace(0.0, 2.0, 400)
    amplitude, share = chatter_of(targets_of(wave(1.0, 0.5), ramp + wave(0.3, 0.5)), np.array([400, 400]), DT)
    assert amplitude.max() < 0.002 and share.max() < 1e-4


def test_the_share_is_that_of_the_powers():
    amplitude, share = chatter_of(targets_of(wave(2.0, 0.3) + wave(12.0, 0.1)), np.array([400]), DT)
    assert amplitude[0] == pytest.approx(0.1 / np.sqrt(2), rel=0.03)
    assert share[0] == pytest.approx(0.01 / (0.09 + 0.01), rel=0.03)


def test_a_fallen_trial_counts_until_it_fell_and_a_still_one_is_quiet():
    n = 3
    smooth = Smoothness(DT, np.full((n, 12), 40.0))
    fell = 60
    for k in range(120):
        targets = np.zeros((n, 12))
        targets[0] = 0.1 * (-1) ** k
        targets[1] = 0.1 * (-1) ** k if k < fell else 50.0 * (-1) ** k
        torques = np.full((n, 12), float(k))
        smooth.record(targets, torques, np.full((n, 12), -0.5), np.array([True, k < fell, True]))
    found = smooth.metrics()
    assert set(found) == set(SMOOTHNESS_METRICS)
    assert np.nanmean(found["action_rate"], axis=0) == pytest.approx([0.2, 0.2, 0.0], abs=1e-6)
    assert found["action_peak"][0] == pytest.approx([0.2, 0.2, 0.0], abs=1e-6)
    assert found["chatter_share"][0] == pytest.approx([1.0, 1.0, 0.0], abs=1e-3)
    assert np.nanmean(found["torque_rate"], axis=0) == pytest.approx([1.0 / DT] * 3)
    assert found["torque_peak"][0] == pytest.approx([119 / 40, 59 / 40, 119 / 40])
    assert found["power"][10] == pytest.approx([60.0] * 3) and np.isnan(found["power"][fell, 1])


def test_trials_too_short_to_tell_give_nan():
    amplitude, share = chatter_of(np.zeros((SHORTEST, 2, 1)), np.array([SHORTEST, SHORTEST - 1]), DT)
    assert share[0] == 0.0 and np.isnan(share[1]) and np.isnan(amplitude[1])
    smooth, zeros = Smoothness(DT, np.ones((2, 12))), np.zeros((2, 12))
    smooth.record(zeros, zeros, zeros, np.array([True, False]))
    assert all(values.shape[1] == 2 for values in smooth.metrics().values())
