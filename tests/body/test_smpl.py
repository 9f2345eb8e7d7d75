from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lagoon.body.pose import place
from lagoon.body.smpl_fit import fit, fit_shape, save_amass
from lagoon.body.smpl_model import SmplModel, load_smpl
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.motion.human_motion import HumanMotion
from lagoon.motion.rotations import quat_from_matrix
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

from .conftest import model_arrays, tumbling


def _chain(rest: np.ndarray, rotations: np.ndarray, translation: np.ndarray) -> np.ndarray:
    """Joints (T, 22, 3) from local rotations."""
    turned = rotations.copy()
    for joint in range(1, 22):
        turned[:, joint] = turned[:, PARENTS[joint]] @ rotations[:, joint]
    return place(rest, rest[0] + translation, quat_from_matrix(turned))


def test_a_body_of_the_right_shape_fits_to_a_tenth_of_a_millimetre(model: SmplModel) -> None:
    betas = np.array([0.8, -0.5])
    motion = tumbling(model.joints(betas)[:22])
    found = fit(motion, model, refine=0)
    assert found.max_error < 1e-4, "what is left is the shape, which the cost pulls a little toward the mean"
    refined = fit(motion, model)
    assert refined.mean_error < found.mean_error and refined.max_error < 1e-4
    rest = model.joints(refined.betas)[:22]
    joints = _chain(
        rest, Rotation.from_rotvec(refined.poses.reshape(-1, 3)).as_matrix().reshape(-1, 22, 3, 3), refined.translation
    )
    assert np.linalg.norm(joints - motion.joint_pos_w, axis=-1).max() == pytest.approx(refined.max_error, abs=1e-6)


def test_refinement_shares_out_what_other_bone_lengths_leave(model: SmplModel) -> None:
    rest = model.joints(np.zeros(1))[:22].copy()
    rest[[7, 10]] += (0.0, -0.06, 0.0)  # One shin is longer than any shape gives.
    motion = tumbling(rest)
    direct, refined = fit(motion, model, refine=0), fit(motion, model, refine=8)
    assert refined.mean_error < 0.8 * direct.mean_error and direct.mean_error < 0.03


def test_the_shape_is_found_by_bone_lengths(model: SmplModel) -> None:
    betas = fit_shape(tumbling(model.joints(np.array([1.5, 0.7]))[:22]).joint_pos_w, model)
    assert betas[0] == pytest.approx(1.5, abs=0.1) and betas[1] == pytest.approx(0.7, abs=0.1)


def test_vertices_follow_a_turn_of_the_whole_body(model: SmplModel) -> None:
    turn = Rotation.from_euler("z", 90, degrees=True).as_matrix()
    full = np.tile(np.eye(3), (1, 24, 1, 1))
    full[:, 0] = turn
    betas, shift = np.array([0.3]), np.array([[1.0, 2.0, 3.0]])
    rest, pelvis = model.shape(betas), model.joints(betas)[0]
    wanted = (rest - pelvis) @ turn.T + pelvis + shift[0]
    assert np.allclose(model.vertices(betas, full, shift)[0], wanted)


def test_vertices_are_those_of_the_published_implementation(model: SmplModel) -> None:
    lbs = pytest.importorskip("smplx.lbs").lbs
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    pose, betas = 0.4 * rng.normal(size=(5, 24, 3)), rng.normal(size=10)
    as_tensor = lambda array: torch.tensor(np.asarray(array))  # noqa: E731
    vertices, joints = lbs(
        as_tensor(np.tile(betas, (5, 1))),
        as_tensor(pose.reshape(5, -1)),
        as_tensor(model.v_template),
        as_tensor(model.shapedirs),
        as_tensor(model.posedirs.reshape(-1, 207).T.copy()),
        as_tensor(model.regressor),
        torch.tensor(model.parents),
        as_tensor(model.weights),
    )
    rotations = Rotation.from_rotvec(pose.reshape(-1, 3)).as_matrix().reshape(5, 24, 3, 3)
    found = model.vertices(betas, rotations, np.zeros((5, 3)))
    assert np.abs(found - vertices.numpy()).max() < 1e-6
    chained = _chain(model.joints(betas)[:22], rotations[:, :22], np.zeros((5, 3)))
    assert np.abs(chained - joints.numpy()[:, :22]).max() < 1e-6


