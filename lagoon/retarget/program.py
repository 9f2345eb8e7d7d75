"""Steps of the inverse kinematics: the wishes and limits of a frame as one quadratic programme, solved by daqp.

What enters: Targets and configurations of some of their frames. What leaves: better configurations. The wishes of all
frames are put together at once (wishes.py). Only daqp is called frame by frame, since joints may go only so far from
where they were before.
"""

from __future__ import annotations

from collections.abc import Collection

import daqp
import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.errors import LagoonError
from lagoon.retarget.apart import PairsApart
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.targets import Targets
from lagoon.retarget.wishes import Wishes, evenly

Array = NDArray[np.float64]

LONGEST_STEP = 0.3
"""No coordinate moves more than this in one step [rad, m]; the linear model is only good for short ones."""
CONVERGED = 2e-4
"""The same at the end [rad, m]."""
UNBOUNDED = 1e30


class StepProgram:
    """The programmes of one robot; not for use from several threads."""

    def __init__(self, kin: Kinematics, config: RetargetConfig, max_step: Array) -> None:
        self.kin, self.max_step = kin, max_step
        self.wishes = Wishes(kin, config)
        model, self._joints, self._dofs = kin.model, evenly(kin.address.joint_qpos), evenly(kin.address.joint_dof)
        ids = [model.joint(name).id for name in kin.robot.joint_names]
        limited = model.jnt_limited[ids].astype(bool)
        self._lower = np.where(limited, model.jnt_range[ids, 0] + config.limit_margin, -UNBOUNDED)
        self._upper = np.where(limited, model.jnt_range[ids, 1] - config.limit_margin, UNBOUNDED)
        self._above, self._below = np.zeros(0), np.zeros(0)

    def keep_apart(self, pairs: Collection[tuple[str, str]]) -> None:
        """Keep pairs of the robot's shapes, by their names, apart; every pair costs time in every step."""
        self.wishes.apart = PairsApart(self.kin, pairs)

    def aim(
        self,
        targets: Targets,
        com: Array,
        rest: Array,
        posture: Array,
        firm: Array | None = None,
        pace: Array | None = None,
    ) -> None:
        """Set what is wanted of T frames, as for Wishes, and how far joints may turn.

        Args:
            targets: T frames.
            com: (T, 2) centre of mass [m].
            rest: (T, J) resting joints [rad].
            posture: (T,) squared cost of leaving them.
            firm: (T, F) share of the cost of a foot's place in the world; without it all of it where the grip is firm.
            pace: (T, J) how far a joint may be from the frame before [rad]; without it ``max_step``.
        """
        self.wishes.aim(targets, com, rest, posture, firm)
        self._pace = np.broadcast_to(self.max_step, rest.shape) if pace is None else pace

    def settle(
        self,
        begin: Array,
        first: int,
        previous: Array | None,
        iterations: int,
        converged: float = CONVERGED,
        which: NDArray[np.int64] | None = None,
    ) -> Array:
        """Solve consecutive frames together.

        Args:
            begin: (N, nq) where each starts.
            first: which of the frames that were aimed at is the first of them.
            previous: (J,) joints of the frame before, from which the first may be no farther than its pace, as each
                later one from the one before it; None is no limit for the first.
            iterations: most steps of each.
            converged: a frame is solved when no coordinate moves more than this [rad, m].
            which: those of the N to solve, all without it; the others move only where these would be too far from them.

        Returns:
            (N, nq) configurations.

        Raises:
            LagoonError: the limits contradict each other.
        """
        path = begin.copy()
        todo = np.arange(len(path)) if which is None else which
        for _ in range(iterations):
            moving = todo[self._improve(path, todo, first, previous) > converged]
            if len(path) > 1:
                # Whoever is as far from the frame before as may be goes where that goes.
                far = np.abs(np.diff(path[:, self._joints], axis=0)) > self._pace[first + 1 : first + len(path)] - 1e-9
                after = np.flatnonzero(far.any(axis=1)) + 1
                moving = np.union1d(moving, np.intersect1d(after, todo + 1))
            if not len(moving):
                break
            todo = moving
        return path

    def _improve(self, path: Array, frames: NDArray[np.int64], first: int, previous: Array | None) -> Array:
        """One step of some frames of a (N, nq) path, in place; returns how long each is [rad, m]."""
        wishes = self.wishes
        wishes.place(path[frames])
        hessian, gradient = wishes.objective(frames + first)
        rows, room, starts = wishes.floor()
        found = wishes.apart.found if wishes.apart is not None else None
        model, joints, sizes = self.kin.model, self._joints, []
        for i, t in enumerate(frames.tolist()):
            near = slice(starts[i], starts[i + 1])
            box = self._box(path[t - 1, joints] if t else previous, self._pace[first + t])
            apart = None if found is None else found[i]
            step = self.step(hessian[i], gradient[i], path[t, joints], box, rows[near], room[near], apart)
            moved = step.tolist()
            size = max(max(moved), -min(moved))
            sizes.append(size)
            if size > LONGEST_STEP:
                step *= LONGEST_STEP / size
            mujoco.mj_integratePos(model, path[t], step, 1.0)
        return np.array(sizes)

    def _box(self, previous: Array | None, pace: Array) -> tuple[Array, Array]:
        """Lowest and highest angles (J,) of a frame [rad]: the limits, no farther than its pace from the one before."""
        if previous is None:
            return self._lower, self._upper
        lower, upper = np.maximum(self._lower, previous - pace), np.minimum(self._upper, previous + pace)
        return np.minimum(lower, upper), upper

    def step(
        self,
        hessian: Array,
        gradient: Array,
        joints: Array,
        box: tuple[Array, Array],
        rows: Array,
        room: Array,
        apart: tuple[Array, Array] | None = None,
    ) -> Array:
        """Best step (nv,) of one frame: least squares of all wishes within the limits.

        Args:
            hessian: (nv, nv) of the wishes.
            gradient: (nv,) of them.
            joints: (J,) where the joints are [rad].
            box: lowest and highest angles, (J,) each [rad].
            rows: (K, nv) further limits.
            room: (K,) their upper bounds [m].
            apart: rows and bounds of shapes to keep apart; they give way where the box leaves no such step.
        """
        if apart is not None:
            both = (np.concatenate(pair) for pair in zip((rows, room), apart, strict=True))
            step, flag = self._solved(hessian, gradient, joints, box, *both)
            if flag > 0:
                return step
        step, flag = self._solved(hessian, gradient, joints, box, rows, room)
        if flag <= 0:
            told = f"The inverse kinematics of {self.kin.robot.name} found no step within its limits (daqp: {flag})."
            raise LagoonError(f"{told} Expected a motion that the limits of the joints allow.")
        return step

    def _solved(
        self, hessian: Array, gradient: Array, joints: Array, box: tuple[Array, Array], rows: Array, room: Array
    ) -> tuple[Array, int]:
        """The best step (nv,), and what daqp says of it: above 0 if there is one."""
        lower, upper = box
        nv, number = len(gradient), len(gradient) + len(room)
        if number > len(self._above):
            self._above, self._below = np.full(number, UNBOUNDED), np.full(number, -UNBOUNDED)
        above, below = self._above[:number], self._below[:number]
        above[self._dofs] = upper - joints
        below[self._dofs] = lower - joints
        above[nv:] = room
        return daqp.solve(hessian, gradient, rows, above, below)[0:3:2]
