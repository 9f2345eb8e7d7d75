import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.motion.human_motion import HumanMotion
from lagoon.robot import load_robot
from lagoon.sim import opengl
from lagoon.sim.figures import Poses, RobotFigure, human_figure
from lagoon.sim.render import Camera, Drawn, Renderer, _shrink, follow


@pytest.fixture(scope="module")
def body() -> RobotFigure:
    return RobotFigure(load_robot("go2"))


@pytest.fixture(scope="module")
def renderer():
    try:
        made = Renderer(160, 128)
    except opengl.NoOpenGLError as error:
        pytest.skip(str(error))
    yield made
    made.close()


def standing(body: RobotFigure, x: float = 0.0, calf: float = 0.0) -> Drawn:
    joints = body.robot.default_joint_pos.copy()
    joints[body.robot.joint_names.index("FL_calf_joint")] += calf
    pos, quat = body.pose(np.array([x, 0.0, body.robot.default_root_height]), np.array([1.0, 0, 0, 0]), joints)
    return Drawn(body.figure, pos, quat)


CAMERA = Camera((0.0, 0.0, 0.2), 1.6)


def test_picture_shows_a_robot_that_moves(renderer, body) -> None:
    empty = renderer.draw([], CAMERA).astype(int)
    still = renderer.draw([standing(body)], CAMERA).astype(int)
    moved = renderer.draw([standing(body, calf=-0.8)], CAMERA).astype(int)
    assert still.shape == (128, 160, 3)
    assert empty.mean() > 150  # a bright room
    covered = (np.abs(still - empty).max(axis=-1) > 30).mean()
    assert 0.04 < covered < 0.6
    assert 0.002 < (np.abs(moved - still).max(axis=-1) > 30).mean() < covered
    np.testing.assert_array_equal(renderer.draw([standing(body)], CAMERA), still)


def test_shadow_lies_on_the_floor(renderer, body) -> None:
    above = Camera((0.0, 0.0, 0.0), 2.0, elevation=-89.0)
    empty = renderer.draw([], above).astype(int)
    drawn = standing(body)
    raised = drawn.pos + np.array([0, 0, 0.3])
    shadowed = renderer.draw([Drawn(drawn.figure, raised, drawn.quat)], above).astype(int)
    ghost = renderer.draw([Drawn(drawn.figure, raised, drawn.quat, ghost=True)], above).astype(int)

    def grey(picture: np.ndarray) -> float:
        darker = (empty - picture).min(axis=-1) > 20
        plain = np.ptp(picture, axis=-1) < 25
        return float((darker & plain & (picture.mean(axis=-1) > 110)).mean())

    assert grey(shadowed) > 0.01
    assert grey(ghost) < grey(shadowed) / 2


def test_ghost_is_see_through(renderer, body) -> None:
    drawn = standing(body)
    ghost = Drawn(drawn.figure, drawn.pos, drawn.quat, ghost=True)
    empty = renderer.draw([], CAMERA).astype(int)
    faint = np.abs(renderer.draw([ghost], CAMERA).astype(int) - empty).max(axis=-1)
    solid = np.abs(renderer.draw([drawn], CAMERA).astype(int) - empty).max(axis=-1)
    assert (faint > 15).mean() > 0.02
    assert faint.max() < solid.max()


def test_follow_keeps_the_figure_in_the_picture(renderer, body) -> None:
    walk = [standing(body, x) for x in np.linspace(0.0, 3.0, 50)]
    poses = Poses(np.stack([d.pos for d in walk]), np.stack([d.quat for d in walk]))
    cameras = follow(poses, body.figure, fps=25.0, aspect=160 / 128)
    for i in (0, 25, 49):
        empty = renderer.draw([], cameras[i]).astype(int)
        changed = np.abs(renderer.draw([walk[i]], cameras[i]).astype(int) - empty).max(axis=-1) > 60
        assert changed.mean() > 0.02
        assert not changed[:, 0].any() and not changed[:, -1].any() and not changed[0].any() and not changed[-1].any()


def test_robot_figure_follows_the_model(body) -> None:
    robot = body.robot
    feet = [i for i, shape in enumerate(body.figure.shapes) if shape.kind == "sphere" and shape.size[0] == 0.022]
    drawn = standing(body)
    centers, _ = Poses(drawn.pos[None], drawn.quat[None]).shapes_w(body.figure)
    # In the stand all four feet touch the floor.
    np.testing.assert_allclose(centers[0, feet, 2], robot.foot_radius, atol=2e-3)
    assert len(feet) == 4


def test_human_figure_limbs_end_at_the_joints() -> None:
    names = ("left_shoulder", "left_elbow", "left_wrist", "tail")
    pos = np.array([[[0, 0, 1.4], [0, 0.3, 1.4], [0, 0.3, 1.1], [1, 1, 1]]] * 2, float)
    figure, poses = human_figure(HumanMotion(20.0, names, pos))
    assert figure.frames == ("left_elbow", "left_wrist", "tail")
    forearm = next(s for s in figure.shapes if s.frame == 1 and s.kind == "capsule")
    assert forearm.size[1] == pytest.approx(0.15)
    along = poses.shapes_w(figure)[1][0, figure.shapes.index(forearm)]
    from lagoon.motion.rotations import quat_rotate

    np.testing.assert_allclose(quat_rotate(along, np.array([0, 0, 1.0])), [0, 0, -1], atol=1e-9)
    np.testing.assert_allclose(poses.pos[0], [[0, 0.15, 1.4], [0, 0.3, 1.25], [1, 1, 1]])


def test_shrink_averages_blocks() -> None:
    picture = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    expected = picture.reshape(2, 2, 3, 2, 3).mean(axis=(1, 3)).astype(np.uint8)
    np.testing.assert_array_equal(_shrink(picture, 2), expected)
    np.testing.assert_array_equal(_shrink(picture, 1), picture)


def test_shape_that_cannot_be_drawn_is_refused(tmp_path, body) -> None:
    from dataclasses import replace

    path = tmp_path / "robot.xml"
    text = body.robot.model_path.read_text()
    old = '<geom class="visual" type="box" size="0.06 0.03 0.01"'
    assert old in text
    path.write_text(text.replace(old, '<geom class="visual" type="ellipsoid" size="0.06 0.03 0.01"'))
    with pytest.raises(BadInputError, match="cannot draw"):
        RobotFigure(replace(body.robot, model_path=path))
