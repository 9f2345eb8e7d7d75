"""Inverse dynamics against what the simulator's motors really did."""

import mujoco
import numpy as np

from lagoon.retarget.effort import joint_torques
from lagoon.retarget.kinematics import Kinematics
from lagoon.sim.model import PhysicsConfig, build_model


def _squat(go2, seconds: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Configurations (T, nq) and motor torques (T, J) of a robot that bends its knees, at 50 Hz."""
    kin = Kinematics(go2)
    model = build_model(go2, PhysicsConfig(dt=0.002))
    data = mujoco.MjData(model)
    at = kin.address
    data.qpos[:] = kin.stand()
    qpos, torque = [], []
    thighs = [leg.thigh_joint for leg in go2.legs]
    calves = [leg.calf_joint for leg in go2.legs]
    for step in range(int(seconds / 0.002)):
        bend = 0.25 * np.sin(2 * np.pi * step * 0.002 / 1.0)
        target = go2.default_joint_pos.copy()
        target[go2.joint_ids(thighs)] += bend
        target[go2.joint_ids(calves)] -= 2 * bend
        data.ctrl[at.actuator] = target
        mujoco.mj_step(model, data)
        if step % 10 == 9:
            qpos.append(data.qpos.copy())
            torque.append(data.actuator_force[at.actuator].copy())
    return np.array(qpos), np.array(torque)


def test_torques_of_a_simulated_squat_are_those_of_its_motors(go2, kin):
    qpos, real = _squat(go2)
    found = joint_torques(kin, qpos, np.ones((len(qpos), 4), bool), 50.0)
    settled = slice(25, -5)
    calves = go2.joint_ids([leg.calf_joint for leg in go2.legs])
    # The hips' split of the sideways forces is not determined by statics; the calves carry the weight.
    error = np.abs(found - real)[settled][:, calves]
    assert real[settled][:, calves].max() > 8.0
    assert error.mean() < 1.0
    assert np.corrcoef(found[settled][:, calves].ravel(), real[settled][:, calves].ravel())[0, 1] > 0.95


def test_two_legs_carry_twice_as_much_each(go2, kin):
    qpos = np.repeat(kin.stand()[None], 30, axis=0)
    four = joint_torques(kin, qpos, np.ones((30, 4), bool), 50.0)
    diagonal = np.zeros((30, 4), bool)
    diagonal[:, [0, 3]] = True
    two = joint_torques(kin, qpos, diagonal, 50.0)
    calf = go2.joint_ids([go2.leg("FL").calf_joint])
    assert 1.6 < float((two[15, calf] / four[15, calf])[0]) < 2.4


def test_without_contact_only_the_legs_own_weight_is_left(go2, kin):
    qpos = np.repeat(kin.stand()[None], 30, axis=0)
    torque = joint_torques(kin, qpos, np.zeros((30, 4), bool), 50.0)
    assert np.abs(torque).max() < 2.0
