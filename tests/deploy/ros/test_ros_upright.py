"""The upright wave of every link, over ROS topics."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "transport"))
from test_ros_link import link  # noqa: F401
from test_upright_skill import *  # noqa: F403
