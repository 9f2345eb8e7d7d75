from __future__ import annotations

import numpy as np
import pytest

from lagoon.errors import BadInputError, CorruptFileError
from lagoon.motion.skeleton import JOINT_NAMES
from lagoon.text2motion import dataset
from lagoon.text2motion.bank import CommandBank
from lagoon.text2motion.model import model_path


def test_names_are_mapped():
    assert dataset.lagoon_name("l_hip") == "left_hip"
    assert dataset.lagoon_name("r_wrist") == "right_wrist"
    assert dataset.lagoon_name("spine1") == "spine1"


def test_clips_come_back_z_up_facing_x_with_left_on_the_left(data_folder, people):
    clip = next(c for c in dataset.read_set(data_folder, "authored") if c.id == "b/wave_0")
    assert np.abs(clip.joint_pos_w - people["waving"](60, 3)).max() < 2e-3  # float16 on disk
    assert clip.joint_pos_w[0, JOINT_NAMES.index("left_hip"), 1] > 0.05
    assert clip.verb == "wave" and clip.captions[1] == "wave the right hand"


def test_slips_of_the_captions_are_corrected(data_folder):
    path = data_folder / "authored.jsonl"
    path.write_text(path.read_text().replace("wave the right hand", "a peron waves, an athlet, imperonal"))
    clip = next(c for c in dataset.read_set(data_folder, "authored") if c.id == "b/wave_0")
    assert clip.captions[1] == "a person waves, an athlete, imperonal"
    assert dataset.spelled("Nothing to mend: 3 times") == "Nothing to mend: 3 times"


def test_the_known_commands_that_come_with_lagoon_have_none_of_them():
    texts = CommandBank.load(model_path("default") / "commands.safetensors").texts
    assert [text for text in texts if dataset.spelled(text) != text] == []
    assert "a person performing acrobatic task" in texts


def test_missing_set_names_the_files(data_folder):
    with pytest.raises(BadInputError, match=r"restricted\.npz, restricted\.jsonl"):
        dataset.read_set(data_folder, "restricted")


def test_captions_that_do_not_fit_are_refused(data_folder):
    path = data_folder / "authored.jsonl"
    path.write_text(path.read_text().splitlines()[0])
    with pytest.raises(CorruptFileError, match="1 lines for 4 clips"):
        dataset.read_set(data_folder, "authored")


def test_damaged_arrays_are_refused(data_folder):
    (data_folder / "authored.npz").write_bytes(b"not an archive")
    with pytest.raises(CorruptFileError, match="authored"):
        dataset.read_set(data_folder, "authored")


def test_jitter_sees_tremble_and_not_speed(people):
    smooth = people["walking"](60, speed=3.0)
    rough = smooth + 0.01 * np.where(np.arange(60) % 2 == 0, 1, -1)[:, None, None] * (np.arange(22) > 0)[:, None]
    assert dataset.jitter(smooth) < 0.002
    assert dataset.jitter(rough) > 0.003


def test_slide_sees_a_gliding_stand(stand):
    motion = np.repeat(stand[None], 30, axis=0)
    assert dataset.slide(motion) == pytest.approx(0.0, abs=1e-9)
    motion[..., 0] += np.arange(30)[:, None] / 20.0
    assert dataset.slide(motion) == pytest.approx(1.0, abs=1e-6)


def make(identifier: str, verb: str, motion: np.ndarray) -> dataset.Clip:
    return dataset.Clip(identifier, verb, (verb,), motion, "synthetic", "CC0")


def test_unclean_clips_go_unless_their_verb_would_vanish(stand):
    still = np.repeat(stand[None], 30, axis=0)
    gliding = still.copy()
    gliding[..., 0] += np.arange(30)[:, None] / 10.0
    common = [make(f"a{i}", "stand", still) for i in range(3)]
    kept = dataset.clean([*common, make("bad", "stand", gliding), make("rare", "glide", gliding)])
    assert [c.id for c in kept] == ["a0", "a1", "a2", "rare"]


def test_windows_of_one_recording_are_capped(stand):
    still = np.repeat(stand[None], 30, axis=0)
    clips = [make(f"long#{i}", "dance", still) for i in range(12)] + [make("single", "dance", still)]
    kept = dataset.cap_windows(clips, most=4)
    assert sum(c.recording == "long" for c in kept) == 4
    assert any(c.id == "single" for c in kept)


def test_split_never_puts_a_recording_on_both_sides(stand):
    still = np.repeat(stand[None], 30, axis=0)
    clips = [make(f"r{i}#{k}", "walk", still) for i in range(60) for k in range(2)]
    train, held_out = dataset.split(clips)
    assert held_out and not {c.recording for c in train} & {c.recording for c in held_out}
    assert dataset.split([make("only", "rare", still)])[1] == []


def test_bone_lengths(data_folder, stand):
    lengths = dataset.bone_lengths(dataset.read_set(data_folder, "authored"))
    assert lengths[JOINT_NAMES.index("left_wrist") - 1] == pytest.approx(0.2535, abs=2e-3)
    assert (lengths > 0.04).all()
