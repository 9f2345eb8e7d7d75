"""How good the robot's motion is, in numbers a person can judge.

What enters: a RobotMotion and, when it comes from retargeting, the places its feet should have been at.
What leaves: RetargetReport, printed and saved as retarget.json. Every number but the tracking error is
measured on the RobotMotion itself.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lagoon.motion.robot_motion import RobotMotion, velocity
from lagoon.retarget.balance import Dynamics, dynamics, outside_support
from lagoon.retarget.demands import demands
from lagoon.retarget.kinematics import Kinematics, Places, self_collisions
from lagoon.retarget.targets import Targets
from lagoon.retarget.verdict import Verdict, judge, shares
from lagoon.robot import RobotSpec

if TYPE_CHECKING:
    from lagoon.retarget.fix import Fix

Array = NDArray[np.float64]
WORST = 3
"""How many worst moments are told."""


@dataclass(frozen=True)
class RetargetReport:
    """Quality of one retargeted motion; lengths in metres, times in seconds."""

    morphology: str
    """Body map used."""
    morphology_reason: str
    """Why, in words."""
    speed: float
    """Speed of the clip as a share of the person's."""
    duration: float
    """Length of the whole motion with lead-in and lead-out [s]."""
    segments: dict[str, float]
    """Start of each stretch [s]; the last stand is called ``end``."""
    tracking_mean: float
    """Mean distance of the feet from where the person's limbs put them, in the clip itself [m]."""
    tracking_max: float
    """Largest such distance [m]."""
    tilt_error_mean: float
    """Mean angle between wanted and reached base orientation, in the clip itself [rad]."""
    foot_slide_mean: float
    """Mean horizontal speed of feet in contact [m/s]."""
    foot_slide_max: float
    """Largest distance that a foot moves on the floor within one contact [m]."""
    penetration_max: float
    """Deepest that any part of the robot is below the floor [m]."""
    joint_limit_margin: float
    """Smallest distance of any joint from its position limits [rad]; negative is a violation."""
    joint_limit_violations: int
    """Number of joint positions outside their limits, over all frames."""
    velocity_use_max: float
    """Largest joint velocity as a share of its limit."""
    velocity_violations: int
    """Number of joint velocities above their limits, over all frames."""
    pressure_mean: float
    """Mean distance of the centre of pressure that the motion needs from the feet that carry [m]."""
    pressure_p90: float
    """Its 90th percentile [m]."""
    pressure_max: float
    """Its maximum [m]."""
    friction_p90: float
    """90th percentile of the needed ratio of horizontal to vertical force."""
    load_min: float
    """Smallest vertical force as a share of the weight; below 0 the floor would have to pull."""
    load_max: float
    """Largest vertical force as a share of the weight."""
    yaw_moment_p90: float
    """90th percentile of the needed moment about the vertical [Nm]; point feet give little."""
    self_collisions: int
    """Number of frames in which the robot touches itself."""
    flight: float
    """Share of frames without any contact."""
    torque_use_max: float
    """Largest torque that a joint has to deliver, as a share of its limit, by inverse dynamics."""
    worst: tuple[str, ...]
    """The worst moments, in words."""
    verdict: Verdict
    """Whether training can be expected to succeed, and if not, why."""
    fps: float
    """Rate of the curves below [Hz]."""
    demands: dict[str, list[float]]
    """Over the frames, for each kind of demand, its value as a share of the level from which it makes a motion hard."""
    ways: tuple[tuple[float, float], ...] = ()
    """Start and end of each way down or up between parts of the clip in different maps [s]; the person has none."""
    fix: Fix | None = None
    """What was changed to make the motion trackable, if that was asked for."""

    @property
    def _whose(self) -> str:
        return "the animal's" if self.morphology == "quadruped" else "the person's"

    def to_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {**asdict(self), "worst": list(self.worst), "verdict": self.verdict.to_dict()}

    def lines(self) -> list[str]:
        """The report as lines of text."""
        stretches = ", ".join(f"{name} {start:.2f} s" for name, start in self.segments.items())
        cm = lambda metres, digits=1: f"{100 * metres:.{digits}f} cm"  # noqa: E731
        rows = [
            ("body map", self.morphology_reason),
            ("length", f"{self.duration:.2f} s ({stretches}), at {self.speed:.0%} of {self._whose} speed"),
            *[("change of map", f"{start:.2f} to {stop:.2f} s, in the robot's own way") for start, stop in self.ways],
            ("feet follow", f"{cm(self.tracking_mean)} mean, {cm(self.tracking_max)} max"),
            ("base follows", f"{np.degrees(self.tilt_error_mean):.1f} deg mean"),
            ("foot slide", f"{cm(self.foot_slide_mean, 2)}/s mean, {cm(self.foot_slide_max)} at most in one contact"),
            ("below the floor", f"{1000 * self.penetration_max:.1f} mm at most"),
            ("self-collision", f"{self.self_collisions} frames"),
            ("joint limits", f"{self.joint_limit_violations} violations, nearest {self.joint_limit_margin:.3f} rad"),
            ("joint speed", f"{self.velocity_violations} violations, {self.velocity_use_max:.0%} of a limit at most"),
            (
                "balance",
                f"pressure point outside the feet by {cm(self.pressure_mean)} mean, {cm(self.pressure_p90)} p90, "
                f"{cm(self.pressure_max)} max",
            ),
            ("forces", f"weight {self.load_min:.2f} to {self.load_max:.2f}, friction {self.friction_p90:.2f} p90"),
            ("yaw, flight", f"{self.yaw_moment_p90:.1f} Nm p90, {self.flight:.0%} of the time"),
            ("torque", f"{self.torque_use_max:.0%} of a limit at most"),
            *[("worst", text) for text in self.worst],
            *[("verdict" if i == 0 else "", text) for i, text in enumerate(self.verdict.lines())],
            *(self.fix.lines(self.verdict) if self.fix is not None else ()),
        ]
        return [f"{label:16s} {text}" for label, text in rows]


