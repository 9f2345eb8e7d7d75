"""Which links to real robots there are, and how to open one by name.

What enters: the name in ``deploy.link``. What leaves: a function that opens it. A link's packages are loaded
only when it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from lagoon.deploy.config import DeployConfig
from lagoon.deploy.transport.base import Transport
from lagoon.errors import BadInputError, unknown_name
from lagoon.robot import RobotSpec

LINKS: dict[str, tuple[str, str]] = {"unitree": ("lagoon.deploy.unitree.transport", "open_link")}
"""Name to (module, function); the function takes (RobotSpec, DeployConfig) and returns an open Transport."""


def find_link(name: str) -> Callable[[RobotSpec, DeployConfig], Transport]:
    """Return what opens the link of this name; its packages are loaded now.

    Raises:
        BadInputError: no link is named, or there is none of this name.
    """
    if not name:
        raise BadInputError(
            "No link to a robot was named. For the fake robot add --sim; for a real one say over which link: "
            f"deploy.link=NAME. Known: {', '.join(sorted(LINKS)) or 'none yet'}."
        )
    if name not in LINKS:
        raise unknown_name("Link", name, LINKS, "Choose one with deploy.link=NAME, or rehearse with --sim.")
    module, function = LINKS[name]
    return getattr(importlib.import_module(module), function)
