"""The controller that runs on a robot: one pure step, its modes, its guards. No ROS, no torch, no clock.

What enters: states, requests, times. What leaves: motor commands and events. numpy and onnxruntime only.
"""

from lagoon.deploy.controller.controller import Controller
from lagoon.deploy.controller.events import Event, Kind, Mode
from lagoon.deploy.controller.requests import NOTHING, Action, Request
from lagoon.deploy.controller.state_guard import Trip
from lagoon.deploy.controller_config import ControllerConfig, GuardConfig

__all__ = [
    "NOTHING",
    "Action",
    "Controller",
    "ControllerConfig",
    "Event",
    "GuardConfig",
    "Kind",
    "Mode",
    "Request",
    "Trip",
]