def measure(
    motion: RobotMotion,
    robot: RobotSpec,
    targets: Targets | None = None,
    morphology: str = "given",
    reason: str = "given as a robot motion",
    off_feet: NDArray[np.bool_] | None = None,
    speed: float = 1.0,
) -> RetargetReport:
    """Measure a motion.

    Args:
        motion: T frames.
        robot: its robot.
        targets: what was wanted, T frames; without it the tracking errors are 0.
        morphology: name of the body map, for the report.
        reason: why it was chosen.
        off_feet: (T,) frames in which the person lies or kneels, if known.
        speed: speed of the clip as a share of the person's, for the report.
    """
    kin = Kinematics(robot)
    order = robot.joint_ids(motion.joint_names)
    joints = np.empty_like(motion.joint_pos)
    joints[:, order] = motion.joint_pos
    qpos = np.array([kin.pack(*row) for row in zip(motion.root_pos_w, motion.root_quat_w, joints, strict=True)])
    places = kin.along(qpos)
    feet, clearance = places.feet, places.clearance
    needs = dynamics(kin, qpos, motion.fps)
    outside = pressure_distance(needs, feet, motion.foot_contact)
    speed_use = np.abs(velocity(motion).joint_vel)[:, np.argsort(order)] / robot.joint_vel_limit
    margin = np.minimum(joints - robot.joint_lower, robot.joint_upper - joints)
    slide_speed, slide_length = foot_slide(feet, motion.foot_contact, motion.fps)
    tracking, tilt = _tracking(places, qpos, motion, targets)
    load = needs.force[:, 2] / needs.weight
    touches = self_collisions(robot, qpos)
    known = np.isfinite(outside)
    held = outside[known] if known.any() else np.zeros(1)
    asked = demands(kin, qpos, motion, needs, outside, clearance, speed_use, off_feet)
    return RetargetReport(
        morphology=morphology,
        morphology_reason=reason,
        speed=speed,
        duration=motion.duration,
        segments=_segment_times(motion),
        tracking_mean=float(tracking.mean()),
        tracking_max=float(tracking.max()),
        tilt_error_mean=float(tilt.mean()),
        foot_slide_mean=slide_speed,
        foot_slide_max=slide_length,
        penetration_max=float(max(0.0, -clearance.min())),
        joint_limit_margin=float(margin.min()),
        joint_limit_violations=int((margin < 0).sum()),
        velocity_use_max=float(speed_use.max()),
        velocity_violations=int((speed_use > 1).sum()),
        pressure_mean=float(held.mean()),
        pressure_p90=float(np.percentile(held, 90)),
        pressure_max=float(held.max()),
        friction_p90=float(np.percentile(needs.friction[needs.loaded], 90)) if needs.loaded.any() else 0.0,
        load_min=float(load.min()),
        load_max=float(load.max()),
        yaw_moment_p90=float(np.percentile(np.abs(needs.moment[:, 2]), 90)),
        self_collisions=len({t for t, _, _ in touches}),
        flight=float(1.0 - motion.foot_contact.any(axis=1).mean()),
        torque_use_max=float(asked["torque"].values.max()),
        verdict=judge(asked, motion.fps),
        fps=motion.fps,
        demands=shares(asked),
        worst=(*_worst(motion, robot, outside, clearance, speed_use, kin), *_first_touch(motion, touches)),
    )


