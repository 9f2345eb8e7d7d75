"""Settings of imitation: task, randomization, training. Plain data, no torch.

What enters: values from configs/. What leaves: frozen dataclasses that the library functions take.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from lagoon.engine.config import PPOConfig
from lagoon.errors import BadSettingError


@dataclass(frozen=True)
class RewardConfig:
    """Weights and sharpness of the tracking reward; a step's reward lies in [0, 1] before the penalties.

    Each term is weight * exp(-scale * squared error). Sums run over the 12 joints and the 4 feet. The
    numbers favour the trunk's pose: weights that favour the joints learn to match them while falling.
    """

    joint_pos_weight: float = 0.25
    """Joint angles."""
    joint_pos_scale: float = 1.0
    """[1/rad^2]"""
    joint_vel_weight: float = 0.05
    """Joint velocities."""
    joint_vel_scale: float = 0.02
    """[s^2/rad^2]"""
    foot_pos_weight: float = 0.15
    """Foot positions in the base frame."""
    foot_pos_scale: float = 10.0
    """[1/m^2]"""
    pose_weight: float = 0.35
    """Base height and orientation together."""
    height_scale: float = 20.0
    """[1/m^2]"""
    orientation_scale: float = 3.3
    """[1/rad^2]"""
    heading_share: float = 0.3
    """Share of the heading error in the orientation error; point feet cannot give the yaw torque of a human sole."""
    velocity_weight: float = 0.2
    """Base linear and angular velocity together."""
    lin_vel_scale: float = 2.0
    """[s^2/m^2]"""
    ang_vel_scale: float = 0.1
    """[s^2/rad^2]"""
    action_rate_penalty: float = 0.01
    """Times the mean squared change of the action; keeps the motors quiet."""
    torque_penalty: float = 0.02
    """Times the mean squared share of the torque limit asked for beyond 0.7 of it."""
    action_jerk_penalty: float = 0.0
    """Times the mean squared second difference of the action: the price of turning back, which is what chatter does."""


@dataclass(frozen=True)
class TerminationConfig:
    """When an episode counts as failed. Only errors that the actor can sense end an episode."""

    max_tilt: float = 0.3
    """Largest angle between the gravity directions of robot and reference [rad]. Tight limits keep the samples
    where balance can still be learned: from 0.6 to 0.3 the upright wave went from 0 to 94 % after 1.6 M steps;
    at 0.2 it learned nothing."""
    max_height_error: float = 0.12
    """Largest base height error [m]."""
    max_heading_error: float = 1.5
    """Largest heading error relative to the start [rad]."""


@dataclass(frozen=True)
class RandomizationConfig:
    """Ranges of what differs between the simulator and a real Go2; uniform unless said otherwise."""

    friction: tuple[float, float] = (0.5, 1.2)
    """Sliding friction of the feet: wet tile to rubber on concrete [-]."""
    mass_scale: tuple[float, float] = (0.95, 1.05)
    """Factor on every link's mass: tolerance of the description [-]."""
    payload: tuple[float, float] = (-0.5, 1.0)
    """Mass added to the trunk: battery variants and a small sensor [kg]."""
    com_offset: float = 0.02
    """Largest shift of the trunk's centre of mass along each axis [m]."""
    gain_scale: tuple[float, float] = (0.85, 1.15)
    """Factor on each joint's kp and kd: torque constant and friction differ by motor [-]."""
    strength: tuple[float, float] = (0.85, 1.0)
    """Factor on each torque limit: a warm motor or a low battery [-]."""
    delay: tuple[float, float] = (0.0, 0.02)
    """Time from measurement to torque, fixed in an episode, rounded to physics steps [s]."""
    joint_pos_noise: float = 0.01
    """Standard deviation of the encoder reading at every step [rad]."""
    joint_pos_offset: float = 0.015
    """Largest constant offset of each encoder in an episode: zeroing by hand is good to about half a degree [rad]."""
    joint_vel_noise: float = 0.5
    """Standard deviation of the velocity reading [rad/s]."""
    ang_vel_noise: float = 0.1
    """Standard deviation of the gyro reading [rad/s]."""
    tilt_noise: float = 0.01
    """Standard deviation of the orientation reading about each axis [rad]."""
    tilt_offset: float = 0.02
    """Largest constant tilt error of the IMU in an episode: mounting and filter, about one degree [rad]."""
    heading_offset: float = 0.1
    """Largest error of the start heading in an episode [rad]."""
    push_speed: float = 0.3
    """Largest sudden change of the base velocity in the ground plane [m/s]."""
    push_interval: float = 3.0
    """Mean time between pushes [s]."""
    inertia_scale: tuple[float, float] = (1.0, 1.0)
    """Factor on every link's inertia, beside the mass's: shapes are simplified in the description [-]."""
    restitution: tuple[float, float] = (0.0, 0.0)
    """Share of its speed with which a foot leaves the floor again; rubber on concrete has 0.1 to 0.3 [-]."""
    joint_friction: tuple[float, float] = (0.0, 0.0)
    """Dry friction in each joint [Nm]; physics takes about 1.8 times as long with it."""
    joint_damping: tuple[float, float] = (0.0, 0.0)
    """Damping in each joint beside the description's [Nm s/rad]."""
    armature_scale: tuple[float, float] = (1.0, 1.0)
    """Factor on each rotor's inertia as the joint feels it [-]."""
    zero_offset: float = 0.0
    """Largest error of each joint's zero in an episode: reading and command are off by the same angle [rad]."""
    delay_jitter: float = 0.0
    """Largest time added to the delay, drawn anew at every control step [s]."""
    packet_loss: float = 0.0
    """Chance that a control step's targets never reach the motors, which then keep the ones before [-]."""
    slope: float = 0.0
    """Largest lean of the floor, in any direction [rad]."""
    ramp: tuple[float, float] = (0.25, 0.6)
    """Shares of the training between which all ranges grow from nothing to full; balance comes first."""
    redraw: float = 0.2
    """Chance that an environment gets a new body at a reset; the rest keep theirs, which saves time."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            BadInputError: a range is the wrong way round, or a value cannot work.
        """
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, (tuple, list)):
                if len(value) != 2 or value[0] > value[1]:
                    raise BadSettingError.of(self, item.name, "two numbers, the lower one first")
                object.__setattr__(self, item.name, tuple(value))
            elif value < 0.0:
                raise BadSettingError.of(self, item.name, "0 or more")
        for name in ("friction", "mass_scale", "inertia_scale", "gain_scale", "strength", "armature_scale"):
            if getattr(self, name)[0] <= 0.0:
                raise BadSettingError.of(self, name, "factors above 0")
        for name in ("delay", "joint_friction", "joint_damping", "restitution"):
            if getattr(self, name)[0] < 0.0:
                raise BadSettingError.of(self, name, "0 or more")
        if self.restitution[1] >= 1.0 or self.packet_loss >= 1.0:
            raise BadSettingError.of(
                self, "restitution" if self.restitution[1] >= 1.0 else "packet_loss", "less than 1"
            )
        if self.slope > 0.5:
            raise BadSettingError.of(self, "slope", "0 to 0.5")
        if self.push_interval <= 0.0:
            raise BadSettingError.of(self, "push_interval", "more than 0")


