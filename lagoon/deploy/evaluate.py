"""Examines an exported policy in physics it was not trained in.

What enters: a bundle, its reference motion, the robot and a config. What leaves: an Evaluation; or, from
rollout, what the robot did in one undisturbed run, as a RobotMotion for viewers and previews.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace

import numpy as np
from numpy.typing import NDArray

from lagoon.bundle import PolicyBundle, check_robot
from lagoon.deploy.alignment import Aligned
from lagoon.deploy.config import EvaluateConfig
from lagoon.deploy.report import Check, Evaluation, falls_of, metrics_of, segments_of, wilson_interval
from lagoon.deploy.sensors import NoisySensors
from lagoon.deploy.smoothness import Smoothness
from lagoon.deploy.tracking import METRICS, ReferenceTrack, Tracker, loaded_feet
from lagoon.deploy.trial_run import TrialRun
from lagoon.deploy.trials import draw_conditions, nominal_conditions
from lagoon.errors import BadInputError
from lagoon.motion.robot_motion import RobotMotion
from lagoon.motion.rotations import quat_yaw
from lagoon.progress import Progress, silent
from lagoon.robot import RobotSpec
from lagoon.sim.model import CHECKING, TRAINING, PhysicsConfig

PHYSICS = {"checking": CHECKING, "training": TRAINING}


def evaluate(
    bundle: PolicyBundle,
    motion: RobotMotion,
    robot: RobotSpec,
    config: EvaluateConfig,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Run the exported graph through randomized trials, from the four-legged stand to the end and a hold.

    Args:
        bundle: a loaded bundle.
        motion: the reference at the control rate, as long as the bundle's.
        robot: which robot.
        config: ranges, limits and thresholds.
        seed: the same seed gives the same trials and the same result, on any number of threads.
        progress: told the share of simulated time.

    Raises:
        BadInputError: bundle, motion and robot do not belong together.
    """
    check_motion(bundle, motion, robot)
    report, began = progress or silent, time.perf_counter()
    physics = replace(PHYSICS[config.physics], torque_speed=config.torque_speed)
    ticks = bundle.num_steps + round(config.hold_seconds / bundle.control_dt)
    draw, noise = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    conditions = draw_conditions(config, bundle.num_joints, ticks, bundle.control_dt, physics.dt, draw)
    run = TrialRun(bundle, robot, physics, conditions, NoisySensors(config, conditions, noise), config.threads)
    try:
        tracker, more = _run_trials(run, motion, config, ticks, report)
        errors = {name: np.array(tracker.errors[name]) for name in METRICS} | more
        metrics, survived = metrics_of(errors), int(tracker.alive.sum())
        final_heading = errors["heading_error"][-1][tracker.alive]
        return Evaluation(
            command=bundle.command,
            robot=robot.name,
            policy_sha256=bundle.policy_sha256,
            motion_seconds=motion.duration,
            trials=config.trials,
            survived=survived,
            survival_interval=wilson_interval(survived, config.trials),
            checks=(
                Check("survival", survived / config.trials, ">=", config.min_survival),
                Check("joint error [rad]", metrics["joint_error"].mean, "<=", config.max_joint_error),
            ),
            metrics=metrics,
            segments=segments_of(bundle, tracker.fall_tick, errors["joint_error"], ticks),
            falls=falls_of(bundle, tracker.fall_tick, tracker.fall_cause, ticks),
            targets_clipped=run.runner.clipped_share,
            end_heading_drift=float(final_heading.mean()) if survived else float("nan"),
            seed=seed,
            config=asdict(config),
            physics=asdict(physics),
            wall_seconds=time.perf_counter() - began,
            policy_seconds_p50=run.runner.timing()["p50"],
        )
    finally:
        run.close()