def pressure_distance(needs: Dynamics, feet: Array, contact: NDArray[np.bool_]) -> Array:
    """(T,) distance [m] of the needed centre of pressure from the hull of the feet in contact; nan in flight."""
    return np.linalg.norm(outside_support(needs.pressure, feet[:, :, :2], contact), axis=1)


def foot_slide(feet: Array, contact: NDArray[np.bool_], fps: float) -> tuple[float, float]:
    """Mean speed [m/s] of feet in contact, and the farthest one moves from where its contact began [m]."""
    both = contact[1:] & contact[:-1]
    speed = np.linalg.norm(np.diff(feet[:, :, :2], axis=0), axis=2) * fps
    farthest = 0.0
    for k in range(feet.shape[1]):
        start = 0
        for t in range(1, len(feet)):
            if not both[t - 1, k]:
                start = t
            elif contact[t, k]:
                farthest = max(farthest, float(np.linalg.norm(feet[t, k, :2] - feet[start, k, :2])))
    return (float(speed[both].mean()) if both.any() else 0.0), farthest


def _tracking(places: Places, qpos: Array, motion: RobotMotion, targets: Targets | None) -> tuple[Array, Array]:
    """Distances of feet from their targets and angles of the base from its own, frames of the clip only."""
    if targets is None:
        return np.zeros(1), np.zeros(1)
    names = list(motion.segment_names)
    start = int(motion.segment_starts[names.index("motion")])
    stop = int(motion.segment_starts[names.index("motion") + 1]) if names[-1] != "motion" else motion.num_frames
    cut = slice(start, stop)
    free = np.linalg.norm(places.feet_b[cut] - targets.foot_b[cut], axis=2)
    held = np.linalg.norm(places.feet[cut] - targets.foot_w[cut], axis=2)
    # A foot on its way to or from the floor follows neither target.
    between = (targets.grip[cut] > 0.01) & ~targets.contact[cut]
    dot = np.abs((qpos[cut, 3:7] * targets.base_quat[cut]).sum(axis=1))
    distance = np.where(between, 0.0, np.where(targets.contact[cut], held, free))
    return distance, 2.0 * np.arccos(np.minimum(dot, 1.0))


def _segment_times(motion: RobotMotion) -> dict[str, float]:
    times: dict[str, float] = {}
    for name, start in zip(motion.segment_names, motion.segment_starts, strict=True):
        times["end" if name in times else name] = float(start) / motion.fps
    return times


def _first_touch(motion: RobotMotion, touches: list[tuple[int, str, str]]) -> tuple[str, ...]:
    if not touches:
        return ()
    t, a, b = touches[0]
    return (f"{t / motion.fps:.2f} s ({motion.segment_at(t)}): {a} touches {b}",)


def _worst(
    motion: RobotMotion, robot: RobotSpec, outside: Array, clearance: Array, speed_use: Array, kin: Kinematics
) -> tuple[str, ...]:
    """Moments worth looking at, in words: balance first, then the floor, then speed."""
    told: list[str] = []
    distance = np.nan_to_num(outside.copy())
    while len(told) < WORST and distance.max() > 0.02:
        t = int(distance.argmax())
        standing = [leg.name for leg, on in zip(robot.legs, motion.foot_contact[t], strict=True) if on]
        told.append(
            f"{t / motion.fps:.2f} s ({motion.segment_at(t)}): the pressure point is {100 * distance[t]:.0f} cm "
            f"away from {' and '.join(standing)}"
        )
        # The same event is told once.
        around = int(0.4 * motion.fps)
        distance[max(0, t - around) : t + around] = 0.0
    if -clearance.min() > 0.002:
        t, p = np.unravel_index(int(clearance.argmin()), clearance.shape)
        told.append(
            f"{t / motion.fps:.2f} s ({motion.segment_at(int(t))}): {kin.clearance[p].name} is "
            f"{-1000 * clearance[t, p]:.0f} mm below the floor"
        )
    if speed_use.max() > 0.9:
        t, j = np.unravel_index(int(speed_use.argmax()), speed_use.shape)
        told.append(
            f"{t / motion.fps:.2f} s ({motion.segment_at(int(t))}): {robot.joint_names[j]} moves at "
            f"{speed_use[t, j]:.0%} of its speed limit"
        )
    return tuple(told)
