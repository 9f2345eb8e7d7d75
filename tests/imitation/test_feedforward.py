"""What holds a pose against gravity."""

import numpy as np
import torch

from lagoon.imitation.feedforward import gravity_offset
from lagoon.sim.backend import SimState
from lagoon.sim.mujoco_backend import MujocoBackend


def settle(robot, targets, steps=60):
    backend = MujocoBackend(robot, 1)
    row = lambda a: torch.tensor(np.asarray(a), dtype=torch.float32).reshape(1, -1)  # noqa: E731
    backend.set_state(
        torch.tensor([0]),
        SimState(
            row([0, 0, robot.default_root_height]),
            row([1, 0, 0, 0]),
            row([0, 0, 0]),
            row([0, 0, 0]),
            row(robot.default_joint_pos),
            row(np.zeros(12)),
        ),
    )
    for _ in range(steps):
        backend.step(row(targets))
    return backend.state()


def test_with_the_offset_the_stand_does_not_sag(robot, make_stand):
    offset = gravity_offset(make_stand(4), robot)[0]
    without = settle(robot, robot.default_joint_pos)
    held = settle(robot, robot.default_joint_pos + offset)
    sag = robot.default_root_height - without.root_pos_w[0, 2].item()
    assert sag > 0.01, "this test needs a servo that sags"
    assert abs(robot.default_root_height - held.root_pos_w[0, 2].item()) < 0.15 * sag
    assert (held.joint_pos[0] - torch.tensor(robot.default_joint_pos).float()).abs().max() < 0.01


def test_left_and_right_get_the_same_and_flight_gets_nothing(robot, make_stand):
    offset = gravity_offset(make_stand(4), robot)[0]
    sides = {leg.name: offset[robot.joint_ids(list(leg.joints))] for leg in robot.legs}
    assert np.allclose(sides["FL"][1:], sides["FR"][1:], atol=1e-3)
    assert np.allclose(sides["FL"][0], -sides["FR"][0], atol=1e-3)
    motion = make_stand(4)
    flying = type(motion)(
        **{**{n: getattr(motion, n) for n in motion.__dataclass_fields__}, "foot_contact": np.zeros((4, 4), bool)}
    )
    assert np.array_equal(gravity_offset(flying, robot), np.zeros((4, 12)))
