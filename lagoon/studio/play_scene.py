"""The browser's scene and controls, on viser.

What enters: snapshots to draw. What leaves: commands of the person, in a queue, since viser calls back
from its own threads. Three lanes side by side: the person, the robot's reference, the policy.
"""

from __future__ import annotations

import html
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lagoon.errors import require
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.quadruped_motion import QuadrupedMotion
from lagoon.robot import RobotSpec
from lagoon.sim.figures import Figure, Poses, RobotFigure, human_figure
from lagoon.sim.render import GHOST
from lagoon.studio.config import PlayConfig
from lagoon.studio.play_session import PlaySession, RobotPose, Snapshot

Array = NDArray[np.float64]
Command = Callable[[PlaySession], None]
DIRECTIONS = {"forward": 0.0, "back": np.pi, "left": np.pi / 2, "right": -np.pi / 2}
"""Directions of a push [rad]: the robot faces world +X at the start."""
_SMOOTH = 0.08
"""Share of the way that the followed point moves toward the robot in one update."""


class PlayScene:
    """Draws snapshots; ``commands`` holds what the person asked for since the last look."""

    def __init__(
        self,
        server: Any,
        session: PlaySession,
        human: HumanMotion | QuadrupedMotion | None,
        robot: RobotSpec,
        config: PlayConfig,
    ) -> None:
        """Build lanes and controls.

        Args:
            server: a viser.ViserServer.
            session: what is played.
            human: the person's motion, whose lane is left out when None.
            robot: which robot.
            config: sizes.
        """
        self.server, self.config, self.robot = server, config, robot
        self.commands: deque[Command] = deque()
        self._followed = np.zeros(2)
        self._status = ""
        self._prepare()
        names = [name for name, there in self._lanes(session, human) if there]
        middle = (len(names) - 1) / 2
        # Seen from the front, world +Y is to the right.
        self._lane = {name: (i - middle) * config.spacing for i, name in enumerate(names)}
        self._figures: dict[str, _Nodes] = {}
        self._human: tuple[float, Poses] | None = None
        if human is not None:
            self._human = (human.fps, self._add_human(human))
        self._body = RobotFigure(robot)
        for name, label in (("reference", "robot reference"), ("policy", "policy, live")):
            if name in self._lane:
                self._figures[name] = _Nodes(server, f"/stage/{name}", self._body.looks)
                self._add_label(name, label)
        if "policy" in self._lane:
            self._figures["ghost"] = _Nodes(server, "/stage/ghost", self._body.figure, ghost=True)
        self._add_controls(session)

    @staticmethod
    def _lanes(session: PlaySession, human: HumanMotion | QuadrupedMotion | None) -> tuple[tuple[str, bool], ...]:
        return (
            ("human", human is not None),
            ("reference", session.reference is not None),
            ("policy", session.stepper is not None),
        )

    def _prepare(self) -> None:
        server = self.server
        server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(18, 143, 136))
        # Older viser has no panels to dock; its controls float.
        panel = getattr(server.gui, "main_panel", None)
        if panel is not None:
            panel.dock_right()
        server.scene.set_up_direction("+z")
        self._stage = server.scene.add_frame("/stage", show_axes=False)
        server.scene.add_grid(
            "/stage/floor",
            width=30.0,
            height=30.0,
            cell_size=0.5,
            section_size=1.0,
            cell_color=(214, 219, 226),
            section_color=(196, 203, 212),
            plane_color=(236, 239, 243),
            plane_opacity=1.0,
            shadow_opacity=0.25,
            fade_distance=14.0,
        )
        server.initial_camera.fov = np.radians(42.0)
        server.initial_camera.position = (3.3, -1.15, 1.15)
        server.initial_camera.look_at = (0.0, 0.0, 0.32)

    def _add_human(self, human: HumanMotion | QuadrupedMotion) -> Poses:
        scale = self.config.human_scale
        scaled = replace(human, joint_pos_w=human.joint_pos_w * scale)
        figure, poses = human_figure(scaled, radius_scale=scale)
        self._figures["human"] = _Nodes(self.server, "/stage/human", figure)
        size = "" if scale == 1.0 else f" ({scale:.0%} size)"
        self._add_label("human", f"human{size}")
        return poses

    def _add_label(self, name: str, text: str) -> None:
        position = (0.4, self._lane[name] - 0.12, 0.02)
        self.server.scene.add_label(f"/stage/{name}_label", text, position=position)

    def _add_controls(self, session: PlaySession) -> None:
        gui = self.server.gui
        # The command comes from outside: as HTML it is escaped, while markdown could run what is in braces.
        title = session.human.text if session.human is not None and session.human.text else self.robot.name
        gui.add_html(f'<div style="padding:2px 14px;font-weight:600;overflow-wrap:anywhere">{html.escape(title)}</div>')
        self._bar = gui.add_progress_bar(0.0)
        self._text = gui.add_html("")
        play = gui.add_button("Pause", icon="player-pause")
        restart = gui.add_button("Restart", icon="rotate")
        speed = gui.add_slider("Speed", min=0.1, max=2.0, step=0.1, initial_value=1.0)
        self._follow = gui.add_checkbox("Follow the robot", initial_value=True)
        loop = gui.add_checkbox("Start again at the end", initial_value=session.loop)

        @play.on_click
        def _(_: Any) -> None:
            def toggle(s: PlaySession) -> None:
                s.playing = not s.playing
                play.label = "Pause" if s.playing else "Play"
                play.icon = "player-pause" if s.playing else "player-play"

            self.commands.append(toggle)

        @restart.on_click
        def _(_: Any) -> None:
            self.commands.append(lambda s: s.restart())

        @speed.on_update
        def _(_: Any) -> None:
            value = float(speed.value)
            self.commands.append(lambda s: setattr(s, "speed", value))

        @loop.on_update
        def _(_: Any) -> None:
            value = bool(loop.value)
            self.commands.append(lambda s: setattr(s, "loop", value))

        if session.stepper is not None:
            self._ghost = gui.add_checkbox("Reference as ghost", initial_value=True)
            with gui.add_folder("Push"):
                strength = gui.add_slider("Strength [m/s]", min=0.1, max=1.5, step=0.1, initial_value=0.4)
                direction = gui.add_dropdown("Direction", tuple(DIRECTIONS), initial_value="left")
                push = gui.add_button("Push", icon="hand-move")

            @push.on_click
            def _(_: Any) -> None:
                size, angle = float(strength.value), DIRECTIONS[direction.value]
                self.commands.append(lambda s: s.push(size, angle))

    def update(self, snapshot: Snapshot) -> None:
        """Draw a snapshot."""
        with self.server.atomic():
            if self._human is not None and snapshot.human_time is not None:
                fps, poses = self._human
                at = poses.sample(np.array([snapshot.human_time * fps]))
                self._figures["human"].move(at.pos[0], at.quat[0], self._offset("human"))
            self._draw("reference", snapshot.reference, np.zeros(3))
            self._draw("policy", snapshot.policy, np.zeros(3))
            if snapshot.policy is not None and snapshot.reference is not None:
                # As in the preview, the ghost stands over the same spot as the policy: it compares poses.
                shift = snapshot.policy.root_pos_w - snapshot.reference.root_pos_w
                self._draw("ghost", snapshot.reference, np.array([shift[0], shift[1], 0.0]))
                self._figures["ghost"].show(bool(self._ghost.value))
            self._draw_push(snapshot)
            self._follow_robot(snapshot)
            self._tell(snapshot)

    def _offset(self, name: str) -> Array:
        return np.array([0.0, self._lane["policy" if name == "ghost" else name], 0.0])

    def _draw(self, name: str, pose: RobotPose | None, shift: Array) -> None:
        if pose is None or name not in self._figures:
            return
        pos, quat = self._body.pose(pose.root_pos_w, pose.root_quat_w, pose.joint_pos)
        self._figures[name].move(pos, quat, self._offset(name) + shift)

    def _draw_push(self, snapshot: Snapshot) -> None:
        if snapshot.push is None or snapshot.policy is None:
            self.server.scene.remove_by_name("/stage/push")
            return
        tip = snapshot.policy.root_pos_w + self._offset("policy")
        tail = tip - np.array([*snapshot.push, 0.0]) / np.linalg.norm(snapshot.push) * (
            0.2 + 0.4 * np.linalg.norm(snapshot.push)
        )
        self.server.scene.add_arrows("/stage/push", np.array([[tail, tip]]), (220, 50, 40), shaft_radius=0.012)

    def _follow_robot(self, snapshot: Snapshot) -> None:
        """Move the stage, not the camera, so that a person may turn the camera meanwhile."""
        lead = snapshot.policy or snapshot.reference
        goal = lead.root_pos_w[:2] if lead is not None and self._follow.value else np.zeros(2)
        self._followed = self._followed + _SMOOTH * (goal - self._followed)
        self._stage.position = (-self._followed[0], -self._followed[1], 0.0)

    def _tell(self, snapshot: Snapshot) -> None:
        lines = [f"{snapshot.time:.1f} / {snapshot.duration:.1f} s &nbsp; <b>{html.escape(snapshot.segment)}</b>"]
        if snapshot.joint_error is not None:
            lines.append(f"joint error {snapshot.joint_error:.3f} rad")
        if snapshot.fell_at is not None:
            lines.append(f'<b style="color:#d0402f">fell at {snapshot.fell_at:.1f} s</b>')
        elif snapshot.policy is not None:
            lines.append('<span style="color:#168c5a">standing</span>')
        text = '<div style="padding:0 14px;font-variant-numeric:tabular-nums">' + "<br>".join(lines) + "</div>"
        # The panel is redrawn by the browser at each change; what reads the same is not sent again.
        if text != self._status:
            self._text.content = self._status = text
            self._bar.value = 100.0 * snapshot.time / max(snapshot.duration, 1e-9)


