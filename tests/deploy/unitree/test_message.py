import hashlib
import re

import numpy as np
import pytest

from lagoon.deploy.unitree import message
from lagoon.deploy.unitree.crc import crc32_words
from lagoon.deploy.unitree.layout import LOW_CMD, LOW_STATE, mask, moves, serialised_size
from lagoon.deploy.unitree.message import BadMessageError
from lagoon.robot import load_robot

# What unitree_sdk2py with its own crc library made of the same numbers, written down once: checksum and sha256 of the
# serialised sample.
VENDOR = {
    "LowCmd": (0xC81FBC03, "de5e8682d7d914d1d4f1a71260b27e54c8ba82c087f5c68cd3d82e1ec41a79d0"),
    "LowState": (0xB64DCF60, "d6d2ef4ed441332e4d43f9a8c6e5078471cc1aab4e2af4002d7f73ac0e4b1443"),
}
VENDOR_EMPTY = {"LowCmd": 0x4B5A4880, "LowState": 0x85F11EA6}


def bit_by_bit(words: np.ndarray) -> int:
    crc = 0xFFFFFFFF
    for word in words.tolist():
        for bit in range(31, -1, -1):
            carry = (crc >> 31) ^ (word >> bit & 1)
            crc = (crc << 1 & 0xFFFFFFFF) ^ (0x04C11DB7 if carry else 0)
    return crc


@pytest.fixture(params=["LowCmd", "LowState"])
def filled(request, cmd_numbers, state_numbers):
    new, numbers = {
        "LowCmd": (message.low_cmd, cmd_numbers),
        "LowState": (message.low_state, state_numbers),
    }[request.param]
    msg = new()
    msg.fields[...] = numbers
    return msg


def test_the_checksum_is_the_one_defined_bit_by_bit() -> None:
    rng = np.random.default_rng(0)
    for count in (1, 2, 7, 202):
        words = rng.integers(0, 2**32, count, dtype=np.uint32)
        assert crc32_words(words) == bit_by_bit(words)
    assert crc32_words(np.zeros(0, dtype=np.uint32)) == 0xFFFFFFFF


def test_sizes_are_those_of_the_vendor_and_few_moves_are_needed() -> None:
    assert (LOW_CMD.itemsize, serialised_size(LOW_CMD)) == (812, 4 + 808)
    assert (LOW_STATE.itemsize, serialised_size(LOW_STATE)) == (1180, 4 + 1176)
    assert len(moves(LOW_CMD)) == len(moves(LOW_STATE)) == 3


def test_bytes_and_checksum_are_the_vendors(filled) -> None:
    data = filled.encode()
    assert (int(filled.fields["crc"]), hashlib.sha256(data).hexdigest()) == VENDOR[filled.name]


@pytest.mark.parametrize("new", [message.low_cmd, message.low_state])
def test_the_checksum_of_zeros_is_the_vendors(new) -> None:
    msg = new()
    msg.encode()
    assert int(msg.fields["crc"]) == VENDOR_EMPTY[msg.name]


def test_what_is_encoded_is_decoded(filled) -> None:
    wanted, data = filled.fields.copy(), filled.encode()
    wanted["crc"] = filled.fields["crc"]
    filled.fields[...] = np.zeros((), filled.fields.dtype)
    assert filled.decode(data)
    assert filled.fields == wanted
    assert filled.encode() == data


def test_views_of_fields_stay_valid(filled) -> None:
    name = "motor_cmd" if filled.name == "LowCmd" else "motor_state"
    view = filled.fields[name]["q"]
    other = type(filled)(filled.name, filled.fields.dtype)
    other.fields[name]["q"] = np.arange(20)
    filled.decode(other.encode())
    assert view.tolist() == list(range(20))


def test_any_flipped_bit_of_a_number_is_noticed(filled) -> None:
    data = filled.encode()
    used = np.zeros(len(data), dtype=np.uint8)
    of_memory = mask(filled.fields.dtype).view(np.uint8)
    for wire, offset, size in moves(filled.fields.dtype):
        used[wire : wire + size] = of_memory[offset : offset + size]
    rng = np.random.default_rng(1)
    for at in range(4, len(data)):
        bad = bytearray(data)
        bad[at] ^= 1 << int(rng.integers(8))
        assert filled.decode(bytes(bad)) == (not used[at]), at


def test_what_lies_in_the_padding_changes_nothing(filled) -> None:
    """A sender that reuses its struct leaves rubbish between the fields; robots then ignored every command."""
    data = filled.encode()
    unused = ~mask(filled.fields.dtype)
    filled._words |= unused
    assert unused.any() and filled.checksum() == int(filled.fields["crc"])
    assert filled.encode() == data


@pytest.mark.parametrize(
    "spoil",
    [lambda b: b[:-1], lambda b: b + b"\0", lambda b: b"", lambda b: b"\0\0" + b[2:], lambda b: b"\0\x07" + b[2:]],
    ids=["short", "long", "empty", "big_endian", "xcdr2"],
)
def test_another_message_is_refused_and_nothing_is_changed(filled, spoil) -> None:
    before = filled.fields.copy()
    other = type(filled)(filled.name, filled.fields.dtype)
    with pytest.raises(BadMessageError, match=f"is no {filled.name}; expected {filled.size} bytes"):
        filled.decode(spoil(other.encode()))
    assert filled.fields == before
    with pytest.raises(BadMessageError, match=re.escape("begins with 00 01 00 00")):
        filled.decode(b"\0\1\0\0" + bytes(100))


def test_motor_slots_are_named_by_the_robot() -> None:
    """The bus counts FR first; lagoon's joints count FL first. Both orders are in robot.yaml, by name."""
    robot = load_robot("go2")
    assert robot.motor_names[:3] == ("FR_hip_joint", "FR_thigh_joint", "FR_calf_joint")
    assert [name[:2] for name in robot.motor_names[::3]] == ["FR", "FL", "RR", "RL"]
    assert [name[:2] for name in robot.joint_names[::3]] == ["FL", "FR", "RL", "RR"]
