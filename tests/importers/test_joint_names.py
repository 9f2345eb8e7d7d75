"""Joint names as programs write them; left stays left."""

import pytest

from lagoon.errors import BadInputError
from lagoon.importers.joint_names import NEEDED, find, side_of

SIDES = ("Left", "Right")
CUSTOMS: dict[str, tuple[str, dict[str, str]]] = {
    # Custom: name of the left joints with {S} Left, {s} left, {L} L, {l} l, by lagoon's joint; and of the middle.
    "Mixamo": (
        "Mixamo",
        {
            "hip": "mixamorig:{S}UpLeg", "knee": "mixamorig:{S}Leg", "ankle": "mixamorig:{S}Foot",
            "foot": "mixamorig:{S}ToeBase", "collar": "mixamorig:{S}Shoulder", "shoulder": "mixamorig:{S}Arm",
            "elbow": "mixamorig:{S}ForeArm", "wrist": "mixamorig:{S}Hand", "pelvis": "mixamorig:Hips",
            "neck": "mixamorig:Neck", "head": "mixamorig:Head", "": "mixamorig:{S}HandThumb1",
        },
    ),
    "CMU as BVH": (
        "Mixamo",
        {
            "": "{L}HipJoint", "hip": "{S}UpLeg", "knee": "{S}Leg", "ankle": "{S}Foot", "foot": "{S}ToeBase",
            "collar": "{S}Shoulder", "shoulder": "{S}Arm", "elbow": "{S}ForeArm", "wrist": "{S}Hand", "pelvis": "Hips",
            "neck": "Neck", "head": "Head",
        },
    ),
    "CMU": (
        "CMU (ASF)",
        {
            "": "{l}hipjoint", "hip": "{l}femur", "knee": "{l}tibia", "ankle": "{l}foot", "foot": "{l}toes",
            "collar": "{l}clavicle", "shoulder": "{l}humerus", "elbow": "{l}radius", "wrist": "{l}wrist",
            "pelvis": "root", "neck": "lowerneck", "head": "head", "-": "thorax",
        },
    ),
    "Truebones": (
        "3ds Max Biped (Truebones)",
        {
            "pelvis": "Bip01 Pelvis", "hip": "Bip01 {L} Thigh", "knee": "Bip01 {L} Calf", "ankle": "Bip01 {L} Foot",
            "foot": "Bip01 {L} Toe0", "collar": "Bip01 {L} Clavicle", "shoulder": "Bip01 {L} UpperArm",
            "elbow": "Bip01 {L} Forearm", "wrist": "Bip01 {L} Hand", "neck": "Bip01 Neck", "head": "Bip01 Head",
            "-": "Bip01", "": "Bip01 {L} Finger0",
        },
    ),
    "Rokoko": (
        "Rokoko",
        {
            "pelvis": "Hips", "hip": "{S}Thigh", "knee": "{S}Shin", "ankle": "{S}Foot", "foot": "{S}Toe",
            "collar": "{S}Shoulder", "shoulder": "{S}Arm", "elbow": "{S}ForeArm", "wrist": "{S}Hand", "neck": "Neck",
            "head": "Head",
        },
    ),
    "Xsens": (
        "Xsens",
        {
            "pelvis": "Pelvis", "hip": "{S}UpperLeg", "knee": "{S}LowerLeg", "ankle": "{S}Foot", "foot": "{S}Toe",
            "collar": "{S}Shoulder", "shoulder": "{S}UpperArm", "elbow": "{S}ForeArm", "wrist": "{S}Hand",
            "neck": "Neck", "head": "Head", "-": "T8", "--": "L5",
        },
    ),
    "SMPL": (
        "SMPL",
        {
            "pelvis": "Pelvis", "hip": "{L}_Hip", "knee": "{L}_Knee", "ankle": "{L}_Ankle", "foot": "{L}_Foot",
            "collar": "{L}_Collar", "shoulder": "{L}_Shoulder", "elbow": "{L}_Elbow", "wrist": "{L}_Wrist",
            "": "{L}_Hand", "neck": "Neck", "head": "Head", "-": "Spine3",
        },
    ),
    "Unreal": (
        "3ds Max Biped (Truebones)",
        {
            "pelvis": "pelvis", "hip": "thigh_{l}", "knee": "calf_{l}", "ankle": "foot_{l}", "foot": "ball_{l}",
            "collar": "clavicle_{l}", "shoulder": "upperarm_{l}", "elbow": "lowerarm_{l}", "wrist": "hand_{l}",
            "neck": "neck_01", "head": "head", "-": "root",
        },
    ),
    "Blender": (
        "Blender Rigify",
        {
            "pelvis": "hips", "hip": "thigh.{L}", "knee": "shin.{L}", "ankle": "foot.{L}", "foot": "toe.{L}",
            "collar": "shoulder.{L}", "shoulder": "upper_arm.{L}", "elbow": "forearm.{L}", "wrist": "hand.{L}",
            "neck": "neck", "head": "head",
        },
    ),
    "Poser": (
        "Poser",
        {
            "pelvis": "hip", "hip": "{l}Thigh", "knee": "{l}Shin", "ankle": "{l}Foot", "collar": "{l}Collar",
            "shoulder": "{l}Shldr", "elbow": "{l}ForeArm", "wrist": "{l}Hand", "neck": "neck", "head": "head",
        },
    ),
    "Biovision": (
        "Biovision",
        {
            "pelvis": "Hips", "hip": "{S}Hip", "knee": "{S}Knee", "ankle": "{S}Ankle", "collar": "{S}Collar",
            "shoulder": "{S}Shoulder", "elbow": "{S}Elbow", "wrist": "{S}Wrist", "neck": "Neck", "head": "Head",
        },
    ),
    "capitals": (
        "Biovision",
        {
            "pelvis": "HIPS", "hip": "{U}HIP", "knee": "{U}KNEE", "ankle": "{U}ANKLE", "shoulder": "{U}SHOULDER",
            "elbow": "{U}ELBOW", "wrist": "{U}WRIST", "neck": "NECK", "head": "HEAD",
        },
    ),
}  # fmt: skip


