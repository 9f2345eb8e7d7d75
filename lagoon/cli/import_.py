"""``lagoon import``: motion files of other programs to skills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lagoon.cli.config import ImportVerb
from lagoon.cli.console import Terminal
from lagoon.cli.session import run_and_show
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError, LagoonError
from lagoon.importers.config import ImportConfig
from lagoon.robot import load_robot
from lagoon.skill import Skill


def run(call: Call) -> int:
    """Write human.npz, import.json and import.png of a skill for each file."""
    config: ImportVerb = call.config
    load_robot(config.robot)
    files, settings = _with_skeletons([Path(file) for file in call.files], config.import_)
    if len(files) > 1 and config.caption is not None:
        raise BadInputError(
            f"caption= goes with one file, not with {len(files)}. Import them one by one, or leave it out."
        )
    if len(files) == 1:
        return _one(files[0], settings, call)
    screen, failed = Terminal(), 0
    for file in files:
        try:
            _one(file, settings, call)
        except LagoonError as error:
            failed += 1
            screen.say(f"Not imported: {error}")
    if failed:
        raise BadInputError(f"{failed} of {len(files)} files were not imported; the reasons are above.")
    return 0


def _one(file: Path, settings: ImportConfig, call: Call) -> int:
    from lagoon.cli.import_stage import caption_of, import_stage

    config: ImportVerb = call.config
    caption = caption_of(file) if config.caption is None else config.caption
    if not caption.strip():
        raise BadInputError('caption= is empty. Say what the motion shows: caption="a person walks"')
    skill = Skill.new(Path(config.skills_dir), caption, config.robot)
    return run_and_show(skill, [import_stage(file, settings, config.seed)], call)


def _with_skeletons(files: Sequence[Path], settings: ImportConfig) -> tuple[list[Path], ImportConfig]:
    """Take ASF files, which hold no motion, as the skeletons of the AMC files beside them."""
    skeletons = [file for file in files if file.suffix.lower() == ".asf"]
    motions = [file for file in files if file not in skeletons]
    if not skeletons:
        return motions, settings
    if not motions:
        raise BadInputError(
            f"{skeletons[0]} is a skeleton without motion; expected an AMC file too. Type: "
            f"lagoon import {skeletons[0]} MOTION.amc"
        )
    if len(skeletons) > 1:
        raise BadInputError(
            f"{len(skeletons)} ASF skeletons for {len(motions)} motions; expected one. Import each skeleton's motions "
            "on their own."
        )
    return motions, replace(settings, skeleton=str(skeletons[0]))


VERB = Verb(
    name="import",
    purpose="turn motion files (BVH, AMASS, AMC, ...) into motion (human.npz)",
    text="files",
    config=ImportVerb,
    run=run,
    examples=(
        ('lagoon import walk.bvh --caption "a person walks"', "a skill of that name; then lagoon retarget, train, ..."),
        ("lagoon import 07.asf 07_01.amc import.end=5", "CMU motion capture, the first five seconds"),
        ("lagoon import dance.bvh import.unit=cm import.up=z import.fps=60", "your word instead of the guesses"),
        ("lagoon import jump.csv import.map=joints.yaml", "joints with names of your own"),
        ("lagoon import dog_trot.txt robot=go1", "an animal, for the robot's legs"),
    ),
    main_options=(
        "caption",
        "robot",
        "skills_dir",
        "import.format",
        "import.unit",
        "import.height",
        "import.up",
        "import.facing",
        "import.fps",
        "import.map",
        "import.mirror",
        "import.start",
        "import.end",
    ),
    details=(
        "It reads BVH, CMU AMC with its ASF, AMASS and other SMPL npz, AIST++ pkl, HumanML3D npy, MDM results.npy, "
        "DeepMimic txt, and npz or csv of named joints; of quadrupeds the txt of DeepMimic's dog and of "
        "motion_imitation. It says what it took the unit, the axes, the frame rate and the joints for. Look at "
        "import.png before you train. lagoon make --motion FILE goes on to a trained policy."
    ),
)
