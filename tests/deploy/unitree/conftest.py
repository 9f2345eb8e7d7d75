"""Messages whose every number differs; a fake Go2 on the loopback interface."""

import sys
from pathlib import Path

import numpy as np
import pytest

from lagoon.deploy.unitree.layout import LOW_CMD, LOW_STATE

sys.path.insert(0, str(Path(__file__).parent))
from lockstep import CAN_RUN, DOMAINS, Lockstep

if not CAN_RUN:
    collect_ignore_glob = ["test_*.py"]


def counted(struct: np.dtype, counter: list[int] | None = None) -> np.ndarray:
    """A struct in which the k-th number is a function of k, below what a signed number of its size holds."""
    counter = [0] if counter is None else counter
    out = np.zeros((), struct)
    for name in struct.names or ():
        field = struct.fields[name][0]
        item, shape = field.subdtype or (field, ())
        values = []
        for _ in range(int(np.prod(shape, dtype=int))):
            if item.names:
                values.append(counted(item, counter))
                continue
            counter[0] += 1
            k = counter[0]
            high = 2 ** (8 * item.itemsize - 1) - 1
            values.append(k * 0.37 - 40.0 if item.kind == "f" else k * 2654435761 % high)
        if item.names:
            out[name] = np.array(values, item).reshape(shape)
        else:
            out[name] = np.array(values).astype(item).reshape(shape)
    return out


@pytest.fixture(scope="session")
def every_cmd_number():
    return counted(LOW_CMD)


@pytest.fixture(scope="session")
def every_state_number():
    return counted(LOW_STATE)


@pytest.fixture
def cmd_numbers(every_cmd_number):
    return every_cmd_number.copy()


@pytest.fixture
def state_numbers(every_state_number):
    return every_state_number.copy()


@pytest.fixture
def domain():
    """A DDS domain of its own for every test."""
    return next(DOMAINS)


@pytest.fixture
def wire(robot, domain):
    return Lockstep(robot, domain)
