"""Training, the torch graph and the exported ONNX compute one and the same policy."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from lagoon import bundle
from lagoon.bundle.golden import FED_BACK
from lagoon.bundle.graph import open_session
from lagoon.bundle.ports import input_ports
from lagoon.deploy.runtime import PolicyRunner
from lagoon.engine.checkpoint import Checkpoint
from lagoon.engine.policy import GaussianActorCritic
from lagoon.imitation.config import TaskConfig, TrainConfig
from lagoon.imitation.env import TrackingEnv
from lagoon.imitation.export import export, record_golden, to_onnx
from lagoon.imitation.policy_graph import PolicyGraph

CONFIG = TrainConfig(task=TaskConfig(start_share=1.0, history=2))


@pytest.fixture
def policy(robot, make_crouch):
    env = TrackingEnv(make_crouch(), robot, CONFIG, 2, 0)
    policy = GaussianActorCritic(env.obs_dims, 12, seed=1)
    with torch.no_grad():
        policy.actor[-1].weight.mul_(3.0)
    policy.normalizer["actor"].update(policy.normalizer["actor"].moments(torch.randn(500, env.obs_dims["actor"])))
    env.close()
    return policy.eval()


def checkpoint_of(policy):
    tensors = {f"policy/{name}": value for name, value in policy.state_dict().items()}
    return Checkpoint(path=None, tensors=tensors, facts={"policy": policy.facts(), "seed": 4})


@torch.no_grad()
def test_graph_gives_the_actions_of_the_training_environment(robot, make_crouch, policy):
    """Feed the graph what the environment's sensors read; it must act as the environment's policy does."""
    motion = make_crouch()
    env = TrackingEnv(motion, robot, CONFIG, 4, 0)
    graph = PolicyGraph(policy, motion, robot, CONFIG.task)
    obs = env.reset()
    state, previous = torch.zeros(4, graph.state_size), torch.zeros(4, 12)
    for tick in range(25):
        sim = env.backend.state()
        _, action, state = graph(
            sim.joint_pos,
            sim.joint_vel,
            sim.root_quat_w,
            sim.root_ang_vel_b,
            previous,
            torch.full((4, 1), float(tick)),
            state,
        )
        if tick == 0:  # At the first tick the graph reads its start heading; the environment is told zero.
            assert (state[:, :2] - torch.tensor([1.0, 0.0])).abs().max() < 0.1
            state[:, :2] = torch.from_numpy(env.memory.policy_state[:, :2])
            continue_with = policy.actor(policy.normalizer["actor"](obs["actor"])).clamp(-4, 4)
            action = continue_with
        wanted = policy.actor(policy.normalizer["actor"](obs["actor"])).clamp(-4.0, 4.0)
        assert torch.allclose(action, wanted, atol=2e-4), tick
        result = env.step(wanted)
        assert not len(result.done_ids)
        obs, previous = result.obs, wanted
    env.close()


def test_exported_bundle_loads_and_runs_like_torch(robot, make_crouch, policy, tmp_path):
    motion = make_crouch()
    made = export(checkpoint_of(policy), motion, robot, CONFIG, "crouch \U0001f415", tmp_path / "bundle")
    back = bundle.load(tmp_path / "bundle", robot)
    assert back.command == "crouch \U0001f415" and back.policy_sha256 == made.policy_sha256 and back.seed == 4
    graph = PolicyGraph(policy, motion, robot, CONFIG.task)
    runner = PolicyRunner(back)
    runner.reset()
    state, previous = torch.zeros(1, graph.state_size), torch.zeros(1, 12)
    draw = np.random.default_rng(5)
    for tick in range(motion.num_frames + 10):
        q, v, w = draw.normal(size=12) * 0.2 + robot.default_joint_pos, draw.normal(size=12), draw.normal(size=3) * 0.3
        quat = np.array([1.0, 0.02, -0.03, 0.4]) / np.linalg.norm([1.0, 0.02, -0.03, 0.4])
        ours = runner.step(q, v, quat, w)

        def f(a):
            return torch.tensor(np.asarray(a), dtype=torch.float32).reshape(1, -1)

        with torch.no_grad():
            wanted, previous, state = graph(f(q), f(v), f(quat), f(w), previous, f([tick]), state)
        assert np.allclose(np.asarray(ours).reshape(-1), wanted[0].numpy(), atol=1e-4), tick


def test_golden_ticks_exercise_every_frame_range_and_no_level_singularity(robot, make_crouch, policy):
    graph = PolicyGraph(policy, make_crouch(), robot, CONFIG.task)
    golden = record_golden(graph, make_crouch(), robot, ticks=20)
    steps = golden.inputs["time_step"][:, 0]
    assert steps[0] == 0 and steps[-1] == make_crouch().num_frames - 1
    assert all(np.isfinite(rows).all() for rows in golden.outputs.values())
    assert np.ptp(golden.outputs["action"], axis=0).min() > 1e-4


def test_golden_rows_are_one_chain_whose_time_steps_leap(robot, make_crouch, policy):
    motion = make_crouch()
    golden = record_golden(PolicyGraph(policy, motion, robot, CONFIG.task), motion, robot, ticks=20)
    steps = golden.inputs["time_step"][:, 0]
    assert steps[0] == 0 and steps[-1] == motion.num_frames - 1 and np.diff(steps).min() > 1
    for given, source in FED_BACK.items():
        np.testing.assert_array_equal(golden.inputs[given][1:], golden.outputs[source][:-1])
        assert not golden.inputs[given][0].any()


def test_the_graph_keeps_its_targets_within_the_joint_limits(robot, make_crouch, policy):
    """Whatever the sensors read and the network says: the clip is inside, in float32."""
    task = replace(CONFIG.task, action_scale=20.0)
    graph = PolicyGraph(policy, make_crouch(), robot, task).eval()
    session, draw, rows = open_session(to_onnx(graph, 12), "graph"), np.random.default_rng(0), 50
    wild = {port.name: draw.normal(0.0, 1e4, (rows, port.shape[1])) for port in input_ports(12, graph.state_size)}
    wild["imu_quat"] /= np.linalg.norm(wild["imu_quat"], axis=1, keepdims=True)
    wild["time_step"] = draw.integers(0, 240, (rows, 1))
    given = {name: array.astype(np.float32) for name, array in wild.items()}
    (targets,) = session.run(["joint_pos_target"], given)
    lower, upper = robot.joint_lower.astype(np.float32), robot.joint_upper.astype(np.float32)
    assert (targets >= lower).all() and (targets <= upper).all()
    assert (targets == lower).any() and (targets == upper).any()  # It did have to clip.


def test_export_of_a_level_reading_is_finite(robot, make_stand, policy):
    """A square root at zero once became a division of zero by zero in an exported graph."""
    import onnxruntime

    graph = PolicyGraph(policy, make_stand(), robot, CONFIG.task)
    session = onnxruntime.InferenceSession(to_onnx(graph, 12))

    def zeros(width):
        return np.zeros((1, width), dtype=np.float32)

    level = np.array([[1.0, 0.0, 0.0, 0.0]], dtype=np.float32)
    feed = {
        "joint_pos": zeros(12),
        "joint_vel": zeros(12),
        "imu_quat": level,
        "imu_ang_vel": zeros(3),
        "prev_action": zeros(12),
        "time_step": zeros(1),
        "state": zeros(graph.state_size),
    }
    assert all(np.isfinite(out).all() for out in session.run(None, feed))
