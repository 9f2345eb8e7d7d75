"""How far simulated robots are from the reference, tick by tick, and when they count as fallen.

What enters: the reference motion once, then the state after every control tick. What leaves: arrays of
errors (ticks, trials) and the tick and cause of every fall. Horizontal position is left out of every
error: a robot cannot measure it. Heading counts in the full orientation error and is reported on its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.deploy.config import EvaluateConfig
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.rotations import (
    angle_between,
    quat_conj,
    quat_from_yaw,
    quat_mul,
    quat_rotate_inverse,
    quat_to_rotvec,
    quat_yaw,
)
from lagoon.robot import RobotSpec
from lagoon.sim.backend import SimState
from lagoon.sim.model import COLLISION_GROUP, FULL_COLLISION_GROUP, Addresses
from lagoon.sim.mujoco_backend import FootState

Array = NDArray[np.float64]
UP = np.array([0.0, 0.0, 1.0])
LOADED = 0.002
"""A foot carries weight when its sole is within this of the floor [m]; contacts are about 1 mm soft."""
TOUCHING = 0.003
"""Trunk and head touch the floor below this [m]."""
NEAR_LIMIT = 0.02
"""A joint is at its limit within this [rad]."""
SATURATED = 0.99
"""A motor is saturated from this share of its limit on."""

METRICS = (
    "joint_error",
    "foot_error",
    "tilt_error",
    "orientation_error",
    "height_error",
    "heading_error",
    "torque_share",
    "torque_saturated",
    "joint_at_limit",
    "foot_slip",
)


@dataclass(frozen=True)
class BaseShape:
    """Spheres whose union touches the floor where trunk and head do."""

    centres_b: Array
    """(P, 3) in the base frame [m]."""
    radii: Array
    """(P,) [m], zero for corners of a box."""

    @staticmethod
    def of(model: mujoco.MjModel, base_body: int) -> BaseShape:
        """Collect the collision shapes fixed to the base."""
        centres, radii = [], []
        for geom in range(model.ngeom):
            if model.geom_bodyid[geom] != base_body or model.geom_group[geom] not in (
                COLLISION_GROUP,
                FULL_COLLISION_GROUP,
            ):
                continue
            local, radius = _support(int(model.geom_type[geom]), model.geom_size[geom])
            turn = np.empty(9)
            mujoco.mju_quat2Mat(turn, model.geom_quat[geom])
            centres.append(model.geom_pos[geom] + local @ turn.reshape(3, 3).T)
            radii.append(np.full(len(local), radius))
        return BaseShape(np.concatenate(centres), np.concatenate(radii))

    def clearance(self, pos_w: Array, quat_w: Array) -> Array:
        """Height of the lowest point above the floor (...) [m] for base poses (..., 3) and (..., 4)."""
        # Only the vertical component matters: the world's up axis seen from the base.
        up_b = quat_rotate_inverse(quat_w, UP)
        return np.min(pos_w[..., 2:3] + up_b @ self.centres_b.T - self.radii, axis=-1)


def _support(kind: int, size: Array) -> tuple[Array, float]:
    """Points and a radius whose union reaches as low as the shape; cylinders are taken as capsules."""
    geom = mujoco.mjtGeom
    if kind == geom.mjGEOM_BOX:
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        return signs * size, 0.0
    if kind in (geom.mjGEOM_CAPSULE, geom.mjGEOM_CYLINDER):
        return np.array([[0, 0, -size[1]], [0, 0, size[1]]]), float(size[0])
    return np.zeros((1, 3)), float(np.max(size))


class ReferenceTrack:
    """The reference in the quantities that trials are compared in; index with the frame."""

    def __init__(self, motion: RobotMotion, robot: RobotSpec, model: mujoco.MjModel) -> None:
        """Run the forward kinematics of every frame once."""
        self.robot, self.shape = robot, BaseShape.of(model, Addresses.of(model, robot).base_body)
        self.joint_pos, self.root_pos_w, self.root_quat_w = motion.joint_pos, motion.root_pos_w, motion.root_quat_w
        self.up_b = quat_rotate_inverse(motion.root_quat_w, UP)
        self.heading = float(quat_yaw(motion.root_quat_w[0]))
        self.clearance = self.shape.clearance(motion.root_pos_w, motion.root_quat_w)
        self.foot_pos_b = foot_positions_b(motion.joint_pos, robot, model)

    @property
    def num_frames(self) -> int:
        """Frames T."""
        return len(self.joint_pos)


def foot_positions_b(joint_pos: Array, robot: RobotSpec, model: mujoco.MjModel) -> Array:
    """(T, F, 3) foot centres in the base frame [m] for joint angles (T, J) [rad]."""
    at, data = Addresses.of(model, robot), mujoco.MjData(model)
    feet = np.empty((len(joint_pos), len(robot.foot_names), 3))
    data.qpos[:7] = [0, 0, 0, 1, 0, 0, 0]
    for t, angles in enumerate(joint_pos):
        data.qpos[at.joint_qpos] = angles
        mujoco.mj_kinematics(model, data)
        feet[t] = data.site_xpos[at.foot_site]
    return feet


@dataclass
class Tracker:
    """Compares N trials with the reference and decides who has fallen."""

    reference: ReferenceTrack
    config: EvaluateConfig
    start_heading: Array
    """(N,) true heading when the policy took over [rad]."""
    torque_limit: Array
    """(N, J) of each trial's motors [Nm]."""
    fall_tick: NDArray[np.int64] = field(init=False)
    """(N,) tick at which the trial fell, -1 while it has not."""
    fall_cause: list[str] = field(init=False)
    """(N,) in words, empty while it has not fallen."""
    errors: dict[str, list[Array]] = field(init=False)
    """For each of METRICS one (N,) array per tick, nan for fallen trials."""

    def __post_init__(self) -> None:
        count = len(self.start_heading)
        self.fall_tick = np.full(count, -1, dtype=np.int64)
        self.fall_cause = [""] * count
        self.errors = {name: [] for name in METRICS}
        self._last_feet: FootState | None = None
        self._align = quat_from_yaw(self.start_heading - self.reference.heading)

    @property
    def alive(self) -> NDArray[np.bool_]:
        """(N,) True for trials that have not fallen."""
        return self.fall_tick < 0

    def observe(
        self, tick: int, state: SimState, feet: FootState, torques: Array, broken: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Record one tick.

        Args:
            tick: control ticks taken, 1 after the first one.
            state: after the tick.
            feet: after the tick.
            torques: (N, J) [Nm].
            broken: (N,) physics diverged or the policy returned no finite numbers.

        Returns:
            (N,) True for trials that fell at this tick.
        """
        ref, robot, frame = self.reference, self.reference.robot, min(tick, self.reference.num_frames - 1)
        quat = state.root_quat_w.numpy().astype(np.float64)
        pos, q = state.root_pos_w.numpy().astype(np.float64), state.joint_pos.numpy().astype(np.float64)
        wanted = quat_mul(self._align, ref.root_quat_w[frame])
        up_b = quat_rotate_inverse(quat, UP)
        foot_b = quat_rotate_inverse(feet.base_quat_w[:, None], feet.pos_w - feet.base_pos_w[:, None])
        share = np.abs(torques) / self.torque_limit
        near = (q < robot.joint_lower + NEAR_LIMIT) | (q > robot.joint_upper - NEAR_LIMIT)
        # The turn left over after the tilt is corrected: the heading error, defined in every attitude.
        turn = quat_mul(quat, quat_conj(wanted))
        values = {
            "joint_error": np.abs(q - ref.joint_pos[frame]).mean(axis=1),
            "foot_error": np.linalg.norm(foot_b - ref.foot_pos_b[frame], axis=-1).mean(axis=1),
            "tilt_error": _angle(up_b, ref.up_b[frame]),
            "orientation_error": angle_between(wanted, quat),
            "height_error": np.abs(pos[:, 2] - ref.root_pos_w[frame, 2]),
            "heading_error": np.abs(_wrap(2.0 * np.arctan2(turn[:, 3], turn[:, 0]))),
            "torque_share": share.mean(axis=1),
            "torque_saturated": (share >= SATURATED).mean(axis=1),
            "joint_at_limit": near.mean(axis=1),
            "foot_slip": self._slip(feet),
        }
        fell = self._judge(tick, values, self._touching(pos, quat, frame), broken)
        for name, value in values.items():
            self.errors[name].append(np.where(self.alive, value, np.nan))
        return fell

    def _touching(self, pos: Array, quat: Array, frame: int) -> NDArray[np.bool_]:
        reference_keeps_off = self.reference.clearance[frame] > self.config.floor_clearance
        return (self.reference.shape.clearance(pos, quat) < TOUCHING) & reference_keeps_off

    def _judge(
        self, tick: int, values: dict[str, Array], touching: NDArray[np.bool_], broken: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        c = self.config
        causes = (
            (broken, "numbers that are not finite"),
            (values["tilt_error"] > c.fall_tilt, f"tilted {c.fall_tilt:g} rad away from the reference"),
            (touching, "trunk or head on the floor"),
            (values["height_error"] > c.fall_height, f"{c.fall_height:g} m too high or too low"),
        )
        return self._fell(tick, causes)

    def finish(self, tick: int, state: SimState, feet: FootState) -> None:
        """Judge the last pose: four feet on the floor, trunk level, joints near the stand.

        Args:
            tick: one beyond the last tick observed, which tells a wrong last pose from a fall.
            state: the last one.
            feet: the last ones.
        """
        robot, c = self.reference.robot, self.config
        q = state.joint_pos.numpy().astype(np.float64)
        tilt = _angle(quat_rotate_inverse(state.root_quat_w.numpy().astype(np.float64), UP), UP)
        height = (feet.pos_w[..., 2] - robot.foot_radius).max(axis=1)
        distance = np.abs(q - robot.default_joint_pos).mean(axis=1)
        causes = (
            (tilt > c.end_tilt, f"ended tilted more than {c.end_tilt:g} rad"),
            (height > c.end_foot_height, f"ended with a foot more than {100 * c.end_foot_height:g} cm off the floor"),
            (distance > c.end_joint_error, f"ended with the joints more than {c.end_joint_error:g} rad off the stand"),
        )
        self._fell(tick, causes)

    def _fell(self, tick: int, causes: tuple[tuple[NDArray[np.bool_], str], ...]) -> NDArray[np.bool_]:
        """Mark the trials that still stood and for which a cause holds; the first cause counts."""
        before = self.alive
        for happened, words in causes:
            for trial in np.flatnonzero(happened & self.alive):
                self.fall_tick[trial], self.fall_cause[trial] = tick, words
        return before & ~self.alive

    def _slip(self, feet: FootState) -> Array:
        """(N,) mean horizontal speed of the soles that carry weight now and one tick ago [m/s], nan where none does.

        A round foot that rolls moves its centre without slipping: a turn by w moves it by w x (radius * up).
        """
        last, self._last_feet = self._last_feet, feet
        if last is None:
            return np.full(len(feet.pos_w), np.nan)
        radius = self.reference.robot.foot_radius
        turn = quat_to_rotvec(quat_mul(feet.quat_w, quat_conj(last.quat_w)))
        slipped = feet.pos_w - last.pos_w - np.cross(turn, radius * UP)
        speed = np.linalg.norm(slipped[..., :2], axis=-1) / self.reference.robot.control_dt
        loaded = loaded_feet(feet, radius) & loaded_feet(last, radius)
        count = loaded.sum(axis=1)
        return np.where(count > 0, np.where(loaded, speed, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)


def loaded_feet(feet: FootState, radius: float) -> NDArray[np.bool_]:
    """(N, F) True where a foot carries weight."""
    return feet.pos_w[..., 2] < radius + LOADED


def _angle(a: Array, b: Array) -> Array:
    """Angle between unit vectors (..., 3) [rad], exact near zero too."""
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1))


def _wrap(angle: Array) -> Array:
    """Angle in [-pi, pi) [rad]."""
    return (angle + np.pi) % (2 * np.pi) - np.pi
