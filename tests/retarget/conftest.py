"""People made of formulae, so that tests know what they do."""

from collections.abc import Callable

import numpy as np
import pytest

from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.retarget.config import RetargetConfig
from lagoon.retarget.kinematics import Kinematics
from lagoon.retarget.quality import measure
from lagoon.retarget.retarget import retarget
from lagoon.robot import load_robot
from tests.robot_motions import still

FPS = 20.0
STANDING = {
    "pelvis": (0.0, 0.0, 0.92),
    "hip": (0.0, 0.06, 0.90),
    "knee": (0.0, 0.08, 0.49),
    "ankle": (0.0, 0.10, 0.08),
    "foot": (0.12, 0.10, 0.02),
    "spine1": (0.0, 0.0, 1.02),
    "spine2": (0.0, 0.0, 1.14),
    "spine3": (0.0, 0.0, 1.26),
    "neck": (0.0, 0.0, 1.46),
    "head": (0.02, 0.0, 1.60),
    "collar": (0.0, 0.07, 1.40),
    "shoulder": (0.0, 0.17, 1.40),
    "elbow": (-0.02, 0.19, 1.13),
    "wrist": (0.03, 0.20, 0.87),
}
UPPER = ("spine1", "spine2", "spine3", "neck", "head", "collar", "shoulder", "elbow", "wrist")


def person(frames: int) -> dict[str, np.ndarray]:
    """(T, 3) paths of all 22 joints of somebody who stands still and faces +X."""
    paths = {}
    for name in JOINT_NAMES:
        side, _, part = name.rpartition("_")
        x, y, z = STANDING[part]
        paths[name] = np.tile([x, -y if side == "right" else y, z], (frames, 1))
    return paths


def human(paths: dict[str, np.ndarray], text: str = "") -> HumanMotion:
    return HumanMotion(FPS, JOINT_NAMES, np.stack([paths[name] for name in JOINT_NAMES], axis=1), text=text)


