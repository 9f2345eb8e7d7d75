"""The ROS 2 package lagoon_policy; the code is in lagoon.deploy.ros, which pip installs with lagoon."""

from setuptools import setup

NAME = "lagoon_policy"

setup(
    name=NAME,
    version="0.1.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", ["launch/go2.launch.py"]),
        (f"share/{NAME}/config", ["config/go2.yaml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="The lagoon authors",
    maintainer_email="lagoon-robotics@users.noreply.github.com",
    description="Runs policies made by lagoon on a quadruped: a lifecycle node with standard messages.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "lagoon_policy = lagoon_policy.start:node",
            "fake_go2 = lagoon_policy.start:fake",
        ]
    },
)
