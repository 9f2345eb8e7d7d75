"""Draws figures offscreen with MuJoCo's renderer.

What enters: figures, their poses, a camera. What leaves: pictures as uint8 arrays. Built for software
OpenGL: a plain floor with thin lines, no shadow map (shadows are flat shapes on the floor), and twice
the size drawn and averaged instead of multisampling; docs/viewing.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from lagoon.motion.rotations import quat_to_matrix
from lagoon.sim.figures import Figure, Poses
from lagoon.sim.meshes import Mesh
from lagoon.sim.opengl import make_context

Array = NDArray[np.float64]
Picture = NDArray[np.uint8]

FLOOR = (0.86, 0.875, 0.895, 1.0)
LINE = (0.79, 0.81, 0.84, 1.0)
SHADOW = (0.68, 0.7, 0.735, 1.0)
GHOST = (0.1, 0.65, 0.62, 0.22)
"""Colour of a figure drawn as a ghost."""
TO_LIGHT = np.array([0.3, -0.25, 1.0])
"""Direction toward the light [m]: shadows fall the other way."""
FIELD_OF_VIEW = 35.0
"""Vertical opening of every camera [deg]."""
GRID_STEP, GRID_REACH = 0.5, 5
"""Distance of the floor's lines [m], and how many of them on each side of the camera's target."""
_MAX_GEOMS = 600
_TYPES = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "mesh": mujoco.mjtGeom.mjGEOM_MESH,
}
_XML = """<mujoco><visual><headlight ambient="0.5 0.5 0.5" diffuse="0.35 0.35 0.35" specular="0 0 0"/>
<global offwidth="{width}" offheight="{height}" fovy="{fovy}"/>
<quality shadowsize="0" offsamples="0" numslices="16" numstacks="10" numquads="1"/>
<map znear="0.02" zfar="40"/></visual>
<statistic extent="1" center="0 0 0"/>
<asset><texture name="sky" type="skybox" builtin="gradient" width="32" height="32"
  rgb1="0.97 0.98 1" rgb2="0.84 0.88 0.93"/></asset>
