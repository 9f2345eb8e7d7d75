import numpy as np

from lagoon.bundle.graph import open_session
from lagoon.bundle.playback import playback_graph


def test_plays_its_table_and_holds_the_last_row():
    table = np.random.default_rng(0).normal(size=(7, 12)).astype(np.float32)
    session = open_session(playback_graph(table, state_size=3), "test")
    ticks = np.array([0, 1, 6, 7, 500], dtype=np.float32)[:, None]
    zeros = {name: np.zeros((5, size), np.float32) for name, size in (("joint_pos", 12), ("joint_vel", 12))}
    zeros |= {"imu_quat": np.zeros((5, 4), np.float32), "imu_ang_vel": np.zeros((5, 3), np.float32)}
    state = np.arange(15, dtype=np.float32).reshape(5, 3)
    inputs = {**zeros, "prev_action": np.zeros((5, 12), np.float32), "time_step": ticks, "state": state}
    target, action, after = session.run(["joint_pos_target", "action", "state_out"], inputs)
    np.testing.assert_array_equal(target, table[[0, 1, 6, 6, 6]])
    np.testing.assert_array_equal(action, target - table[0])
    np.testing.assert_array_equal(after, state)
