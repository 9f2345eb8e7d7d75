"""What goes into and comes out of ROS messages; any object with their fields will do, so this needs no ROS."""

from types import SimpleNamespace as Msg

import numpy as np
import pytest

from lagoon.deploy.ros.messages import COLUMNS, BadRosMessageError, JointReader, command_of, fill, label, state_of
from lagoon.deploy.transport.base import MotorCommand
from lagoon.robot import load_robot

ROBOT = load_robot("go2")
JOINTS = ROBOT.joint_names


def header(sec, nanosec=0):
    return Msg(stamp=Msg(sec=sec, nanosec=nanosec))


def joint_state(names=JOINTS, effort=True, sec=7):
    values = {name: float(j) for j, name in enumerate(JOINTS)} | {"arm": 99.0}
    position = [values[name] for name in names]
    return Msg(
        header=header(sec),
        name=list(names),
        position=position,
        velocity=[10.0 * v for v in position],
        effort=[100.0 * v for v in position] if effort else [],
    )


def imu(sec=8, covariance=0.0):
    return Msg(
        header=header(sec, 500_000_000),
        orientation=Msg(w=0.1, x=0.2, y=0.3, z=0.4),
        angular_velocity=Msg(x=1.0, y=2.0, z=3.0),
        orientation_covariance=[covariance] * 9,
    )


def command(seed=0):
    rng = np.random.default_rng(seed)
    fields = ("joint_pos", "joint_vel", "kp", "kd", "torque")
    return MotorCommand(**{name: rng.normal(size=len(JOINTS)) for name in fields})


@pytest.fixture
def msg():
    empty = Msg(layout=Msg(dim=[], data_offset=0), data=[])
    label(empty, lambda **given: Msg(**given), JOINTS)
    fill(empty, command(), 1_796_073_265_123_456_789)
    return empty


@pytest.mark.parametrize("names", [JOINTS, ROBOT.motor_names, ("arm", *sorted(JOINTS))], ids=["same", "bus", "more"])
def test_joints_are_found_by_name(names) -> None:
    reader = JointReader(JOINTS)
    for _ in range(2):
        pos, vel, torque = reader.read(joint_state(names))
        assert pos.tolist() == [float(j) for j in range(len(JOINTS))]
        assert (vel == 10 * pos).all() and (torque == 100 * pos).all()
    assert reader.read(joint_state(names, effort=False))[2] is None


def test_the_order_may_change_while_it_runs() -> None:
    reader = JointReader(JOINTS)
    for names in (JOINTS, ROBOT.motor_names, JOINTS):
        assert reader.read(joint_state(names))[0][1] == 1.0


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda m: m.name.__setitem__(0, "FL_hip"), "FL_hip_joint is missing or there twice"),
        (lambda m: m.name.__setitem__(1, "FL_hip_joint"), "FL_hip_joint, FL_thigh_joint is missing or there twice"),
        (lambda m: m.name.clear(), "It holds: none."),
        (lambda m: m.velocity.clear(), "0 values of velocity for 12 names"),
        (lambda m: m.position.pop(), "11 values of position for 12 names"),
        (lambda m: m.effort.pop(), "11 values of effort for 12 names"),
    ],
)
def test_joints_that_are_missing_are_named(spoil, says) -> None:
    bad = joint_state()
    spoil(bad)
    with pytest.raises(BadRosMessageError, match=says):
        JointReader(JOINTS).read(bad)


def test_a_state_has_our_quaternion_and_the_age_of_its_older_part() -> None:
    state = state_of(JointReader(JOINTS), joint_state(), imu(), Msg(percentage=0.75))
    assert state.imu_quat.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert state.imu_ang_vel.tolist() == [1.0, 2.0, 3.0]
    assert (state.time, state.battery) == (7.0, 0.75)
    late = state_of(JointReader(JOINTS), joint_state(sec=9), imu(), Msg(percentage=float("nan")))
    assert (late.time, late.battery) == (8.5, None)


def test_an_imu_without_orientation_is_refused() -> None:
    with pytest.raises(BadRosMessageError, match="measures no orientation"):
        state_of(JointReader(JOINTS), joint_state(), imu(covariance=-1.0))


@pytest.mark.parametrize("names", [JOINTS, ROBOT.motor_names])
def test_a_command_is_read_by_name(msg, names) -> None:
    read, stamp = command_of(msg, names)
    order = [JOINTS.index(name) for name in names]
    for field in ("joint_pos", "joint_vel", "kp", "kd", "torque"):
        assert getattr(read, field).tolist() == getattr(command(), field)[order].tolist()
    assert stamp == pytest.approx(1_796_073_265.123456789, abs=1e-6)
    assert msg.data[:2].tolist() == [1_796_073_265.0, 123_456_789.0]


def test_the_layout_is_that_of_std_msgs(msg) -> None:
    rows, columns = msg.layout.dim
    assert (rows.size, rows.stride, columns.size, columns.stride) == (12, 60, 5, 5)
    assert len(msg.data) == msg.layout.data_offset + rows.stride
    assert columns.label.split(",") == list(COLUMNS) and rows.label.split(",") == list(JOINTS)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (
            lambda m: setattr(m.layout.dim[0], "label", m.layout.dim[0].label.replace("FL_hip", "LF_hip")),
            "LF_hip_joint",
        ),
        (lambda m: setattr(m.layout.dim[1], "label", "kp,kd,position,velocity,torque"), "columns kp,kd"),
        (lambda m: m.layout.dim.clear(), "columns none"),
        (lambda m: m.data.pop(), "61 numbers"),
        (lambda m: setattr(m.layout, "data_offset", 0), "62 numbers"),
        (lambda m: m.data.__setitem__(5, float("nan")), "not finite"),
    ],
)
def test_a_command_that_does_not_fit_is_refused(msg, spoil, says) -> None:
    spoil(msg)
    with pytest.raises(BadRosMessageError, match=says):
        command_of(msg, JOINTS)
