import dataclasses
from pathlib import Path

import numpy as np
import pytest

from lagoon.errors import BadInputError
from lagoon.robot import known_robots, load_robot, read_robot
from lagoon.sim.description.check import check_robot
from lagoon.sim.description.draft import write_draft
from lagoon.sim.description.source import read_source
from lagoon.sim.model import build_model


def _wrong(robot) -> list[str]:
    return [f"{finding.name}: {finding.text}" for finding in check_robot(robot) if not finding.ok]


@pytest.mark.parametrize("name", known_robots())
def test_every_robot_that_lagoon_brings_is_fit_for_use(name):
    assert _wrong(load_robot(name)) == []


@pytest.mark.parametrize(
    "changes",
    [{}, {"order": ("RR", "RL", "FR", "FL")}, {"flipped": ("FL_knee", "RR_swing")}, {"turned": True}],
    ids=["plain", "permuted", "flipped", "turned"],
)
def test_a_draft_of_a_complete_file_is_fit_for_use(urdf, tmp_path, changes):
    folder = tmp_path / "beast"
    todo = write_draft(read_source(urdf(**changes)), folder)
    assert todo == []
    robot = read_robot(folder)
    assert _wrong(robot) == []
    assert robot.mass == pytest.approx(8.0 + 4 * 1.9)
    assert robot.joint_names[0] == "FL_abduct"
    signs = dict(zip(robot.joint_names, robot.motor_sign, strict=True))
    assert {name for name, sign in signs.items() if sign < 0} == set(changes.get("flipped", ()))


def test_what_the_file_does_not_tell_has_to_be_filled_in(urdf, tmp_path):
    folder = tmp_path / "beast"
    todo = write_draft(read_source(urdf(limits=False)), folder)
    assert len(todo) == 4 * 12 and any("FL_knee.torque" in line for line in todo)
    with pytest.raises(BadInputError, match=r"no 'lower' for: FL_abduct.*lagoon robot check beast"):
        read_robot(folder)


def test_an_existing_robot_is_not_overwritten(urdf, tmp_path):
    source = read_source(urdf())
    write_draft(source, tmp_path / "beast")
    before = (tmp_path / "beast" / "robot.yaml").read_text()
    with pytest.raises(BadInputError, match="exists and is not overwritten"):
        write_draft(source, tmp_path / "beast")
    assert (tmp_path / "beast" / "robot.yaml").read_text() == before


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        ("default_root_height: 0.2", "default_root_height: 0.3", "feet on the floor"),
        ("mass: 15.6", "mass: 14.6", "mass"),
        ("hip_pos_b: [0.2, 0.05, 0]", "hip_pos_b: [0.2, 0.07, 0]", "geometry"),
        ("  - FL_abduct\n  - FL_swing", "  - FL_swing\n  - FL_abduct", "motor order"),
        ("FL_knee: {lower: -2.6", "FL_knee: {lower: -2.5", "limits"),
        ("torque: 30, default: 0.000", "torque: 0.5, default: 0.000", "stands"),
    ],
)
def test_the_check_names_what_is_wrong(urdf, tmp_path, old, new, question):
    folder = tmp_path / "beast"
    write_draft(read_source(urdf()), folder)
    path = folder / "robot.yaml"
    text = path.read_text()
    assert old in text, text
    path.write_text(text.replace(old, new))
    findings = check_robot(read_robot(folder))
    assert question in [finding.name for finding in findings if not finding.ok], findings


def test_a_joint_of_another_name_is_named(urdf, tmp_path):
    folder = tmp_path / "beast"
    write_draft(read_source(urdf()), folder)
    path = folder / "robot.xml"
    path.write_text(path.read_text().replace('"FL_knee"', '"FL_nee"'))
    text = "; ".join(_wrong(read_robot(folder)))
    assert "FL_knee" in text and "FL_nee" in text


def test_own_robots_are_found_by_name(urdf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_draft(read_source(urdf()), Path("robots/beast"))
    assert "beast" in known_robots() and "go2" in known_robots()
    assert load_robot("beast").name == "beast"
    monkeypatch.chdir(tmp_path.parent)
    assert "beast" not in known_robots()
    monkeypatch.setenv("LAGOON_ROBOTS", str(tmp_path / "robots"))
    assert load_robot("beast").leg("RR").foot == "RR"


def test_a_stand_keeps_its_distance_from_the_limits(urdf, tmp_path):
    write_draft(read_source(urdf()), tmp_path / "beast")
    robot = read_robot(tmp_path / "beast")
    margin = np.minimum(robot.default_joint_pos - robot.joint_lower, robot.joint_upper - robot.default_joint_pos)
    assert margin.min() > 0.09
    assert dataclasses.is_dataclass(robot)


def test_limits_that_are_filled_in_stand_in_one_file(urdf, tmp_path):
    folder = tmp_path / "beast"
    write_draft(read_source(urdf(limits=False)), folder)
    path = folder / "robot.yaml"
    text = path.read_text()
    for joint, low, high in (("abduct", -0.8, 0.9), ("swing", -1.0, 3.0), ("knee", -2.6, 0.5)):
        lines = [
            line.replace("lower: null", f"lower: {low}").replace("upper: null", f"upper: {high}")
            if joint in line
            else line
            for line in text.splitlines()
        ]
        text = "\n".join(lines)
    path.write_text(text.replace("velocity: null", "velocity: 21").replace("torque: null", "torque: 30") + "\n")
    robot = read_robot(folder)
    assert _wrong(robot) == []
    model = build_model(robot)
    np.testing.assert_allclose(model.joint("RR_swing").range, [-1.0, 3.0])
    assert model.jnt_limited[model.joint("RR_swing").id]
