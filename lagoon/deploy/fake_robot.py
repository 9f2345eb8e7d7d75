"""A Go2 that is not there: MuJoCo behind a wire that behaves, and misbehaves, like the real one's.

What enters: commands in motor order and with the motors' signs, and orders to misbehave. What leaves: states
of the same kind, delayed, noisy, sometimes lost. It starts lying, does its own damping when commands stay
away, and keeps a clock of its own. Physics is evaluation's, which no policy was trained in. Time is the
caller's; nothing sleeps here.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from lagoon.deploy.config import FakeRobotConfig
from lagoon.deploy.controller.maneuvers import folded_posture
from lagoon.deploy.transport.base import Array
from lagoon.motion.rotations import quat_from_rotvec, quat_mul
from lagoon.robot import RobotSpec
from lagoon.sim.model import CHECKING, Addresses, build_model

OWN_DAMPING = 2.0
"""Damping gain that the robot gives itself when no command is fresh [Nm s/rad]."""
LIE_DOWN_SECONDS = 1.5
"""Simulated time in which the robot sinks to the floor before it is switched on [s]."""
QUEUE = 1000
"""Messages under way at most; a real socket buffer overflows too."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WireState:
    """What the robot sends; M motors in the order of its bus."""

    time: float
    """Robot's own clock [s]."""
    q: Array
    """(M,) [rad]."""
    dq: Array
    """(M,) [rad/s]."""
    tau: Array
    """(M,) [Nm]."""
    temperature: Array
    """(M,) [deg C]."""
    quat: Array
    """(4,) wxyz."""
    gyro: Array
    """(3,) [rad/s]."""
    battery: float
    """State of charge in [0, 1]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WireCommand:
    """What the robot obeys: tau + kp (q - measured) + kd (dq - measured), in the order of its bus."""

    q: Array
    """(M,) [rad]."""
    dq: Array
    """(M,) [rad/s]."""
    kp: Array
    """(M,) [Nm/rad]."""
    kd: Array
    """(M,) [Nm s/rad]."""
    tau: Array
    """(M,) [Nm]."""


@dataclass
class Faults:
    """Misbehaviour that can be switched on and off while the robot runs."""

    freeze: bool = False
    """Every new state repeats the numbers of the last one under a new stamp."""
    silence: bool = False
    """No state leaves the robot."""
    cut: bool = False
    """Nothing passes in either direction."""
    hold: bool = False
    """States pile up under way and arrive together once this ends."""
    oldest_first: bool = False
    """The receiver gets the oldest message that has arrived, one at each call, like a reader with a backlog."""
    nan: str = ""
    """Field of the state whose first entry is not a number."""
    clock_offset: float = 0.0
    """Added to the robot's clock [s]."""
    battery: float = 0.8
    """State of charge [-]."""
    heat: dict[str, float] = field(default_factory=dict)
    """Temperature by joint name [deg C]; others have 35."""
    gain_scale: float = 1.0
    """Factor on the gains that the robot is told."""
    swap: dict[str, str] = field(default_factory=dict)
    """Commands for a joint go to another joint's motor."""
    reverse: tuple[str, ...] = ()
    """Joints that move the other way than they are told; what they report is right."""
    stuck: tuple[str, ...] = ()
    """Joints that give no torque."""
    other_publishers: tuple[str, ...] = ()
    """Who else is seen on the command channel; a wire of its own has somebody there who brakes."""
    checksum: bool = False
    """States carry a wrong checksum, where the wire has one."""