def spelled(pattern: str, side: str) -> str:
    return pattern.format(S=side, s=side.lower(), L=side[0], l=side[0].lower(), U=side.upper())


@pytest.mark.parametrize("custom", CUSTOMS)
@pytest.mark.parametrize("sides", [SIDES, SIDES[::-1]])
def test_names_of_a_custom_are_recognised_with_their_sides(custom: str, sides: tuple[str, str]) -> None:
    style, patterns = CUSTOMS[custom]
    want: dict[str, str] = {}
    names: list[str] = []
    for side in sides:
        for joint, pattern in patterns.items():
            name = spelled(pattern, side)
            if name in names:
                continue
            names.append(name)
            if joint.strip("-"):
                want[f"{side.lower()}_{joint}" if "{" in pattern else joint] = name
    found = find(names, [False] * len(names), None, "a.bvh")
    got = {joint: names[i] for joint, i in found.index.items()}
    assert {joint: got.get(joint) for joint in want} == want
    assert set(got) - set(want) <= {"spine1", "spine2", "spine3"} and set(NEEDED) <= set(got)
    assert found.style == style


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("LeftLeg", "left"),
        ("leg_r", "right"),
        ("L5", ""),
        ("lowerback", ""),
        ("root", ""),
        ("rradius", "right"),
        ("neck", ""),
    ],
)
def test_a_side_is_read_from_a_name(name: str, side: str) -> None:
    assert side_of(name) == side


def test_missing_joints_are_listed_with_what_to_write() -> None:
    names = ["Hips", "LeftUpLeg", "LeftLeg", "LeftFoot"]
    with pytest.raises(BadInputError) as caught:
        find(names, [False] * 4, None, "dog.bvh")
    text = str(caught.value)
    assert "dog.bvh: no joint was recognised as right_hip" in text and "'right_hip: NAME_IN_THE_FILE'" in text
    assert "The file has: 'Hips', 'LeftUpLeg', 'LeftLeg', 'LeftFoot'" in text and "import.map=FILE.yaml" in text


def test_names_that_differ_by_signs_only_end() -> None:
    with pytest.raises(BadInputError, match="no joint was recognised"):
        find(["a", "A", "a.", "a_", "-a"], [False] * 5, None, "a.csv")


def test_a_prefix_of_several_words_is_left_out() -> None:
    names = ["CC_Base_Hip"] + [
        f"CC_Base_{side}_{part}"
        for side in "LR"
        for part in ("Thigh", "Calf", "Foot", "ToeBase", "Clavicle", "Upperarm", "Forearm", "Hand")
    ]
    found = find(names, [False] * len(names), None, "a.bvh").index
    assert names[found["left_knee"]] == "CC_Base_L_Calf" and names[found["right_collar"]] == "CC_Base_R_Clavicle"
    assert names[found["pelvis"]] == "CC_Base_Hip" and len(found) == 17
