"""``lagoon convert``: a skill's human motion to a file that other programs read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lagoon.cli.config import ConvertVerb
from lagoon.cli.console import Terminal
from lagoon.cli.lookup import find_skill
from lagoon.cli.verb import Call, Verb
from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.skill import Skill


def run(call: Call) -> int:
    """Write the file."""
    config: ConvertVerb = call.config
    skill = find_skill(call.text, Path(config.skills_dir), config.robot)
    target = Path(config.to) if config.to else skill.folder / "human.bvh"
    write = _writers().get(target.suffix.lower())
    if write is None:
        raise BadInputError(
            f"to={config.to}: the ending {target.suffix or 'of the name'!r} names no format. Expected .bvh (skeleton "
            "and angles), or .npz (AMASS: pose of an SMPL body). Type to=NAME.bvh"
        )
    if target.is_dir():
        raise BadInputError(f"to={config.to} is a folder. Name a file in it: to={target / 'human.bvh'}")
    if _belongs_to(skill, target):
        raise BadInputError(f"to={config.to} would overwrite a file of the skill itself. Choose another name.")
    if skill.is_quadruped:
        raise BadInputError(
            f"The motion of {skill.folder} is a quadruped's; {target.suffix} is written for people only. Its points "
            "stand in quadruped.npz."
        )
    if not skill.human_path.is_file():
        raise BadInputError(f"The skill {skill.folder} has no human motion yet. Run: lagoon generate {skill.command!r}")
    result = write(target, HumanMotion.load(skill.human_path), config)
    Terminal().say(f"Wrote {target}: {result}")
    return 0


def _writers() -> dict[str, Callable[[Path, HumanMotion, ConvertVerb], str]]:
    return {".bvh": _bvh, ".npz": _amass}


def _bvh(target: Path, motion: HumanMotion, config: ConvertVerb) -> str:
    from lagoon.body.bvh import write_bvh

    write_bvh(target, motion)
    return f"{motion.num_frames} frames at {motion.fps:g} fps, Y up, centimetres"


def _amass(target: Path, motion: HumanMotion, config: ConvertVerb) -> str:
    from lagoon.body.smpl_fit import fit, save_amass
    from lagoon.body.smpl_model import load_smpl

    if not config.body:
        raise BadInputError(
            f"to={config.to} needs an SMPL body model, which lagoon may not bring. Get one from its authors "
            "(smpl.is.tue.mpg.de, registration and licence), and name the file: body=SMPL_NEUTRAL.npz"
        )
    model = load_smpl(Path(config.body))
    fitted = fit(motion, model)
    save_amass(target, fitted, motion.text)
    return (
        f"{motion.num_frames} frames of {model.name}, joints within {1000 * fitted.mean_error:.1f} mm of the motion "
        f"(at most {1000 * fitted.max_error:.1f} mm)"
    )


def _belongs_to(skill: Skill, target: Path) -> bool:
    """Whether the target is a file that a stage wrote, or the skill's record."""
    folder = skill.folder.resolve()
    if folder not in target.resolve().parents:
        return False
    name = str(target.resolve().relative_to(folder))
    written = {name for record in skill.stages.values() for name in record.outputs}
    return name in written | {skill.human_path.name, skill.robot_path.name}


VERB = Verb(
    name="convert",
    purpose="write a skill's human motion as BVH, or as an SMPL body's pose (AMASS npz)",
    text="skill",
    config=ConvertVerb,
    run=run,
    examples=(
        ('lagoon convert "wave hello"', "human.bvh in the skill's folder"),
        ('lagoon convert "wave hello" to=wave.bvh', "the ending chooses the format"),
        ('lagoon convert "wave hello" to=wave.npz body=SMPL_NEUTRAL.npz', "AMASS, with a body model of your own"),
    ),
    main_options=("to", "body", "robot", "skills_dir"),
    details=(
        "BVH holds the joints exactly. For AMASS an SMPL body is fitted; body models come from their authors under "
        "their own licence, and only npz files are read, never a pickle."
    ),
)
