"""The actor sees only what a real robot can measure."""

import pytest
import torch

from lagoon.imitation.observations import ActorObservation
from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import heading_of, quat_from_rotvec, quat_mul


@pytest.fixture
def observe(robot, make_crouch):
    default = torch.tensor(robot.default_joint_pos, dtype=torch.float32)
    return ActorObservation(Reference(make_crouch(), robot), default, (1, 4), 2)


def readings(observe, n=3, seed=0):
    g = torch.Generator().manual_seed(seed)

    def rand(*shape):
        return torch.randn(*shape, generator=g)

    quat = quat_from_rotvec(0.3 * rand(n, 3))
    values = {
        "joint_pos": rand(n, 12),
        "joint_vel": rand(n, 12),
        "imu_quat": quat,
        "imu_ang_vel": rand(n, 3),
        "prev_action": rand(n, 12),
        "step": torch.tensor([0, 20, 500]),
    }
    frame = observe.frame(values["joint_pos"], values["joint_vel"], quat, values["prev_action"])
    return values, observe.start_state(frame, heading_of(quat))


def test_sizes_are_as_declared(observe):
    values, state = readings(observe)
    assert state.shape == (3, observe.state_size)
    assert observe(**values, state=state).shape == (3, observe.size)


def test_absolute_yaw_does_not_enter(observe):
    """Turning the world, and the start heading with it, changes nothing."""
    values, state = readings(observe)
    rows = observe(**values, state=state)
    turn = quat_from_rotvec(torch.tensor([[0.0, 0.0, 2.2]]))
    heading = torch.stack([torch.cos(torch.tensor(2.2)), torch.sin(torch.tensor(2.2))])
    old = state[:, :2]
    turned = torch.stack(
        [old[:, 0] * heading[0] - old[:, 1] * heading[1], old[:, 0] * heading[1] + old[:, 1] * heading[0]], dim=-1
    )
    values["imu_quat"] = quat_mul(turn, values["imu_quat"])
    assert torch.allclose(observe(**values, state=torch.cat([turned, state[:, 2:]], dim=-1)), rows, atol=1e-5)


def test_both_signs_of_a_quaternion_are_one_rotation(observe):
    values, state = readings(observe)
    rows = observe(**values, state=state)
    values["imu_quat"] = -values["imu_quat"]
    assert torch.allclose(observe(**values, state=state), rows, atol=1e-5)


def test_history_moves_by_one_frame(observe):
    _values, state = readings(observe)
    new = torch.full((3, observe.frame_size), 7.0)
    after = observe.next_state(state, new)
    assert torch.equal(after[:, :2], state[:, :2])
    assert torch.equal(after[:, 2 : 2 + observe.frame_size], new)
    assert torch.equal(after[:, 2 + observe.frame_size :], state[:, 2 : 2 + observe.frame_size])


def test_every_reading_matters(observe):
    values, state = readings(observe)
    rows = observe(**values, state=state)
    for name in ("joint_pos", "joint_vel", "imu_quat", "imu_ang_vel", "prev_action"):
        changed = dict(values)
        changed[name] = (
            quat_mul(values[name], quat_from_rotvec(torch.tensor([[0.2, 0.1, 0.0]])))
            if name == "imu_quat"
            else values[name] + 0.5
        )
        assert not torch.allclose(observe(**changed, state=state), rows), name


def test_after_the_end_the_last_pose_is_shown_at_rest(observe):
    reference = observe.reference
    rows = reference.index(torch.tensor([reference.num_frames + 3, 10_000]))
    assert torch.equal(reference.joint_vel[rows], torch.zeros(2, 12))
    assert torch.equal(reference.joint_pos[rows], reference.joint_pos[[-1, -1]])