<worldbody><light directional="true" pos="0 0 4" dir="{light}" diffuse="0.45 0.45 0.45" specular="0.15 0.15 0.15"/>
</worldbody></mujoco>"""


@dataclass(frozen=True)
class Camera:
    """A camera that looks at a point from a direction."""

    target_w: tuple[float, float, float]
    """Point in the middle of the picture [m]."""
    distance: float
    """[m]"""
    azimuth: float = 140.0
    """[deg] 180 looks along world -X, that is, into the face of a figure that looks along +X."""
    elevation: float = -14.0
    """[deg] negative looks down."""


@dataclass(frozen=True)
class Drawn:
    """One figure at one moment."""

    figure: Figure
    pos: Array
    """(B, 3) frame origins in world [m]."""
    quat: Array
    """(B, 4) frame to world, wxyz."""
    ghost: bool = False
    """Drawn see-through in one colour and without a shadow."""


class Renderer:
    """Draws pictures of one size; use as a context manager."""

    def __init__(self, width: int, height: int, supersample: int = 2) -> None:
        """Reserve the OpenGL context.

        Args:
            width: picture width [pixel].
            height: picture height [pixel].
            supersample: each pixel is the mean of this many squared.

        Raises:
            NoOpenGLError: the machine cannot draw.
        """
        self.width, self.height, self.supersample = width, height, supersample
        big = (width * supersample, height * supersample)
        self._gl: Any = make_context(*big)
        self._meshes: dict[Mesh, int] = {}
        self._context: Any = None
        self._load(big)
        self._option, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self._rect = mujoco.MjrRect(0, 0, *big)
        self._pixels = np.empty((big[1], big[0], 3), np.uint8)

    def __enter__(self) -> Renderer:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the context."""
        self.close()

    def close(self) -> None:
        """Release the context; the renderer cannot be used afterwards."""
        if self._gl is not None:
            self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._gl = None

    def _load(self, size: tuple[int, int]) -> None:
        """Upload the stage and all meshes that are known to OpenGL."""
        light = " ".join(str(v) for v in -TO_LIGHT)
        spec = mujoco.MjSpec.from_string(_XML.format(width=size[0], height=size[1], light=light, fovy=FIELD_OF_VIEW))
        for mesh, number in self._meshes.items():
            added = spec.add_mesh(name=f"mesh{number}")
            added.uservert, added.userface = mesh.vertices.ravel(), mesh.faces.ravel()
            added.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        if self._context is not None:
            self._context.free()
        self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(self._model, _MAX_GEOMS)
        self._scene.flags[:] = 0
        for flag in (mujoco.mjtRndFlag.mjRND_SKYBOX, mujoco.mjtRndFlag.mjRND_CULL_FACE):
            self._scene.flags[flag] = 1

    def _know_meshes(self, figures: Sequence[Drawn]) -> None:
        meshes = dict.fromkeys(s.mesh for drawn in figures for s in drawn.figure.shapes if s.mesh is not None)
        if fresh := [mesh for mesh in meshes if mesh not in self._meshes]:
            self._meshes |= {mesh: len(self._meshes) + i for i, mesh in enumerate(fresh)}
            self._load((self.width * self.supersample, self.height * self.supersample))

    def draw(self, figures: Sequence[Drawn], camera: Camera) -> Picture:
        """Return a picture (height, width, 3) of the figures on the floor."""
        self._gl.make_current()
        self._know_meshes(figures)
        self._camera.lookat[:] = camera.target_w
        self._camera.distance, self._camera.azimuth = camera.distance, camera.azimuth
        self._camera.elevation = camera.elevation
        every = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, self._data, self._option, None, self._camera, every, self._scene)
        self._scene.ngeom = 0
        self._add_floor(camera)
        for drawn in figures:
            self._add_figure(drawn)
        mujoco.mjr_render(self._rect, self._scene, self._context)
        mujoco.mjr_readPixels(self._pixels, None, self._rect, self._context)
        return _shrink(self._pixels[::-1], self.supersample)

    def _add(
        self, kind: int, size: Array, pos: Array, matrix: Array, rgba: tuple[float, ...], mesh: Mesh | None = None
    ) -> None:
        scene = self._scene
        if scene.ngeom >= _MAX_GEOMS:
            return
        geom = scene.geoms[scene.ngeom]
        if mesh is not None:  # MuJoCo has moved and turned it to its own centre and axes.
            number = self._meshes[mesh]
            pos = pos + matrix @ self._model.mesh_pos[number]
            matrix = matrix @ quat_to_matrix(self._model.mesh_quat[number])
        mujoco.mjv_initGeom(geom, kind, size, pos, matrix.ravel(), np.array(rgba, np.float32))
        if mesh is not None:
            geom.dataid = 2 * self._meshes[mesh]  # Even numbers are meshes, odd ones their hulls.
        # mjv_initGeom leaves camdist unset, and the renderer sorts by it.
        geom.camdist = 0.0
        scene.ngeom += 1

    def _add_floor(self, camera: Camera) -> None:
        center = np.round(np.array(camera.target_w[:2]) / GRID_STEP) * GRID_STEP
        eye = np.eye(3)
        flat = np.array([center[0], center[1], 0.0])
        self._add(mujoco.mjtGeom.mjGEOM_PLANE, np.array([30.0, 30.0, 0.1]), flat, eye, FLOOR)
        reach = GRID_STEP * GRID_REACH
        for step in range(-GRID_REACH, GRID_REACH + 1):
            for axis in (0, 1):
                size, pos = np.full(3, 0.0005), flat.copy()
                size[1 - axis], size[axis] = reach, 0.004
                pos[axis] += step * GRID_STEP
                self._add(mujoco.mjtGeom.mjGEOM_BOX, size, pos, eye, LINE)

    def _add_figure(self, drawn: Drawn) -> None:
        pos, quat = Poses(drawn.pos[None], drawn.quat[None]).shapes_w(drawn.figure)
        matrices = quat_to_matrix(quat[0])
        if not drawn.ghost:
            self._add_shadow(drawn.figure, pos[0], matrices)
        # A ghost that agrees with its figure hides inside it instead of flickering on its surface.
        scale = 0.94 if drawn.ghost else 1.0
        for shape, center, matrix in zip(drawn.figure.shapes, pos[0], matrices, strict=True):
            rgba = GHOST if drawn.ghost else shape.rgba
            self._add(_TYPES[shape.kind], np.array(shape.size) * scale, center, matrix, rgba, shape.mesh)

    def _add_shadow(self, figure: Figure, pos: Array, matrices: Array) -> None:
        """Lay a figure's shadow on the floor: per shape two discs and a strip between them, all opaque.

        Args:
            figure: the figure, S shapes.
            pos: (S, 3) centres of its shapes in world [m].
            matrices: (S, 3, 3) their orientations, shape to world.
        """
        half, radius, axis = _rods(figure)
        along = half[:, None] * np.take_along_axis(matrices, axis[:, None, None], axis=2)[..., 0]
        start, end = (p - p[:, 2:] / TO_LIGHT[2] * TO_LIGHT for p in (pos - along, pos + along))
        # Flat shapes 0.6 mm thick lie on the floor; all in one colour, so overlaps do not show.
        thin, eye = 0.0006, np.eye(3)
        start[:, 2] = end[:, 2] = thin
        lengths = np.linalg.norm(end - start, axis=1)
        cos, sin = ((end - start)[:, :2] / np.maximum(lengths, 1e-9)[:, None]).T
        disc, box = mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_BOX
        for i, length in enumerate(lengths):
            size = np.array([radius[i], thin, 0.0])
            self._add(disc, size, start[i], eye, SHADOW)
            if length > 0.01:
                self._add(disc, size, end[i], eye, SHADOW)
                turn = np.array([[cos[i], -sin[i], 0.0], [sin[i], cos[i], 0.0], [0.0, 0.0, 1.0]])
                self._add(box, np.array([length / 2, radius[i], thin]), (start[i] + end[i]) / 2, turn, SHADOW)


