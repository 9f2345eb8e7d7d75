"""The IDL types of Cyclone DDS write the same bytes: an independent serialiser."""

import importlib.metadata

import numpy as np
import pytest

from lagoon.deploy.unitree import idl, message


def twin(cls, numbers: np.ndarray):
    nested = {
        "motor_cmd": idl.MotorCmd,
        "bms_cmd": idl.BmsCmd,
        "imu_state": idl.IMUState,
        "motor_state": idl.MotorState,
        "bms_state": idl.BmsState,
    }
    values = {}
    for name in numbers.dtype.names or ():
        value = numbers[name]
        if name in nested:
            inner = nested[name]
            values[name] = [twin(inner, item) for item in value] if value.ndim else twin(inner, value)
        else:
            values[name] = value.tolist()
    return cls(**values)


@pytest.mark.parametrize("name", ["LowCmd", "LowState"])
def test_bytes_are_those_of_the_idl_serialiser(name, cmd_numbers, state_numbers) -> None:
    msg, numbers, cls = {
        "LowCmd": (message.low_cmd(), cmd_numbers, idl.LowCmd),
        "LowState": (message.low_state(), state_numbers, idl.LowState),
    }[name]
    msg.fields[...] = numbers
    data = msg.encode()
    numbers["crc"] = msg.fields["crc"]
    assert twin(cls, numbers).serialize() == data
    assert cls.deserialize(data).serialize() == data


def test_random_numbers_come_back_from_the_idl_serialiser() -> None:
    rng = np.random.default_rng(3)
    ours = message.low_state()
    for _ in range(20):
        ours._memory[:] = rng.integers(0, 256, ours._memory.size, dtype=np.uint8)
        for group, names in (("imu_state", ("quaternion", "gyroscope", "accelerometer", "rpy")), ("motor_state", ())):
            for field in names or [n for n, (t, *_) in ours.fields[group].dtype.fields.items() if t.kind == "f"]:
                ours.fields[group][field] = rng.normal(size=ours.fields[group][field].shape)
        for field in ("adc_reel", "power_v", "power_a"):
            ours.fields[field] = rng.normal()
        data = ours.encode()
        assert idl.LowState.deserialize(data).serialize() == data
        assert ours.decode(data)


def test_the_types_have_the_vendors_names() -> None:
    names = [cls.__idl__.idl_transformed_typename for cls in (idl.LowCmd, idl.LowState, idl.MotorCmd, idl.IMUState)]
    assert names == [f"unitree_go::msg::dds_::{n}_" for n in ("LowCmd", "LowState", "MotorCmd", "IMUState")]
    assert importlib.metadata.version("cyclonedds")
