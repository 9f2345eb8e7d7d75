from __future__ import annotations

import numpy as np
import pytest

from lagoon.text2motion import augment, plausibility


def test_a_stand_costs_nothing(stand):
    measured = plausibility.measure(np.repeat(stand[None], 30, axis=0))
    assert measured.cost == pytest.approx(0.0, abs=1e-6)


def test_each_fault_costs(stand):
    still = np.repeat(stand[None], 60, axis=0)
    sliding, sunk, flying = still.copy(), still.copy(), still.copy()
    sliding[..., 0] += np.arange(60)[:, None] / 40
    sunk[20:, :, 2] -= 0.05
    flying[5:, :, 2] += 0.5
    assert plausibility.measure(sliding).foot_slide == pytest.approx(0.5, abs=1e-6)
    assert plausibility.measure(sunk).penetration == pytest.approx(0.05)
    assert plausibility.measure(flying).flight == pytest.approx(55 / 20 - plausibility.LONGEST_FLIGHT)
    trembling = still + 0.01 * np.where(np.arange(60) % 2, 1, -1)[:, None, None] * (np.arange(22) > 10)[:, None]
    for motion in (sliding, sunk, flying, trembling):
        assert plausibility.measure(motion).cost > 1.0


def test_activity_is_the_same_for_mirror_images_and_sees_the_wave(people, stand):
    wave = people["waving"]()
    still = np.repeat(stand[None], 60, axis=0)
    assert plausibility.activity(augment.mirror(wave)) == pytest.approx(plausibility.activity(wave))
    assert plausibility.activity(still) == pytest.approx(0.0)
    held = plausibility.activity(people["waving"](60, cycles=0.0))
    usual = plausibility.activity(wave)
    assert held[0] < usual[0] and held[3] == usual[3] == 0.0
    assert plausibility.unlike(usual, usual) == 0.0
    assert plausibility.unlike(held, usual) > 0.05