class FakeRobot:
    """One simulated robot behind its wire."""

    def __init__(self, robot: RobotSpec, config: FakeRobotConfig | None = None, seed: int = 0) -> None:
        """Compile the model and lie down.

        Args:
            robot: which robot.
            config: delays, losses, noise, time-out.
            seed: of noise and losses.
        """
        self.robot, self.config = robot, config or FakeRobotConfig()
        self.faults = Faults()
        self.model = build_model(robot, CHECKING)
        self.data = mujoco.MjData(self.model)
        self._at = Addresses.of(self.model, robot)
        self._motors = robot.joint_ids(robot.motor_names)
        """(M,) index in the joint order of each motor."""
        self._sign, self._zero = robot.motor_sign[self._motors], robot.motor_offset[self._motors]
        self._actuators = self._at.actuator[self._motors]
        self._rng = np.random.default_rng(seed)
        c = self.config
        self._encoder_offset = self._rng.uniform(-1.0, 1.0, robot.num_joints) * c.joint_pos_offset
        self._mounting = quat_from_rotvec(self._rng.uniform(-1.0, 1.0, 3) * c.tilt_offset)
        self._time, self._boot = 0.0, float(self._rng.uniform(10.0, 1000.0))
        self._commands: deque[tuple[float, WireCommand]] = deque(maxlen=QUEUE)
        self._states: deque[tuple[float, WireState]] = deque(maxlen=QUEUE)
        self._arrived: WireState | None = None
        self._last_sent: WireState | None = None
        self._next_state = 0.0
        self._commanded_at = -np.inf
        self._command: WireCommand | None = None
        self.is_damping = True
        """True while the robot brakes on its own, for lack of fresh commands."""
        self._lie_down()

    # The robot's side ----------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Time to which the robot has been simulated, on the caller's clock [s]."""
        return self._time

    def advance(self, now: float) -> None:
        """Simulate up to ``now``: physics in steps of 2 ms, commands as they arrive, states as they are due."""
        dt = self.model.opt.timestep
        while self._time + 0.5 * dt < now:
            self._obey()
            mujoco.mj_step(self.model, self.data)
            self._time += dt
            if self._time >= self._next_state - 0.5 * dt:
                self._next_state = self._time + self.config.state_period
                self._emit()

    def push(self, delta_vel_w: tuple[float, float, float], turn_b: tuple[float, float, float] = (0, 0, 0)) -> None:
        """Add a velocity to the trunk: linear in world [m/s], angular in the base frame [rad/s]."""
        self.data.qvel[0:3] += delta_vel_w
        self.data.qvel[3:6] += turn_b

    def truth(self) -> tuple[Array, Array, Array]:
        """Base position (3,) [m] and orientation (4,) wxyz in world, joints (J,) [rad] in RobotSpec order."""
        qpos = self.data.qpos
        return qpos[0:3].copy(), qpos[3:7].copy(), qpos[self._at.joint_qpos].copy()

    # The wire -----------------------------------------------------------------------------------------

    def send(self, command: WireCommand) -> None:
        """Put a command on the way to the robot; it may be lost."""
        if self.faults.cut or self._rng.random() < self.config.loss:
            return
        self._commands.append((self._time + self._travel(), command))

    def receive(self) -> WireState | None:
        """Newest state that has arrived by now; None before the first."""
        if self.faults.hold:
            return self._arrived
        while self._states and self._states[0][0] <= self._time + 1e-9:
            self._arrived = self._states.popleft()[1]
            if self.faults.oldest_first:
                break
        return self._arrived

    def _travel(self) -> float:
        c = self.config
        return c.delay + c.jitter * float(self._rng.random())

    def _emit(self) -> None:
        faults = self.faults
        if faults.freeze and self._last_sent is not None:
            old = self._last_sent
            state = replace(old, time=self._time + self._boot + faults.clock_offset)
        else:
            state = self._measure()
        self._last_sent = state
        if not (faults.silence or faults.cut or self._rng.random() < self.config.loss):
            self._states.append((self._time + self._travel(), state))

    def _measure(self) -> WireState:
        c, rng, data, faults = self.config, self._rng, self.data, self.faults
        joints = self.robot.num_joints
        q = data.qpos[self._at.joint_qpos] + self._encoder_offset + rng.normal(0.0, c.joint_pos_noise, joints)
        dq = data.qvel[self._at.joint_dof] + rng.normal(0.0, c.joint_vel_noise, joints)
        wobble = quat_mul(self._mounting, quat_from_rotvec(rng.normal(0.0, c.tilt_noise, 3)))
        fields = {
            "q": self._sign * q[self._motors] + self._zero,
            "dq": self._sign * dq[self._motors],
            "tau": self._sign * data.actuator_force[self._actuators],
            "temperature": np.array([faults.heat.get(name, 35.0) for name in self.robot.motor_names]),
            "quat": quat_mul(data.qpos[3:7], wobble),
            "gyro": data.qvel[3:6] + rng.normal(0.0, c.ang_vel_noise, 3),
        }
        if faults.nan:
            fields[faults.nan][0] = np.nan
        return WireState(time=self._time + self._boot + faults.clock_offset, battery=faults.battery, **fields)

    def _obey(self) -> None:
        """Give the motors the newest command that has arrived, or brake."""
        while self._commands and self._commands[0][0] <= self._time + 1e-9:
            self._command = self._commands.popleft()[1]
            self._commanded_at = self._time
        self.is_damping = self._time - self._commanded_at > self.config.command_timeout
        if self.is_damping or self._command is None:
            zeros = np.zeros(self.robot.num_joints)
            self._drive(zeros, zeros, zeros + OWN_DAMPING)
            return
        c, faults = self._command, self.faults
        order = self._wiring()
        kp, kd = c.kp[order] * faults.gain_scale, c.kd[order] * faults.gain_scale
        sign = self._sign * np.array([-1.0 if name in faults.reverse else 1.0 for name in self.robot.motor_names])
        works = np.array([0.0 if name in faults.stuck else 1.0 for name in self.robot.motor_names])
        push = kp * (c.q[order] - self._zero) * sign + kd * c.dq[order] * sign + c.tau[order] * sign
        self._drive(push * works, kp * works, kd * works)

    def _wiring(self) -> np.ndarray:
        """(M,) which entry of a command each motor obeys."""
        names = list(self.robot.motor_names)
        return np.array([names.index(self.faults.swap.get(name, name)) for name in names])

    def _drive(self, push: Array, kp: Array, kd: Array) -> None:
        """Torque = push - kp q - kd dq, integrated implicitly and clipped by the model; all in motor order."""
        model, motors = self.model, self._actuators
        model.actuator_gainprm[motors, 0] = 1.0
        model.actuator_biasprm[motors, 1] = -kp
        model.actuator_biasprm[motors, 2] = -kd
        self.data.ctrl[motors] = push

    def _lie_down(self) -> None:
        """Fold the legs and let the robot sink to the floor."""
        zeros = np.zeros(self.robot.num_joints)
        self.data.qpos[0:3] = (0.0, 0.0, 0.15)
        self.data.qpos[3:7] = (1.0, 0.0, 0.0, 0.0)
        self.data.qpos[self._at.joint_qpos] = folded_posture(self.robot)
        self._drive(zeros, zeros, zeros + OWN_DAMPING)
        for _ in range(round(LIE_DOWN_SECONDS / self.model.opt.timestep)):
            mujoco.mj_step(self.model, self.data)
        self._emit()
