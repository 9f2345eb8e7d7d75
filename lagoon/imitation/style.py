"""An adversarial reward for the manner of a motion: does this transition look like one of the reference?

What enters: states and feet of N robots, step by step. What leaves: rewards (N,) in [0, 1]; a discriminator that learns
once in each iteration, from the reference's transitions, the policy's newest ones and a replay of earlier ones.

It sees two neighbouring instants in the base frame: joints, feet, gravity, velocities. It cannot see place, heading or
time, so it pays for how the robot moves and not for when or where.
Source: Peng et al. 2021, "AMP: adversarial motion priors", eq. 6 to 9.
"""

from __future__ import annotations

import torch

from lagoon.engine.policy import mlp
from lagoon.imitation.config import StyleConfig
from lagoon.imitation.reference import Reference
from lagoon.imitation.rotations import gravity_in_base, quat_rotate_inverse
from lagoon.sim.backend import SimState

Tensor = torch.Tensor

SPREAD_FLOOR = 0.05
"""Features that hardly vary in the reference are not blown up beyond one over this."""


def style_features(
    joint_pos: Tensor, foot_pos: Tensor, root_quat: Tensor, root_lin_vel_w: Tensor, root_ang_vel_b: Tensor
) -> Tensor:
    """(..., J + 3F + 9) one instant, in the base frame.

    Args:
        joint_pos: (..., J) [rad].
        foot_pos: (..., F, 3) in the base frame [m].
        root_quat: (..., 4) base to world.
        root_lin_vel_w: (..., 3) [m/s].
        root_ang_vel_b: (..., 3) [rad/s].
    """
    speed = quat_rotate_inverse(root_quat, root_lin_vel_w)
    return torch.cat([joint_pos, foot_pos.flatten(-2), gravity_in_base(root_quat), speed, root_ang_vel_b], dim=-1)


class Style:
    """Discriminator, replay and the memory of each robot's last instant."""

    def __init__(self, reference: Reference, config: StyleConfig, num_envs: int, seed: int) -> None:
        """Build tables and the network; its weights follow from the seed."""
        self.config = config
        self._generator = torch.Generator().manual_seed(seed)
        frames = slice(0, reference.num_frames)
        instants = style_features(
            reference.joint_pos[frames],
            reference.foot_pos[frames],
            reference.root_quat[frames],
            reference.root_lin_vel[frames],
            reference.root_ang_vel[frames],
        )
        self._mean = instants.mean(0)
        self._scale = 1.0 / instants.std(0).clamp(min=SPREAD_FLOOR)
        instants = self._normal(instants)
        self.real = torch.cat([instants[:-1], instants[1:]], dim=1)
        """(T - 1, 2 D) transitions of the reference."""
        width = self.real.shape[1]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = mlp((width, *config.layers, 1), "elu")
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=config.pace, weight_decay=1e-4)
        self._last = torch.zeros(num_envs, width // 2)
        self._fresh: list[Tensor] = []
        self._replay = torch.zeros(0, width)
        self.stats: dict[str, float] = {}
        """How well the discriminator told them apart in the last iteration, for the log."""

    def _normal(self, instants: Tensor) -> Tensor:
        return ((instants - self._mean) * self._scale).clamp(-8.0, 8.0)

    def _instant(self, state: SimState, foot_pos: Tensor) -> Tensor:
        return self._normal(
            style_features(state.joint_pos, foot_pos, state.root_quat_w, state.root_lin_vel_w, state.root_ang_vel_b)
        )

    def begin(self, ids: Tensor, state: SimState, foot_pos: Tensor) -> None:
        """Remember the first instants of the robots ``ids`` (K,); feet (K, F, 3) are in the base frame [m]."""
        self._last[ids] = self._instant(state, foot_pos)

    @torch.no_grad()
    def reward(self, state: SimState, foot_pos: Tensor) -> Tensor:
        """(N,) in [0, 1] for the transition of each robot to ``state``, which is remembered."""
        now = self._instant(state, foot_pos)
        pairs = torch.cat([self._last, now], dim=1)
        self._fresh.append(pairs)
        self._last = now
        return style_reward(self.score(pairs))

    def score(self, transitions: Tensor) -> Tensor:
        """(N,) the discriminator's view of transitions (N, 2 D): 1 is the reference, -1 is not."""
        return self.network(transitions).squeeze(-1)

    def learn(self) -> None:
        """Improve the discriminator with what was collected since the last call; nothing without a batch of it."""
        if sum(len(rows) for rows in self._fresh) < self.config.rows:
            return
        fresh = torch.cat(self._fresh)
        self._fresh.clear()
        with torch.enable_grad():
            for _ in range(self.config.steps):
                self._step(fresh)
        kept = self._draw(fresh, max(1, self.config.replay // 10))
        self._replay = torch.cat([self._replay, kept])[-self.config.replay :]

    def _step(self, fresh: Tensor) -> None:
        rows = self.config.rows
        real = self._draw(self.real, rows).requires_grad_(True)
        half = rows // 2 if len(self._replay) else rows
        fake = torch.cat([self._draw(fresh, half), self._draw(self._replay, rows - half)])
        on_real, on_fake = self.score(real), self.score(fake)
        slope = torch.autograd.grad(on_real.sum(), real, create_graph=True)[0]
        penalty = (slope**2).sum(-1).mean()
        loss = ((on_real - 1) ** 2).mean() + ((on_fake + 1) ** 2).mean() + self.config.gradient_penalty * penalty
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()
        right = 0.5 * (on_real > 0).float().mean() + 0.5 * (on_fake < 0).float().mean()
        self.stats = {"style_accuracy": float(right), "style_slope": float(penalty.detach())}

    def _draw(self, rows: Tensor, count: int) -> Tensor:
        if count == 0 or not len(rows):
            return rows[:0]
        return rows[torch.randint(0, len(rows), (count,), generator=self._generator)]

    def state_dict(self) -> dict[str, Tensor]:
        """Weights and generator; the replay and the optimiser's moments begin anew after a resume."""
        weights = {f"style.{name}": tensor.clone() for name, tensor in self.network.state_dict().items()}
        return weights | {"style_generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over what state_dict returned."""
        prefix = "style."
        weights = {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
        self.network.load_state_dict(weights)
        self._generator.set_state(state["style_generator"])


def style_reward(score: Tensor) -> Tensor:
    """max(0, 1 - (score - 1)^2 / 4): 1 where the discriminator takes it for the reference, 0 from -1 on."""
    return (1.0 - 0.25 * (score - 1.0) ** 2).clamp(min=0.0)
