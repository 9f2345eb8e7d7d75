"""Puts the human motion, the reference and what the policy did on one clock.

What enters: the three motions, any of them absent. What leaves: a Show, from which the video and the
page are drawn. The reference begins and ends with stretches that the person does not have (the robot
rears up first); there the person holds the first or last pose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.quadruped_motion import QuadrupedMotion
from lagoon.motion.robot_motion import RobotMotion, resample
from lagoon.robot import RobotSpec
from lagoon.sim.figures import Figure, Poses, RobotFigure, human_figure
from lagoon.studio.falls import fall_time

Array = NDArray[np.float64]
MOTION = "motion"
"""Name of the stretch of a RobotMotion during which the person moves too."""


@dataclass(frozen=True)
class ShowText:
    """Words that go with a preview; everything may be empty."""

    command: str = ""
    """The command in full; never trusted, always escaped."""
    verdict: str = ""
    """PASS or FAIL."""
    note: str = ""
    """One sentence beside the verdict."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Name and value, with unit, of each number worth showing, in order."""
    demands: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """What the reference asks of robot and floor, by kind, over its frames; from 1 on it is hard."""
    before: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """The demands of the motion before it was fixed, over its own frames; empty when nothing was changed."""
    fix: Mapping[str, str] = field(default_factory=dict)
    """What the fix changed, and numbers before and after it, by name."""
    reasons: Sequence[tuple[float, float, str]] = ()
    """Start and end [s] and words of what makes the reference hard, worst first."""


@dataclass(frozen=True)
class Track:
    """One figure over the T moments of a show."""

    name: str
    """human, reference or policy."""
    label: str
    figure: Figure
    poses: Poses
    """(T, B, ...)"""
    ghost: Poses | None = None
    """(T, B, ...) the reference's pose, moved over the same spot of the floor."""
    looks: Figure | None = None
    """The figure with the maker's meshes, on the same frames, for what can draw meshes."""


@dataclass(frozen=True)
class Curves:
    """What the page plots over T moments; arrays that would need an absent motion are None."""

    height_reference: Array | None
    """(T,) base height [m]."""
    height_policy: Array | None
    """(T,) base height [m]."""
    joint_error: Array | None
    """(T,) mean absolute difference of the joint angles from the reference [rad]."""
    contact_reference: NDArray[np.bool_] | None
    """(T, F) planned foot contacts."""
    contact_policy: NDArray[np.bool_] | None
    """(T, F) measured foot contacts."""


@dataclass(frozen=True)
class Show:
    """Everything to look at, at T moments of one clock."""

    fps: float
    """[Hz]"""
    count: int
    """Number of moments T."""
    segments: tuple[tuple[str, float], ...]
    """Name and start [s] of each stretch."""
    tracks: tuple[Track, ...]
    curves: Curves
    foot_names: tuple[str, ...]
    fell_at: float | None
    """Time [s] at which the policy fell; None when it did not."""

    @property
    def duration(self) -> float:
        """Seconds from the first moment to the last."""
        return (self.count - 1) / self.fps

    def segment_at(self, time: float) -> str:
        """Name of the stretch at a time [s], for people to read."""
        names = [name for name, start in self.segments if start <= time + 1e-9]
        return (names[-1] if names else self.segments[0][0]).replace("_", " ")


def motion_span(reference: RobotMotion) -> tuple[float, float]:
    """Start and end [s] of the stretch in which the person moves; all of it when none is named so."""
    names = list(reference.segment_names)
    if MOTION not in names:
        return 0.0, reference.duration
    at = names.index(MOTION)
    starts = [*(int(start) for start in reference.segment_starts), reference.num_frames - 1]
    return starts[at] / reference.fps, starts[at + 1] / reference.fps


