"""The torch formulae equal the numpy ones."""

import numpy as np
import pytest
import torch

from lagoon.imitation import rotations as torch_rot
from lagoon.motion import rotations as numpy_rot


@pytest.fixture
def quats():
    return numpy_rot.quat_normalize(np.random.default_rng(0).normal(size=(300, 4)))


def t(a):
    return torch.from_numpy(np.asarray(a)).float()


def test_parity_with_numpy(quats):
    a, b, v = quats[:100], quats[100:200], np.random.default_rng(1).normal(size=(100, 3))
    pairs = [
        (torch_rot.quat_mul(t(a), t(b)), numpy_rot.quat_mul(a, b)),
        (torch_rot.quat_conj(t(a)), numpy_rot.quat_conj(a)),
        (torch_rot.quat_difference(t(a), t(b)), numpy_rot.quat_mul(numpy_rot.quat_conj(a), b)),
        (torch_rot.quat_angle(t(a)), np.linalg.norm(numpy_rot.quat_to_rotvec(a), axis=-1)),
        (torch_rot.quat_rotate(t(a), t(v)), numpy_rot.quat_rotate(a, v)),
        (torch_rot.quat_rotate_inverse(t(a), t(v)), numpy_rot.quat_rotate_inverse(a, v)),
        (torch_rot.quat_to_rotvec(t(a)), numpy_rot.quat_to_rotvec(a)),
        (torch_rot.quat_from_rotvec(t(v)), numpy_rot.quat_from_rotvec(v)),
        (torch_rot.gravity_in_base(t(a)), numpy_rot.quat_to_matrix(a)[:, 2, :]),
    ]
    for ours, wanted in pairs:
        assert np.allclose(ours.numpy(), wanted, atol=2e-5)


def test_identity_and_tiny_rotations_are_finite():
    identity = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    assert torch.equal(torch_rot.quat_to_rotvec(identity), torch.zeros(1, 3))
    assert torch.allclose(torch_rot.quat_from_rotvec(torch.zeros(1, 3)), identity)
    tiny = torch.tensor([[1e-5, 0.0, 0.0]])
    assert torch.allclose(torch_rot.quat_to_rotvec(torch_rot.quat_from_rotvec(tiny)), tiny, atol=1e-6)


@pytest.mark.parametrize("yaw", [-3.1, -1.0, 0.0, 0.4, 2.0, 3.1])
def test_heading_round_trip(yaw):
    quat = t(numpy_rot.quat_from_yaw(np.array([yaw])))
    heading = torch_rot.heading_of(quat)
    assert torch.allclose(heading, torch.tensor([[np.cos(yaw), np.sin(yaw)]]).float(), atol=1e-6)
    back = torch_rot.quat_from_heading(heading)
    assert torch.allclose((back * quat).sum(-1).abs(), torch.ones(1), atol=1e-5)
