"""The table of the graph's inputs and outputs: the same for every skill but for two sizes.

What enters: the number of joints and the size of the policy's state. What leaves: ports with name,
shape, unit and meaning, for bundle.yaml, for export and for the check at load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BATCH = "batch"
"""Name of the leading, free axis of every input and output."""


@dataclass(frozen=True)
class Port:
    """One named input or output of the graph, float32."""

    name: str
    shape: tuple[str | int, ...]
    """Leading axis ``batch``, then fixed sizes."""
    unit: str
    meaning: str
    """Frame, order and initial value, in words."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for YAML and JSON."""
        return {"name": self.name, "shape": list(self.shape), "unit": self.unit, "meaning": self.meaning}

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(str(size) for size in self.shape)})"


def input_ports(joints: int, state: int) -> tuple[Port, ...]:
    """Return the graph's inputs for J joints and a policy state of S numbers."""
    return (
        Port("joint_pos", (BATCH, joints), "rad", "measured joint positions, joint_names order"),
        Port("joint_vel", (BATCH, joints), "rad/s", "measured joint velocities, joint_names order"),
        Port("imu_quat", (BATCH, 4), "1", "measured orientation, wxyz, base to world; any heading"),
        Port("imu_ang_vel", (BATCH, 3), "rad/s", "gyro, base frame"),
        Port("prev_action", (BATCH, joints), "1", "the output 'action' of the tick before; zeros at first"),
        Port("time_step", (BATCH, 1), "1", "control ticks since the start: 0, 1, 2, ..."),
        Port("state", (BATCH, state), "1", "the output 'state_out' of the tick before; zeros at first; opaque"),
    )


def output_ports(joints: int, state: int) -> tuple[Port, ...]:
    """Return the graph's outputs for J joints and a policy state of S numbers."""
    return (
        Port("joint_pos_target", (BATCH, joints), "rad", "targets of the joint controller, joint_names order"),
        Port("action", (BATCH, joints), "1", "raw action, fed back as 'prev_action'"),
        Port("state_out", (BATCH, state), "1", "fed back as 'state'"),
    )
