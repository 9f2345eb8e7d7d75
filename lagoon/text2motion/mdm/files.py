"""Which files a Motion Diffusion Model needs, and where they are.

What enters: the settings. What leaves: paths that exist, or one error that names every missing file and where to
get it. Loads nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lagoon.errors import BadInputError
from lagoon.text2motion.config import GenerateConfig

WEIGHTS = (".pt", ".safetensors")


@dataclass(frozen=True)
class MdmFiles:
    """Everything that is read."""

    weights: Path
    """Checkpoint, .pt or .safetensors."""
    args: Path
    """args.json that its training wrote."""
    mean: Path
    """Mean.npy of HumanML3D, (263,)."""
    std: Path
    """Std.npy of HumanML3D, (263,)."""
    text: tuple[Path, ...]
    """An npz file of text features, or CLIP's model.safetensors and tokenizer.json."""

    def all(self) -> list[Path]:
        """Every file."""
        return [self.weights, self.args, self.mean, self.std, *self.text]


def find(config: GenerateConfig) -> MdmFiles:
    """Look for all files.

    Raises:
        BadInputError: some are missing; all of them are named, each with what to do.
    """
    if config.model == "default":
        raise BadInputError(
            "The generator 'mdm' needs a checkpoint of your own; lagoon brings none. Give the folder with model*.pt "
            "and args.json: generate.model=FOLDER. What else it needs: docs/text2motion.md."
        )
    model = Path(config.model)
    is_file = model.suffix in WEIGHTS and not model.is_dir()
    folder = model.parent if is_file else model
    weights = model if is_file else _newest(model)
    statistics = Path(config.mdm.statistics) if config.mdm.statistics else folder
    wanted = [
        (weights, "the checkpoint of a published or own training; name it or its folder with generate.model=PATH"),
        (folder / "args.json", "written beside the checkpoint by the training; copy it from there"),
        (statistics / "Mean.npy", "from HumanML3D; name its folder with generate.mdm.statistics=FOLDER"),
        (statistics / "Std.npy", "from HumanML3D; it lies beside Mean.npy"),
    ]
    text = _text(config, folder)
    why = (
        "text features, or CLIP ViT-B/32 as the folder that Hugging Face's transformers saves; name either with "
        "generate.mdm.text=PATH"
    )
    wanted += [(path, why) for path in text]
    missing = [f"{path} ({reason})" for path, reason in wanted if not path.is_file()]
    if missing:
        raise BadInputError(
            f"The generator 'mdm' lacks {len(missing)} of its files: {'; '.join(missing)}. Put them there, "
            "or change the settings named, and run the command again."
        )
    return MdmFiles(weights, folder / "args.json", statistics / "Mean.npy", statistics / "Std.npy", text)


def _newest(folder: Path) -> Path:
    """The checkpoint with the highest number of steps in its name."""
    found = [path for suffix in WEIGHTS for path in folder.glob(f"model*{suffix}")]
    steps = lambda path: int((re.findall(r"\d+", path.stem) or ["0"])[-1])  # noqa: E731
    return max(found, key=lambda path: (steps(path), path.name), default=folder / "model.pt")


def _text(config: GenerateConfig, folder: Path) -> tuple[Path, ...]:
    """The npz file, or the two files of CLIP."""
    given = Path(config.mdm.text) if config.mdm.text else None
    if given is not None and given.is_dir():
        return (given / "model.safetensors", given / "tokenizer.json")
    if given is not None and given.is_file() and given.suffix != ".npz":
        raise BadInputError(
            f"generate.mdm.text={given} is neither an npz file nor a folder. For CLIP name the folder that "
            "transformers saves, with model.safetensors and tokenizer.json; CLIP's original .pt file holds code and is "
            "not read."
        )
    if given is not None:
        return (given,)
    if (folder / "clip").is_dir():
        return (folder / "clip" / "model.safetensors", folder / "clip" / "tokenizer.json")
    return (folder / "text.npz",)