@dataclass(frozen=True)
class AlignmentConfig:
    """Forgiving time: the robot may spend longer or shorter on frames that it cannot hit on the clock.

    What it did so far is laid along the reference by dynamic programming (alignment.py), always forward, and errors
    are counted against the frame found there.
    """

    share: float = 0.0
    """Share of the tracking reward that is counted against the aligned frame; the rest is phase-locked. 0 is off."""
    max_lag: float = 0.5
    """Largest distance of the aligned frame from the clock, in both directions [s]."""
    price: float = 0.02
    """Cost of each frame that is waited at or skipped, beside the squared distance of the states."""

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            BadInputError: a value cannot work.
        """
        _check_share("AlignmentConfig", "share", self.share)
        for name in ("max_lag", "price"):
            if getattr(self, name) < 0.0:
                raise BadSettingError.of(self, name, "0 or more")


@dataclass(frozen=True)
class StyleConfig:
    """An adversarial reward: a discriminator tells transitions of the reference from the policy's.

    It sees two neighbouring instants in the base frame, neither time nor place nor heading. Every worker trains one of
    its own on its own robots. Source: Peng et al. 2021, "AMP", with the least-squares loss and its gradient penalty.
    """

    share: float = 0.0
    """Share of the reward that is style; the rest is tracking. 0 is off, and builds no discriminator."""
    layers: tuple[int, ...] = (128, 64)
    """Widths of the discriminator's hidden layers."""
    pace: float = 5e-4
    """Learning rate of the discriminator."""
    gradient_penalty: float = 5.0
    """Weight of the squared slope at transitions of the reference."""
    rows: int = 512
    """Transitions of each kind in a gradient step."""
    steps: int = 4
    """Gradient steps in each iteration of the training."""
    replay: int = 20_000
    """Transitions of earlier policies that are kept, so that old tricks stay known."""

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            BadInputError: a value cannot work.
        """
        object.__setattr__(self, "layers", tuple(int(width) for width in self.layers))
        _check_share("StyleConfig", "share", self.share)
        for name in ("rows", "steps", "replay"):
            if getattr(self, name) < 1:
                raise BadSettingError.of(self, name, "1 or more")
        if self.pace <= 0.0 or self.gradient_penalty < 0.0:
            name = "pace" if self.pace <= 0.0 else "gradient_penalty"
            raise BadSettingError.of(self, name, "above 0" if name == "pace" else "0 or more")


def _check_share(owner: str, name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise BadSettingError(owner, name, value, "a share in [0, 1]")


@dataclass(frozen=True)
class TaskConfig:
    """What the policy sees, does and is paid for."""

    action_scale: float = 0.4
    """Joint target = reference + what holds it against gravity + scale * action [rad]."""
    action_clip: float = 4.0
    """Largest magnitude of an action component."""
    history: int = 1
    """Past frames in the actor's observation; one pays for itself as soon as actions are delayed."""
    lookahead: tuple[int, ...] = (1, 4, 8)
    """Reference frames ahead of now that the actor sees [control steps]."""
    target_cutoff: float = 0.0
    """Corner frequency of a low-pass on the action, inside the exported graph [Hz]; 0 is none. What the policy sees as
    its last action is the filtered one, so it knows the filter's state. 5 Hz delays slow motion by about 23 ms."""
    start_share: float = 0.2
    """Share of the resets that begin at frame 0; the rest begin at a random frame of the reference."""
    adaptive_starts: float = 0.0
    """Share of those random frames drawn where robots fail; the rest stay uniform, so no phase is forgotten."""
    hold: float = 0.5
    """Time that the last pose is held at the end of an episode [s]."""
    reset_joint_noise: float = 0.05
    """Standard deviation of the joint angles at a reset [rad]."""
    reset_tilt_noise: float = 0.015
    """Standard deviation of the base orientation about each axis at a reset [rad]."""
    reset_velocity_noise: float = 0.05
    """Standard deviation of the base velocity at a reset [m/s]; angular twice that [rad/s], joints four times."""
    reward: RewardConfig = field(default_factory=RewardConfig)
    """Reward terms."""
    termination: TerminationConfig = field(default_factory=TerminationConfig)
    """Failure limits."""
    alignment: AlignmentConfig = field(default_factory=AlignmentConfig)
    """Errors against the frame where the robot is rather than where the clock is."""
    style: StyleConfig = field(default_factory=StyleConfig)
    """Adversarial reward."""
    self_collisions: bool = True
    """Let all of the robot's shapes touch each other and the floor in training, as in evaluation; a tenth slower than
    feet, hips and trunk alone, with which a policy may learn to put a leg through another."""
    torque_speed: bool = False
    """Train with the motors' curve of torque against speed (motors.yaml) rather than with their rated torque alone."""

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            BadInputError: a value cannot work.
        """
        if self.history < 0:
            raise BadSettingError.of(self, "history", "0 or more")
        if not self.lookahead or min(self.lookahead) < 1:
            raise BadSettingError("TaskConfig", "lookahead", list(self.lookahead), "one or more frames of at least 1")
        for name in ("start_share", "adaptive_starts"):
            _check_share("TaskConfig", name, getattr(self, name))
        if self.target_cutoff < 0.0:
            raise BadSettingError.of(self, "target_cutoff", "0 (none) or more")


@dataclass(frozen=True)
class StartConfig:
    """The policy that training begins with, and the schedules that suit one that can stand already."""

    policy: str = "auto"
    """auto takes the robot's base policy for a motion on two legs if there is one; none starts from nothing; else a
    checkpoint's .json file, or the train folder of a skill."""
    share: float = 0.35
    """Share of ``ppo.total_steps`` over which the schedules run then."""
    std: float = 0.12
    """``ppo.std_start`` then: less noise, since there is something to lose."""
    learning_rate: float = 3e-4
    """``ppo.lr`` then."""
    randomized: tuple[float, float] = (0.0, 0.3)
    """``randomization.ramp`` then."""
    wait: float = 2.0
    """Longest training before the schedules, as a share of their steps, in which noise and randomization stay at their
    starts until the motion is held: one that steps is learned first and hardened then. 0 begins at once."""
    held: float = 0.8
    """Share of the robots that must survive a check for the schedules to begin."""

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            BadInputError: a value cannot work.
        """
        object.__setattr__(self, "randomized", tuple(float(value) for value in self.randomized))
        if not 0.0 < self.share <= 1.0:
            raise BadSettingError.of(self, "share", "a share above 0, up to 1")
        for name in ("std", "learning_rate"):
            if getattr(self, name) <= 0.0:
                raise BadSettingError.of(self, name, "a number above 0")
        if self.wait < 0.0:
            raise BadSettingError.of(self, "wait", "0 (begin at once) or more")
        _check_share("StartConfig", "held", self.held)


@dataclass(frozen=True)
class TrainConfig:
    """Everything that training a skill depends on."""

    task: TaskConfig = field(default_factory=TaskConfig)
    """Observations, actions, rewards, terminations."""
    randomization: RandomizationConfig = field(default_factory=RandomizationConfig)
    """Domain randomization."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """Learning algorithm and its budget."""
    start: StartConfig = field(default_factory=StartConfig)
    """Where the networks begin."""
    easy_share: float = 0.25
    """Share of ``ppo.total_steps`` spent on a motion that stays level and keeps three feet or more on the floor;
    such a motion hardly needs balance. 1 gives every motion the whole budget."""
    settle: float = 1.0
    """Largest training to follow with the randomization full and the noise at its end, as a share of those steps, for
    a policy that is not yet steady; 0 ends with the schedules. ``ppo.settle_steps`` gives it in steps. With
    ``ppo.minutes`` set, time is the limit and nothing follows."""
    steady: float = 0.975
    """Share of the robots that must survive, on average over the last two checks, for the training to end then."""
    give_up: int = 10
    """Checks without gain, once the schedules have run, after which a policy of which less than 90 % survive trains no
    further; 0 uses ``settle`` up."""
    suit: bool = True
    """Let the motion choose limits, starts and noise (suited.py); one that stands on both feet changes nothing."""
    check_every: float = 0.1
    """Share of the training between two checks with the deterministic policy, from the start pose."""
    check_trials: int = 64
    """Robots in such a check."""
