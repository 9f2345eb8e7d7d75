"""What a motion demands of robot and floor, frame by frame, as the verdict wants it.

What enters: a motion's configurations, contacts and the forces it needs. What leaves: a Series for each kind of demand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.robot_motion import RobotMotion
from lagoon.retarget.balance import Dynamics
from lagoon.retarget.body import Body
from lagoon.retarget.effort import joint_torques
from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.verdict import Series

Array = NDArray[np.float64]

LOW = 0.13
"""A hip, knee, elbow or shoulder lower than this above the floor carries weight [m]."""
BODY_PARTS = tuple(f"{side}_{part}" for part in ("hip", "knee", "elbow", "shoulder") for side in ("left", "right"))


def demands(
    kin: Kinematics,
    qpos: Array,
    motion: RobotMotion,
    needs: Dynamics,
    outside: Array,
    clearance: Array,
    speed_use: Array,
    off_feet: NDArray[np.bool_] | None = None,
) -> dict[str, Series]:
    """Collect the series.

    Args:
        kin: the robot.
        qpos: (T, nq) configurations of the motion.
        motion: the motion itself, for contacts and rate.
        needs: forces from centroidal momentum.
        outside: (T,) distance of the pressure point from the feet [m], nan in flight.
        clearance: (T, P) heights of the robot's points above the floor [m].
        speed_use: (T, J) joint speeds as shares of their limits.
        off_feet: (T,) frames in which the person is carried by other parts than hands and feet, if known.
    """
    robot = kin.robot
    contact = motion.foot_contact
    share = np.abs(joint_torques(kin, qpos, contact, motion.fps)) / robot.torque_limit
    standing = contact.any(axis=1)
    found = {
        "torque": Series(share.max(axis=1), [robot.joint_names[j] for j in share.argmax(axis=1)]),
        "pressure": Series(np.where(needs.loaded, np.nan_to_num(outside), 0.0)),
        "pull": Series(np.where(standing, np.maximum(-needs.force[:, 2] / needs.weight, 0.0), 0.0)),
        "friction": Series(np.where(needs.loaded & standing, needs.friction, 0.0)),
        "speed": Series(speed_use.max(axis=1), [robot.joint_names[j] for j in speed_use.argmax(axis=1)]),
        "flight": Series((~standing).astype(float)),
        "depth": Series(
            np.maximum(-clearance.min(axis=1), 0.0), [kin.clearance[p].name for p in clearance.argmin(axis=1)]
        ),
    }
    if off_feet is not None:
        found["off_feet"] = Series(off_feet.astype(float))
    return found


def carried_by_the_body(body: Body) -> NDArray[np.bool_]:
    """(T,) True where a hip, knee, elbow or shoulder of the person is on the floor."""
    heights = np.stack([body.joints[name][:, 2] for name in BODY_PARTS], axis=1)
    return heights.min(axis=1) < LOW
