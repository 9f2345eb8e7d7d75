import dataclasses
import re

import numpy as np
import pytest

from lagoon.deploy.transport.base import MotorCommand
from lagoon.deploy.transport.motors import MotorMap
from lagoon.errors import BadInputError
from lagoon.robot import read_robot


@pytest.fixture
def by(robot):
    """Motors 0, 1, 2 move joints 2, 0, 1; joint 0 turns the other way; joint 2 has its zero at half a radian."""
    three = dataclasses.replace(
        robot,
        joint_names=("a", "b", "c"),
        motor_names=("c", "a", "b"),
        motor_sign=np.array([-1.0, 1.0, 1.0]),
        motor_offset=np.array([0.0, 0.0, 0.5]),
    )
    return MotorMap.of(three)


def test_numbers_by_hand(by):
    command = MotorCommand(
        joint_pos=np.array([1.0, 2.0, 3.0]),
        joint_vel=np.array([0.1, 0.2, 0.3]),
        kp=np.array([10.0, 20.0, 30.0]),
        kd=np.array([1.0, 2.0, 3.0]),
        torque=np.array([5.0, 6.0, 7.0]),
    )
    motors = by.command(command)
    assert motors.joint_pos.tolist() == [3.5, -1.0, 2.0]
    assert motors.joint_vel.tolist() == [0.3, -0.1, 0.2]
    assert (motors.kp.tolist(), motors.kd.tolist()) == ([30.0, 10.0, 20.0], [3.0, 1.0, 2.0])
    assert motors.torque.tolist() == [7.0, -5.0, 6.0]
    assert by.angles(motors.joint_pos).tolist() == [1.0, 2.0, 3.0]
    assert by.turns(motors.joint_vel).tolist() == [0.1, 0.2, 0.3]
    assert by.plain(motors.kp).tolist() == [10.0, 20.0, 30.0]


def test_the_torque_of_the_joint_is_the_same_on_either_side(by):
    """Sign and offset cancel in kp (target - measured) + kd (target speed - speed) + torque."""
    rng = np.random.default_rng(0)
    fields = ("joint_pos", "joint_vel", "kp", "kd", "torque")
    joints = MotorCommand(**{name: rng.normal(size=3) for name in fields})
    q, dq = rng.normal(size=(2, 3))
    measured = dataclasses.replace(joints, joint_pos=q, joint_vel=dq)
    motors, bus = by.command(joints), by.command(measured)

    def torque(c, q, dq):
        return c.kp * (c.joint_pos - q) + c.kd * (c.joint_vel - dq) + c.torque

    np.testing.assert_allclose(by.turns(torque(motors, bus.joint_pos, bus.joint_vel)), torque(joints, q, dq))


def test_a_sign_that_is_none_is_refused(robot, tmp_path):
    folder = tmp_path / "go2"
    folder.mkdir()
    text = (robot.model_path.parent / "robot.yaml").read_text()
    name = robot.joint_names[0]
    text, changed = re.subn(rf"({name}: *)\{{", r"\1{motor_sign: 0.5, ", text)
    assert changed == 1
    (folder / "robot.yaml").write_text(text)
    with pytest.raises(BadInputError, match=rf"motor_sign must be 1 or -1, not so for {name} \(0.5\)"):
        read_robot(folder)
