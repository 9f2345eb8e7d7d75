"""How long the Go2's messages take to write and read: lagoon's codec against Cyclone DDS's Python serialiser.

Usage:
    python benchmarks/deploy/bench_codec.py [--rounds 200] [--json FILE]

Both do the same work on the same numbers in the same process, turn by turn, so that a busy machine slows both. One
command is twelve joints put into their motor slots, the checksum and the bytes; one state is the checksum and twelve
joints and the IMU taken out as arrays. The serialiser has no checksum of its own: it gets lagoon's, since the vendor's,
in Python, takes as long as the serialising. So the ratios are lower bounds. Needs the extra ``unitree``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np

from lagoon import __version__
from lagoon.deploy.unitree import idl, message
from lagoon.robot import load_robot

CALLS = 20
"""Calls in one turn."""


def commands() -> tuple[Callable[[], bytes], Callable[[], bytes]]:
    robot = load_robot("go2")
    to_motors = robot.joint_ids(robot.motor_names)
    rng = np.random.default_rng(0)
    pos, vel, torque = rng.normal(size=(3, robot.num_joints))
    ours = message.low_cmd()
    motors = ours.fields["motor_cmd"][: robot.num_joints]
    motors["mode"] = 1
    other = message.low_cmd()

    def fast() -> bytes:
        values = (pos, vel, torque, robot.kp, robot.kd)
        for name, array in zip(("q", "dq", "tau", "kp", "kd"), values, strict=True):
            motors[name] = array[to_motors]
        return ours.encode()

    empty = message.low_cmd().encode()
    sample = idl.LowCmd.deserialize(empty)
    for motor in sample.motor_cmd[: robot.num_joints]:
        motor.mode = 1

    def slow() -> bytes:
        for motor, j in enumerate(to_motors.tolist()):
            cmd = sample.motor_cmd[motor]
            cmd.q, cmd.dq, cmd.tau, cmd.kp, cmd.kd = pos[j], vel[j], torque[j], robot.kp[j], robot.kd[j]
        data = sample.serialize()
        other.decode(data)
        return data[:-4] + other.checksum().to_bytes(4, "little")

    assert fast() == slow()
    return fast, slow


def states() -> tuple[Callable[[], np.ndarray], Callable[[], np.ndarray]]:
    robot = load_robot("go2")
    of_joints = np.array([robot.motor_names.index(name) for name in robot.joint_names])
    ours, other = message.low_state(), message.low_state()
    rng = np.random.default_rng(1)
    for name in ("q", "dq", "tau_est"):
        ours.fields["motor_state"][name] = rng.normal(size=20)
    ours.fields["imu_state"]["quaternion"] = [1.0, 0.0, 0.0, 0.0]
    data = ours.encode()
    motors, imu = ours.fields["motor_state"], ours.fields["imu_state"]

    def fast() -> np.ndarray:
        assert ours.decode(data)
        rows = [motors[name][of_joints] for name in ("q", "dq", "tau_est")]
        return np.concatenate([*rows, imu["quaternion"], imu["gyroscope"]])

    def slow() -> np.ndarray:
        sample = idl.LowState.deserialize(data)
        assert other.decode(data)
        rows = [[getattr(sample.motor_state[m], name) for m in of_joints.tolist()] for name in ("q", "dq", "tau_est")]
        return np.array([*rows[0], *rows[1], *rows[2], *sample.imu_state.quaternion, *sample.imu_state.gyroscope])

    assert np.array_equal(fast(), slow().astype(np.float32))
    return fast, slow


def timed(call: Callable[[], object]) -> float:
    start = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - start) / CALLS


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    args = parser.parse_args()
    result = {}
    for name, (fast, slow) in (("LowCmd", commands()), ("LowState", states())):
        seconds = np.array([(timed(fast), timed(slow)) for _ in range(args.rounds)])
        ratios = seconds[:, 1] / seconds[:, 0]
        result[name] = {
            "codec_us": 1e6 * float(np.median(seconds[:, 0])),
            "idl_us": 1e6 * float(np.median(seconds[:, 1])),
            "ratio": float(np.median(ratios)),
            "ratio_p5": float(np.percentile(ratios, 5)),
        }
        print(f"{name:10s}" + "  ".join(f"{key} {value:8.1f}" for key, value in result[name].items()))
    if args.json:
        facts = {
            "date": date.today().isoformat(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
            "lagoon": __version__,
        }
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({**facts, **result}, indent=2) + "\n")


if __name__ == "__main__":
    main()