def human_time(time: Array | float, reference: RobotMotion | None, human: HumanMotion | QuadrupedMotion) -> Array:
    """Time [s] in the person's clip at a time [s] of the show; held before and after the motion.

    The stretch maps onto the whole clip, so a reference that was slowed down stays in step.
    """
    start, end = (0.0, human.duration) if reference is None else motion_span(reference)
    share = (np.asarray(time, float) - start) / max(end - start, 1e-9)
    return np.clip(share, 0.0, 1.0) * human.duration


def make_show(
    human: HumanMotion | QuadrupedMotion | None,
    reference: RobotMotion | None,
    executed: RobotMotion | None,
    robot: RobotSpec,
    fps: float = 25.0,
) -> Show:
    """Bring the motions that exist onto one clock.

    Args:
        human: what the person does.
        reference: what the robot should do.
        executed: what the policy did, from the same start; shorter than the reference when it fell.
        robot: which robot both are for.
        fps: moments per second [Hz].

    Raises:
        BadInputError: there is no motion at all, or one is for another robot.
    """
    lead = reference or executed or human
    if lead is None:
        raise BadInputError("There is nothing to show: no human motion, no reference, no policy run. Pass one of them.")
    count = max(int(np.floor(lead.duration * fps + 1e-6)) + 1, 2)
    time = np.arange(count) / fps
    clock = reference or executed
    tracks: list[Track] = []
    if human is not None:
        figure, poses = human_figure(human)
        label = "Human" if isinstance(human, HumanMotion) else "Animal"
        tracks.append(Track("human", label, figure, poses.sample(human_time(time, clock, human) * human.fps)))
    body = RobotFigure(robot) if clock is not None else None
    planned = None
    if reference is not None and body is not None:
        planned = body.poses(reference).sample(time * reference.fps)
        tracks.append(Track("reference", "Robot reference", body.figure, planned, looks=body.looks))
    if executed is not None and body is not None:
        done = body.poses(executed).sample(time * executed.fps)
        tracks.append(Track("policy", "Policy in physics", body.figure, done, _over(planned, done), body.looks))
    segments = ((MOTION, 0.0),)
    if clock is not None:
        pairs = zip(clock.segment_names, clock.segment_starts, strict=True)
        segments = tuple((name, int(start) / clock.fps) for name, start in pairs)
    fell_at = None
    if executed is not None and reference is not None:
        fell_at = fall_time(resample(executed, reference.fps), reference)
    return Show(
        fps=fps,
        count=count,
        segments=segments,
        tracks=tuple(tracks),
        curves=_curves(reference, executed, time, fell_at),
        foot_names=robot.foot_names,
        fell_at=fell_at,
    )


def _over(ghost: Poses | None, poses: Poses) -> Poses | None:
    """Move a ghost so that its base is above the same spot of the floor as the figure's.

    A policy that measures neither its position nor its heading may drift; the ghost compares poses.
    """
    if ghost is None:
        return None
    shift = poses.pos[:, :1] - ghost.pos[:, :1]
    shift[..., 2] = 0.0
    return Poses(ghost.pos + shift, ghost.quat)


def _curves(reference: RobotMotion | None, executed: RobotMotion | None, time: Array, fell_at: float | None) -> Curves:
    def near(motion: RobotMotion) -> NDArray[np.int64]:
        return np.minimum(np.round(time * motion.fps).astype(np.int64), motion.num_frames - 1)

    error = None
    if reference is not None and executed is not None:
        gap = executed.joint_pos[near(executed)] - reference.joint_pos[near(reference)]
        error = np.abs(gap).mean(axis=1)
        # After a fall there is nothing to compare.
        error[time > (executed.duration if fell_at is None else fell_at) + 1e-9] = np.nan
    return Curves(
        height_reference=None if reference is None else reference.root_pos_w[near(reference), 2],
        height_policy=None if executed is None else executed.root_pos_w[near(executed), 2],
        joint_error=error,
        contact_reference=None if reference is None else reference.foot_contact[near(reference)],
        contact_policy=None if executed is None else executed.foot_contact[near(executed)],
    )
