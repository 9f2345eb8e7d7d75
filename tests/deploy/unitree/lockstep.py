"""A fake Go2 on the wire, and a link to it, in step with the simulation's clock."""

import importlib.util
import itertools
import os
import platform
import sys
import threading
import time

from lagoon.deploy.config import FakeRobotConfig
from lagoon.deploy.fake_robot import FakeRobot
from lagoon.deploy.unitree.config import UnitreeConfig
from lagoon.deploy.unitree.fake import WireGo2
from lagoon.deploy.unitree.transport import UnitreeTransport

HAS_WHEELS = sys.platform == "linux" and platform.machine() == "x86_64" and sys.version_info < (3, 14)
CAN_RUN = HAS_WHEELS or importlib.util.find_spec("cyclonedds") is not None
"""Where the extra ``dev`` brings cyclonedds, its absence is a fault of the installation, and no reason to skip."""
DOMAINS = itertools.count(40 + os.getpid() % 90)
"""DDS domains, so that no two tests hear each other."""


class Lockstep:
    """A fake Go2 on the wire and a link to it. Bytes travel over the loopback interface, time is the simulation's.

    So a busy machine makes a test slower, and changes nothing else.
    """

    def __init__(self, robot, domain, fake=None):
        self.time = 0.0
        self.go2 = WireGo2(fake or FakeRobot(robot, FakeRobotConfig.perfect()), domain, lambda: self.time)
        self.sent = []
        send = self.go2.fake.send
        self.go2.fake.send = lambda command: (self.sent.append(command), send(command))[1]

    def link(self, robot, domain, listen_seconds=0.1):
        """Open the link while the robot runs in real time, then take its time over."""
        config, stop = UnitreeConfig(domain=domain), threading.Event()
        object.__setattr__(config, "listen_seconds", listen_seconds)  # Shorter than a user may ask for.

        def run():
            while not stop.is_set():
                self.time += 0.002
                self.go2.step()
                time.sleep(0.001)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            link = UnitreeTransport(robot, config)
            while not link._writer.num_readers:
                time.sleep(0.005)
        finally:
            stop.set()
            thread.join()
        link.now = lambda: self.time
        link.sleep_until = lambda deadline: self.advance(deadline, link)
        return link

    def advance(self, deadline, link):
        """Run to the deadline, and until the state of that time has come through."""
        while self.time < deadline - 1e-9:
            self.time += 0.002
            self.go2.step()
        patience = time.monotonic() + 2.0
        while link.read() and link._states.tick != self.go2.tick and time.monotonic() < patience:
            time.sleep(0)

    def until(self, happened, seconds=5.0):
        """Step the robot in place until something is true; time does not pass."""
        patience = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < patience, "it did not happen"
            self.go2.step()
            time.sleep(0.001)
