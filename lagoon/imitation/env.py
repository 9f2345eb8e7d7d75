"""The environment in which a policy learns to imitate one motion.

What enters: actions of N robots. What leaves: observations, rewards and ends of episodes, in the
engine's VecEnv contract. One control step: the action becomes joint targets around the next reference
pose, the targets reach the motors after an unknown delay, physics advances, errors against the
reference give the reward.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from lagoon.engine.environment import StepResult
from lagoon.imitation import joining
from lagoon.imitation.arrays import clipped, mean, tensor
from lagoon.imitation.arrival import arriving, depth_of
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.draws import Draws
from lagoon.imitation.kinematics import FootKinematics
from lagoon.imitation.manner import Manner
from lagoon.imitation.memory import Memory, Told
from lagoon.imitation.observations import ActorObservation, critic_extras
from lagoon.imitation.policy_graph import blend_of, filtered
from lagoon.imitation.randomization import DELAY, body_features, sensed, set_sensor_errors
from lagoon.imitation.reference import Reference
from lagoon.imitation.rewards import TrackingError, effort_penalty
from lagoon.imitation.starts import Starts
from lagoon.imitation.terminations import failed
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import RobotSpec
from lagoon.sim.backend import BodyParameters, SimBackend, SimState
from lagoon.sim.model import TRAINING
from lagoon.sim.mujoco_backend import MujocoBackend
from lagoon.spans import span

Tensor = torch.Tensor
Array = np.ndarray


PHYSICS_TIMING_STEPS = 16
"""Reading the CPU clock costs a tenth of a millisecond, so physics is timed at every 16th step only."""


class TrackingEnv:
    """N robots that imitate one motion; see lagoon.engine.environment.VecEnv."""

    def __init__(
        self,
        motion: RobotMotion,
        robot: RobotSpec,
        config: TrainConfig,
        num_envs: int,
        seed: int,
        backend: SimBackend | None = None,
        start_share: float | None = None,
        words: Tensor | None = None,
        reference: Reference | None = None,
    ) -> None:
        """Build tables, simulator and random state.

        Args:
            motion: the reference.
            robot: whose joints it moves.
            config: task and randomization.
            num_envs: robots, N.
            seed: every draw follows from it.
            backend: another simulator than MuJoCo on one thread.
            start_share: another share of starts at frame 0 than the task's.
            words: (W,) what tells this skill from others that the policy learns; see ActorObservation.
            reference: the tables of ``motion``, where they are not those of a single one.
        """
        self.robot, self.config, self.num_envs = robot, config, num_envs
        task = config.task
        physics = replace(TRAINING, torque_speed=task.torque_speed, full_collisions=task.self_collisions)
        self.backend = backend or MujocoBackend(robot, num_envs, physics, threads=1)
        self.motion = motion
        self.reference = reference or Reference(motion, robot)
        self.feet = FootKinematics(robot)
        self.action_dim = robot.num_joints
        self.lower, self.upper = _f32(robot.joint_lower), _f32(robot.joint_upper)
        self.kp, self.kd, self.torque_limit = _f32(robot.kp), _f32(robot.kd), _f32(robot.torque_limit)
        self._targets = self.reference.joint_target.numpy()
        stand = tensor(_f32(robot.default_joint_pos))
        self.observe = ActorObservation(self.reference, stand, task.lookahead, task.history, words)
        self.generator = torch.Generator().manual_seed(seed)
        self.draws = Draws(config.randomization, robot.num_joints, num_envs, robot.control_dt, self.generator)
        share = task.start_share if start_share is None else start_share
        self.starts = Starts(self.reference, robot, task, self.generator, share)
        self.last_step = self.reference.num_frames - 1 + round(task.hold / robot.control_dt)
        self.ramp = 0.0
        n, j = num_envs, robot.num_joints
        self.body = BodyParameters.nominal(n, j, TRAINING.friction)
        self.blend = blend_of(task.target_cutoff, robot.control_dt)
        self.manner = Manner.build(self.reference, robot, task, n, seed)
        self.last_step += self.manner.late_steps
        body = body_features(self.body, torch.zeros(n), config.randomization).numpy()
        depth = depth_of(config.randomization, robot.control_dt)
        self.memory = Memory(n, j, self.observe.state_size, body.shape[1], depth, self.manner.width)
        self.memory.body[:] = body
        self.obs_dims = {
            "actor": self.observe.size,
            "critic": self.observe.size + 7 + 3 * len(robot.legs) + body.shape[1] + self.manner.width,
        }
        self._seen: tuple[TrackingError, Any, Any] | None = None
        self._steps, self._physics_ms = 0, 0.0

    @property
    def seen(self) -> tuple[TrackingError, Tensor, Tensor] | None:
        """Errors, torques asked for (N, J) and joint speeds (N, J) of the last step, before any reset."""
        return None if self._seen is None else (self._seen[0], tensor(self._seen[1]), tensor(self._seen[2]))

    # --- VecEnv -----------------------------------------------------------------------------------

    def reset(self) -> dict[str, Tensor]:
        """Start every robot anew and return the first observations."""
        everyone = np.arange(self.num_envs)
        self._start_over(everyone, redraw=1.0)
        state = self.backend.read()
        return self._observe(state, self.memory, self.feet(state.joint_pos), everyone)

    def step(self, action: Tensor) -> StepResult:
        """Advance one control period; see VecEnv.step. Robots whose episode ended are reset."""
        task, memory = self.config.task, self.memory
        acted = clipped(action.numpy(), -task.action_clip, task.action_clip)
        if self.blend < 1.0:
            acted = filtered(acted, memory.prev_action, self.blend)
        memory.step += 1
        target = self._targets.take(self.reference.index(memory.step), axis=0) + task.action_scale * acted
        target = clipped(target, self.lower, self.upper)
        self._push()
        diverged = self._simulate(target)
        state = self.backend.read()
        broken = diverged.any()
        if broken:
            self._park(diverged, state)
        if (after := self.observe.next_state(memory.policy_state, memory.frame)) is not memory.policy_state:
            memory.policy_state[:] = after

        foot_pos = self.feet(state.joint_pos)
        earned, error = self.manner.reward(state, memory.step, foot_pos)
        asked = self.kp * (target - state.joint_pos) - self.kd * state.joint_vel
        reward = earned - effort_penalty(
            acted, memory.prev_action, asked, self.torque_limit, task.reward, memory.prev_change
        )
        self._seen = (error, asked, state.joint_vel)
        memory.prev_change = acted - memory.prev_action
        memory.prev_action[:] = acted
        if self.manner.width:
            memory.extras[:] = self.manner.critic_inputs(state)
        terminated = failed(error, task.termination) | diverged
        if broken:
            reward[diverged] = 0.0
        truncated = (memory.step >= self.last_step) & ~terminated
        done_ids = np.flatnonzero(terminated | truncated)
        metrics = self._metrics(error)
        if len(done_ids):
            metrics["episode_success"] = mean(truncated[done_ids])
        if task.adaptive_starts > 0.0:
            self.starts.report(tensor(memory.step[done_ids]), tensor(terminated[done_ids]))
            metrics["start_entropy"] = self.starts.entropy()
        obs, final_obs = self._observe_and_reset(state, foot_pos, done_ids)
        return StepResult(
            obs=obs,
            reward=tensor(reward),
            terminated=tensor(terminated),
            truncated=tensor(truncated),
            final_obs=final_obs,
            done_ids=tensor(done_ids),
            metrics=metrics,
        )

    def set_progress(self, fraction: float) -> None:
        """Grow the randomization with the training's progress in [0, 1]."""
        begin, full = self.config.randomization.ramp
        self.ramp = min(1.0, max(0.0, (fraction - begin) / max(full - begin, 1e-9)))
        self.draws.use(self.ramp)
        self.manner.learn()

    def state_dict(self) -> dict[str, Tensor]:
        """What a resumed run needs beyond the policy; robots start anew after a resume."""
        own = {"generator": self.generator.get_state(), "ramp": torch.tensor(self.ramp)}
        if self.config.task.adaptive_starts > 0.0:
            own["falls"] = self.starts.falls.clone()
        return own | self.manner.state_dict()

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take up the draws where state_dict left them."""
        self.generator.set_state(state["generator"])
        self.ramp = float(state["ramp"])
        self.draws.clear()
        self.draws.use(self.ramp)
        if "falls" in state:
            self.starts.falls = state["falls"].clone()
        self.manner.load_state_dict(state)

    def close(self) -> None:
        """Release the simulator."""
        self.backend.close()

    # --- inside -----------------------------------------------------------------------------------

    def _metrics(self, error: TrackingError) -> dict[str, float]:
        return {
            "joint_error": mean(np.sqrt(error.joint_pos_sq)) / math.sqrt(self.action_dim),
            "foot_error": mean(np.sqrt(error.foot_pos_sq)) / math.sqrt(len(self.robot.legs)),
            "tilt_error": mean(error.tilt),
            "height_error": mean(error.height),
            "physics_ms": self._physics_ms,
        } | self.manner.metrics()

    def _simulate(self, target: Array) -> Array:
        """Step physics with targets (N, J) that reach each motor after its delay; return who diverged (N,)."""
        substeps, randomization = self.backend.substeps, self.config.randomization
        targets = tensor(
            arriving(target, self.memory, randomization, self.ramp, substeps, self.robot.control_dt, self.generator)
        )
        timed = self._steps % PHYSICS_TIMING_STEPS == 0
        self._steps += 1
        if not timed:
            with span("physics"):
                return self.backend.step(targets).numpy()
        before = time.process_time()
        with span("physics"):
            diverged = self.backend.step(targets)
        self._physics_ms = 1e3 * (time.process_time() - before)
        return diverged.numpy()

    def _start_over(self, ids: Array, redraw: float) -> None:
        """Begin a new episode for the robots ``ids`` (K,), some of them with new bodies."""
        self._redraw_bodies(ids, redraw)
        start, state = self.starts.take(len(ids))
        self.backend.write(ids, state)
        memory = self.memory
        memory.step[ids] = start
        memory.prev_action[ids] = 0.0
        memory.prev_change[ids] = 0.0
        # A robot that has stood or moved here for a while was last told to be here.
        memory.past_targets[ids] = self._targets[start][:, None]
        self.manner.begin(ids, start, state)
        memory.extras[ids] = self.manner.fresh_inputs(len(ids))

    def _redraw_bodies(self, ids: Array, chance: float) -> None:
        """Give some of the robots ``ids`` new bodies, and all of them new sensor errors."""
        config, memory = self.config.randomization, self.memory
        unit = self.draws.episodes(len(ids))
        set_sensor_errors(memory, ids, config, self.robot.control_dt / self.backend.substeps, self.ramp, unit)
        chosen = ids[unit[:, -1] < chance]
        if len(chosen):
            body, features = self.draws.bodies(len(chosen))
            self.backend.set_parameters(tensor(chosen), body)
            self.body.put(tensor(chosen), body)
            memory.slope[chosen], memory.body[chosen] = body.slope.numpy(), features
        memory.body[ids, DELAY] = memory.delay[ids]

    def _observe_and_reset(
        self, state: SimState, foot_pos: Array, done_ids: Array
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Observations of all robots after the ended ones began anew, and the last ones of those that ended.

        Both come from one pass over N + K rows: most of an observation's cost is in the number of passes.
        """
        if not len(done_ids):
            obs = self._observe(state, self.memory, foot_pos, done_ids)
            return obs, {name: rows[:0] for name, rows in obs.items()}
        ended, ended_state, ended_feet = self.memory.rows(done_ids), state.rows(done_ids), foot_pos[done_ids]
        self._start_over(done_ids, self.config.randomization.redraw)
        fresh = self.backend.read()
        foot_pos[done_ids] = self.feet(fresh.joint_pos[done_ids])
        # Rows of robots that go on are the same before and after; a parked one is among the ended.
        feet = np.concatenate([foot_pos, ended_feet])
        rows = self._observe(fresh.joined(ended_state), self.memory.joined(ended), feet, done_ids)
        n = self.num_envs
        return {k: v[:n] for k, v in rows.items()}, {k: v[n:] for k, v in rows.items()}

    def _observe(self, state: SimState, told: Told, foot_pos: Array, new: Array) -> dict[str, Tensor]:
        """Observations of rows of robots; the first N are this environment's, of which ``new`` (K,) have just begun."""
        joint_pos, joint_vel, quat, ang_vel = sensed(
            state, told, self.config.randomization, self.draws.noise(len(foot_pos))
        )
        action, policy_state = told.prev_action, told.policy_state
        frame = self.observe.frame(joint_pos, joint_vel, quat, action)
        self.memory.frame = frame[: self.num_envs]
        if len(new):
            begun = self.observe.start_state(frame[new], told.heading[new])
            policy_state[new] = begun
            self.memory.policy_state[new] = begun
        actor = self.observe.forward(
            joint_pos, joint_vel, quat, ang_vel, action, told.step, policy_state, frame, told.facing
        )
        extras = critic_extras(state, self.reference, told.step, foot_pos, told.body)
        return {"actor": tensor(actor), "critic": tensor(np.concatenate([actor, extras, told.extras], axis=-1))}

    def _push(self) -> None:
        """Kick a few robots in the ground plane."""
        if self.ramp * self.config.randomization.push_speed <= 0:
            return
        ids, kicks = self.draws.pushes()
        if len(ids):
            self.backend.push(tensor(ids), tensor(kicks))

    def _park(self, diverged: Array, state: SimState) -> None:
        """Replace the state of robots whose physics diverged by the reference, so that nothing spreads NaN."""
        at = self.reference.at(self.memory.step[diverged] - 1)
        state.root_pos_w[diverged] = at.root_pos
        state.root_quat_w[diverged] = at.root_quat
        state.root_lin_vel_w[diverged] = 0.0
        state.root_ang_vel_b[diverged] = 0.0
        state.joint_pos[diverged] = at.joint_pos
        state.joint_vel[diverged] = 0.0


def _f32(values: object) -> Array:
    return np.asarray(values, dtype=np.float32)


@dataclass(frozen=True)
class MakeTrackingEnv:
    """Builds the environment of one worker; picklable, so that worker processes can call it."""

    motion: RobotMotion
    robot: RobotSpec
    config: TrainConfig

    def __call__(self, rank: int, num_envs: int, seed: int) -> TrackingEnv:
        """Return the environment of worker ``rank``."""
        return TrackingEnv(self.motion, self.robot, self.config, num_envs, seed * 1009 + rank)

    def identity(self) -> str:
        """Return what tells this environment from others, for actors on other machines."""
        return joining.identity(self.motion, self.robot, self.config)

    def parcel(self) -> bytes:
        """Return what another machine builds it from."""
        return joining.packed(self.motion, self.robot, self.config)