@lru_cache(maxsize=16)
def _rods(figure: Figure) -> tuple[Array, Array, NDArray[np.int64]]:
    """Half lengths (S) [m], radii (S) [m] and local axes (S) of rods as large as the figure's S shapes.

    A box counts as a rod along its longest side.
    """
    rods: list[tuple[float, float, int]] = []
    for shape in figure.shapes:
        if shape.kind in ("box", "mesh"):
            axis = int(np.argmax(shape.size))
            radius = (sum(shape.size) - shape.size[axis]) / 2
            rods.append((max(shape.size[axis] - radius, 0.0), radius, axis))
        else:
            rods.append((shape.size[1], shape.size[0], 2))
    half, radii, axes = zip(*rods, strict=True)
    return np.array(half), np.array(radii), np.array(axes)


def _shrink(pixels: Picture, factor: int) -> Picture:
    """Average blocks of factor x factor pixels of a picture (H, W, 3)."""
    height, width = pixels.shape[0] // factor, pixels.shape[1] // factor
    # Sums in 16 bits hold up to 16 x 16 blocks of 255; adding rows first is several times faster than a mean.
    rows = np.zeros((height, width * factor, 3), np.uint16)
    for row in range(factor):
        rows += pixels[row::factor]
    blocks = rows.reshape(height, width, factor, 3)
    total = blocks[:, :, 0].copy()
    for column in range(1, factor):
        total += blocks[:, :, column]
    return (total // factor**2).astype(np.uint8)


def follow(
    poses: Poses,
    figure: Figure,
    fps: float,
    aspect: float = 1.0,
    ghost: Poses | None = None,
    smooth: float = 0.5,
) -> list[Camera]:
    """Cameras (T) that follow a figure smoothly and keep all of it in the picture at all times.

    Args:
        poses: the figure's frames over T moments.
        figure: its shapes.
        fps: moments per second [Hz].
        aspect: picture width over height.
        ghost: other poses of the same figure that must be in the picture too.
        smooth: standard deviation of the smoothing of the camera's path [s].
    """
    ground = poses.pos[:, 0, :2]
    width = max(int(3 * smooth * fps), 1)
    kernel = np.exp(-0.5 * (np.arange(-width, width + 1) / (smooth * fps)) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(ground, ((width, width), (0, 0)), mode="edge")
    path = np.stack([np.convolve(padded[:, axis], kernel, mode="valid") for axis in (0, 1)], axis=1)
    centers = np.concatenate([each.shapes_w(figure)[0] for each in (poses, ghost) if each is not None], axis=1)
    half, radius, _ = _rods(figure)
    reach = np.tile(half + radius, 1 if ghost is None else 2)
    top = max(float((centers[..., 2] + reach).max()), 0.3)
    sideways = float((np.linalg.norm(centers[..., :2] - path[:, None], axis=-1) + reach).max())
    half_tan = np.tan(np.radians(FIELD_OF_VIEW) / 2)
    # Room above the head for a label: the figure's middle lies below the picture's.
    middle = 0.56 * top
    distance = max(0.66 * top / half_tan, sideways / (half_tan * min(aspect, 1.0))) + 0.15 * sideways
    return [Camera((float(x), float(y), middle), distance) for x, y in path]
