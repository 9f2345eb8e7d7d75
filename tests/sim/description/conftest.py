"""Quadrupeds of the tests' own, written as URDF, so that each oddity can be asked for by itself."""

from pathlib import Path

import pytest

CORNERS = {"FL": (0.2, 0.05), "FR": (0.2, -0.05), "RL": (-0.2, 0.05), "RR": (-0.2, -0.05)}


def _link(name: str, mass: float, shape: str = "") -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 -0.05"/><mass value="{mass}"/>'
        f'<inertia ixx="0.01" iyy="0.02" izz="0.015" ixy="0.001" ixz="0" iyz="0"/></inertial>{shape}</link>'
    )


def _joint(name: str, parent: str, child: str, xyz: str, axis: str, limit: str, rpy: str = "0 0 0") -> str:
    return (
        f'<joint name="{name}" type="revolute"><origin xyz="{xyz}" rpy="{rpy}"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="{axis}"/>{limit}</joint>'
    )


def make_urdf(
    order: tuple[str, ...] = ("FL", "FR", "RL", "RR"),
    flipped: tuple[str, ...] = (),
    limits: bool = True,
    arm: bool = False,
    turned: bool = False,
    sphere: bool = True,
    diagonal_thigh: bool = False,
) -> str:
    """A quadruped as text.

    Args:
        order: in which order the legs stand in the file.
        flipped: joints whose axis points the other way, limits swapped to match.
        limits: whether joints have limits.
        arm: adds an arm of one joint on the back.
        turned: turns every leg link's frame about its own z axis, and the axes with it.
        sphere: whether the feet are spheres.
        diagonal_thigh: a thigh joint that turns about a slanted axis.
    """
    parts = [_link("trunk", 8.0)]
    if arm:
        parts += [_link("arm", 0.5), _joint("arm_1", "trunk", "arm", "0.1 0 0.1", "0 0 1", "")]
    for leg in order:
        x, y = CORNERS[leg]
        side = 1.0 if y > 0 else -1.0
        foot = '<collision><origin xyz="0 0 -0.2"/><geometry><sphere radius="0.025"/></geometry></collision>'
        bar = (
            '<collision><origin xyz="0 0 -0.1"/><geometry><cylinder radius="0.01" length="0.2"/></geometry></collision>'
        )
        parts += [
            _link(f"{leg}_hip", 0.6),
            _link(f"{leg}_thigh", 1.0),
            _link(f"{leg}_calf", 0.3, foot if sphere else bar),
        ]
        rpy = "0 0 1.5707963267948966" if turned else "0 0 0"
        back = "0 0 -1.5707963267948966" if turned else "0 0 0"
        for name, parent, child, xyz, axis, low, high in (
            (f"{leg}_abduct", "trunk", f"{leg}_hip", f"{x} {y} 0", (1, 0, 0), -0.8, 0.9),
            (f"{leg}_swing", f"{leg}_hip", f"{leg}_thigh", f"0 {0.08 * side} 0", (0, 1, 0), -1.0, 3.0),
            (f"{leg}_knee", f"{leg}_thigh", f"{leg}_calf", "0.01 0 -0.2", (0, 1, 0), -2.6, -0.5),
        ):
            a = axis
            frame = "0 0 0"
            if turned and child.endswith("_hip"):
                frame, a = rpy, (axis[1], -axis[0], axis[2])
            elif turned and child.endswith("_thigh"):
                frame, xyz = back, f"{0.08 * side} 0 0"
            if diagonal_thigh and child.endswith("_thigh"):
                a = (0.5, 0.8, 0)
            if name in flipped:
                a, low, high = tuple(-v for v in a), -high, -low
            limit = f'<limit lower="{low}" upper="{high}" effort="30" velocity="21"/>' if limits else ""
            kind = _joint(name, parent, child, xyz, " ".join(str(v) for v in a), limit, frame)
            parts.append(kind if limits else kind.replace("revolute", "continuous"))
    return f'<robot name="test">{"".join(parts)}</robot>'


@pytest.fixture
def urdf(tmp_path: Path):
    """Write make_urdf's text to a file."""

    def write(**changes) -> Path:
        path = tmp_path / "beast.urdf"
        path.write_text(make_urdf(**changes))
        return path

    return write
