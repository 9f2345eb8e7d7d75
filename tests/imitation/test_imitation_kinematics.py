"""Closed-form feet agree with MuJoCo."""

import mujoco
import numpy as np
import pytest
import torch

from lagoon.imitation.kinematics import FootKinematics
from lagoon.robot import known_robots, load_robot
from lagoon.sim.model import Addresses, build_model


@pytest.mark.parametrize("name", known_robots())
def test_feet_agree_with_mujoco(name):
    robot = load_robot(name)
    model = build_model(robot)
    data, at = mujoco.MjData(model), Addresses.of(model, robot)
    draw = np.random.default_rng(0)
    for _ in range(20):
        joints = draw.uniform(robot.joint_lower, robot.joint_upper)
        data.qpos[:7] = [0, 0, 1, 1, 0, 0, 0]
        data.qpos[at.joint_qpos] = joints
        mujoco.mj_kinematics(model, data)
        wanted = data.site_xpos[at.foot_site] - [0, 0, 1]
        ours = FootKinematics(robot)(torch.from_numpy(joints).float())
        assert np.allclose(ours.numpy(), wanted, atol=1e-6)
