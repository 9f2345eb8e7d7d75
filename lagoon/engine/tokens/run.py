"""The way in: fine-tune a generator until the budget is used; go on where a folder left off.

What enters: a task, the recipe, a folder, a seed. What leaves: the last checkpoint, and metrics in the folder.
"""

from __future__ import annotations

from pathlib import Path

from lagoon.engine.hooks import Hooks
from lagoon.engine.leading import lead
from lagoon.engine.tokens.config import TokenPPOConfig
from lagoon.engine.tokens.schema import Task
from lagoon.engine.tokens.session import TokenSession
from lagoon.progress import Progress


def run(
    task: Task,
    config: TokenPPOConfig,
    folder: Path,
    seed: int = 0,
    hooks: Hooks | None = None,
    progress: Progress | None = None,
) -> Path:
    """Train until the budget is used, a hook says stop or a signal comes.

    Args:
        task: generator, prompts and judge; it is pickled into the other processes.
        config: the recipe.
        folder: for checkpoints, metrics and TensorBoard.
        seed: with a sequence's number it decides what is drawn for it.
        hooks: looks in after each update, in this process.
        progress: told how far it is.

    Returns:
        The ``.json`` file of the last checkpoint.

    Raises:
        BadInputError: the folder is of another task.
        LagoonError: a process fails with an error of its own or is killed again and again, or every reward fails.
        KeyboardInterrupt: after Ctrl-C, once a checkpoint is saved.
    """
    return lead(lambda checkpoint, *_: TokenSession(task, config, seed, checkpoint), config, folder, hooks, progress)
