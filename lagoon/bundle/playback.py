"""A policy without learning: it plays a table of joint targets and ignores its sensors.

What enters: joint targets over time. What leaves: a graph and golden ticks that fulfil the bundle's
contract. It is the baseline that a trained policy has to beat, and it takes a robot into a pose where
balance is no question.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lagoon.bundle.contract import BundleInfo, MotionFacts, RobotFacts
from lagoon.bundle.folder import PolicyBundle, write_bundle
from lagoon.bundle.golden import FED_BACK, Floats, Golden
from lagoon.bundle.graph import open_session
from lagoon.bundle.ports import input_ports, output_ports
from lagoon.errors import require


def playback_graph(joint_targets: NDArray[np.floating], state_size: int = 1) -> bytes:
    """Build the graph: joint_pos_target = joint_targets[min(time_step, T - 1)].

    The action is the target's distance from the first one; the state passes through unchanged.

    Args:
        joint_targets: (T, J) [rad], one row for each control tick.
        state_size: size S of the unused policy state.

    Raises:
        MissingExtraError: onnx is not installed.
    """
    onnx = require("onnx", extra="deploy")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    frames, joints = joint_targets.shape
    value = lambda port: helper.make_tensor_value_info(port.name, kind, list(port.shape))  # noqa: E731
    table = np.ascontiguousarray(joint_targets, dtype=np.float32)
    constants = {
        "table": table,
        "first_row": table[:1],
        "zero": np.float32(0.0),
        "last": np.float32(frames - 1),
        "axis": np.array([1], dtype=np.int64),
    }
    nodes = [
        helper.make_node("Clip", ["time_step", "zero", "last"], ["tick"]),
        helper.make_node("Cast", ["tick"], ["tick_int"], to=onnx.TensorProto.INT64),
        helper.make_node("Squeeze", ["tick_int", "axis"], ["row"]),
        helper.make_node("Gather", ["table", "row"], ["joint_pos_target"], axis=0),
        helper.make_node("Sub", ["joint_pos_target", "first_row"], ["action"]),
        helper.make_node("Identity", ["state"], ["state_out"]),
    ]
    graph = helper.make_graph(
        nodes,
        "playback",
        [value(port) for port in input_ports(joints, state_size)],
        [value(port) for port in output_ports(joints, state_size)],
        [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)


class PlayedMotion(MotionFacts, Protocol):
    """A reference motion with joint angles (lagoon.motion.RobotMotion fits)."""

    @property
    def joint_pos(self) -> NDArray[np.float64]: ...  # noqa: D102


def write_playback(
    folder: Path,
    robot: RobotFacts,
    motion: PlayedMotion,
    command: str,
    joint_targets: NDArray[np.floating] | None = None,
) -> PolicyBundle:
    """Write a bundle that plays a motion's joint angles.

    Args:
        folder: the bundle folder to write.
        robot: which robot.
        motion: the reference at the control rate.
        command: text kept in the bundle.
        joint_targets: (T, J) [rad] to play instead of the motion's own angles.
    """
    targets = motion.joint_pos if joint_targets is None else joint_targets
    info = BundleInfo.of(robot, motion, command=command, state_size=1)
    policy, ticks = playback_graph(targets), min(50, info.num_steps)
    joints = np.asarray(motion.joint_pos[:ticks], dtype=np.float32)
    sensors = {
        "joint_pos": joints,
        "joint_vel": np.zeros_like(joints),
        "imu_quat": np.asarray(motion.root_quat_w[:ticks], dtype=np.float32),
        "imu_ang_vel": np.zeros((ticks, 3), dtype=np.float32),
    }
    return write_bundle(folder, policy, info, record(policy, info, sensors))


def record(policy: bytes, info: BundleInfo, sensors: Mapping[str, Floats]) -> Golden:
    """Run a graph in closed loop over recorded sensors and keep its inputs and outputs.

    A trained policy's golden ticks come from torch instead, so that they also prove the export.

    Args:
        policy: the graph.
        info: sizes of its ports.
        sensors: (K, size) float32 for joint_pos, joint_vel, imu_quat, imu_ang_vel.
    """
    session = open_session(policy, "the graph")
    names = [port.name for port in info.outputs]
    inputs: dict[str, list[Floats]] = {port.name: [] for port in info.inputs}
    outputs: dict[str, list[Floats]] = {name: [] for name in names}
    fed = {
        "prev_action": np.zeros((1, info.num_joints), dtype=np.float32),
        "state": info.initial_state[None],
    }
    for k in range(len(sensors["joint_pos"])):
        given = {name: np.asarray(array[k : k + 1], dtype=np.float32) for name, array in sensors.items()}
        given |= {**fed, "time_step": np.array([[k]], dtype=np.float32)}
        result = dict(zip(names, session.run(names, given), strict=True))
        for name, array in given.items():
            inputs[name].append(array)
        for name, array in result.items():
            outputs[name].append(array)
        fed = {name: result[source] for name, source in FED_BACK.items()}
    join = lambda lists: {name: np.concatenate(arrays) for name, arrays in lists.items()}  # noqa: E731
    return Golden(inputs=join(inputs), outputs=join(outputs))
