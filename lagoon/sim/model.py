"""Compiles a robot's MJCF into an MjModel for a stated purpose.

What enters: a RobotSpec and a PhysicsConfig. What leaves: an mjModel with position servos at the
spec's gains, the wanted solver options, and the wanted set of collision shapes.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from lagoon.errors import BadInputError
from lagoon.robot import RobotSpec

COLLISION_GROUP = 3
"""Shapes that collide with the floor in training."""
FULL_COLLISION_GROUP = 4
"""Shapes added when self-collision and the whole body count."""


@dataclass(frozen=True)
class PhysicsConfig:
    """How the world is simulated. Defaults are the fast settings used for training."""

    dt: float = 0.01
    """Physics time step [s]; must divide the control period."""
    cone: str = "pyramidal"
    """Friction cone: pyramidal (fast) or elliptic (exact, about 1.9x the time)."""
    iterations: int = 10
    """Solver iterations."""
    ls_iterations: int = 10
    """Line-search iterations of the solver."""
    friction: float = 0.8
    """Sliding friction between robot and floor."""
    frictionloss: float = 0.0
    """Dry friction in every joint [Nm]; about 1.8x the time when not zero."""
    full_collisions: bool = False
    """Collide the whole body with the floor and with itself, not only feet, thighs and trunk with the floor."""
    torque_speed: bool = False
    """Limit torques by the motors' curve of torque against speed (motors.yaml), not by their rated torque alone."""

    def substeps(self, control_dt: float) -> int:
        """Number of physics steps in one control period [s].

        Raises:
            BadInputError: dt does not divide the control period.
        """
        count = round(control_dt / self.dt)
        if count < 1 or abs(count * self.dt - control_dt) > 1e-9:
            raise BadInputError(f"Physics dt {self.dt} s does not divide the control period {control_dt} s.")
        return count


TRAINING = PhysicsConfig()
CHECKING = PhysicsConfig(
    dt=0.002, cone="elliptic", iterations=50, ls_iterations=30, frictionloss=0.2, full_collisions=True
)
"""Unlike training in every respect that a policy could have overfitted to."""


def build_spec(robot: RobotSpec, physics: PhysicsConfig) -> mujoco.MjSpec:
    """Return the editable MjSpec behind build_model, so that scenes can add to it."""
    spec = mujoco.MjSpec.from_file(str(robot.model_path))
    spec.option.timestep = physics.dt
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    cones = {"pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL, "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC}
    if physics.cone not in cones:
        raise BadInputError(f"Friction cone '{physics.cone}' is not known. Known: {', '.join(sorted(cones))}.")
    spec.option.cone = cones[physics.cone]
    # A robot whose physics diverges must show it, rather than jump back to its initial pose unseen.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.option.iterations = physics.iterations
    spec.option.ls_iterations = physics.ls_iterations
    for joint in spec.joints:
        if joint.name in robot.joint_names:
            joint.frictionloss = physics.frictionloss
            if not joint.range.any():  # robot.xml has no limits for it: those of robot.yaml alone.
                j = robot.joint_names.index(joint.name)
                joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
                joint.range = np.array([robot.joint_lower[j], robot.joint_upper[j]])
    for geom in spec.geoms:
        if geom.name == "floor":
            geom.friction[0] = physics.friction
            # Bit 1: the floor. Bit 2: the robot, when it may hit itself.
            geom.contype, geom.conaffinity = 1, 0
        elif geom.group in (COLLISION_GROUP, FULL_COLLISION_GROUP):
            geom.friction[0] = physics.friction
            if physics.full_collisions:
                geom.contype, geom.conaffinity = 2, 3
            else:
                geom.contype, geom.conaffinity = 0, int(geom.group == COLLISION_GROUP)
    for actuator in spec.actuators:
        j = robot.joint_names.index(actuator.target)
        actuator.set_to_position(kp=float(robot.kp[j]), kv=float(robot.kd[j]))
        actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        actuator.forcerange = np.array([-robot.torque_limit[j], robot.torque_limit[j]])
    return spec


def build_model(robot: RobotSpec, physics: PhysicsConfig = TRAINING) -> mujoco.MjModel:
    """Compile the robot on a flat floor with position servos: torque = kp (target - q) - kd dq, clipped."""
    return build_spec(robot, physics).compile()


@dataclass(frozen=True)
class Addresses:
    """Where a robot's joints, motors and feet lie in an mjModel, found by name."""

    joint_qpos: np.ndarray
    """(J,) indices into qpos, RobotSpec joint order."""
    joint_dof: np.ndarray
    """(J,) indices into qvel, RobotSpec joint order."""
    actuator: np.ndarray
    """(J,) indices into ctrl, RobotSpec joint order."""
    foot_site: np.ndarray
    """(F,) site ids."""
    foot_geom: np.ndarray
    """(F,) geom ids."""
    base_body: int

    @staticmethod
    def of(model: mujoco.MjModel, robot: RobotSpec) -> Addresses:
        """Look every name up.

        Raises:
            BadInputError: the model lacks a joint, actuator or foot of the spec.
        """
        try:
            joints = [model.joint(name) for name in robot.joint_names]
            by_joint = {int(model.actuator_trnid[i, 0]): i for i in range(model.nu)}
            return Addresses(
                joint_qpos=np.array([joint.qposadr[0] for joint in joints]),
                joint_dof=np.array([joint.dofadr[0] for joint in joints]),
                actuator=np.array([by_joint[joint.id] for joint in joints]),
                foot_site=np.array([model.site(name).id for name in robot.foot_names]),
                foot_geom=np.array([model.geom(name).id for name in robot.foot_names]),
                base_body=model.body(robot.base_body).id,
            )
        except KeyError as error:
            raise BadInputError(f"The model of robot '{robot.name}' does not match its robot.yaml: {error}.") from error
