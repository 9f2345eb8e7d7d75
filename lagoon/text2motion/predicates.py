"""Does the motion do what the word says? One yes-or-no question of kinematics per verb.

What enters: joint positions (T, 22, 3) at 20 fps, Z-up, facing +X at frame 0. What leaves: True or False.
Thresholds are in metres and radians and meant to accept any person's way of doing it, not one clip's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.signal import find_peaks

from lagoon.text2motion import features
from lagoon.text2motion.kinematics import INDEX, Array, ahead, feet_stay, joint, pitch, swings, travel

Predicate = Callable[[Array], bool]


def wave(pos: Array) -> bool:
    """A wrist above its shoulder goes from side to side at least three times, while the trunk stays up."""
    for side in ("left", "right"):
        wrist, shoulder = joint(pos, f"{side}_wrist"), joint(pos, f"{side}_shoulder")
        raised = wrist[:, 2] > shoulder[:, 2]
        if raised.sum() >= 10:
            yaw = features.heading(pos)
            offset = (wrist - shoulder)[raised]
            across = -np.sin(yaw[raised]) * offset[:, 0] + np.cos(yaw[raised]) * offset[:, 1]
            if swings(across, 0.06) >= 3 and np.abs(pitch(pos)).max() < 0.6:
                return True
    return False


def clap(pos: Array) -> bool:
    """The wrists come close at least twice, in front of the trunk and off the ground, and part in between."""
    gap = np.linalg.norm(joint(pos, "left_wrist") - joint(pos, "right_wrist"), axis=-1)
    meet = find_peaks(-gap, prominence=0.06)[0]
    high = joint(pos, "left_wrist")[:, 2] > joint(pos, "pelvis")[:, 2]
    return int(np.sum((gap[meet] < 0.25) & high[meet])) >= 2


def bow(pos: Array) -> bool:
    """The trunk pitches forward by half a radian or more and comes back, the feet stay, the hips stay high."""
    angle = pitch(pos)
    top = int(np.argmax(angle))
    return bool(
        angle[top] > 0.5
        and angle[0] < 0.35
        and angle[-1] < 0.35
        and feet_stay(pos)
        and joint(pos, "pelvis")[:, 2].min() > 0.6
    )


def squat(pos: Array) -> bool:
    """The pelvis goes down by 20 cm or more and comes up again, the feet stay, the trunk does not lie down."""
    height = joint(pos, "pelvis")[:, 2]
    deep = int(np.argmin(height))
    return bool(
        height[: deep + 1].max() - height[deep] > 0.2
        and height[deep:].max() - height[deep] > 0.2
        and feet_stay(pos, 0.25)
        and np.abs(pitch(pos)).max() < 1.3
    )


def squats(count: int) -> Predicate:
    """Exactly so many squats."""
    return lambda pos: squat(pos) and len(find_peaks(-joint(pos, "pelvis")[:, 2], prominence=0.15)[0]) == count


def jump(pos: Array) -> bool:
    """Both feet leave the floor together, and the pelvis rises by 10 cm above where it stood."""
    feet = pos[:, list(features.FEET), 2].min(axis=1)
    rise = joint(pos, "pelvis")[:, 2].max() - np.median(joint(pos, "pelvis")[:, 2])
    return bool(feet.max() > 0.06 and rise > 0.08)


def hop(pos: Array) -> bool:
    """The pelvis goes up and down at least twice, and the feet leave the floor."""
    feet = pos[:, list(features.FEET), 2].min(axis=1)
    return bool(swings(joint(pos, "pelvis")[:, 2], 0.04) >= 3 and feet.max() > 0.03)


def kick(pos: Array) -> bool:
    """One foot swings at 2.5 m/s or more and rises 25 cm, while the trunk stays up."""
    for side in ("left", "right"):
        ankle = joint(pos, f"{side}_ankle")
        local = ankle - joint(pos, "pelvis")
        speed = np.linalg.norm(np.diff(local, axis=0), axis=-1) * 20
        if speed.max() > 2.5 and ankle[:, 2].max() - ankle[:, 2].min() > 0.25:
            return bool(np.median(np.abs(pitch(pos))) < 0.7)
    return False


def punch(pos: Array) -> bool:
    """A wrist shoots away from its shoulder at 0.9 m/s or more to an almost straight arm, at chest height."""
    for side in ("left", "right"):
        arm = np.linalg.norm(joint(pos, f"{side}_wrist") - joint(pos, f"{side}_shoulder"), axis=-1)
        height = joint(pos, f"{side}_wrist")[:, 2]
        fast = np.diff(arm) * 20 > 0.9
        if fast.any() and arm.max() > 0.4 and height[1:][fast].max() > 0.8:
            return True
    return False


def cartwheel(pos: Array) -> bool:
    """The feet go above the head while a hand is near the floor."""
    feet = pos[:, [INDEX["left_ankle"], INDEX["right_ankle"]], 2].min(axis=1)
    hands = pos[:, [INDEX["left_wrist"], INDEX["right_wrist"]], 2].min(axis=1)
    over = feet > joint(pos, "head")[:, 2]
    return bool((over & (hands < 0.35)).any())


def upside_down(pos: Array) -> bool:
    """The pelvis is above the neck for a moment, and a foot above the pelvis."""
    feet = pos[:, [INDEX["left_ankle"], INDEX["right_ankle"]], 2].max(axis=1)
    return bool(
        ((joint(pos, "pelvis")[:, 2] > joint(pos, "neck")[:, 2] + 0.1) & (feet > joint(pos, "pelvis")[:, 2])).any()
    )


def walk(pos: Array) -> bool:
    """The pelvis goes ahead at 0.3 to 2.5 m/s along its path, and the feet take turns."""
    length = np.linalg.norm(np.diff(pos[:, 0, :2], axis=0), axis=-1).sum()
    speed = length / ((len(pos) - 1) / 20)
    turns = swings((joint(pos, "left_ankle") - joint(pos, "right_ankle"))[:, 2], 0.04)
    return bool(0.3 < speed < 2.5 and turns >= 2 and ahead(pos) > 0.3)


def walk_back(pos: Array) -> bool:
    """The pelvis goes 0.3 m or more backward."""
    return ahead(pos) < -0.3


def run(pos: Array) -> bool:
    """The pelvis moves at 1.5 m/s or more, and the feet take turns."""
    length = np.linalg.norm(np.diff(pos[:, 0, :2], axis=0), axis=-1).sum()
    return bool(length / ((len(pos) - 1) / 20) > 1.5 and ahead(pos) > 1.0)


def turned(low: float, high: float) -> Predicate:
    """The heading ends between two angles [rad] from where it began; left is positive."""
    return lambda pos: bool(low < features.heading(pos)[-1] - features.heading(pos)[0] < high)


def turned_round(pos: Array) -> bool:
    """The heading ends half a turn from where it began, either way, give or take 45 degrees."""
    return bool(abs(abs(features.heading(pos)[-1] - features.heading(pos)[0]) - np.pi) < np.pi / 4)


def spin(pos: Array) -> bool:
    """The heading goes round by 250 degrees or more."""
    return bool(np.ptp(features.heading(pos)) > np.radians(250))


def sits(pos: Array) -> bool:
    """The pelvis ends below 0.65 m, well under where it started or already there, with the trunk up."""
    return bool(joint(pos, "pelvis")[-1, 2] < 0.65 and abs(pitch(pos)[-1]) < 0.9)


def lies(pos: Array) -> bool:
    """Pelvis and head end below half a metre."""
    return bool(joint(pos, "pelvis")[-1, 2] < 0.45 and joint(pos, "head")[-1, 2] < 0.6)


def rises(pos: Array) -> bool:
    """The pelvis ends at least 25 cm above its lowest point, and above 0.7 m."""
    height = joint(pos, "pelvis")[:, 2]
    return bool(height[-1] > 0.7 and height[-1] - height[: len(height) // 2].min() > 0.25)


def push_up(pos: Array) -> bool:
    """The trunk stays level while the neck turns between up and down, 10 cm apart, at least twice."""
    level = np.median(joint(pos, "neck")[:, 2] - joint(pos, "pelvis")[:, 2]) < 0.45
    return bool(level and np.median(joint(pos, "pelvis")[:, 2]) < 0.55 and swings(joint(pos, "neck")[:, 2], 0.1) >= 2)


def march(pos: Array) -> bool:
    """Each knee rises by 12 cm or more in turn, and the pelvis stays within half a metre."""
    left, right = joint(pos, "left_knee")[:, 2], joint(pos, "right_knee")[:, 2]
    return bool(
        np.ptp(left) > 0.12
        and np.ptp(right) > 0.12
        and np.linalg.norm(travel(pos)) < 0.6
        and swings(left - right, 0.12) >= 3
    )


def arms_up(pos: Array) -> bool:
    """A wrist rises above the head."""
    return bool(max(joint(pos, f"{s}_wrist")[:, 2].max() for s in ("left", "right")) > joint(pos, "head")[:, 2].min())


def handshake(pos: Array) -> bool:
    """A wrist is held 25 cm ahead of the pelvis between hip and shoulder, the feet stay."""
    held = [
        ((joint(pos, f"{s}_wrist") - joint(pos, "pelvis"))[:, 0] > 0.25)
        & (joint(pos, f"{s}_wrist")[:, 2] > 0.85)
        & (joint(pos, f"{s}_wrist")[:, 2] < 1.45)
        for s in ("left", "right")
    ]
    return bool(max(h.sum() for h in held) >= 10 and feet_stay(pos, 0.3))


def nod(pos: Array) -> bool:
    """The head tips relative to the trunk at least twice each way, the feet stay."""
    head = joint(pos, "head") - joint(pos, "neck")
    angle = np.arctan2(head[:, 0], head[:, 2]) - pitch(pos)
    return bool(swings(angle, 0.1) >= 3 and feet_stay(pos, 0.3))


def moves(pos: Array) -> bool:
    """Arms and legs move a lot: the mean joint speed is 0.15 m/s or more."""
    return bool((np.linalg.norm(np.diff(pos, axis=0), axis=-1) * 20).mean() > 0.15)


def crawl(pos: Array) -> bool:
    """On all fours: the pelvis below 0.7 m, the trunk level, the hands near the floor, going ahead."""
    hands = pos[:, [INDEX["left_wrist"], INDEX["right_wrist"]], 2].min(axis=1)
    return bool(np.median(joint(pos, "pelvis")[:, 2]) < 0.7 and np.median(hands) < 0.25)


def roll(pos: Array) -> bool:
    """The head goes near the floor and the pelvis passes above the neck."""
    over = joint(pos, "pelvis")[:, 2] > joint(pos, "neck")[:, 2]
    return bool(over.any() and joint(pos, "head")[:, 2].min() < 0.45)


def play_bow(pos: Array) -> bool:
    """The trunk goes down to level and comes up again while the arms reach ahead; the feet stay, the hips stay high."""
    angle = pitch(pos)
    reach = max((joint(pos, f"{s}_wrist") - joint(pos, "pelvis"))[:, 0].max() for s in ("left", "right"))
    high = joint(pos, "pelvis")[:, 2].min() > 0.6
    return bool(angle.max() > 0.9 and abs(angle[-1]) < 0.4 and reach > 0.5 and high and feet_stay(pos))


def high_five(pos: Array) -> bool:
    """A hand is held above its shoulder and ahead of the trunk for a moment, the feet stay."""
    held = [
        (joint(pos, f"{s}_wrist")[:, 2] > joint(pos, f"{s}_shoulder")[:, 2])
        & ((joint(pos, f"{s}_wrist") - joint(pos, "pelvis"))[:, 0] > 0.2)
        for s in ("left", "right")
    ]
    return bool(max(h.sum() for h in held) >= 5 and feet_stay(pos, 0.3))


def jump_ahead(pos: Array) -> bool:
    """A jump that lands 40 cm ahead or farther."""
    return jump(pos) and ahead(pos) > 0.4


def sneak(pos: Array) -> bool:
    """Steps at less than 1.1 m/s, with bent knees or a trunk that leans forward."""
    path = np.linalg.norm(np.diff(pos[:, 0, :2], axis=0), axis=-1).sum()
    low = np.median(joint(pos, "pelvis")[:, 2]) < 0.9 or np.median(pitch(pos)) > 0.2
    return bool(path > 0.4 and path / ((len(pos) - 1) / 20) < 1.1 and low)


def kata(pos: Array) -> bool:
    """Strikes or kicks, or holds a low stance while moving."""
    low = np.median(joint(pos, "pelvis")[:, 2]) < 0.88
    return punch(pos) or kick(pos) or bool(low and moves(pos))


PREDICATES: dict[str, Predicate] = {
    "wave": wave, "clap": clap, "bow": bow, "squat": squat, "three squats": squats(3), "jump": jump, "hop": hop,
    "kick": kick, "punch": punch, "cartwheel": cartwheel, "handstand": upside_down, "backflip": upside_down,
    "walk": walk, "walk backwards": walk_back, "run": run, "turn left": turned(0.5, 2.6),
    "turn right": turned(-2.6, -0.5), "spin": spin, "sit": sits, "lie": lies, "fall": lies, "rise": rises,
    "push-ups": push_up, "march": march, "stretch": arms_up, "handshake": handshake, "nod": nod, "dance": moves,
    "crawl": crawl, "roll": roll, "play bow": play_bow, "turn around": turned_round, "high five": high_five,
    "jump forward": jump_ahead, "sneak": sneak, "breakdance": moves, "karate kata": kata,
}  # fmt: skip
"""Predicate of each name."""
BY_VERB = {
    "sit down": "sit", "sit on the floor": "sit", "lie down": "lie", "fall down": "fall", "get up": "rise",
    "stand up": "rise", "spin around": "spin", "shake hands": "handshake", "walk back": "walk backwards",
    "sit floor": "sit", "push up": "push-ups", "kata": "karate kata",
}  # fmt: skip
"""Predicate of verbs and labels of the data that are not named like their predicate."""


def of_verb(verb: str) -> Predicate | None:
    """The question for a verb of the data, or for a label with underscores; None where there is none."""
    name = verb.replace("_", " ")
    return PREDICATES.get(BY_VERB.get(name, name))
