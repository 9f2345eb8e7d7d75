"""What every link to a robot offers: read the newest state, write a motor command, keep time.

What enters and leaves: RobotState and MotorCommand, arrays in the joint order of the RobotSpec, SI units.
A transport converts motor order, quaternion order and units of its own messages, and nobody else does.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotState:
    """One measurement, whole; J joints in RobotSpec order. It is not validated here: guards judge it."""

    time: float
    """When it was measured, on the robot's own clock [s]; only differences are used, any origin will do."""
    joint_pos: Array
    """(J,) [rad]."""
    joint_vel: Array
    """(J,) [rad/s]."""
    joint_torque: Array | None = None
    """(J,) torque that the motors report [Nm]; None where the link does not carry it."""
    imu_quat: Array
    """(4,) orientation wxyz, base to a world with vertical Z; any heading, either sign."""
    imu_ang_vel: Array
    """(3,) gyro, base frame [rad/s]."""
    motor_temperature: Array | None = None
    """(J,) [deg C]; None where not reported."""
    battery: float | None = None
    """State of charge in [0, 1]; None where not reported."""
    other_publishers: tuple[str, ...] = ()
    """Who else writes to the command channel, as far as the link can see it; anything here trips a guard."""


MEASURED = ("joint_pos", "joint_vel", "imu_quat", "imu_ang_vel")
"""Fields of a RobotState that every link carries and every policy reads."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MotorCommand:
    """What each joint controller shall do; torque = kp (joint_pos - q) + kd (joint_vel - dq) + torque."""

    joint_pos: Array
    """(J,) position target [rad]."""
    joint_vel: Array
    """(J,) velocity target [rad/s]."""
    kp: Array
    """(J,) [Nm/rad]; zero in damping."""
    kd: Array
    """(J,) [Nm s/rad]."""
    torque: Array
    """(J,) feed-forward torque [Nm]."""

    @staticmethod
    def damping(joint_pos: Array, kd: float) -> MotorCommand:
        """Brake every joint and hold none of them.

        Args:
            joint_pos: (J,) finite positions to fill the target with; without kp they have no effect [rad].
            kd: damping gain [Nm s/rad].
        """
        zeros = np.zeros(len(joint_pos))
        return MotorCommand(
            joint_pos=np.array(joint_pos, dtype=np.float64),
            joint_vel=zeros,
            kp=zeros,
            kd=np.full(len(joint_pos), float(kd)),
            torque=zeros,
        )


COMMANDED = tuple(item.name for item in fields(MotorCommand))
"""Fields of a MotorCommand; a message or a record of one has its columns in this order."""


@runtime_checkable
class Transport(Protocol):
    """A link to one robot. It is open once it is constructed.

    None of the methods but ``sleep_until`` may block: ``read`` returns what has arrived, ``write`` hands the
    command on. They are called from one thread; a transport with a thread of its own keeps the newest state only.
    """

    name: str
    """For reports, for example ``unitree:eth0``."""
    joint_names: tuple[str, ...]
    """(J,) the order in which this link reads and writes; must be the robot's."""
    is_real: bool
    """True when a command may move a machine; such a link asks for a passed check first."""

    def now(self) -> float:
        """Time of the caller's clock [s]: monotonic, any origin; simulated time where the robot is simulated."""
        ...

    def sleep_until(self, deadline: float) -> None:
        """Return when ``now()`` has reached ``deadline``, or at once if it has; a simulation advances by it."""
        ...

    def read(self) -> RobotState | None:
        """Newest state that has arrived; the same one again if none has since; None before the first.

        Its arrays are the caller's to keep: a link that fills one buffer again and again returns copies.
        """
        ...

    def write(self, command: MotorCommand) -> None:
        """Send a command; the last one before ``close`` is a damping command."""
        ...

    def close(self) -> None:
        """Give the link up; may be called twice."""
        ...


@runtime_checkable
class HasStopButton(Protocol):
    """A link that also carries an emergency stop, as a robot's remote; the loop asks for damping while it is down."""

    stop_pressed: bool
    """True while the button is down."""


def check_joint_order(transport: Transport, joint_names: tuple[str, ...]) -> None:
    """Refuse a link whose joints are not the robot's, in the robot's order.

    Raises:
        BadInputError: they differ; missing, extra and moved joints are named.
    """
    have = tuple(transport.joint_names)
    if have == joint_names:
        return
    missing = [name for name in joint_names if name not in have]
    extra = [name for name in have if name not in joint_names]
    moved = [f"{j}: {a} instead of {b}" for j, (a, b) in enumerate(zip(have, joint_names, strict=False)) if a != b]
    what = (
        f"it lacks {', '.join(missing) or 'none'} and has beyond them {', '.join(extra) or 'none'}"
        if missing or extra
        else f"index {'; '.join(moved)}"
    )
    raise BadInputError(
        f"The joints of the link '{transport.name}' are not those of the robot: {what}. "
        f"Expected the order {', '.join(joint_names)}. Map by name in the transport; nothing was sent."
    )
