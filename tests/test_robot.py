"""Every robot in assets/ compiles and agrees with its description."""

import mujoco
import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.robot import known_robots, load_robot, read_robot
from lagoon.sim.model import CHECKING, TRAINING, Addresses, build_model


@pytest.mark.parametrize("name", known_robots())
def test_model_matches_spec(name):
    robot = load_robot(name)
    model = mujoco.MjModel.from_xml_path(str(robot.model_path))
    hinges = [model.joint(i).name for i in range(model.njnt) if model.jnt_type[i] == mujoco.mjtJoint.mjJNT_HINGE]
    assert set(hinges) == set(robot.joint_names)
    for i, joint in enumerate(robot.joint_names):
        assert np.allclose(model.joint(joint).range, [robot.joint_lower[i], robot.joint_upper[i]]), joint
    assert model.body_subtreemass[model.body(robot.base_body).id] == pytest.approx(robot.mass, abs=1e-5)
    assert [model.joint(model.actuator_trnid[i, 0]).name for i in range(model.nu)] == list(robot.motor_names)
    assert (model.body_mass[1:] > 0).all()


@pytest.mark.parametrize("name", known_robots())
def test_default_stand_touches_the_floor_and_respects_limits(name):
    robot = load_robot(name)
    model = build_model(robot)
    data, at = mujoco.MjData(model), Addresses.of(model, robot)
    data.qpos[:7] = [0, 0, robot.default_root_height, 1, 0, 0, 0]
    data.qpos[at.joint_qpos] = robot.default_joint_pos
    mujoco.mj_forward(model, data)
    assert np.allclose(data.site_xpos[at.foot_site, 2], robot.foot_radius, atol=1e-3)
    assert (robot.joint_lower < robot.default_joint_pos).all() and (robot.default_joint_pos < robot.joint_upper).all()


@pytest.mark.parametrize("name", known_robots())
@pytest.mark.parametrize("physics", [TRAINING, CHECKING])
def test_servo_of_each_joint_drives_that_joint(name, physics):
    """A symmetric stand hides a wrong order; one joint at a time does not."""
    robot = load_robot(name)
    model = build_model(robot, physics)
    at = Addresses.of(model, robot)
    for j in range(robot.num_joints):
        data = mujoco.MjData(model)
        data.qpos[2] = 5.0
        data.qpos[at.joint_qpos] = robot.default_joint_pos
        data.ctrl[at.actuator] = robot.default_joint_pos
        data.ctrl[at.actuator[j]] += 0.1
        mujoco.mj_forward(model, data)
        expected = np.zeros(robot.num_joints)
        expected[j] = min(0.1 * robot.kp[j], robot.torque_limit[j])
        assert np.allclose(data.actuator_force[at.actuator], expected), robot.joint_names[j]


def test_go2_joint_order_differs_from_its_motor_order():
    robot = load_robot("go2")
    assert robot.joint_names[0] == "FL_hip_joint" and robot.motor_names[0] == "FR_hip_joint"
    assert sorted(robot.joint_names) == sorted(robot.motor_names)


def test_unknown_names_list_what_exists():
    with pytest.raises(BadInputError, match=r"Robot 'spto' is not known\. Known: .*go2"):
        load_robot("spto")
    with pytest.raises(BadInputError, match="FL_calf_joint"):
        load_robot("go2").joint_ids(["FL_knee"])
    with pytest.raises(BadInputError, match="Known: FL, FR, RL, RR"):
        load_robot("go2").leg("XX")


GO1 = load_robot("go1").model_path.with_name("robot.yaml").read_text(encoding="utf-8")
FIRST = GO1[GO1.index("  FL_hip_joint: {") : GO1.index("}", GO1.index("  FL_hip_joint: {")) + 1]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (GO1, "", "holds no names with values"),
        (GO1, "foo: [", "cannot be read as YAML"),
        (GO1, "- a\n- b\n", "holds no names with values"),
        (GO1, "schema_version: 1\n", "has no 'joints'; expected names with values"),
        ("schema_version: 1", "schema_version: 9", "has schema_version 9; this lagoon reads 1"),
        (
            "  FL_hip_joint: {lower: ",
            "  FL_hip_joint: {lower: fast, was: ",
            "joints.FL_hip_joint.lower is 'fast'; expected a",
        ),
        ("  FL_hip_joint: {lower: ", "  FL_hip_joint: {lower: .nan, was: ", "joints.FL_hip_joint.lower is nan"),
        ("  FL_hip_joint: {lower: ", "  FL_hip_joint: {lower: null, was: ", "has no 'lower' for: FL_hip_joint"),
        (FIRST, "  FL_hip_joint: 3", "joints.FL_hip_joint holds no numbers"),
        ("\n  FL: {", "\n  XX: {", "legs are XX, FR, RL, RR; expected FL, FR, RL and RR"),
        ("joints: [FL_hip_joint, ", "joints: [FL_hop, ", "legs.FL names FL_hop, which 'joints' does not have"),
        ("\nmass:", "\nmess:", "has no 'mass'; expected a number"),
        ("control_dt: 0.02", "control_dt: 0", "control_dt is 0; expected a number above 0"),
        ("\n  - FL_hip_joint", "\n  - FR_hip_joint", "'motors' and 'joints' must hold the same names, each once"),
        ("hip_pos_b: [", "hip_pos_b: [0.0, ", "legs.FL.hip_pos_b has 4 numbers; expected x, y and z"),
    ],
)
def test_a_description_that_cannot_be_is_refused_by_name(tmp_path, old: str, new: str, wanted: str) -> None:
    assert old in GO1
    (tmp_path / "robot.yaml").write_text(GO1.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        read_robot(tmp_path)
    assert wanted in str(caught.value) and "robot.yaml" in str(caught.value)