def bump(frames: int) -> np.ndarray:
    """0 at both ends, 1 in the middle half, smooth between."""
    u = np.linspace(0.0, 1.0, frames)
    x = np.clip(np.minimum(u, 1.0 - u) * 4.0, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


def standing(frames: int = 20) -> HumanMotion:
    return human(person(frames), "stand")


def waving(side: str = "right", frames: int = 32) -> HumanMotion:
    paths = person(frames)
    up = bump(frames)[:, None]
    sign = 1.0 if side == "left" else -1.0
    swing = sign * 0.12 * np.sin(2 * np.pi * 1.5 * np.arange(frames) / FPS)
    shoulder = paths[f"{side}_shoulder"]
    elbow = shoulder + np.array([0.20, sign * 0.15, 0.08])
    wrist = elbow + np.stack([np.full(frames, 0.08), swing, np.full(frames, 0.23)], axis=1)
    paths[f"{side}_elbow"] = (1 - up) * paths[f"{side}_elbow"] + up * elbow
    paths[f"{side}_wrist"] = (1 - up) * paths[f"{side}_wrist"] + up * wrist
    return human(paths, "wave")


def bowing(degrees: float = 80.0, frames: int = 32) -> HumanMotion:
    paths = person(frames)
    angle = np.radians(degrees) * bump(frames)
    c, s = np.cos(angle), np.sin(angle)
    centre = np.array([0.0, 0.0, 0.9])
    for name in paths:
        if name.rpartition("_")[2] in UPPER:
            d = paths[name] - centre
            paths[name] = centre + np.stack([c * d[:, 0] + s * d[:, 2], d[:, 1], -s * d[:, 0] + c * d[:, 2]], axis=1)
    return human(paths, "bow")


def marching(frames: int = 31) -> HumanMotion:
    paths = person(frames)
    phase = np.sin(2 * np.pi * np.arange(frames) / FPS / 1.5)
    for side, lift in (("left", np.maximum(phase, 0)), ("right", np.maximum(-phase, 0))):
        for joint, share in (("knee", 0.6), ("ankle", 1.0), ("foot", 1.0)):
            paths[f"{side}_{joint}"] = paths[f"{side}_{joint}"] + 0.25 * share * lift[:, None] * np.array([0.3, 0, 1.0])
    return human(paths, "march")


def crawling(frames: int = 20) -> HumanMotion:
    """On hands and knees: the spine is level."""
    paths = person(frames)
    for name, path in paths.items():
        part = name.rpartition("_")[2]
        d = path - np.array([0.0, 0.0, 0.9])
        if part in ("elbow", "wrist"):
            drop = {"elbow": 0.22, "wrist": 0.42}[part]
            paths[name] = np.stack([np.full(frames, 0.5), d[:, 1], np.full(frames, 0.48 - drop)], axis=1)
        elif part in UPPER:
            paths[name] = np.stack([d[:, 2], d[:, 1], np.full(frames, 0.48)], axis=1)
        else:
            place = {
                "pelvis": (0.0, 0.48),
                "hip": (0.0, 0.46),
                "knee": (0.0, 0.05),
                "ankle": (-0.4, 0.05),
                "foot": (-0.5, 0.02),
            }[part]
            paths[name] = np.stack([np.full(frames, place[0]), d[:, 1], np.full(frames, place[1])], axis=1)
    return human(paths, "crawl")


def upended(paths: dict[str, np.ndarray], turn: np.ndarray) -> dict[str, np.ndarray]:
    """Arms overhead, and the whole body turned by (T,) angles about X through the middle; the lowest point is down."""
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for part, height in (("elbow", 1.67), ("wrist", 1.94)):
            paths[f"{side}_{part}"] = np.tile([0.0, sign * 0.2, height], (len(turn), 1))
    c, s = np.cos(turn), np.sin(turn)
    for name, path in paths.items():
        y, z = path[:, 1], path[:, 2] - 0.98
        paths[name] = np.stack([path[:, 0], c * y - s * z, s * y + c * z], axis=1)
    lowest = np.min([path[:, 2] for path in paths.values()], axis=0)
    return {name: path - lowest[:, None] * np.array([0.0, 0.0, 1.0]) for name, path in paths.items()}


def on_hands(frames: int = 40) -> HumanMotion:
    """Upside down on straight arms; one leg bends and straightens."""
    paths = upended(person(frames), np.full(frames, np.pi))
    for joint in ("ankle", "foot"):
        paths[f"left_{joint}"] = paths[f"left_{joint}"] + 0.2 * bump(frames)[:, None] * np.array([1.0, 0.0, -0.6])
    return human(paths, "stand on the hands")


def cartwheeling(frames: int = 60) -> HumanMotion:
    """A wheel over the left side, on the spot."""
    u = np.clip(np.linspace(-0.3, 1.3, frames), 0.0, 1.0)
    return human(upended(person(frames), -2.0 * np.pi * u * u * (3.0 - 2.0 * u)), "cartwheel")


PEOPLE: dict[str, Callable[..., HumanMotion]] = {
    "standing": standing,
    "waving": waving,
    "bowing": bowing,
    "marching": marching,
    "crawling": crawling,
    "on_hands": on_hands,
    "cartwheeling": cartwheeling,
}


@pytest.fixture(scope="session")
def people() -> dict[str, Callable[..., HumanMotion]]:
    return PEOPLE


@pytest.fixture(scope="session")
def go2():
    return load_robot("go2")


@pytest.fixture(scope="session")
def kin(go2):
    return Kinematics(go2)


@pytest.fixture(scope="session")
def retargeted(go2):
    """Retargets each person once for all tests: call with a name of PEOPLE, a morphology and builder arguments."""
    cache: dict = {}

    def get(name: str, morphology: str = "auto", **kwargs):
        key = (name, morphology, tuple(sorted(kwargs.items())))
        if key not in cache:
            cache[key] = retarget(PEOPLE[name](**kwargs), go2, RetargetConfig(morphology=morphology, speed=1.0))
        return cache[key]

    return get


@pytest.fixture
def still_report(go2):
    """Measures of a robot that stands still for 20 frames."""
    return measure(still(go2, 20), go2)
