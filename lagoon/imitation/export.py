"""From a checkpoint to a bundle: one ONNX graph, its facts, and golden ticks recorded from torch.

What enters: a checkpoint and the motion it learned. What leaves: a PolicyBundle folder that was loaded
back, so onnxruntime reproduces what the torch policy did.
"""

from __future__ import annotations

import io
import logging
import warnings
from pathlib import Path

import numpy as np
import torch

from lagoon.bundle import BundleInfo, Golden, PolicyBundle, write_bundle
from lagoon.engine.checkpoint import Checkpoint
from lagoon.engine.session import load_policy
from lagoon.imitation.config import TrainConfig
from lagoon.imitation.policy_graph import INPUT_NAMES, OUTPUT_NAMES, PolicyGraph
from lagoon.imitation.rotations import quat_mul
from lagoon.motion.robot_motion import RobotMotion, resample
from lagoon.record import git_revision
from lagoon.robot import RobotSpec

Tensor = torch.Tensor

GOLDEN_TICKS = 60
OPSET = 18
"""Old enough for the onnxruntime of a robot's computer, new enough for every operator used."""


def export(
    checkpoint: Checkpoint,
    motion: RobotMotion,
    robot: RobotSpec,
    config: TrainConfig,
    command: str,
    target: Path,
    motion_sha256: str = "",
    words: Tensor | None = None,
) -> PolicyBundle:
    """Write a bundle folder whole or not at all.

    Args:
        checkpoint: what training returned.
        motion: the reference it was trained on.
        robot: whose policy it is.
        config: settings of the training.
        command: the text that was typed.
        target: the bundle folder.
        motion_sha256: checksum of the motion's file, kept in the bundle.
        words: (W,) of this skill, where one policy learned several; the graph holds them from then on.

    Raises:
        CorruptFileError: onnxruntime does not reproduce the torch policy.
        LagoonError: the folder cannot be written.
    """
    motion = resample(motion, 1.0 / robot.control_dt)
    graph = PolicyGraph(load_policy(checkpoint), motion, robot, config.task, words).eval()
    info = BundleInfo.of(
        robot,
        motion,
        command=command,
        state_size=graph.state_size,
        seed=int(checkpoint.facts.get("seed", 0)),
        motion_sha256=motion_sha256,
        git_revision=git_revision(),
        action_scale=np.full(robot.num_joints, config.task.action_scale),
    )
    golden = record_golden(graph, motion, robot, GOLDEN_TICKS)
    return write_bundle(target, to_onnx(graph, robot.num_joints), info, golden)


def to_onnx(graph: PolicyGraph, joints: int) -> bytes:
    """Return the graph as ONNX bytes with a free batch axis."""
    example = tuple(torch.zeros(2, width) for width in (joints, joints, 4, 3, joints, 1, graph.state_size))
    example[2][:, 0] = 1.0
    buffer = io.BytesIO()
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        # The tracing exporter announces its successor on every call.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            example,
            buffer,  # type: ignore[arg-type] (the tracing exporter takes a buffer)
            input_names=list(INPUT_NAMES),
            output_names=list(OUTPUT_NAMES),
            dynamic_axes={name: {0: "batch"} for name in (*INPUT_NAMES, *OUTPUT_NAMES)},
            opset_version=OPSET,
            dynamo=False,
        )
    return buffer.getvalue()


@torch.no_grad()
def record_golden(graph: PolicyGraph, motion: RobotMotion, robot: RobotSpec, ticks: int, seed: int = 0) -> Golden:
    """Run the torch graph on a disturbed replay of the motion, its outputs fed back, and keep every value.

    Readings follow the reference with noise, spread over the whole clip and turned to a heading of
    their own, so that every part of the graph is exercised.
    """
    draw = np.random.default_rng(seed)
    frames = np.linspace(0, motion.num_frames - 1, ticks).round().astype(int)
    frames[0] = 0
    half = 0.5 * draw.uniform(-np.pi, np.pi)
    turn = torch.tensor([[np.cos(half), 0.0, 0.0, np.sin(half)]], dtype=torch.float32)
    inputs: dict[str, list[Tensor]] = {name: [] for name in INPUT_NAMES}
    outputs: dict[str, list[Tensor]] = {name: [] for name in OUTPUT_NAMES}
    noise = lambda width, scale: torch.from_numpy(draw.normal(0, scale, (1, width)).astype(np.float32))  # noqa: E731
    joints = robot.num_joints
    action, state = torch.zeros(1, joints), torch.zeros(1, graph.state_size)
    for frame in frames:
        quat = torch.from_numpy(motion.root_quat_w[frame : frame + 1].astype(np.float32))
        quat = quat_mul(turn, quat) + noise(4, 0.01)
        values = (
            torch.from_numpy(motion.joint_pos[frame : frame + 1].astype(np.float32)) + noise(joints, 0.05),
            noise(joints, 0.5),
            quat / quat.norm(dim=-1, keepdim=True),
            noise(3, 0.2),
            action,
            torch.full((1, 1), float(frame)),
            state,
        )
        result = graph(*values)
        for name, value in zip(INPUT_NAMES, values, strict=True):
            inputs[name].append(value)
        for name, value in zip(OUTPUT_NAMES, result, strict=True):
            outputs[name].append(value)
        _, action, state = result
    rows = lambda table: {name: torch.cat(values).numpy() for name, values in table.items()}  # noqa: E731
    return Golden(inputs=rows(inputs), outputs=rows(outputs))
