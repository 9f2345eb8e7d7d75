"""The environment in which a policy learns to imitate one motion.

What enters: actions of N robots. What leaves: observations, rewards and ends of episodes, in the
engine's VecEnv contract. One control step: the action becomes joint targets around the next reference
pose, the targets reach the motors after an unknown delay, physics advances, errors against the
reference give the reward.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from lagoon.engine.environment import StepResult
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.kinematics import FootKinematics
from lagoon.imitation.observations import ActorObservation, critic_extras
from lagoon.imitation.randomization import SensorErrors, body_features, draw_bodies, sensed, uniform
from lagoon.imitation.reference import Reference
from lagoon.imitation.rewards import effort_penalty, tracking_error, tracking_reward
from lagoon.imitation.rotations import quat_from_rotvec, quat_mul, quat_rotate
from lagoon.imitation.terminations import failed
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import RobotSpec
from lagoon.sim.backend import BodyParameters, SimBackend, SimState
from lagoon.sim.model import TRAINING
from lagoon.sim.mujoco_backend import MujocoBackend

Tensor = torch.Tensor


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
    ) -> None:
        """Build tables, simulator and random state.

        Args:
            motion: the reference.
            robot: whose joints it moves.
            config: task and randomization.
            num_envs: robots, N.
            seed: every draw follows from it.
            backend: another simulator than MuJoCo on one thread.
        """
        self.robot, self.config, self.num_envs = robot, config, num_envs
        self.backend = backend or MujocoBackend(robot, num_envs, TRAINING, threads=1)
        self.reference = Reference(motion, robot)
        self.feet = FootKinematics(robot)
        self.action_dim = robot.num_joints
        as_tensor = lambda a: torch.tensor(a, dtype=torch.float32)  # noqa: E731
        self.lower, self.upper = as_tensor(robot.joint_lower), as_tensor(robot.joint_upper)
        self.kp, self.kd, self.torque_limit = as_tensor(robot.kp), as_tensor(robot.kd), as_tensor(robot.torque_limit)
        task = config.task
        self.observe = ActorObservation(
            self.reference, as_tensor(robot.default_joint_pos), task.lookahead, task.history
        )
        self.generator = torch.Generator().manual_seed(seed)
        self.last_step = self.reference.num_frames - 1 + round(task.hold / robot.control_dt)
        self.ramp = 0.0
        self.start_share: float = task.start_share
        n, j = num_envs, robot.num_joints
        self.step_count = torch.zeros(n, dtype=torch.int64)
        self.start_step = torch.zeros(n, dtype=torch.int64)
        self.prev_action, self.prev_target = torch.zeros(n, j), torch.zeros(n, j)
        self.policy_state = torch.zeros(n, self.observe.state_size)
        self.body = BodyParameters.nominal(n, j, TRAINING.friction)
        self.errors = SensorErrors.zeros(n, j)
        self.body_row = body_features(self.body, self.errors.delay)
        self.obs_dims = {
            "actor": self.observe.size,
            "critic": self.observe.size + 7 + 3 * len(robot.legs) + self.body_row.shape[1],
        }
        self._frame = torch.zeros(n, self.observe.frame_size)
        self._push_chance = robot.control_dt / config.randomization.push_interval

    # --- VecEnv -----------------------------------------------------------------------------------

    def reset(self) -> dict[str, Tensor]:
        """Start every robot anew and return the first observations."""
        everyone = torch.arange(self.num_envs)
        self._reset_rows(everyone, self._draw_start(len(everyone)), redraw=1.0)
        return self._observe(self.backend.state(), everyone)

    def step(self, action: Tensor) -> StepResult:
        """Advance one control period; see VecEnv.step. Robots whose episode ended are reset."""
        task = self.config.task
        action = action.clamp(-task.action_clip, task.action_clip)
        target = self.reference.joint_target[self.reference.index(self.step_count + 1)] + task.action_scale * action
        target = torch.minimum(torch.maximum(target, self.lower), self.upper)
        late = self.errors.delay.unsqueeze(-1)
        targets = torch.stack([torch.where(late > s, self.prev_target, target) for s in range(self.backend.substeps)])
        self._push()
        before = time.process_time()
        diverged = self.backend.step(targets)
        physics_ms = 1e3 * (time.process_time() - before)
        state = self.backend.state()
        if diverged.any():
            self._park(diverged, state)
        self.step_count += 1
        self.policy_state = self.observe.next_state(self.policy_state, self._frame)

        error = tracking_error(state, self.reference, self.step_count, self.feet)
        asked = self.kp * (target - state.joint_pos) - self.kd * state.joint_vel
        reward = tracking_reward(error, task.reward) - effort_penalty(
            action, self.prev_action, asked, self.torque_limit, task.reward
        )
        self.prev_action, self.prev_target = action, target
        terminated = failed(error, task.termination) | diverged
        reward = torch.where(diverged, torch.zeros_like(reward), reward)
        truncated = (self.step_count >= self.last_step) & ~terminated
        obs = self._observe(state, torch.arange(self.num_envs))
        done_ids = torch.nonzero(terminated | truncated).squeeze(-1)
        final_obs = {name: rows[done_ids] for name, rows in obs.items()}
        metrics = {
            "joint_error": (error.joint_pos_sq / self.action_dim).sqrt().mean().item(),
            "foot_error": (error.foot_pos_sq / len(self.robot.legs)).sqrt().mean().item(),
            "tilt_error": error.tilt.mean().item(),
            "height_error": error.height.mean().item(),
            "physics_ms": physics_ms,
        }
        if len(done_ids):
            ended_well = truncated[done_ids].float()
            metrics["episode_success"] = ended_well.mean().item()
            self._reset_rows(done_ids, self._draw_start(len(done_ids)), self.config.randomization.redraw)
            fresh = self._observe(self.backend.state().rows(done_ids), done_ids)
            for name, rows in fresh.items():
                obs[name][done_ids] = rows
        return StepResult(
            obs=obs,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            final_obs=final_obs,
            done_ids=done_ids,
            metrics=metrics,
        )

    def set_progress(self, fraction: float) -> None:
        """Grow the randomization with the training's progress in [0, 1]."""
        begin, full = self.config.randomization.ramp
        self.ramp = min(1.0, max(0.0, (fraction - begin) / max(full - begin, 1e-9)))

    def state_dict(self) -> dict[str, Tensor]:
        """What a resumed run needs beyond the policy; robots start anew after a resume."""
        return {"generator": self.generator.get_state(), "ramp": torch.tensor(self.ramp)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take up the draws where state_dict left them."""
        self.generator.set_state(state["generator"])
        self.ramp = float(state["ramp"])

    def close(self) -> None:
        """Release the simulator."""
        self.backend.close()

    # --- inside -----------------------------------------------------------------------------------

    def _draw_start(self, count: int) -> Tensor:
        """(count,) frames to start at: frame 0, or any frame of the reference."""
        frames = torch.randint(0, max(1, self.reference.num_frames - 2), (count,), generator=self.generator)
        from_zero = torch.rand(count, generator=self.generator) < self.start_share
        return torch.where(from_zero, torch.zeros_like(frames), frames)

    def _reset_rows(self, ids: Tensor, start: Tensor, redraw: float) -> None:
        """Put the robots ``ids`` (K,) near the reference at frames ``start`` (K,)."""
        task, ref, rng, count, j = self.config.task, self.reference, self.generator, len(ids), self.action_dim
        self._redraw_bodies(ids, redraw)
        normal = lambda width, scale: torch.randn((count, width), generator=rng) * scale  # noqa: E731
        joint_pos = ref.joint_pos[start] + normal(j, task.reset_joint_noise)
        joint_pos = torch.minimum(torch.maximum(joint_pos, self.lower), self.upper)
        quat = quat_mul(ref.root_quat[start], quat_from_rotvec(normal(3, task.reset_tilt_noise)))
        speed = task.reset_velocity_noise
        pos = ref.root_pos[start].clone()
        feet_w = quat_rotate(quat.unsqueeze(1), self.feet(joint_pos))
        lowest = feet_w[..., 2].min(-1).values + pos[:, 2] - self.robot.foot_radius
        pos[:, 2] -= torch.clamp(lowest, max=0.0)
        self.backend.set_state(
            ids,
            SimState(
                root_pos_w=pos,
                root_quat_w=quat,
                root_lin_vel_w=ref.root_lin_vel[start] + normal(3, speed),
                root_ang_vel_b=ref.root_ang_vel[start] + normal(3, 2 * speed),
                joint_pos=joint_pos,
                joint_vel=ref.joint_vel[start] + normal(j, 4 * speed),
            ),
        )
        self.step_count[ids], self.start_step[ids] = start, start
        self.prev_action[ids] = 0.0
        # A robot that has stood or moved here for a while was last told to be here.
        self.prev_target[ids] = ref.joint_target[start]
        self.policy_state[ids] = torch.nan

    def _redraw_bodies(self, ids: Tensor, chance: float) -> None:
        """Give some of the robots ``ids`` new bodies, and all of them new sensor errors."""
        config, rng = self.config.randomization, self.generator
        self.errors.draw(ids, config, self.robot.control_dt / self.backend.substeps, self.ramp, rng)
        chosen = ids[torch.rand(len(ids), generator=rng) < chance]
        if len(chosen):
            body = draw_bodies(len(chosen), self.action_dim, TRAINING.friction, config, self.ramp, rng)
            self.backend.set_parameters(chosen, body)
            for name in body.__dataclass_fields__:
                getattr(self.body, name)[chosen] = getattr(body, name)
        rows = BodyParameters(**{name: getattr(self.body, name)[ids] for name in self.body.__dataclass_fields__})
        self.body_row[ids] = body_features(rows, self.errors.delay[ids])

    def _observe(self, state: SimState, ids: Tensor) -> dict[str, Tensor]:
        """Observations of the robots ``ids``, whose true states are the rows of ``state``."""
        errors = SensorErrors(
            self.errors.joint_pos_offset[ids],
            self.errors.tilt_offset[ids],
            self.errors.heading_offset[ids],
            self.errors.delay[ids],
        )
        joint_pos, joint_vel, quat, ang_vel = sensed(
            state.joint_pos,
            state.joint_vel,
            state.root_quat_w,
            state.root_ang_vel_b,
            errors,
            self.config.randomization,
            self.ramp,
            self.generator,
        )
        action, step = self.prev_action[ids], self.step_count[ids]
        frame = self.observe.frame(joint_pos, joint_vel, quat, action)
        memory = self.policy_state[ids]
        new = torch.isnan(memory[:, 0])
        if new.any():
            # The reference faces +X at its start, so the true start heading is zero.
            heading = torch.stack([torch.cos(errors.heading_offset), torch.sin(errors.heading_offset)], dim=-1)
            memory = torch.where(new.unsqueeze(-1), self.observe.start_state(frame, heading), memory)
            self.policy_state[ids] = memory
        self._frame[ids] = frame
        actor = self.observe(joint_pos, joint_vel, quat, ang_vel, action, step, memory)
        extras = critic_extras(state, self.reference, step, self.feet(state.joint_pos), self.body_row[ids])
        return {"actor": actor, "critic": torch.cat([actor, extras], dim=-1)}

    def _push(self) -> None:
        """Kick a few robots in the ground plane."""
        speed = self.config.randomization.push_speed * self.ramp
        if speed <= 0:
            return
        ids = torch.nonzero(torch.rand(self.num_envs, generator=self.generator) < self._push_chance).squeeze(-1)
        if len(ids):
            kick = uniform((len(ids), 3), -speed, speed, self.generator)
            kick[:, 2] = 0.0
            self.backend.push(ids, kick)

    def _park(self, diverged: Tensor, state: SimState) -> None:
        """Replace the state of robots whose physics diverged by the reference, so that nothing spreads NaN."""
        ref, now = self.reference, self.reference.index(self.step_count)
        state.root_pos_w[diverged] = ref.root_pos[now][diverged]
        state.root_quat_w[diverged] = ref.root_quat[now][diverged]
        state.root_lin_vel_w[diverged] = 0.0
        state.root_ang_vel_b[diverged] = 0.0
        state.joint_pos[diverged] = ref.joint_pos[now][diverged]
        state.joint_vel[diverged] = 0.0


@dataclass(frozen=True)
class MakeTrackingEnv:
    """Builds the environment of one worker; picklable, so that worker processes can call it."""

    motion: RobotMotion
    robot: RobotSpec
    config: TrainConfig

    def __call__(self, rank: int, num_envs: int, seed: int) -> TrackingEnv:
        """Return the environment of worker ``rank``."""
        return TrackingEnv(self.motion, self.robot, self.config, num_envs, seed * 1009 + rank)
