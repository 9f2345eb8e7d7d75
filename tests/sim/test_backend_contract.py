"""What every SimBackend must do; a new backend joins the list below."""

import numpy as np
import pytest
import torch

from lagoon.motion.rotations import quat_from_rotvec
from lagoon.robot import load_robot
from lagoon.sim.backend import BodyParameters, SimBackend, SimState
from lagoon.sim.model import PhysicsConfig
from lagoon.sim.mujoco_backend import MujocoBackend

ROBOT = load_robot("go2")
BACKENDS = {"mujoco": lambda n, **kw: MujocoBackend(ROBOT, n, **kw)}


def standing(count, height=None):
    def row(values):
        return torch.tensor(values, dtype=torch.float32).repeat(count, 1)

    return SimState(
        root_pos_w=row([0.0, 0.0, height or ROBOT.default_root_height]),
        root_quat_w=row([1.0, 0.0, 0.0, 0.0]),
        root_lin_vel_w=torch.zeros(count, 3),
        root_ang_vel_b=torch.zeros(count, 3),
        joint_pos=row(ROBOT.default_joint_pos.tolist()),
        joint_vel=torch.zeros(count, ROBOT.num_joints),
    )


@pytest.fixture(params=sorted(BACKENDS))
def make(request):
    made = []

    def build(n, **kw):
        made.append(BACKENDS[request.param](n, **kw))
        return made[-1]

    yield build
    for backend in made:
        backend.close()


def random_state(count, seed=0):
    g = np.random.default_rng(seed)

    def f(*shape):
        return torch.from_numpy(g.normal(size=shape).astype(np.float32))

    state = standing(count, height=2.0)
    state.root_quat_w = torch.from_numpy(quat_from_rotvec(g.normal(size=(count, 3))).astype(np.float32))
    state.root_lin_vel_w, state.root_ang_vel_b = f(count, 3), f(count, 3)
    state.joint_pos = state.joint_pos + 0.1 * f(count, ROBOT.num_joints)
    state.joint_vel = f(count, ROBOT.num_joints)
    return state


def test_is_a_backend_and_gives_back_the_state_it_was_given(make):
    backend = make(5)
    assert isinstance(backend, SimBackend)
    wanted = random_state(3)
    backend.set_state(torch.tensor([4, 0, 2]), wanted)
    got = backend.state().rows(torch.tensor([4, 0, 2]))
    for name in wanted.__dataclass_fields__:
        assert torch.allclose(getattr(got, name), getattr(wanted, name), atol=1e-6), name


def test_stands_still_under_its_own_servos(make):
    backend = make(2)
    backend.set_state(torch.arange(2), standing(2))
    for _ in range(50):
        assert not backend.step(standing(2).joint_pos).any()
    assert torch.allclose(backend.state().root_pos_w[:, 2], torch.tensor(ROBOT.default_root_height), atol=0.02)


def test_free_fall_and_frames_of_velocities(make):
    """Linear velocity is in world and angular velocity in base: a pitched robot tells them apart."""
    backend = make(1)
    state = standing(1, height=5.0)
    state.root_quat_w = torch.from_numpy(quat_from_rotvec(np.array([[0.0, -np.pi / 2, 0.0]])).astype(np.float32))
    state.root_lin_vel_w = torch.tensor([[0.5, 0.0, 0.0]])
    state.root_ang_vel_b = torch.tensor([[1.0, 0.0, 0.0]])  # base X is up, so this turns the heading
    backend.set_state(torch.tensor([0]), state)
    steps = 10
    for _ in range(steps):
        backend.step(state.joint_pos)
    after, t = backend.state(), steps * ROBOT.control_dt
    assert after.root_pos_w[0, 0].item() == pytest.approx(0.5 * t, abs=0.02)
    assert after.root_lin_vel_w[0, 2].item() == pytest.approx(-9.81 * t, rel=0.05)
    assert after.root_ang_vel_b[0, 0].item() == pytest.approx(1.0, abs=0.1)


