"""The maker's meshes out of a checkout of MuJoCo Menagerie: placed by joints at zero angles, drawn, never simulated."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.robot import load_robot
from lagoon.sim.figures import Poses, RobotFigure
from lagoon.sim.meshes import meshes_of
from lagoon.sim.model import build_model
from lagoon.sim.opengl import NoOpenGLError
from lagoon.sim.render import Camera, Drawn, Renderer

WEDGE = np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0.05, 0], [0, 0, -0.2]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like the Menagerie's: the Go2 with a wedge below each calf joint, and turned link frames."""
    spec = mujoco.MjSpec.from_file(str(load_robot("go2").model_path))
    for geom in list(spec.geoms):
        spec.delete(geom)
    mesh = spec.add_mesh(name="wedge")
    mesh.uservert, mesh.userface = WEDGE.ravel(), FACES.ravel()
    for leg in load_robot("go2").legs:
        calf = spec.joint(leg.calf_joint).parent
        calf.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname="wedge",
            contype=0,
            conaffinity=0,
            group=2,
            rgba=[1, 0, 0, 1],
            mass=0,
        )
        calf.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="wedge", group=3, mass=0)
    spec.compile()
    folder = tmp_path / "menagerie" / "unitree_go2"
    folder.mkdir(parents=True)
    (folder / "go2.xml").write_text(spec.to_xml())
    monkeypatch.setenv("LAGOON_MENAGERIE", str(folder.parent))
    return folder


def test_without_a_checkout_robots_look_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAGOON_MENAGERIE", raising=False)
    body = RobotFigure(load_robot("go2"))
    assert body.looks is body.figure


def test_each_mesh_sits_where_the_maker_has_it(checkout: Path) -> None:
    robot = load_robot("go2")
    model = build_model(robot)
    placed = meshes_of(robot, model)
    assert sorted(item.body for item in placed) == sorted(
        model.body(int(model.joint(leg.calf_joint).bodyid[0])).name for leg in robot.legs
    ), "the meshes that collide are left out"
    assert all(item.rgba == (1.0, 0.0, 0.0, 1.0) for item in placed)
    body = RobotFigure(robot)
    assert body.looks.frames == body.figure.frames and all(shape.kind == "mesh" for shape in body.looks.shapes)
    # At any angles the wedge hangs at its joint.
    angles = robot.default_joint_pos + 0.1
    pos, quat = body.pose(np.array([1.0, 2.0, 3.0]), np.array([0.6, 0.0, 0.8, 0.0]), angles)
    centre, turn = Poses(pos[None], quat[None]).shapes_w(body.looks)
    data = mujoco.MjData(model)
    data.qpos[:7] = [1, 2, 3, 0.6, 0, 0.8, 0]
    data.qpos[body.addresses.joint_qpos] = angles
    mujoco.mj_kinematics(model, data)
    for shape, at, q in zip(body.looks.shapes, centre[0], turn[0], strict=True):
        link = model.body(body.looks.frames[shape.frame]).id
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, q)
        corners = at + shape.mesh.vertices @ rotation.reshape(3, 3).T
        wanted = data.xpos[link] + WEDGE @ data.xmat[link].reshape(3, 3).T
        distance = np.linalg.norm(corners[:, None] - wanted[None], axis=-1)
        assert distance.min(axis=1).max() < 1e-5 and distance.min(axis=0).max() < 1e-5


def test_meshes_are_drawn(checkout: Path) -> None:
    robot = load_robot("go2")
    body = RobotFigure(robot)
    pos, quat = body.pose(np.array([0.0, 0, 0.3]), np.array([1.0, 0, 0, 0]), robot.default_joint_pos)
    try:
        renderer = Renderer(160, 160, 1)
    except NoOpenGLError as error:
        pytest.skip(str(error))
    with renderer:
        camera = Camera((0.0, 0.0, 0.2), 1.2)
        bare = renderer.draw([Drawn(body.figure, pos, quat)], camera)
        seen = renderer.draw([Drawn(body.looks, pos, quat)], camera)
        red = lambda image: ((image[..., 0] > 90) & (image[..., 1] < 60)).sum()  # noqa: E731
        assert red(seen) > 100 > red(bare)
        assert np.array_equal(renderer.draw([Drawn(body.figure, pos, quat)], camera), bare)


def test_a_wrong_folder_is_told(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = load_robot("go2")
    (checkout / "go2.xml").write_text("<mujoco/>")
    with pytest.raises(BadInputError, match="has no joint FL_hip_joint, so it is not robot 'go2'"):
        RobotFigure(robot)
    (checkout / "go2.xml").write_text("<mujoco")
    with pytest.raises(BadInputError, match=r"MuJoCo cannot read .*go2.xml.*unset .LAGOON_MENAGERIE"):
        RobotFigure(robot)
    monkeypatch.setenv("LAGOON_MENAGERIE", str(tmp_path))
    with pytest.raises(BadInputError, match=r"which has no unitree_go2/go2.xml"):
        RobotFigure(robot)
    monkeypatch.setenv("LAGOON_MENAGERIE", str(tmp_path / "nothing"))
    with pytest.raises(BadInputError, match="which is no folder"):
        RobotFigure(robot)