def test_the_mesh_stands_where_the_motion_is(model: SmplModel) -> None:
    """With vertices that follow one joint each, those around a joint keep it as their middle."""
    stiff = replace(model, weights=np.repeat(np.eye(24), 4, axis=0), posedirs=np.zeros_like(model.posedirs))
    motion = tumbling(stiff.joints(np.zeros(1))[:22])
    vertices = fit(motion, stiff).vertices(stiff)
    middle = vertices.reshape(40, 24, 4, 3).mean(axis=2)[:, :22]
    assert vertices.shape == (40, 96, 3) and np.abs(middle - motion.joint_pos_w).max() < 1e-9


def test_an_amass_file_has_its_keys_and_the_same_joints(model: SmplModel, tmp_path: Path) -> None:
    motion = tumbling(model.joints(np.array([0.5]))[:22])
    fitted = fit(motion, model)
    save_amass(tmp_path / "out.npz", fitted, motion.text)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as file:
        assert file["poses"].shape == (40, 156) and file["trans"].shape == (40, 3) and file["betas"].shape == (16,)
        assert file["mocap_framerate"] == 20.0 and str(file["gender"]) == "neutral" and str(file["text"]) == "tumble"
        pose = file["poses"][:, :66].reshape(-1, 3)
        rotations = Rotation.from_rotvec(pose).as_matrix().reshape(40, 22, 3, 3)
        joints = _chain(model.joints(file["betas"][:10])[:22], rotations, file["trans"])
    assert np.linalg.norm(joints - motion.joint_pos_w, axis=-1).max() < 1e-3


def test_a_pickle_is_refused_with_the_line_that_converts_it(tmp_path: Path) -> None:
    path = tmp_path / "SMPL_NEUTRAL.pkl"
    path.write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")
    with pytest.raises(BadInputError, match=r"no npz file. A .pkl is a pickle.*numpy.savez"):
        load_smpl(path)
    with pytest.raises(BadInputError, match="There is no body model"):
        load_smpl(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a.pop("weights"), "has no 'weights"),
        (lambda a: a.update(weights=np.ones((96, 23))), r"weights has shape \(96, 23\); expected \(96, 24\)"),
        (lambda a: a.update(v_template=np.full((96, 3), np.nan)), "v_template has shape .* of finite numbers"),
        (lambda a: a.update(f=np.array([[0, 1, 96]])), "f names vertices that do not exist"),
        (lambda a: a.update(J_regressor=np.array([object()])), "If it holds Python objects"),
        (lambda a: a.update(kintree_table=a["kintree_table"][:, :5]), "posedirs has shape"),
    ],
)
def test_a_damaged_model_is_refused(tmp_path: Path, change, words: str) -> None:
    arrays = model_arrays()
    change(arrays)
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(CorruptFileError, match=words):
        load_smpl(tmp_path / "m.npz")


def test_other_skeletons_are_refused(model: SmplModel, tmp_path: Path) -> None:
    arrays = model_arrays()
    arrays["kintree_table"][0, 5] = 1
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(BadInputError, match="its first 22 should be SMPL's"):
        load_smpl(tmp_path / "m.npz")
    with pytest.raises(BadInputError, match="has 1 joints"):
        fit(HumanMotion(20.0, JOINT_NAMES[:1], np.zeros((3, 1, 3))), model)
    (tmp_path / "junk.npz").write_bytes(b"junk")
    with pytest.raises(CorruptFileError, match="cannot be read as an npz file"):
        load_smpl(tmp_path / "junk.npz")
