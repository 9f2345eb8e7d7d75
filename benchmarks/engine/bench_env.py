"""What the environment costs beside its physics, and which library answers small batches of observations fastest.

Both as CPU time in interleaved rounds on one thread, so that other work on the machine cancels out of the ratios.
Run: python benchmarks/engine/bench_env.py [--rounds 5] [--json benchmarks/engine/env.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import mujoco
import numpy as np
import onnxruntime
import torch

from lagoon.engine.cores import multiplies_bf16
from lagoon.engine.networks import Network
from lagoon.engine.policy import GaussianActorCritic
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.motion.robot_motion import RobotMotion
from lagoon.robot import load_robot

OBS, CRITIC, ACTIONS = 110, 160, 12
SIZES = (1, 16, 64, 128, 256, 1024)


def cpu(work, count: int) -> float:
    before = time.process_time()
    for _ in range(count):
        work()
    return (time.process_time() - before) / count


def stand(frames: int = 200) -> RobotMotion:
    robot = load_robot("go2")
    return RobotMotion(
        fps=50.0,
        robot=robot.name,
        joint_names=robot.joint_names,
        root_pos_w=np.tile([0.0, 0.0, robot.default_root_height], (frames, 1)),
        root_quat_w=np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1)),
        joint_pos=np.tile(robot.default_joint_pos, (frames, 1)),
        foot_contact=np.ones((frames, 4), dtype=bool),
    )


class Timed:
    """A batch of simulations whose steps, and nothing around them, are timed."""

    def __init__(self, batch) -> None:
        self._batch, self.spent = batch, 0.0

    def __getattr__(self, name: str):
        return getattr(self._batch, name)

    def step(self, **options) -> None:
        before = time.thread_time()
        self._batch.step(**options)
        self.spent += time.thread_time() - before


def environment(rounds: int, robots: int, steps: int) -> dict[str, object]:
    """Raw physics is timed inside the environment's own steps, so that both see the same states and contacts."""
    env = TrackingEnv(stand(), load_robot("go2"), TrainConfig(), robots, 0)
    env.set_progress(1.0)
    env.reset()
    batch = env.backend._batch = Timed(env.backend._batch)
    generator = torch.Generator().manual_seed(0)
    shares, rest, ended = [], [], 0
    for _ in range(rounds):
        actions = 0.3 * torch.randn((steps, robots, env.action_dim), generator=generator)
        batch.spent, before = 0.0, time.thread_time()
        for action in actions:
            ended += len(env.step(action).done_ids)
        total = time.thread_time() - before
        shares.append(batch.spent / total)
        rest.append(1e6 * (total - batch.spent) / (steps * robots))
    env.close()
    return {
        "target": 0.85,
        "physics_share": shares,
        "median": statistics.median(shares),
        "rest_us_per_sample": round(statistics.median(rest), 1),
        "resets_per_step": round(ended / (rounds * steps), 2),
    }


class Numpy:
    """The same network by hand, its normaliser folded into the first layer's input."""

    def __init__(self, policy: GaussianActorCritic) -> None:
        normalizer = policy.normalizer["actor"]
        self.shift, self.scale = normalizer._shift.numpy(), normalizer._scale.numpy()
        layers = [layer for layer in policy.actor if hasattr(layer, "weight")]
        self.layers = [(layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy()) for layer in layers]

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        x = np.clip((obs - self.shift) * self.scale, -8.0, 8.0)
        for i, (weight, bias) in enumerate(self.layers):
            x = x @ weight + bias
            if i < len(self.layers) - 1:
                x = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
        return x


class Acting(torch.nn.Module):
    def __init__(self, policy: GaussianActorCritic) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return self.policy.actor(self.policy.normalizer["actor"](obs))


def inference(rounds: int, folder: Path) -> dict[str, dict[str, float]]:
    """Microseconds of CPU time per call, medians over rounds."""
    policy = GaussianActorCritic({"actor": OBS, "critic": CRITIC}, ACTIONS).eval()
    acting, by_hand = Acting(policy).eval(), Numpy(policy)
    network, normalizer = Network(policy.actor, policy.activation, max(SIZES)), policy.normalizer["actor"]
    path = folder / "actor.onnx"
    batch = torch.export.Dim("batch")
    torch.onnx.export(acting, (torch.zeros(2, OBS),), path, dynamo=True, dynamic_shapes=({0: batch},), verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    table: dict[str, dict[str, float]] = {}
    for size in SIZES:
        obs = torch.randn((size, OBS))
        array, memory = obs.numpy(), torch.empty_like(obs)
        ways = {
            "torch": lambda obs=obs: acting(obs),
            "torch in place": lambda obs=obs, memory=memory: network.forward(normalizer.normalize_into(obs, memory)),
            "onnxruntime": lambda array=array: session.run(None, {name: array}),
            "numpy": lambda array=array: by_hand(array),
        }
        with torch.no_grad():
            expected = acting(obs).numpy()
            assert np.abs(session.run(None, {name: array})[0] - expected).max() < 1e-4
            assert np.abs(by_hand(array) - expected).max() < 1e-4
            count = max(20, 4000 // size)
            times: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(rounds):
                for way, work in ways.items():
                    times[way].append(1e6 * cpu(work, count))
        table[str(size)] = {way: round(statistics.median(values), 1) for way, values in times.items()}
    return table


def main() -> None:
    import tempfile

    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--robots", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "mujoco": mujoco.__version__,
            "amx_bf16": multiplies_bf16(),
            "environment": {str(n): environment(asked.rounds, n, asked.steps) for n in asked.robots},
            "inference_us": inference(asked.rounds, Path(folder)),
        }
    print(json.dumps(found, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
