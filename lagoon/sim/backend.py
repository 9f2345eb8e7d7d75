"""The contract that every simulator fulfils.

What enters: joint position targets, states to set, parameters to randomize. What leaves: SimState in
lagoon's conventions; nobody else sees a simulator's own arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from lagoon.robot import RobotSpec

Tensor = torch.Tensor


@dataclass
class SimState:
    """State of N simulated robots, float32, RobotSpec joint order."""

    root_pos_w: Tensor
    """(N, 3) base origin in world [m]."""
    root_quat_w: Tensor
    """(N, 4) base to world, wxyz."""
    root_lin_vel_w: Tensor
    """(N, 3) velocity of the base origin in world [m/s]."""
    root_ang_vel_b: Tensor
    """(N, 3) angular velocity in the base frame [rad/s]."""
    joint_pos: Tensor
    """(N, J) [rad]."""
    joint_vel: Tensor
    """(N, J) [rad/s]."""

    def rows(self, ids: Any) -> SimState:
        """Copy of the given environments; of a slice, views."""
        return SimState(*(getattr(self, name)[ids] for name in self.__dataclass_fields__))

    def joined(self, other: SimState) -> SimState:
        """These rows, then those of ``other``."""
        pairs = [(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__]
        return SimState(*(_JOIN[type(pair[0])](pair) for pair in pairs))

    def numpy(self) -> SimState:
        """The same memory as numpy arrays, for who computes with those."""
        return SimState(*(getattr(self, name).numpy() for name in self.__dataclass_fields__))

    def torch(self) -> SimState:
        """The same memory as tensors, of what ``numpy`` returned."""
        return SimState(*(torch.from_numpy(getattr(self, name)) for name in self.__dataclass_fields__))


_JOIN: dict[type, Callable[..., Any]] = {Tensor: torch.cat, np.ndarray: np.concatenate}


@dataclass
class BodyParameters:
    """Physical parameters of K robots for domain randomization; each scales or shifts the nominal model."""

    friction: Tensor
    """(K,) sliding friction of feet and body on the floor."""
    mass_scale: Tensor
    """(K,) factor on every link's mass and inertia."""
    payload: Tensor
    """(K,) mass added to the base [kg], may be negative."""
    com_offset: Tensor
    """(K, 3) shift of the base's centre of mass in the base frame [m]."""
    kp_scale: Tensor
    """(K, J) factor on the position gains."""
    kd_scale: Tensor
    """(K, J) factor on the damping gains."""
    strength: Tensor
    """(K, J) factor on the torque limits."""
    inertia_scale: Tensor = field(default=None)  # type: ignore[assignment]
    """(K,) factor on every link's inertia, beside mass_scale."""
    restitution: Tensor = field(default=None)  # type: ignore[assignment]
    """(K,) share of its speed with which a foot leaves the floor again, in [0, 1)."""
    joint_friction: Tensor = field(default=None)  # type: ignore[assignment]
    """(K, J) dry friction beside the model's [Nm]."""
    joint_damping: Tensor = field(default=None)  # type: ignore[assignment]
    """(K, J) damping beside the model's [Nm s/rad]."""
    armature_scale: Tensor = field(default=None)  # type: ignore[assignment]
    """(K, J) factor on the rotor inertia that the gears show at the joint."""
    slope: Tensor = field(default=None)  # type: ignore[assignment]
    """(K, 2) x and y of the unit vector against gravity, in the frame of the floor: a floor that leans."""

    def __post_init__(self) -> None:
        """Fill in what was left out: as in the model, on a level floor."""
        count, joints = self.kp_scale.shape
        usual = {
            "inertia_scale": torch.ones(count),
            "restitution": torch.zeros(count),
            "joint_friction": torch.zeros(count, joints),
            "joint_damping": torch.zeros(count, joints),
            "armature_scale": torch.ones(count, joints),
            "slope": torch.zeros(count, 2),
        }
        for name, value in usual.items():
            if getattr(self, name) is None:
                setattr(self, name, value)

    def rows(self, ids: Any) -> BodyParameters:
        """Copy of the given robots' parameters; of a slice, views."""
        return BodyParameters(**{name: getattr(self, name)[ids] for name in self.__dataclass_fields__})

    def put(self, ids: Tensor, other: BodyParameters) -> None:
        """Overwrite the rows ``ids`` with those of ``other``."""
        rows = ids.numpy()  # A third of the time that torch takes for a few rows.
        for name in self.__dataclass_fields__:
            getattr(self, name).numpy()[rows] = getattr(other, name).numpy()

    @staticmethod
    def nominal(count: int, joints: int, friction: float) -> BodyParameters:
        """Return the parameters of the unchanged model."""
        return BodyParameters(
            friction=torch.full((count,), friction),
            mass_scale=torch.ones(count),
            payload=torch.zeros(count),
            com_offset=torch.zeros(count, 3),
            kp_scale=torch.ones(count, joints),
            kd_scale=torch.ones(count, joints),
            strength=torch.ones(count, joints),
        )


@runtime_checkable
class SimBackend(Protocol):
    """N robots of one kind on a flat floor, stepped together."""

    robot: RobotSpec
    num_envs: int
    substeps: int
    """Physics steps in one control period."""

    def state(self) -> SimState:
        """Copy of the current state of all robots."""
        ...

    def set_state(self, ids: Tensor, state: SimState) -> None:
        """Put the robots ``ids`` (K,) into ``state`` (K rows) and clear everything carried between steps."""
        ...

    def read(self) -> SimState:
        """The state as numpy arrays, parts of which may share memory; a copy as well."""
        ...

    def write(self, rows: np.ndarray, state: SimState) -> None:
        """``set_state`` with numpy arrays: row numbers (K,) int64, and a state of K rows."""
        ...

    def step(self, targets: Tensor) -> Tensor:
        """Advance one control period.

        Args:
            targets: (N, J) joint position targets [rad] held for the period, or (S, N, J), one for each
                of the S substeps (action delays shorter than a control period).

        Returns:
            (N,) bool, True where physics diverged; such a robot must be reset with set_state.
        """
        ...

    def set_parameters(self, ids: Tensor, parameters: BodyParameters) -> None:
        """Give the robots ``ids`` (K,) other physical parameters."""
        ...

    def push(self, ids: Tensor, delta_lin_vel_w: Tensor) -> None:
        """Add (K, 3) [m/s] to the base velocities of the robots ``ids`` (K,)."""
        ...

    def close(self) -> None:
        """Release threads and memory."""
        ...
