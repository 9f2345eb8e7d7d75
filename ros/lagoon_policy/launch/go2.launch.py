"""Starts lagoon_policy with its parameters; autostart:=true configures and activates it, which moves nothing yet.

ros2 launch lagoon_policy go2.launch.py skills:="[/home/me/skills/wave-hello-b84e317c]" autostart:=true
"""

from typing import List  # noqa: UP035

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description() -> LaunchDescription:
    """Return the node and what may be set from the command line."""
    parameters = PathJoinSubstitution([FindPackageShare("lagoon_policy"), "config", "go2.yaml"])
    return LaunchDescription(
        [
            DeclareLaunchArgument("params_file", default_value=parameters, description="Numbers of the controller."),
            DeclareLaunchArgument("skills", default_value="['']", description="Folders of skills, as a YAML list."),
            DeclareLaunchArgument("autostart", default_value="false", description="Configure and activate at once."),
            DeclareLaunchArgument("use_sim_time", default_value="false", description="Follow /clock."),
            DeclareLaunchArgument("namespace", default_value="", description="Of the node and its topics."),
            LifecycleNode(
                package="lagoon_policy",
                executable="lagoon_policy",
                name="lagoon_policy",
                namespace=LaunchConfiguration("namespace"),
                output="screen",
                parameters=[
                    LaunchConfiguration("params_file"),
                    {
                        # launch compares with typing.List, which list[str] is not.
                        "skills": ParameterValue(LaunchConfiguration("skills"), value_type=List[str]),  # noqa: UP006
                        "autostart": ParameterValue(LaunchConfiguration("autostart"), value_type=bool),
                        "use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool),
                    },
                ],
            ),
        ]
    )
