"""The ROS package around the node: its files agree with one another and with lagoon. No ROS is needed for that."""

import ast
import dataclasses
import re
import runpy
import sys
import types
import xml.etree.ElementTree as ET
from pathlib import Path

import yaml

from lagoon import __version__
from lagoon.deploy.ros.desk import JoyConfig
from lagoon.deploy.unitree.config import UnitreeConfig
from lagoon.robot import known_robots

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ros" / "lagoon_policy"


def test_version_and_name_are_the_same_everywhere() -> None:
    package = ET.parse(PACKAGE / "package.xml").getroot()
    setup = (PACKAGE / "setup.py").read_text()
    assert (package.findtext("name"), package.findtext("version")) == ("lagoon_policy", __version__)
    assert f'version="{__version__}"' in setup and (PACKAGE / "resource" / "lagoon_policy").is_file()
    for path in re.findall(r'\["((?:launch|config)/[^"]+|package\.xml)"\]', setup):
        assert (PACKAGE / path).is_file(), path


def test_every_ros_package_that_the_node_imports_is_a_dependency() -> None:
    named = {element.text for element in ET.parse(PACKAGE / "package.xml").getroot().iter("exec_depend")}
    used = set()
    for path in (ROOT / "lagoon" / "deploy" / "ros").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                used.add(node.module.split(".")[0])
    used = {name for name in used if name == "rclpy" or name.endswith(("_msgs", "_srvs", "_interfaces"))}
    assert "rclpy" in used and used <= named, used - named


def test_entry_points_exist() -> None:
    points = re.findall(r"\w+ = lagoon_policy\.start:(\w+)", (PACKAGE / "setup.py").read_text())
    tree = ast.parse((PACKAGE / "lagoon_policy" / "start.py").read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert points and set(points) <= functions
    ast.parse((PACKAGE / "launch" / "go2.launch.py").read_text())


def test_the_launch_file_starts_an_entry_point_with_parameters_that_the_node_declares(monkeypatch) -> None:
    """There is no launch among the wheels: stand-ins keep what the file asks for."""
    asked: dict[str, dict] = {}

    def stand_in(name):
        return lambda *words, **given: asked.setdefault(name, {}).update({words[0] if words else "": given}) or name

    names = {
        "launch": ["LaunchDescription"],
        "launch.actions": ["DeclareLaunchArgument"],
        "launch.substitutions": ["LaunchConfiguration", "PathJoinSubstitution"],
        "launch_ros": [],
        "launch_ros.actions": ["LifecycleNode"],
        "launch_ros.parameter_descriptions": ["ParameterValue"],
        "launch_ros.substitutions": ["FindPackageShare"],
    }
    used = []
    for module, content in names.items():
        fake = types.ModuleType(module)
        for name in content:
            setattr(fake, name, stand_in(name))
        if module == "launch.substitutions":
            fake.LaunchConfiguration = lambda name: used.append(name) or name
            fake.PathJoinSubstitution = lambda parts: "/".join(parts)
        if module == "launch":
            fake.LaunchDescription = list
        monkeypatch.setitem(sys.modules, module, fake)
    runpy.run_path(str(PACKAGE / "launch" / "go2.launch.py"))["generate_launch_description"]()
    (node,) = asked["LifecycleNode"].values()
    points = re.findall(r"(\w+) = lagoon_policy\.start:", (PACKAGE / "setup.py").read_text())
    assert node["package"] == PACKAGE.name and node["executable"] in points and node["name"] == "lagoon_policy"
    assert set(used) <= set(asked["DeclareLaunchArgument"])
    source = (ROOT / "lagoon" / "deploy" / "ros" / "parameters.py").read_text()
    assert all(f'"{name}": (' in source for name in set(node["parameters"][1]) - {"use_sim_time"})


def test_the_parameters_are_known_and_usable() -> None:
    values = yaml.safe_load((PACKAGE / "config" / "go2.yaml").read_text())["/**/lagoon_policy"]["ros__parameters"]
    assert values.pop("robot") in known_robots() and values.pop("transport") in ("ros", "unitree")
    for name, config in (("joy", JoyConfig), ("unitree", UnitreeConfig)):
        section = values.pop(name)
        assert set(section) <= {field.name for field in dataclasses.fields(config)}
        config(**section)
    assert values == {}
