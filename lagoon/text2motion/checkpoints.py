"""Training checkpoints in safetensors, never a pickle.

What enters: modules, an optimizer, a step count. What leaves: one file that is whole or absent.
"""

from __future__ import annotations

import time
from pathlib import Path

import torch

from lagoon.errors import CorruptFileError, require
from lagoon.paths import write_bytes


class Periodic:
    """Says when so many seconds have passed since it last said so."""

    def __init__(self, seconds: float) -> None:
        """Start counting now."""
        self.seconds, self.last = seconds, time.monotonic()

    def due(self) -> bool:
        """True once per period."""
        if time.monotonic() - self.last < self.seconds:
            return False
        self.last = time.monotonic()
        return True


def save_checkpoint(
    path: Path, modules: dict[str, torch.nn.Module], optimizer: torch.optim.Optimizer, step: int
) -> None:
    """Write modules, the optimizer's tensors and the step."""
    tensors = {f"{name}/{key}": value for name, m in modules.items() for key, value in m.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors.update({f"optimizer/{index}/{key}": torch.as_tensor(value) for key, value in state.items()})
    content = require("safetensors.torch", "text2motion").save(
        {key: value.detach().clone().contiguous() for key, value in tensors.items()}, metadata={"step": str(step)}
    )
    write_bytes(path, content)


def load_checkpoint(path: Path, modules: dict[str, torch.nn.Module], optimizer: torch.optim.Optimizer) -> int:
    """Restore what save_checkpoint wrote and return its step; 0 when there is no checkpoint.

    Raises:
        CorruptFileError: the file cannot be read or belongs to a model of other sizes.
    """
    if not path.is_file():
        return 0
    safe_open = require("safetensors", "text2motion").safe_open
    try:
        with safe_open(str(path), framework="pt") as file:
            step = int(file.metadata()["step"])
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        for name, module in modules.items():
            module.load_state_dict({k.split("/", 1)[1]: v for k, v in tensors.items() if k.startswith(f"{name}/")})
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith("optimizer/"):
                _, index, field = key.split("/")
                state.setdefault(int(index), {})[field] = value
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    except Exception as error:
        raise CorruptFileError(
            f"The checkpoint {path} cannot be used ({str(error).splitlines()[0]}). Expected one written by the same "
            "model sizes. Delete it, or choose another folder with out=FOLDER, and run the command again."
        ) from error
    return step