def test_targets_reach_their_own_joint(make):
    backend = make(ROBOT.num_joints)
    state = standing(ROBOT.num_joints, height=5.0)
    backend.set_state(torch.arange(ROBOT.num_joints), state)
    targets = state.joint_pos + 0.2 * torch.eye(ROBOT.num_joints)
    for _ in range(3):
        backend.step(targets)
    moved = (backend.state().joint_pos - state.joint_pos).abs()
    assert torch.equal(moved.argmax(dim=1), torch.arange(ROBOT.num_joints))


def test_same_inputs_give_the_same_bits_whatever_the_threads(make):
    def run(threads):
        backend = make(8, threads=threads)
        backend.set_state(torch.arange(8), standing(8))
        g = torch.Generator().manual_seed(1)
        for _ in range(20):
            backend.step(standing(8).joint_pos + 0.3 * torch.randn(8, ROBOT.num_joints, generator=g))
        return backend.state()

    first, second = run(1), run(2)
    for name in first.__dataclass_fields__:
        assert torch.equal(getattr(first, name), getattr(second, name)), name


def test_parameters_change_only_the_robots_named(make):
    backend = make(3)
    heavy = BodyParameters.nominal(1, ROBOT.num_joints, 0.8)
    heavy.payload[:] = 4.0
    weak = BodyParameters.nominal(1, ROBOT.num_joints, 0.8)
    weak.strength[:] = 0.05
    backend.set_parameters(torch.tensor([1]), heavy)
    backend.set_parameters(torch.tensor([2]), weak)
    backend.set_state(torch.arange(3), standing(3))
    for _ in range(50):
        backend.step(standing(3).joint_pos)
    height = backend.state().root_pos_w[:, 2]
    assert height[1] < height[0] - 0.002, "a payload lets the servos sag"
    assert height[2] < height[0] - 0.05, "weak motors cannot hold the body"


def test_substep_targets_delay_the_action(make):
    backend = make(2)
    state = standing(2, height=5.0)
    backend.set_state(torch.arange(2), state)
    old, new = state.joint_pos, state.joint_pos + 0.3
    late = torch.stack([old, new])
    targets = torch.stack([torch.stack([s[0], n[1]]) for s, n in zip(late, torch.stack([new, new]), strict=True)])
    backend.step(targets)
    moved = (backend.state().joint_pos - state.joint_pos).abs().sum(dim=1)
    assert moved[0] < 0.7 * moved[1]


def test_push_changes_the_velocity_by_what_was_asked(make):
    backend = make(2)
    backend.set_state(torch.arange(2), standing(2, height=5.0))
    backend.push(torch.tensor([1]), torch.tensor([[0.4, -0.2, 0.0]]))
    assert torch.allclose(backend.state().root_lin_vel_w, torch.tensor([[0.0, 0.0, 0.0], [0.4, -0.2, 0.0]]))


def test_a_diverged_robot_is_reported_and_can_be_reset(make):
    backend = make(2)
    bad = standing(2)
    bad.joint_vel[1] = float("nan")
    backend.set_state(torch.arange(2), bad)
    assert backend.step(standing(2).joint_pos).tolist() == [False, True]
    backend.set_state(torch.tensor([1]), standing(1))
    assert not backend.step(standing(2).joint_pos).any()


def test_nothing_of_what_was_before_is_left_in_a_robot_that_is_put_into_a_state(make):
    """Warm starts, clocks and failures of the past would all show in the bits of what follows."""
    used, fresh = make(4), make(4)
    bad = standing(4)
    bad.joint_vel[2] = float("nan")
    used.set_state(torch.arange(4), standing(4))
    for _ in range(10):
        used.step(standing(4).joint_pos + 0.3)
    used.set_state(torch.arange(4), bad)
    used.step(standing(4).joint_pos)
    order, wanted = torch.tensor([3, 0, 2, 1]), random_state(4)
    wanted.root_pos_w[:, 2] = 0.3
    for backend in (used, fresh):
        backend.set_state(order, wanted)
        for _ in range(20):
            backend.step(standing(4).joint_pos)
    for name in wanted.__dataclass_fields__:
        assert torch.equal(getattr(used.state(), name), getattr(fresh.state(), name)), name


def test_dt_must_divide_the_control_period():
    from lagoon.errors import BadInputError

    with pytest.raises(BadInputError, match="does not divide"):
        MujocoBackend(ROBOT, 1, PhysicsConfig(dt=0.003))
