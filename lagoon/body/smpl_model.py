"""SMPL body models from a file that the user has a licence for; lagoon brings none.

What enters: an npz file with SMPL's own names. What leaves: arrays, joints of a body shape, and vertices of a pose.
Works for SMPL, SMPL-H and SMPL-X, whose first 22 joints are those of lagoon's skeleton.

Source: Loper et al. 2015, "SMPL: A Skinned Multi-Person Linear Model", eqs. 2 to 10.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lagoon.body.forward import chain
from lagoon.errors import BadInputError, CorruptFileError
from lagoon.motion.skeleton import JOINT_NAMES, PARENTS

Array = NDArray[np.float64]

MOST_SHAPES = 10
"""Shape components that are used."""
_NAMES = ("v_template", "shapedirs", "posedirs", "J_regressor", "weights", "kintree_table", "f")
CONVERT = (
    "Write its arrays to an npz file on a machine where you trust it, with chumpy installed: "
    "python -c \"import pickle, numpy; m = pickle.load(open('SMPL_NEUTRAL.pkl', 'rb'), encoding='latin1'); "
    "numpy.savez('SMPL_NEUTRAL.npz', **{k: numpy.asarray(m[k].toarray() if hasattr(m[k], 'toarray') else m[k]) "
    f"for k in '{' '.join(_NAMES)}'.split()}})\""
)
"""How to get rid of the pickle of the licensed download."""


@dataclass(frozen=True)
class SmplModel:
    """V vertices, K joints, B shape components."""

    name: str
    """File name without suffix."""
    v_template: Array
    """(V, 3) mean shape [m], y up."""
    shapedirs: Array
    """(V, 3, B) change of the shape per component [m]."""
    posedirs: Array
    """(V, 3, 9 (K - 1)) change of the shape per entry of the joints' rotation matrices [m]."""
    regressor: Array
    """(K, V) joints as means of vertices."""
    weights: Array
    """(V, K) how much each vertex follows each joint."""
    parents: tuple[int, ...]
    """(K,) parents; -1 for the pelvis."""
    faces: NDArray[np.int64]
    """(F, 3) triangles."""

    def joints(self, betas: Array) -> Array:
        """Joints (K, 3) [m] of a body shape (b,) at rest; b may be less than B."""
        return self.regressor @ self.shape(betas)

    def shape(self, betas: Array) -> Array:
        """Vertices (V, 3) [m] of a body shape (b,) at rest."""
        return self.v_template + self.shapedirs[..., : len(betas)] @ np.asarray(betas, float)

    def vertices(self, betas: Array, rotations: Array, translation: Array) -> Array:
        """Vertices (T, V, 3) [m] of poses.

        Args:
            betas: (b,) body shape.
            rotations: (T, K, 3, 3) of each joint relative to its parent; the first relative to the world.
            translation: (T, 3) added to everything [m].
        """
        shaped, joints = self.shape(betas), self.joints(betas)
        bent = (rotations[:, 1:] - np.eye(3)).reshape(len(rotations), -1)
        basis = self.posedirs.reshape(-1, self.posedirs.shape[-1])
        rest = shaped + (bent @ basis.T).reshape(len(rotations), -1, 3)
        offsets = joints.copy()
        offsets[1:] -= joints[list(self.parents[1:])]
        place, turn = chain(self.parents, np.tile(offsets, (len(rotations), 1, 1)), rotations)
        move = place - np.einsum("tkij,kj->tki", turn, joints)
        mixed = np.einsum("vk,tkij->tvij", self.weights, turn, optimize=True)
        return np.einsum("tvij,tvj->tvi", mixed, rest) + self.weights @ move + translation[:, None]


def load_smpl(path: Path) -> SmplModel:
    """Read a body model.

    Raises:
        BadInputError: there is no such file, or it is a pickle; the text says how to convert it.
        CorruptFileError: arrays are missing, of wrong shapes, or hold what is not a number.
    """
    if not path.is_file():
        raise BadInputError(
            f"There is no body model {path}. Get SMPL from its authors (smpl.is.tue.mpg.de, registration and licence), "
            "and name the file: body=SMPL_NEUTRAL.npz"
        )
    if path.suffix != ".npz":
        raise BadInputError(
            f"The body model {path} is no npz file. A .pkl is a pickle, which could run code when read, so it is not "
            f"read here. {CONVERT}"
        )
    try:
        with np.load(path, allow_pickle=False) as archive:
            raw = {name: archive[name] for name in _NAMES}
        parents = raw.pop("kintree_table")[0].astype(np.int64)
        faces = raw.pop("f").astype(np.int64)
        values = {name: np.asarray(array, float) for name, array in raw.items()}
    except KeyError as error:
        raise CorruptFileError(
            f"The body model {path} has no {error}; expected {', '.join(_NAMES)}, as SMPL's own files have. Copy or "
            "convert it again."
        ) from error
    except (ValueError, TypeError, OSError, EOFError, IndexError, zipfile.BadZipFile) as error:
        raise CorruptFileError(
            f"The body model {path} cannot be read as an npz file of arrays ({error}). If it holds Python objects: "
            f"{CONVERT}"
        ) from error
    parents[0] = -1
    _check(path, values, parents, faces)
    return SmplModel(
        name=path.stem,
        v_template=values["v_template"],
        shapedirs=values["shapedirs"][..., :MOST_SHAPES],
        posedirs=values["posedirs"],
        regressor=values["J_regressor"],
        weights=values["weights"],
        parents=tuple(int(parent) for parent in parents),
        faces=faces,
    )


def _check(path: Path, values: dict[str, Array], parents: NDArray[np.int64], faces: NDArray[np.int64]) -> None:
    v, k = len(values["v_template"]), len(parents)
    wanted: dict[str, tuple[int | None, ...]] = {
        "v_template": (v, 3),
        "shapedirs": (v, 3, None),
        "posedirs": (v, 3, 9 * (k - 1)),
        "J_regressor": (k, v),
        "weights": (v, k),
    }
    for name, shape in wanted.items():
        found = values[name].shape
        fits = len(found) == len(shape) and all(b in (None, a) for a, b in zip(found, shape, strict=True))
        if not fits or not np.isfinite(values[name]).all():
            expected = tuple("any" if size is None else size for size in shape)
            raise CorruptFileError(
                f"The body model {path}: {name} has shape {found}; expected {expected} of finite numbers, for {v} "
                f"vertices and {k} joints. Copy or convert it again."
            )
    if k < len(JOINT_NAMES) or tuple(int(parent) for parent in parents[: len(PARENTS)]) != PARENTS:
        raise BadInputError(
            f"The body model {path} has {k} joints with parents {parents[:22].tolist()}; its first 22 should be "
            f"SMPL's, {list(PARENTS)}. Use SMPL, SMPL-H or SMPL-X."
        )
    if faces.ndim != 2 or faces.shape[1] != 3 or (faces.size and not 0 <= faces.min() <= faces.max() < v):
        raise CorruptFileError(f"The body model {path}: f names vertices that do not exist. Copy or convert it again.")
    if not all(-1 <= parent < joint for joint, parent in enumerate(parents)):
        raise CorruptFileError(f"The body model {path}: kintree_table is no tree. Copy or convert it again.")
