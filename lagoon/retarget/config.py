"""Settings of retargeting, plain data.

What enters: values of configs/retarget/*.yaml. What leaves: one validated frozen dataclass that every
module of this package reads; it imports neither mujoco nor torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from lagoon.errors import BadSettingError, unknown_name

IN_TURN = "in_turn"
"""The map that changes between upright and four_legged where the person gets down on all fours or up."""
MORPHOLOGY_CHOICES = ("auto", "upright", "four_legged", "handstand", IN_TURN)


@dataclass(frozen=True)
class RetargetConfig:
    """How a human motion becomes a robot motion. Weights are squared costs of the inverse kinematics."""

    morphology: str = "auto"
    """Which body map: auto, upright (stand on the hind legs), four_legged, handstand (stand on the front legs), or
    in_turn (upright and four_legged, as the person gets down on all fours and up again)."""

    speed: float | None = None
    """Speed of the clip as a share of the person's; null takes 1, or slower where the verdict says that it helps."""

    fix: bool = False
    """Change a motion that is not trackable to the nearest one that is: slower, smaller, lower jumps, a wider stance,
    at last on four legs; says what was changed. Up to 17 times the time."""

    leg_extension: float = 0.93
    """Upright: a straight human leg becomes this share of the longest leg the robot's knee limit allows."""
    arm_extension: float = 0.93
    """Upright: the same for arms and front legs."""
    crouch_extension: float = 0.78
    """Four-legged: the same for all limbs; lower, so that the feet can stay planted while the body moves."""
    stance_stepping: float = 1.0
    """Upright, clips that step: share of the hip width kept between the hind feet (1 keeps it all). A foot nearer to
    the middle than its hip stands with the trunk turned, and throws the balance where the leg changes sides."""
    stance_handstand: float = 0.35
    """Upright, clips where the hands carry weight: the same."""

    stance_width: float = 1.0
    """Upright: distance between the feet that stand, as a share of the usual one."""

    max_tilt: float = 0.95
    """Upright, clips with planted feet: largest trunk tilt from vertical [rad]; deeper bows are scaled down to it."""
    max_tilt_four_legged: float = 0.45
    """Four-legged: largest tilt of the trunk from level [rad]."""

    foot_height: float = 0.05
    """A human sole lower than this above its lowest level touches the floor [m]."""
    hand_height: float = 0.12
    """A human wrist lower than this touches the floor [m]."""
    swing_speed: float = 1.5
    """A low limb faster than this swings past the floor [m/s]; pivoting stance feet reach 1.4 m/s."""
    pin_speed: float = 0.5
    """A contact slower than this [m/s] is pinned in x and y as well, not only in z."""

    smoothing_planted: float = 1.5
    """Standard deviation of the Gaussian over time for clips with planted feet [control periods]."""
    smoothing_stepping: float = 3.0
    """The same for clips that step or kick."""
    smoothing_tumbling: float = 5.0
    """The same for clips in which the hands carry weight, such as a cartwheel."""

    weight_contact: float = 30.0
    """Feet in contact, world position."""
    weight_foot: float = 1.0
    """Feet in the air, position relative to the base."""
    weight_elbow: float = 0.3
    """Front knees, position relative to the base."""
    weight_base_rotation: float = 0.3
    """Base orientation; much less than the centre of mass, so that balance wins over a deep bow."""
    weight_base_height: float = 1.0
    """Base height."""
    weight_com: float = 5.0
    """Centre of mass over the support, in x and y."""
    weight_posture: float = 0.0004
    """Pull to the resting joint angles; only breaks ties."""
    weight_smooth: float = 0.03
    """Pull to the smoothed previous pass; removes jumps between branches."""

    passes: int = 4
    """Times the whole clip is solved; from the second on with temporal regularisation and balance feedback."""
    iterations: int = 8
    """Most quadratic programmes per frame and pass."""
    balance_gain: float = 0.8
    """Share of the centre-of-pressure error that each pass takes out of the centre-of-mass target; 0 is off."""
    limit_margin: float = 0.02
    """Distance kept from every joint position limit [rad]."""
    velocity_share: float = 0.8
    """Share of every joint velocity limit that may be used."""

    keep_apart: bool = True
    """Solve the stretches in which the robot touches itself again, with the shapes that touch kept apart, and take
    that if it balances as well; up to twice the time."""

    hold_start: float = 0.4
    """Standing still on four legs before anything moves [s]."""
    hold_end: float = 0.5
    """The same at the end [s]."""
    sit_seconds: float = 1.0
    """Upright: shifting the weight back until it is over the hind feet [s]."""
    rise_seconds: float = 1.1
    """Upright: pitching up from there to the first pose [s]."""
    ready_seconds: float = 0.2
    """Upright: standing in the first and in the last pose of the clip [s]."""
    step_seconds: float = 0.5
    """Each step that moves a hind foot to where the clip wants it, on four legs [s]."""
    step_height: float = 0.05
    """Foot lift of such a step [m]."""
    blend_seconds: float = 0.7
    """Four-legged: from the stand to the first pose, and back [s]."""
    sit_pitch: float = 0.4
    """Upright: nose-up pitch at which the front feet leave the floor [rad]."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadInputError: unknown morphology, or a number out of range; the text names the field.
        """
        if self.morphology not in MORPHOLOGY_CHOICES:
            hint = "Choose one with retarget.morphology=NAME."
            raise unknown_name("Morphology", self.morphology, MORPHOLOGY_CHOICES, hint)
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "morphology" or value is None:
                continue
            if not math.isfinite(value) or value < 0:
                raise BadSettingError.of(self, item.name, "a number of 0 or more")
        for name in ("leg_extension", "arm_extension", "crouch_extension", "velocity_share"):
            if not 0.1 <= getattr(self, name) <= 1.0:
                raise BadSettingError.of(self, name, "a share in [0.1, 1]")
        if self.speed is not None and not 0.2 <= self.speed <= 2.0:
            raise BadSettingError.of(self, "speed", "a share in [0.2, 2], or null")
        for name in ("passes", "iterations"):
            if getattr(self, name) < 1:
                raise BadSettingError.of(self, name, "at least 1")
        for name in ("sit_seconds", "rise_seconds", "step_seconds", "blend_seconds", "hold_start", "hold_end"):
            if getattr(self, name) < 0.1:
                raise BadSettingError.of(self, name, "at least 0.1 s")
