"""A chain of motions is each of them, one after the other, and is seen like each of them alone."""

import dataclasses

import numpy as np
import pytest
import torch

from lagoon.errors import BadInputError
from lagoon.imitation.chain import ChainedReference, MakeChainEnv, chained
from lagoon.imitation.config import TaskConfig, TrainConfig
from lagoon.imitation.observations import ActorObservation
from lagoon.imitation.reference import Reference
from lagoon.motion.robot_motion import velocity
from lagoon.motion.rotations import quat_from_yaw, quat_mul, quat_yaw

from .conftest import ROBOT, crouch

DT = ROBOT.control_dt


def turning(frames=60, yaw=1.2):
    """A crouch that turns on the spot and goes a little way; its ends are at rest."""
    base, share = crouch(frames, 0.2), np.clip((np.arange(frames) - 5) / (frames - 10), 0.0, 1.0)
    along = 0.5 - 0.5 * np.cos(np.pi * share)
    return dataclasses.replace(
        base,
        root_quat_w=np.array([quat_from_yaw(yaw * part) for part in along]),
        root_pos_w=base.root_pos_w + np.outer(along, [0.3, 0.1, 0.0]),
    )


def test_each_motion_goes_on_from_where_the_last_one_ended():
    chain = chained([turning(), crouch(40), turning(60, -0.5)], 1.0 / DT)
    assert chain.num_frames == 160 and np.asarray(chain.segment_starts).tolist() == [0, 60, 100]
    assert np.abs(np.diff(chain.root_pos_w, axis=0)).max() < 0.02  # Nothing jumps,
    assert np.abs(velocity(chain).root_ang_vel_b[[59, 60, 99, 100]]).max() < 0.05  # nor turns in a seam.
    assert quat_yaw(chain.root_quat_w[80]) == pytest.approx(1.2, abs=1e-6)
    assert quat_yaw(chain.root_quat_w[-1]) == pytest.approx(0.7, abs=1e-6)
    assert np.array_equal(chain.joint_pos[60:100], crouch(40).joint_pos)


def test_the_actor_sees_of_a_motion_in_a_chain_what_it_sees_of_it_alone():
    first, second = crouch(40), turning()
    chain = chained([turning(50, 0.8), first, second, first], 1.0 / DT)
    stand = torch.tensor(ROBOT.default_joint_pos, dtype=torch.float32)
    seen = [
        ActorObservation(reference, stand, (1, 4, 8), 1)
        for reference in (ChainedReference(chain, ROBOT), Reference(second, ROBOT))
    ]
    draw = torch.Generator().manual_seed(0)
    rows = 30
    joints, speeds, action = (torch.randn(rows, 12, generator=draw) for _ in range(3))
    gyro, state = torch.randn(rows, 3, generator=draw), torch.zeros(rows, seen[0].state_size)
    state[:, 0] = 1.0
    step = torch.arange(10, 10 + rows)
    quat = torch.tensor(second.root_quat_w[step.numpy()], dtype=torch.float32)
    turned = torch.tensor(quat_mul(quat_from_yaw(0.8), second.root_quat_w[step.numpy()]), dtype=torch.float32)
    alone = seen[1](joints, speeds, quat, gyro, action, step, state)
    among = seen[0](joints, speeds, turned, gyro, action, step + 90, state)
    assert torch.allclose(alone, among, atol=1e-4)


def test_a_motion_that_begins_elsewhere_is_refused_by_number():
    deep = dataclasses.replace(crouch(40), joint_pos=crouch(40).joint_pos + 0.3)
    with pytest.raises(BadInputError, match="Motion 2 does not begin in the pose that motion 1 ends in"):
        chained([crouch(40), deep], 1.0 / DT)
    with pytest.raises(BadInputError, match="no motion to chain"):
        chained([], 1.0 / DT)


def test_robots_start_in_every_motion_and_go_on_into_the_next():
    task = TaskConfig(start_share=0.0, adaptive_starts=0.5)
    env = MakeChainEnv((crouch(40), crouch(40, 0.1), crouch(40)), ROBOT, TrainConfig(task=task))(0, 64, 3)
    env.reset()
    begun = env.memory.step.copy()
    assert {int(step) // 40 for step in begun} == {0, 1, 2}
    for _ in range(30):
        result = env.step(torch.zeros(64, 12))
    env.close()
    assert "start_entropy" in result.metrics
    crossed = (begun < 40) & (begun > 20) & (env.memory.step == begun + 30)
    assert crossed.sum() > 3  # Gravity's share of the targets alone carries a crouch over the seam.
