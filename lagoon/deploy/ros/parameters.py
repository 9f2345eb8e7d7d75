"""Parameters of the node: every number of the controller and its guards, by the name it has in Python.

What enters: a node. What leaves: declared parameters with their ranges, and frozen configs read from them.
Everything but ``skill`` is locked from configure on, since it has been used by then.
"""

# pyright: reportMissingImports=false
# ROS has an environment of its own; see the Makefile.
from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter

from lagoon.bundle import PolicyBundle, load
from lagoon.deploy.config import DeployConfig
from lagoon.deploy.controller import ControllerConfig, GuardConfig
from lagoon.deploy.recording.recorder import check_folder
from lagoon.deploy.ros.desk import JoyConfig
from lagoon.deploy.transport.links import LINKS
from lagoon.deploy.unitree.config import UnitreeConfig
from lagoon.errors import BadInputError, require

Config = TypeVar("Config")
DYNAMIC = ("skill",)
"""Parameters that may change at any time."""
SECTIONS: dict[str, type] = {
    "controller": ControllerConfig,
    "guards": GuardConfig,
    "joy": JoyConfig,
    "unitree": UnitreeConfig,
}
"""Prefix of parameters to the config that they make."""
PLAIN: dict[str, tuple[Any, str]] = {
    "robot": ("go2", "Which robot, as in 'lagoon list'."),
    "skills": ([""], "Folders of policy bundles, or of skills; all are loaded and checked when configuring."),
    "skill": ("", "Command text of the skill that ~/run starts; empty for the first one loaded."),
    "transport": ("ros", f"Link to the motors: {', '.join(sorted(LINKS))}; 'ros' is the topics of a driver."),
    "dry_run": (False, "Compute and publish everything but motor commands."),
    "record": ("", "Folder for a bag of each activation; empty for none. Needs the Python package rosbags."),
    "record_seconds": (600.0, "How much a bag holds at most, the newest [s]."),
    "autostart": (False, "Configure and activate at once, without a lifecycle manager."),
}


def declare(node: LifecycleNode) -> None:
    """Declare every parameter."""
    for name, (default, text) in PLAIN.items():
        node.declare_parameter(name, default, ParameterDescriptor(description=text))
    for prefix, config in SECTIONS.items():
        for item in fields(config):
            default = _default(item)
            if is_dataclass(default):
                continue
            descriptor = ParameterDescriptor(description=f"{config.__name__}.{item.name}")
            # 2 is as good as 2.0; ROS would end the node over it.
            descriptor.dynamic_typing = isinstance(default, float)
            ceiling = item.metadata.get("ceiling")
            if ceiling is not None and ceiling >= default:
                descriptor.floating_point_range = [FloatingPointRange(from_value=0.0, to_value=ceiling)]
            elif ceiling is not None:
                descriptor.floating_point_range = [FloatingPointRange(from_value=ceiling, to_value=1e3)]
            node.declare_parameter(f"{prefix}.{item.name}", default, descriptor)


def read(node: LifecycleNode, config: type[Config], prefix: str, **given: Any) -> Config:
    """Build a config from its parameters.

    Raises:
        BadInputError: a value cannot be used.
    """
    values = {}
    for item in fields(config):  # type: ignore[arg-type]
        default, key = _default(item), f"{prefix}.{item.name}"
        if is_dataclass(default):
            continue
        value = node.get_parameter(key).value
        if isinstance(default, float) and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise BadInputError(f"Parameter {key} is {value!r}; expected a number, such as {default:g}.")
        values[item.name] = float(value) if isinstance(default, float) else value
    return config(**values, **given)


def controller_config(node: LifecycleNode) -> ControllerConfig:
    """Return the controller's numbers with its guards'."""
    return read(node, ControllerConfig, "controller", guards=read(node, GuardConfig, "guards"))


def load_skills(node: LifecycleNode) -> list[PolicyBundle]:
    """Load and verify the bundles; a skill folder means the bundle inside it.

    Raises:
        LagoonError: a folder is missing or a bundle is damaged.
    """
    bundles = []
    for name in node.get_parameter("skills").value:
        if name:
            folder = Path(name).expanduser()
            bundles.append(load(folder / "bundle" if (folder / "bundle").is_dir() else folder))
    return bundles


def check_record(node: LifecycleNode) -> None:
    """Check the parameters ``record`` and ``record_seconds``.

    Raises:
        LagoonError: no bag can be written there, or with these packages.
    """
    folder, seconds = node.get_parameter("record").value, node.get_parameter("record_seconds").value
    if not 1.0 <= seconds <= 7200.0:
        raise BadInputError(f"Parameter record_seconds is {seconds:g}; expected 1 to 7200.")
    if folder:
        require("rosbags", extra="bag")
        check_folder(Path(folder).expanduser())


def deploy_config(node: LifecycleNode) -> DeployConfig:
    """Return the settings that a check of the bundles must have been made with, and those of the links."""
    return DeployConfig(controller=controller_config(node), unitree=read(node, UnitreeConfig, "unitree"))


def lock(node: LifecycleNode, is_configured: Callable[[], bool], known_skills: Callable[[], tuple[str, ...]]) -> None:
    """Refuse changes that would have no effect, and skills that are not loaded."""

    def check(parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if not is_configured():
                continue
            if parameter.name not in DYNAMIC:
                reason = (
                    f"Parameter {parameter.name} is locked from configure on. Clean the node up first, then set it."
                )
                return SetParametersResult(successful=False, reason=reason)
            if parameter.value not in ("", *known_skills()):
                known = ", ".join(known_skills()) or "none"
                reason = f"Skill '{parameter.value}' is not loaded. Loaded: {known}."
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)


def _default(item: Field) -> Any:
    return item.default if item.default is not MISSING else item.default_factory()  # type: ignore[misc]
