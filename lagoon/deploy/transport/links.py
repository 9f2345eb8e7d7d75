"""Which links to robots there are, and how to open one by name.

What enters: the name in ``deploy.link``, or in the node's parameter ``transport``. What leaves: a function that
opens it. A link's packages are loaded only when it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from lagoon.deploy.transport.base import Transport
from lagoon.errors import BadInputError, unknown_name

Opener = Callable[[], Transport]
"""Opens a link; again after ``close``, if it is called again."""

LINKS: dict[str, tuple[str, str]] = {
    "ros": ("lagoon.deploy.ros.link", "prepare_link"),
    "unitree": ("lagoon.deploy.unitree.transport", "prepare_link"),
}
"""Name to (module, function); the function takes (RobotSpec, DeployConfig, host) and returns an Opener. ``host`` is the
ROS node that steps the controller, or None."""
FAKES: dict[str, str] = {"unitree": "lagoon.deploy.unitree.fake"}
"""Name to the program that is a fake robot at the other end, for those that need no node."""


def find_link(name: str, how: str = "deploy.link=NAME, or rehearse with --sim") -> Callable[..., Opener]:
    """Return what prepares the link of this name; its packages are loaded now.

    Args:
        name: of the link.
        how: how to choose another one.

    Raises:
        BadInputError: no link is named, or there is none of this name.
    """
    if not name:
        raise BadInputError(
            "No link to a robot was named. For the fake robot add --sim; for a real one say over which link: "
            f"deploy.link=NAME. Known: {', '.join(sorted(LINKS))}."
        )
    if name not in LINKS:
        raise unknown_name("Link", name, LINKS, f"Choose one with {how}.")
    module, function = LINKS[name]
    return getattr(importlib.import_module(module), function)


def find_fake(name: str) -> str:
    """Return the program of the fake robot for a link.

    Raises:
        BadInputError: no such link, or its fake robot belongs to a node.
    """
    if name not in LINKS:
        raise unknown_name("Link", name, LINKS, "Choose one with deploy.link=NAME, or leave it out.")
    if name not in FAKES:
        raise BadInputError(
            f"--sim cannot start the other end of the link '{name}', which needs a node. docs/deploy_{name}.md says "
            "how to rehearse with it; --sim alone rehearses in one process."
        )
    return FAKES[name]
