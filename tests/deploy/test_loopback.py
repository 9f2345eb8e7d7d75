"""Tests talk to this computer only: Python's own sockets are refused, those of DDS are watched from outside."""

import re
import shutil
import socket
import subprocess
import sys

import pytest

LINK = """
import time
from lagoon.deploy.config import FakeRobotConfig
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.unitree.channel import Participant
from lagoon.deploy.unitree.fake import WireGo2
from lagoon.deploy.unitree import idl
from lagoon.robot import load_robot

domain = 131
go2 = WireGo2(FakeRobot(load_robot("go2"), FakeRobotConfig.perfect()), domain)
states = Participant("lo", domain).reader("rt/lowstate", idl.LowState)
end = time.monotonic() + 30.0
while not len(list(states.take())) and time.monotonic() < end:
    go2.step()
    time.sleep(0.002)
raise SystemExit(time.monotonic() >= end)
"""


@pytest.mark.parametrize("address", [("192.0.2.1", 9), ("2001:db8::1", 9, 0, 0)])
def test_a_test_cannot_reach_another_computer(address):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as made, pytest.raises(RuntimeError, match="this computer only"):
        made.connect(address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.connect(("127.0.0.1", 9))


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace watches what a library in C sends")
def test_dds_on_the_loopback_interface_sends_nothing_beyond_it(tmp_path):
    log = tmp_path / "calls"
    words = ["strace", "-f", "-qq", "-o", str(log), "-e", "trace=connect,sendto,sendmsg,sendmmsg,setsockopt"]
    done = subprocess.run([*words, sys.executable, "-c", LINK], capture_output=True, text=True, timeout=120)
    if "ptrace" in done.stderr.lower():
        pytest.skip("this computer lets nobody be watched")
    assert done.returncode == 0, done.stderr
    calls = log.read_text()
    sent = set(re.findall(r'(?:sendto|sendmsg|sendmmsg|connect)\(.*?sin6?_addr=.*?"([^"]+)"', calls))
    # One probe goes to a multicast group, through the loopback interface: 16777343 is 127.0.0.1.
    assert "127.0.0.1" in sent and sent <= {"127.0.0.1", "239.255.0.1"}
    assert set(re.findall(r"IP_MULTICAST_IF, \[(\d+)\]", calls)) <= {"16777343"}