def _run_trials(
    run: TrialRun, motion: RobotMotion, config: EvaluateConfig, ticks: int, report: Progress
) -> tuple[Tracker, dict[str, NDArray[np.float64]]]:
    """Run all ticks; return the judge, and what only the whole of a trial tells, as (K, N) or (1, N)."""
    reference = ReferenceTrack(motion, run.robot, run.backend.model)
    state = run.stand(config.stand_seconds)
    tracker = Tracker(
        reference,
        config,
        start_heading=quat_yaw(state.root_quat_w.numpy().astype(np.float64)),
        torque_limit=run.robot.torque_limit * run.conditions.body.strength.numpy(),
    )
    smoothness = Smoothness(run.robot.control_dt, tracker.torque_limit)
    aligned = Aligned(motion)
    for tick in range(1, ticks + 1):
        state, broken = run.tick(state)
        torques = run.backend.torques().numpy()
        fell = tracker.observe(tick, state, run.backend.feet(), torques, broken)
        smoothness.record(run.targets, torques, state.joint_vel.numpy(), tracker.alive)
        aligned.record(state, tracker.alive)
        if fell.any():
            run.park(fell)
            state = run.backend.state()
        if not tracker.alive.any():
            break
        if tick % 10 == 0 or tick == ticks:
            report(
                tick / ticks,
                f"{tick * run.robot.control_dt:.1f} s, {int(tracker.alive.sum())} of {len(tracker.alive)} standing",
            )
    else:
        tracker.finish(ticks + 1, state, run.backend.feet())
    return tracker, aligned.metrics() | smoothness.metrics()


def rollout(
    bundle: PolicyBundle,
    motion: RobotMotion,
    robot: RobotSpec,
    physics: PhysicsConfig = CHECKING,
    start_heading: float = 0.0,
    stand_seconds: float = 0.5,
) -> RobotMotion:
    """Run the exported graph once, undisturbed and with perfect sensors, and record what the robot does.

    A robot that falls is recorded falling; if physics diverges the last finite pose is held.

    Args:
        bundle: a loaded bundle.
        motion: the reference, for its stretches.
        robot: which robot.
        physics: solver options and collision shapes.
        start_heading: world heading at the start [rad].
        stand_seconds: time on four feet before the policy takes over [s].

    Returns:
        A motion as long as the reference; its frame 0 is the stand in which the policy took over.

    Raises:
        BadInputError: bundle, motion and robot do not belong together.
    """
    check_motion(bundle, motion, robot)
    conditions = nominal_conditions(1, bundle.num_joints, motion.num_frames, physics.friction)
    conditions.start_heading[0] = start_heading
    run = TrialRun(bundle, robot, physics, conditions, sensors=None, threads=1)
    try:
        state = run.stand(stand_seconds)
        frames: list[tuple[NDArray[np.float64], ...]] = []
        for _ in range(motion.num_frames):
            feet = loaded_feet(run.backend.feet(), robot.foot_radius)[0]
            frame = (state.root_pos_w[0], state.root_quat_w[0], state.joint_pos[0])
            frames.append((*(np.asarray(part, dtype=np.float64) for part in frame), feet))
            following, broken = run.tick(state)
            if broken[0]:
                frames += [frames[-1]] * (motion.num_frames - len(frames))
                break
            state = following
    finally:
        run.close()
    root_pos, root_quat, joints, contact = (np.array(column) for column in zip(*frames, strict=True))
    return RobotMotion(
        fps=motion.fps,
        robot=motion.robot,
        joint_names=motion.joint_names,
        root_pos_w=root_pos,
        root_quat_w=root_quat,
        joint_pos=joints,
        foot_contact=contact,
        segment_names=motion.segment_names,
        segment_starts=motion.segment_starts,
    )


def check_motion(bundle: PolicyBundle, motion: RobotMotion, robot: RobotSpec) -> None:
    """Check that a bundle, a reference motion and a robot belong together.

    Raises:
        BadInputError: they do not; what differs is told.
    """
    check_robot(bundle, robot)
    advice = (
        "Take a motion and a bundle that were made from one another; for a motion that is newer than the policy, run "
        "lagoon train SKILL, then lagoon export SKILL."
    )
    if motion.robot != robot.name or motion.joint_names != robot.joint_names:
        raise BadInputError(
            f"The motion is for robot '{motion.robot}' with joints {', '.join(motion.joint_names)}; expected robot "
            f"'{robot.name}' with {', '.join(robot.joint_names)}. {advice}"
        )
    if abs(motion.fps * bundle.control_dt - 1.0) > 1e-6:
        raise BadInputError(
            f"The motion has {motion.fps:g} frames per second; the bundle runs at {1.0 / bundle.control_dt:g}. {advice}"
        )
    if motion.num_frames != bundle.num_steps:
        raise BadInputError(
            f"The motion has {motion.num_frames} frames; the bundle's reference has {bundle.num_steps}. {advice}"
        )
