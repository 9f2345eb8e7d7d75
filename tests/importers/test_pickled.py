"""The reader of foreign pickles: what it takes, and that nothing that a pickle names ever runs."""

import collections
import contextlib
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest

from lagoon.errors import CorruptFileError
from lagoon.importers.pickled import read_pickle

HERE = Path("x.pkl")


class Calls:
    """Pickles as a call of anything."""

    def __init__(self, call, *arguments):
        self.made = (call, arguments)

    def __reduce__(self):
        return self.made


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_and_plain_data_come_back(protocol: int) -> None:
    value = {
        "a": np.arange(12.0).reshape(3, 4),
        "f": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        "big": np.arange(3, dtype=">i4"),
        "text": np.array(["x", "yz"]),
        "flag": np.array([True, False]),
        "list": [1, 2.5, "three", None, (b"4", False)],
        "number": np.float64(2.5),
        "objects": np.array([{"b": np.zeros(2)}, None], dtype=object),
    }
    found = read_pickle(HERE, pickle.dumps(value, protocol=protocol))
    for name in ("a", "f", "big", "text", "flag"):
        assert np.array_equal(found[name], value[name]) and found[name].dtype.kind == value[name].dtype.kind
    assert found["list"] == [1, 2.5, "three", None, [b"4", False]] and found["number"] == 2.5
    assert np.array_equal(found["objects"][0]["b"], np.zeros(2)) and found["objects"][1] is None


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        (Calls(subprocess.run, ["touch", "pwned"]), "subprocess.run"),
        (Calls(eval, "open('pwned', 'w')"), "builtins.eval"),
        (Calls(getattr, [], "append"), "builtins.getattr"),
        (Calls(np.load, "x.npy"), "numpy.load"),
        (np.ma.zeros(3), "numpy.ma"),
        (collections.OrderedDict(a=1), "collections.OrderedDict"),
        ({1, 2}, "set"),
        (np.zeros(3, dtype=[("a", "f8")]), "records"),
        (3 + 4j, "builtins.complex"),
        (HERE, "pathlib"),
    ],
)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_what_asks_for_more_is_refused_and_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: object, asked: str, protocol: int
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorruptFileError, match="more than arrays of numbers") as caught:
        read_pickle(HERE, pickle.dumps({"smpl_poses": value}, protocol=protocol))
    assert asked in str(caught.value) or "asks for" in str(caught.value)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "program",
    [
        b"cos\nsystem\n(S'touch pwned'\ntR.",
        b'c__builtin__\nexec\n(S\'open("pwned","w")\'\ntR.',
        b"cnumpy.core.multiarray\n_reconstruct\nNb.",  # Sets the state of a stand-in.
        b"cnumpy\ndtype\n}S'order'\nI1\nsb.",
        b"(i__builtin__\neval\n.",
        b"Pother\n.",
        b"\x82\x01.",
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nI0\ntS'b'\ntR.",
        b"",
        b".",
        b"]" * 40 + b"a" * 39 + b".",
    ],
)
def test_hand_written_programs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: bytes) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorruptFileError):
        read_pickle(HERE, program)
    assert list(tmp_path.iterdir()) == []


def test_a_list_that_holds_itself_a_thousandfold_ends() -> None:
    value: list = ["x"]
    for _ in range(25):
        value = [value] * 20
    with pytest.raises(CorruptFileError, match="nested too deeply"):
        read_pickle(HERE, pickle.dumps(value))
    value = []
    value.append(value)
    with pytest.raises(CorruptFileError, match="nested too deeply"):
        read_pickle(HERE, pickle.dumps(value))


def test_an_array_that_lies_about_its_size_is_refused() -> None:
    data = pickle.dumps({"a": np.zeros(1000)}, protocol=2)
    with pytest.raises(CorruptFileError, match="bytes are not as many"):
        read_pickle(HERE, data.replace(b"M\xe8\x03", b"M\xff\xff", 1))


@pytest.mark.parametrize("seed", range(4))
def test_damage_never_brings_a_traceback(seed: int) -> None:
    random = np.random.default_rng(seed)
    data = pickle.dumps({"smpl_poses": np.zeros((3, 72)), "smpl_trans": np.zeros((3, 3))}, protocol=[2, 4][seed % 2])
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(random.integers(1, 4)):
            damaged[random.integers(len(damaged))] = random.integers(256)
        with contextlib.suppress(CorruptFileError):
            read_pickle(HERE, bytes(damaged[: random.integers(1, len(damaged) + 1)]))