class _Nodes:
    """A figure as scene nodes: one frame node for each frame, shapes below it."""

    def __init__(self, server: Any, root: str, figure: Figure, ghost: bool = False) -> None:
        scene = server.scene
        self.root = scene.add_frame(root, show_axes=False)
        self.frames = [scene.add_frame(f"{root}/{i}", show_axes=False) for i in range(len(figure.frames))]
        trimesh = require("trimesh", "viewer")
        for i, shape in enumerate(figure.shapes):
            rgb = GHOST[:3] if ghost else shape.rgba[:3]
            shrink = 0.94 if ghost else 1.0
            a, b, c = (shrink * v for v in shape.size)
            look: dict[str, Any] = {
                "color": tuple(round(255 * v) for v in rgb),
                "position": shape.pos,
                "wxyz": shape.quat,
                "opacity": 0.25 if ghost else None,
                "cast_shadow": not ghost,
                "receive_shadow": not ghost,
            }
            name = f"{root}/{shape.frame}/shape{i}"
            if shape.mesh is not None:
                scene.add_mesh_simple(name, shrink * shape.mesh.vertices, shape.mesh.faces, **look)
            elif shape.kind == "box":
                scene.add_box(name, dimensions=(2 * a, 2 * b, 2 * c), **look)
            elif shape.kind == "sphere":
                scene.add_icosphere(name, radius=a, **look)
            elif shape.kind == "cylinder":
                scene.add_cylinder(name, radius=a, height=2 * b, **look)
            else:
                mesh = trimesh.creation.capsule(height=2 * b, radius=a, count=[16, 16])
                scene.add_mesh_simple(name, np.asarray(mesh.vertices), np.asarray(mesh.faces), **look)

    def move(self, pos: Array, quat: Array, offset: Array) -> None:
        """Put the frames (B, 3), (B, 4) into the scene, all shifted by offset (3,) [m]."""
        self.root.position = tuple(offset)
        for node, p, q in zip(self.frames, pos, quat, strict=True):
            node.position, node.wxyz = p, q

    def show(self, visible: bool) -> None:
        """Show or hide the figure."""
        if self.root.visible != visible:
            self.root.visible = visible
