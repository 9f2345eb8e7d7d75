"""The Go2's messages as IDL types of Cyclone DDS, which announces them to the robot under the vendor's names.

What enters: nothing. What leaves: dataclasses. Names, order and types of the fields are the interface of
unitree_ros2 (BSD-3-Clause). Importing this file needs the extra ``unitree``. Samples are not made of
these: ``message.py`` writes the same bytes many times faster.
"""

# No `from __future__ import annotations`: cyclonedds reads the annotations as objects.

from dataclasses import dataclass

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import autoid, final
from cyclonedds.idl.types import array, float32, int16, int32, uint8, uint16, uint32

NAMESPACE = "unitree_go.msg.dds_"


@dataclass
@final
@autoid("sequential")
class MotorCmd(IdlStruct, typename=f"{NAMESPACE}.MotorCmd_"):
    """Target of one motor."""

    mode: uint8
    q: float32
    dq: float32
    tau: float32
    kp: float32
    kd: float32
    reserve: array[uint32, 3]


@dataclass
@final
@autoid("sequential")
class BmsCmd(IdlStruct, typename=f"{NAMESPACE}.BmsCmd_"):
    """Command to the battery."""

    off: uint8
    reserve: array[uint8, 3]


@dataclass
@final
@autoid("sequential")
class LowCmd(IdlStruct, typename=f"{NAMESPACE}.LowCmd_"):
    """rt/lowcmd."""

    head: array[uint8, 2]
    level_flag: uint8
    frame_reserve: uint8
    sn: array[uint32, 2]
    version: array[uint32, 2]
    bandwidth: uint16
    motor_cmd: array[MotorCmd, 20]
    bms_cmd: BmsCmd
    wireless_remote: array[uint8, 40]
    led: array[uint8, 12]
    fan: array[uint8, 2]
    gpio: uint8
    reserve: uint32
    crc: uint32


@dataclass
@final
@autoid("sequential")
class IMUState(IdlStruct, typename=f"{NAMESPACE}.IMUState_"):
    """Inertial measurement."""

    quaternion: array[float32, 4]
    gyroscope: array[float32, 3]
    accelerometer: array[float32, 3]
    rpy: array[float32, 3]
    temperature: uint8


@dataclass
@final
@autoid("sequential")
class MotorState(IdlStruct, typename=f"{NAMESPACE}.MotorState_"):
    """Measurement of one motor."""

    mode: uint8
    q: float32
    dq: float32
    ddq: float32
    tau_est: float32
    q_raw: float32
    dq_raw: float32
    ddq_raw: float32
    temperature: uint8
    lost: uint32
    reserve: array[uint32, 2]


@dataclass
@final
@autoid("sequential")
class BmsState(IdlStruct, typename=f"{NAMESPACE}.BmsState_"):
    """Battery."""

    version_high: uint8
    version_low: uint8
    status: uint8
    soc: uint8
    current: int32
    cycle: uint16
    bq_ntc: array[uint8, 2]
    mcu_ntc: array[uint8, 2]
    cell_vol: array[uint16, 15]


@dataclass
@final
@autoid("sequential")
class LowState(IdlStruct, typename=f"{NAMESPACE}.LowState_"):
    """rt/lowstate."""

    head: array[uint8, 2]
    level_flag: uint8
    frame_reserve: uint8
    sn: array[uint32, 2]
    version: array[uint32, 2]
    bandwidth: uint16
    imu_state: IMUState
    motor_state: array[MotorState, 20]
    bms_state: BmsState
    foot_force: array[int16, 4]
    foot_force_est: array[int16, 4]
    tick: uint32
    wireless_remote: array[uint8, 40]
    bit_flag: uint8
    adc_reel: float32
    temperature_ntc1: uint8
    temperature_ntc2: uint8
    power_v: float32
    power_a: float32
    fan_frequency: array[uint16, 4]
    reserve: uint32
    crc: uint32
