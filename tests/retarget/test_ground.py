import numpy as np

from lagoon.retarget.ground import keep_above, settle_on_floor, stand_exactly, touching


def test_a_sunk_and_a_floating_stretch_come_to_the_floor(kin):
    qpos = np.repeat(kin.stand()[None], 120, axis=0)
    qpos[:60, 2] -= 0.02
    qpos[60:, 2] += 0.02
    settled = settle_on_floor(kin, qpos, np.ones((120, 4), bool), sigma=3.0)
    clearance = np.array([kin.clearances(row).min() for row in settled])
    assert clearance.min() > -1e-3
    np.testing.assert_allclose(clearance[[0, 30, 90, 119]], 0, atol=1e-3)
    np.testing.assert_array_equal(np.delete(settled, 2, axis=1), np.delete(qpos, 2, axis=1))


def test_a_flight_is_left_in_the_air(kin):
    qpos = np.repeat(kin.stand()[None], 40, axis=0)
    qpos[:, 2] += 0.3
    np.testing.assert_array_equal(settle_on_floor(kin, qpos, np.zeros((40, 4), bool), 2.0), qpos)


def test_ends_become_the_stand_and_the_middle_stays(kin):
    rng = np.random.default_rng(1)
    stand = kin.stand()
    qpos = np.repeat(stand[None], 100, axis=0)
    qpos[:, 7:] += 0.02 * rng.standard_normal(12)
    qpos[:, 3:7] *= -1
    exact = stand_exactly(qpos, stand, stand, (20, 26), 50.0)
    np.testing.assert_allclose(exact[:20, 7:], np.tile(stand[7:], (20, 1)), atol=1e-12)
    np.testing.assert_allclose(exact[-26:, 7:], np.tile(stand[7:], (26, 1)), atol=1e-12)
    np.testing.assert_array_equal(exact[40:60], qpos[40:60])
    np.testing.assert_allclose(exact[:, 3], -1)
    assert np.abs(np.diff(exact[:, 7:], axis=0)).max() < 0.01


def test_a_foot_in_the_air_carries_nothing_but_somebody_must(kin):
    stand = kin.stand()
    raised = stand.copy()
    raised[kin.address.joint_qpos[:3]] = [0.0, 0.9, -2.5]
    floating = stand.copy()
    floating[2] += 0.1
    contact = np.ones((3, 4), bool)
    kept = touching(kin, np.array([stand, raised, floating]), contact)
    np.testing.assert_array_equal(kept[0], True)
    np.testing.assert_array_equal(kept[1], [False, True, True, True])
    assert kept[2].sum() == 1
    np.testing.assert_array_equal(touching(kin, np.array([stand]), np.zeros((1, 4), bool)), False)


def test_only_what_is_in_the_floor_is_raised(kin):
    qpos = np.repeat(kin.stand()[None], 5, axis=0)
    qpos[2, 2] -= 0.04
    raised = keep_above(kin, qpos)
    assert abs(kin.clearances(raised[2]).min()) < 1e-9
    np.testing.assert_array_equal(np.delete(raised, 2, axis=0), np.delete(qpos, 2, axis=0))
    assert keep_above(kin, raised) is raised
