"""What ``ros2 run lagoon_policy NAME`` calls."""

import sys


def _lagoon(name):
    try:
        import importlib

        return importlib.import_module(f"lagoon.deploy.ros.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("lagoon", "onnxruntime"):
            raise
        sys.exit(
            f"The package '{error.name}' is not installed for {sys.executable}. In a checkout of lagoon type: "
            f'{sys.executable} -m pip install -e ".[deploy]"'
        )


def node():
    """Run the controller."""
    sys.exit(_lagoon("node").main())


def fake():
    """Run a fake Go2, to rehearse with."""
    sys.exit(_lagoon("fake").main())
