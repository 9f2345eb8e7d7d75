"""What to type when a bundle cannot be used.

What enters: a bundle folder. What leaves: the last sentence of an error about it.
"""

from __future__ import annotations

import shlex
from pathlib import Path


def again(folder: Path) -> str:
    """Return how to get a bundle anew; inside a skill folder that is a line to type.

    ``--again`` is needed, since export takes a damaged file for one that was edited by hand, and keeps it.
    """
    if (folder.parent / "skill.yaml").is_file():
        return f"Write it anew with: lagoon export {shlex.quote(str(folder.parent))} --again"
    return "Copy it again from its skill folder; there, lagoon export SKILL --again writes it anew."
