"""The two messages of the Go2's low level, as structs, and where their bytes lie on the wire.

What enters: nothing. What leaves: numpy struct types with the alignment of the vendor's C structs, over
which the checksum is taken, and for each the moves between that struct and the serialised sample.
Names and order of the fields: ``unitree_go/msg/LowCmd.msg`` and ``LowState.msg`` of unitree_ros2
(BSD-3-Clause). ``idl.py`` says the same to DDS; a test compares the two byte by byte.

DDS serialises to XCDR1, little-endian: each number at a multiple of its own size, counted from behind a
header of four bytes, and no padding at the end of a struct. The C struct pads nested structs as a whole.
So the same bytes lie at other places in the first part of the message only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

NUM_MOTORS = 20
"""Motor slots of a message; the Go2 uses the first twelve."""
HEADER = b"\x00\x01\x00\x00"
"""Encapsulation of XCDR1, little-endian, no options."""


def _struct(*fields: tuple) -> np.dtype:
    return np.dtype(list(fields), align=True)


MOTOR_CMD = _struct(
    ("mode", "<u1"),
    ("q", "<f4"),
    ("dq", "<f4"),
    ("tau", "<f4"),
    ("kp", "<f4"),
    ("kd", "<f4"),
    ("reserve", "<u4", (3,)),
)
"""Target of one motor [rad, rad/s, Nm, Nm/rad, Nm s/rad]; mode 1 lets it act."""

LOW_CMD = _struct(
    ("head", "<u1", (2,)),
    ("level_flag", "<u1"),
    ("frame_reserve", "<u1"),
    ("sn", "<u4", (2,)),
    ("version", "<u4", (2,)),
    ("bandwidth", "<u2"),
    ("motor_cmd", MOTOR_CMD, (NUM_MOTORS,)),
    ("bms_cmd", _struct(("off", "<u1"), ("reserve", "<u1", (3,)))),
    ("wireless_remote", "<u1", (40,)),
    ("led", "<u1", (12,)),
    ("fan", "<u1", (2,)),
    ("gpio", "<u1"),
    ("reserve", "<u4"),
    ("crc", "<u4"),
)
"""rt/lowcmd."""

IMU_STATE = _struct(
    ("quaternion", "<f4", (4,)),
    ("gyroscope", "<f4", (3,)),
    ("accelerometer", "<f4", (3,)),
    ("rpy", "<f4", (3,)),
    ("temperature", "<u1"),
)
"""Orientation w, x, y, z; gyro [rad/s] and accelerometer [m/s^2] in the base frame."""

MOTOR_STATE = _struct(
    ("mode", "<u1"),
    ("q", "<f4"),
    ("dq", "<f4"),
    ("ddq", "<f4"),
    ("tau_est", "<f4"),
    ("q_raw", "<f4"),
    ("dq_raw", "<f4"),
    ("ddq_raw", "<f4"),
    ("temperature", "<u1"),
    ("lost", "<u4"),
    ("reserve", "<u4", (2,)),
)
"""Measurement of one motor [rad, rad/s, rad/s^2, Nm, deg C]."""

BMS_STATE = _struct(
    ("version_high", "<u1"),
    ("version_low", "<u1"),
    ("status", "<u1"),
    ("soc", "<u1"),
    ("current", "<i4"),
    ("cycle", "<u2"),
    ("bq_ntc", "<u1", (2,)),
    ("mcu_ntc", "<u1", (2,)),
    ("cell_vol", "<u2", (15,)),
)
"""Battery; soc is the charge [%], current in [mA], cells in [mV]."""

LOW_STATE = _struct(
    ("head", "<u1", (2,)),
    ("level_flag", "<u1"),
    ("frame_reserve", "<u1"),
    ("sn", "<u4", (2,)),
    ("version", "<u4", (2,)),
    ("bandwidth", "<u2"),
    ("imu_state", IMU_STATE),
    ("motor_state", MOTOR_STATE, (NUM_MOTORS,)),
    ("bms_state", BMS_STATE),
    ("foot_force", "<i2", (4,)),
    ("foot_force_est", "<i2", (4,)),
    ("tick", "<u4"),
    ("wireless_remote", "<u1", (40,)),
    ("bit_flag", "<u1"),
    ("adc_reel", "<f4"),
    ("temperature_ntc1", "<u1"),
    ("temperature_ntc2", "<u1"),
    ("power_v", "<f4"),
    ("power_a", "<f4"),
    ("fan_frequency", "<u2", (4,)),
    ("reserve", "<u4"),
    ("crc", "<u4"),
)
"""rt/lowstate; tick counts milliseconds on the robot's clock."""


def _numbers(struct: np.dtype, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield (offset, size) of every number of a struct, in the order of its fields."""
    if struct.subdtype is not None:
        item, shape = struct.subdtype
        for k in range(int(np.prod(shape))):
            yield from _numbers(item, start + k * item.itemsize)
    elif struct.fields is not None:
        for field, offset, *_ in sorted(struct.fields.values(), key=lambda entry: entry[1]):
            yield from _numbers(field, start + offset)
    else:
        yield start, struct.itemsize


def serialised_size(struct: np.dtype) -> int:
    """Return the bytes of the serialised sample, header included."""
    start, _, size = moves(struct)[-1]
    return start + size


def moves(struct: np.dtype) -> list[tuple[int, int, int]]:
    """Return (serialised offset, struct offset, size) of the pieces that a message is copied in.

    Numbers that lie equally far apart on both sides form one piece, with the padding between them. Offsets of the
    sample count from the start of its header.
    """
    pieces: list[tuple[int, int, int]] = []
    end = 0
    for offset, size in _numbers(struct):
        at = -(-end // size) * size
        end = at + size
        wire = at + len(HEADER)
        if pieces and pieces[-1][0] - pieces[-1][1] == wire - offset:
            first = pieces[-1]
            pieces[-1] = (first[0], first[1], wire + size - first[0])
        else:
            pieces.append((wire, offset, size))
    return pieces


def mask(struct: np.dtype) -> np.ndarray:
    """Return the struct's words with all bits set that belong to a number, and none of the padding.

    The checksum counts padding as zeros; what a sender left there does not matter.
    """
    used = np.zeros(struct.itemsize, dtype=np.uint8)
    for offset, size in _numbers(struct):
        used[offset : offset + size] = 0xFF
    return used.view("<u4")
