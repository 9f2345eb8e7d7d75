"""SimBackend on MuJoCo's batched CPU stepping.

What enters: joint targets in RobotSpec order. What leaves: SimState. Stepping runs in C on
``threads`` threads over live array views (mujoco.batch.Batch); results do not depend on the number
of threads. Domain randomization writes per-robot model fields, so it costs nothing while stepping.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch, SimulationError

from lagoon.robot import RobotSpec
from lagoon.sim.backend import BodyParameters, SimState
from lagoon.sim.model import TRAINING, Addresses, PhysicsConfig, build_model
from lagoon.sim.motors import motor_curve
from lagoon.sim.variation import rarely_varied

Tensor = torch.Tensor


_FASTEST = 1e3
"""Beyond this no joint and no base turns [rad/s] or moves [m/s]: physics has diverged."""


def _run(indices: np.ndarray) -> np.ndarray | slice:
    """Indices as a slice where they follow one another, which is read and written in half the time."""
    first = int(indices[0])
    return slice(first, first + len(indices)) if (np.diff(indices) == 1).all() else indices


@dataclass(frozen=True)
class FootState:
    """Feet of N robots and the base they hang on, at one instant; float64."""

    pos_w: np.ndarray
    """(N, F, 3) foot centres in world [m]."""
    quat_w: np.ndarray
    """(N, F, 4) wxyz of the bodies that carry the feet."""
    base_pos_w: np.ndarray
    """(N, 3) base origin at that instant [m]."""
    base_quat_w: np.ndarray
    """(N, 4) wxyz of the base at that instant."""


class MujocoBackend:
    """N robots in MuJoCo; see SimBackend."""

    def __init__(
        self,
        robot: RobotSpec,
        num_envs: int,
        physics: PhysicsConfig = TRAINING,
        threads: int = 1,
        watch_feet: bool = False,
    ) -> None:
        """Compile the model and reserve all memory.

        Args:
            robot: which robot.
            num_envs: how many of them, N.
            physics: solver options and collision shapes.
            threads: C threads that step; pin to the cores this process owns.
            watch_feet: copy the poses of the feet out at every step, for feet().
        """
        self.robot, self.num_envs, self.physics = robot, num_envs, physics
        self.substeps = physics.substeps(robot.control_dt)
        self.model = build_model(robot, physics)
        self.addresses = Addresses.of(self.model, robot)
        self._batch = Batch(self.model, num_envs, threads)
        self._qpos, self._qvel = self._batch.bind("qpos"), self._batch.bind("qvel")
        self._ctrl, self._warmstart = self._batch.bind("ctrl"), self._batch.bind("qacc_warmstart")
        self._time = self._batch.bind("time")
        at = self.addresses
        self._joint_qpos, self._joint_dof = _run(at.joint_qpos), _run(at.joint_dof)
        # Every actuator is one joint's, so that targets are put in order once instead of written here and there.
        self._joint_of = np.argsort(at.actuator)
        self._broken = np.zeros(num_envs, dtype=bool)
        """(N,) which may have failed since they were last put into a state."""
        self._torque = self._batch.bind("actuator_force")
        self._fields: dict[str, np.ndarray] = {}
        self._limits = np.tile(np.asarray(robot.torque_limit, dtype=np.float64), (num_envs, 1))
        self._curve = motor_curve(robot) if physics.torque_speed else None
        watched = ("site_xpos", "site_xquat", "xpos", "xquat") if watch_feet else ()
        self._outputs = {name: self._batch.bind(name) for name in watched}
        self._body = slice(1, self.model.nbody)

    def state(self) -> SimState:
        """See SimBackend.state."""
        now = self.read()
        return SimState(*(torch.from_numpy(np.ascontiguousarray(getattr(now, item.name))) for item in fields(now)))

    def read(self) -> SimState:
        """See SimBackend.read."""
        qpos, qvel = self._qpos.astype(np.float32), self._qvel.astype(np.float32)
        return SimState(
            root_pos_w=qpos[:, 0:3],
            root_quat_w=qpos[:, 3:7],
            root_lin_vel_w=qvel[:, 0:3],
            root_ang_vel_b=qvel[:, 3:6],
            joint_pos=qpos[:, self._joint_qpos],
            joint_vel=qvel[:, self._joint_dof],
        )

    def torques(self) -> Tensor:
        """(N, J) torques that the motors gave in the last physics step [Nm]."""
        return torch.from_numpy(self._torque[:, self.addresses.actuator].astype(np.float32))

    def feet(self) -> FootState:
        """Where the feet are at the start of the last physics step, dt before state(); valid after a step.

        Needs ``watch_feet``, so that training does not copy what it does not use.
        """
        out, sites, base = self._outputs, self.addresses.foot_site, self.addresses.base_body
        return FootState(
            pos_w=out["site_xpos"][:, sites].copy(),
            quat_w=out["site_xquat"][:, sites].copy(),
            base_pos_w=out["xpos"][:, base].copy(),
            base_quat_w=out["xquat"][:, base].copy(),
        )

    def set_state(self, ids: Tensor, state: SimState) -> None:
        """See SimBackend.set_state."""
        self.write(ids.numpy(), state.numpy())

    def write(self, rows: np.ndarray, state: SimState) -> None:
        """See SimBackend.write."""
        at = self.addresses
        if len(rows) == 0:
            return
        if self._broken[rows].any():  # What MuJoCo counted against them has to go too.
            self._batch.reset(np.sort(rows), stage=mujoco.mjtStage.mjSTAGE_NONE)
            self._broken[rows] = False
        # All else that a step leaves behind is written below; nothing here has activations or applied forces.
        self._time[rows], self._warmstart[rows] = 0.0, 0.0
        quat = np.asarray(state.root_quat_w, dtype=np.float64)
        self._qpos[rows, 0:3] = state.root_pos_w
        self._qpos[rows, 3:7] = quat / np.linalg.norm(quat, axis=-1, keepdims=True)
        self._qvel[rows, 0:3] = state.root_lin_vel_w
        self._qvel[rows, 3:6] = state.root_ang_vel_b
        self._qpos[rows[:, None], at.joint_qpos] = state.joint_pos
        self._qvel[rows[:, None], at.joint_dof] = state.joint_vel
        self._ctrl[rows[:, None], at.actuator] = state.joint_pos

    def step(self, targets: Tensor) -> Tensor:
        """See SimBackend.step."""
        held = targets.dim() == 2
        each = targets.numpy().take(self._joint_of, axis=-1)
        each = each[None] if held else each
        if held and self._curve is not None:
            each, held = np.repeat(each, self.substeps, axis=0), False
        for target in each:
            if self._curve is not None:
                self._limit_torques()
            self._ctrl[:] = target
            try:
                self._batch.step(nstep=self.substeps if held else 1)
            except SimulationError:
                self._broken[:] = True  # One of them stopped on its own; it is found below and the others go on.
        # One number for all robots first: a maximum is NaN where anything is, and then no comparison holds.
        if np.abs(self._qvel).max() <= _FASTEST and np.abs(self._qpos).max() < np.inf:
            return torch.zeros(self.num_envs, dtype=torch.bool)
        fine = (np.abs(self._qvel).max(axis=1) <= _FASTEST) & (np.abs(self._qpos).max(axis=1) < np.inf)
        return torch.from_numpy(~fine)

    def set_parameters(self, ids: Tensor, parameters: BodyParameters) -> None:
        """See SimBackend.set_parameters."""
        rows, model, at = ids.numpy(), self.model, self.addresses
        if len(rows) == 0:
            return
        p = {name: getattr(parameters, name).numpy().astype(np.float64) for name in parameters.__dataclass_fields__}
        scale = p["mass_scale"][:, None]
        base = at.base_body
        mass = model.body_mass * scale
        inertia = model.body_inertia * (scale * p["inertia_scale"][:, None])[..., None]
        # A payload at the base's centre of mass: inertia grows in proportion, a stated simplification.
        ratio = (mass[:, base] + p["payload"]) / mass[:, base]
        mass[:, base] *= ratio
        inertia[:, base] *= ratio[:, None]
        ipos = np.repeat(model.body_ipos[None], len(rows), axis=0)
        ipos[:, base] += p["com_offset"]
        friction = np.repeat(model.geom_friction[None], len(rows), axis=0)
        friction[:, :, 0] = p["friction"][:, None]
        gain = np.repeat(model.actuator_gainprm[None], len(rows), axis=0)
        bias = np.repeat(model.actuator_biasprm[None], len(rows), axis=0)
        force = np.repeat(model.actuator_forcerange[None], len(rows), axis=0)
        gain[:, at.actuator, 0] *= p["kp_scale"]
        bias[:, at.actuator, 1] *= p["kp_scale"]
        bias[:, at.actuator, 2] *= p["kd_scale"]
        force[:, at.actuator] *= p["strength"][..., None]
        values = {
            "body_mass": mass,
            "body_inertia": inertia,
            "body_ipos": ipos,
            "geom_friction": friction,
            "actuator_gainprm": gain,
            "actuator_biasprm": bias,
            "actuator_forcerange": force,
        }
        self._limits[rows] = force[:, at.actuator, 1]
        for name, value in values.items():
            self._field(name)[rows] = value
        for name, value in rarely_varied(p, model, at, self._fields).items():
            self._field(name)[rows] = value
        self._batch.set_const(np.sort(rows))

    def _field(self, name: str) -> np.ndarray:
        """The live (N, ...) values of a model field."""
        if name not in self._fields:
            self._fields[name] = self._batch.expand(name)
        return self._fields[name]

    def _limit_torques(self) -> None:
        """Give every motor the torque limits that it has at its present speed."""
        at, curve = self.addresses, self._curve
        assert curve is not None
        lower, upper = curve.limits(self._qvel[:, at.joint_dof], self._limits)
        force = self._field("actuator_forcerange")
        force[:, at.actuator, 0], force[:, at.actuator, 1] = lower, upper

    def push(self, ids: Tensor, delta_lin_vel_w: Tensor) -> None:
        """See SimBackend.push."""
        self._qvel[ids.numpy(), 0:3] += delta_lin_vel_w.numpy()

    def close(self) -> None:
        """See SimBackend.close."""
        del self._batch
