"""Runs a policy bundle: measured sensors in, joint targets out, once per control period.

What enters: a verified PolicyBundle and raw sensor values. What leaves: joint targets inside the
joint limits. Needs numpy and onnxruntime, and pyyaml to load the bundle; this is the file that runs on a
robot, and evaluation runs the very same code on many simulated robots at once.
"""

from __future__ import annotations

import time
from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lagoon.bundle import PolicyBundle
from lagoon.errors import BadInputError, LagoonError

Floats = NDArray[np.float32]
NORM_TOLERANCE = 0.05
"""Allowed distance of a quaternion's norm from 1; beyond it the value is no orientation."""


class BadSensorError(BadInputError):
    """A sensor value cannot be used: wrong shape, not finite, not a unit quaternion."""


class BadPolicyOutputError(LagoonError):
    """The graph returned a value that is not finite; the robot must go to damping."""


class PolicyRunner:
    """Runs a bundle for one robot (arrays of shape (J,)) or for B robots (arrays of shape (B, J)).

    Usage: ``reset()`` at the start of the skill, then ``step(...)`` once every ``bundle.control_dt``.
    The runner feeds the previous action, the policy's state and the tick count back by itself.
    """

    def __init__(self, bundle: PolicyBundle, batch: int | None = None, threads: int = 1) -> None:
        """Open the graph and run it once, since the first call is slow.

        Args:
            bundle: a loaded bundle.
            batch: number of robots B, or None for one robot and arrays without a leading axis.
            threads: onnxruntime threads; one has no millisecond outliers.
        """
        self.bundle, self.batch = bundle, batch
        self._rows = 1 if batch is None else batch
        self._session = bundle.session(threads)
        self._outputs = [port.name for port in bundle.outputs]
        self._seconds: deque[float] = deque(maxlen=4096)
        self.reset()
        sensors = [np.zeros((self._rows, bundle.num_joints))] * 2 + [np.tile([1.0, 0, 0, 0], (self._rows, 1))]
        self._infer(*(np.asarray(a, np.float32) for a in (*sensors, np.zeros((self._rows, 3)))))
        self.reset()

    def reset(self) -> None:
        """Go back to tick 0: zero previous action, initial policy state."""
        joints = self.bundle.num_joints
        self._prev_action: Floats = np.zeros((self._rows, joints), dtype=np.float32)
        self._state: Floats = np.tile(self.bundle.initial_state, (self._rows, 1))
        self._tick = 0
        self._bad = np.zeros(self._rows, dtype=bool)
        self._clipped = np.zeros(self._rows, dtype=np.int64)
        self._unclipped = np.tile(self.bundle.default_joint_pos, (self._rows, 1))
        self._seconds.clear()

    @property
    def tick(self) -> int:
        """Control ticks taken since reset."""
        return self._tick

    @property
    def done(self) -> bool:
        """True once the whole reference has been played; the graph then holds its last frame."""
        return self._tick >= self.bundle.num_steps

    @property
    def segment(self) -> str:
        """Name of the stretch of the reference that the next tick falls into."""
        return self.bundle.segment_at(self._tick)

    @property
    def bad_rows(self) -> NDArray[np.bool_]:
        """(B,) True for robots whose policy has returned a value that is not finite since reset."""
        return self._bad.copy()

    @property
    def unclipped(self) -> NDArray[np.float64]:
        """(B, J) targets of the last tick as the graph gave them, beyond the joint limits too [rad]."""
        return self._unclipped

    @property
    def clipped_share(self) -> float:
        """Share of the targets since reset that lay beyond a joint limit and were clipped."""
        return float(self._clipped.sum()) / max(1, self._tick * self._rows * self.bundle.num_joints)

    def step(
        self, joint_pos: ArrayLike, joint_vel: ArrayLike, imu_quat: ArrayLike, imu_ang_vel: ArrayLike
    ) -> NDArray[np.float64]:
        """Take one control tick.

        Args:
            joint_pos: (J,) or (B, J) measured joint positions [rad], bundle.joint_names order.
            joint_vel: (J,) or (B, J) measured joint velocities [rad/s].
            imu_quat: (4,) or (B, 4) measured orientation wxyz, base to world.
            imu_ang_vel: (3,) or (B, 3) gyro, base frame [rad/s].

        Returns:
            (J,) or (B, J) joint position targets [rad], clipped to the joint limits.

        Raises:
            BadSensorError: a value has a wrong shape, is not finite, or is not a unit quaternion. The tick
                is not taken.
            BadPolicyOutputError: the graph returned a value that is not finite.
        """
        targets = self.step_all(joint_pos, joint_vel, imu_quat, imu_ang_vel)
        if self._bad.any():
            rows = "" if self.batch is None else f" for robot {np.flatnonzero(self._bad)[0]}"
            raise BadPolicyOutputError(
                f"The policy of '{self.bundle.command}' returned a value that is not finite{rows} at tick "
                f"{self._tick - 1} ({self.bundle.segment_at(self._tick - 1)}). Go to damping, "
                "and check the bundle with: lagoon evaluate SKILL"
            )
        return targets

    def step_all(
        self, joint_pos: ArrayLike, joint_vel: ArrayLike, imu_quat: ArrayLike, imu_ang_vel: ArrayLike
    ) -> NDArray[np.float64]:
        """As step, but a robot whose policy fails is marked in ``bad_rows`` and told to stand, not raised."""
        joints = self.bundle.num_joints
        quat = self._sensor("imu_quat", imu_quat, 4)
        norm = np.linalg.norm(quat, axis=1, keepdims=True)
        if np.abs(norm - 1.0).max() > NORM_TOLERANCE:
            row = int(np.abs(norm - 1.0).argmax())
            raise BadSensorError(
                f"Sensor 'imu_quat' has norm {norm[row, 0]:.4f}; expected a unit quaternion ordered w, x, y, z. "
                "Check the IMU driver and the order of its fields."
            )
        targets = self._infer(
            self._sensor("joint_pos", joint_pos, joints),
            self._sensor("joint_vel", joint_vel, joints),
            quat / norm,
            self._sensor("imu_ang_vel", imu_ang_vel, 3),
        )
        # In float64, since a float32 limit may round to beyond the real one.
        wanted = self._unclipped = targets.astype(np.float64)
        result = np.clip(wanted, self.bundle.joint_lower, self.bundle.joint_upper)
        self._clipped += (result != wanted).sum(axis=1)
        return result[0] if self.batch is None else result

    def _infer(self, joint_pos: Floats, joint_vel: Floats, imu_quat: Floats, imu_ang_vel: Floats) -> Floats:
        start = time.perf_counter()
        target, action, state = self._session.run(
            self._outputs,
            {
                "joint_pos": joint_pos,
                "joint_vel": joint_vel,
                "imu_quat": imu_quat,
                "imu_ang_vel": imu_ang_vel,
                "prev_action": self._prev_action,
                "time_step": np.full((self._rows, 1), self._tick, dtype=np.float32),
                "state": self._state,
            },
        )
        self._seconds.append(time.perf_counter() - start)
        finite = np.isfinite(target).all(axis=1) & np.isfinite(action).all(axis=1) & np.isfinite(state).all(axis=1)
        if not finite.all():
            # What is fed back stays finite, so that the other robots and the next call are not poisoned.
            self._bad |= ~finite
            target = np.where(finite[:, None], target, self.bundle.default_joint_pos.astype(np.float32))
            action, state = np.where(finite[:, None], action, 0.0), np.where(finite[:, None], state, 0.0)
        self._prev_action, self._state = action.astype(np.float32), state.astype(np.float32)
        self._tick += 1
        return target

    def _sensor(self, name: str, value: ArrayLike, size: int) -> Floats:
        array = np.asarray(value, dtype=np.float32)
        wanted = (size,) if self.batch is None else (self.batch, size)
        if array.shape != wanted:
            raise BadSensorError(
                f"Sensor '{name}' has shape {array.shape}; expected {wanted}. "
                f"The bundle's joints are {', '.join(self.bundle.joint_names)}."
            )
        array = array.reshape(self._rows, size)
        if not np.isfinite(array).all():
            row, column = np.argwhere(~np.isfinite(array))[0]
            which = self.bundle.joint_names[column] if name.startswith("joint") else f"component {column}"
            where = "" if self.batch is None else f" of robot {row}"
            raise BadSensorError(
                f"Sensor '{name}'{where} holds {array[row, column]} at {which}; every measured value must be finite. "
                "Check that sensor and its driver before going on."
            )
        return array

    def timing(self) -> dict[str, float]:
        """Time spent in the graph per tick since reset, over the last 4096 ticks [s]: p50, p99, max."""
        if not self._seconds:
            return {"p50": 0.0, "p99": 0.0, "max": 0.0}
        seconds = np.array(self._seconds)
        p50, p99 = np.percentile(seconds, [50, 99])
        return {"p50": float(p50), "p99": float(p99), "max": float(seconds.max())}
