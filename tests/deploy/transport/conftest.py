"""Links to one fake robot: every test of test_every_link.py runs over each of them.

A new link is one more entry of LINKS: a context manager that takes a FakeRobot and gives an open Transport
whose ``sleep_until`` moves that robot. Links with a clock of their own run in step with it here: a busy machine
makes a test slower, and changes nothing else. The link over ROS needs an environment of its own and has its entry in
tests/deploy/ros/test_ros_link.py.
"""

import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unitree"))

from lockstep import CAN_RUN, DOMAINS, Lockstep

from lagoon.deploy.transport.in_process import InProcessTransport


@contextmanager
def unitree(fake):
    """The Go2's own messages over DDS on the loopback interface."""
    domain = next(DOMAINS)
    with closing(Lockstep(fake.robot, domain, fake).link(fake.robot, domain)) as transport:
        yield transport


LINKS = {"in process": lambda fake: closing(InProcessTransport(fake))} | ({"unitree": unitree} if CAN_RUN else {})


@pytest.fixture(params=LINKS)
def link(request, fake):
    with LINKS[request.param](fake) as transport:
        yield transport
