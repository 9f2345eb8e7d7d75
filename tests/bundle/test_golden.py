import numpy as np
import pytest

from lagoon.bundle import Golden
from lagoon.errors import CorruptFileError


def test_bytes_hold_the_ticks_exactly(bundle):
    again = Golden.from_bytes(bundle.golden.to_bytes(), "golden_io.npz")
    for side in ("inputs", "outputs"):
        arrays = getattr(bundle.golden, side)
        assert set(getattr(again, side)) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(getattr(again, side)[name], array)
    assert bundle.golden.to_bytes() == again.to_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda i, o: i.pop("imu_quat"), r"golden inputs lack \['imu_quat'\]"),
        (lambda i, o: o.update(extra=o["action"]), r"golden outputs lack nothing and have beyond them \['extra'\]"),
        (
            lambda i, o: i.update(joint_vel=i["joint_vel"][:, :5]),
            r"'joint_vel' has shape \(50, 5\); expected",
        ),
        (lambda i, o: o.update(action=o["action"][:-1]), r"'action' has shape \(49, 12\); expected \(50, 12\)"),
        (lambda i, o: [i.update({n: a[:0]}) for n, a in list(i.items())], "at least one tick"),
    ],
)
def test_wrong_arrays_are_named(bundle, change, words):
    inputs, outputs = dict(bundle.golden.inputs), dict(bundle.golden.outputs)
    change(inputs, outputs)
    with pytest.raises(CorruptFileError, match=words):
        Golden(inputs, outputs).check_shape(bundle)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"not a zip"])
def test_bytes_that_are_no_npz(data):
    with pytest.raises(CorruptFileError, match=r"golden_io\.npz cannot be read"):
        Golden.from_bytes(data, "golden_io.npz")


@pytest.mark.parametrize(("value", "passes"), [(9e-5, True), (2e-4, False), (np.nan, False)])
def test_tolerance_decides(bundle, value, passes):
    def infer(inputs):
        rows = inputs["time_step"].astype(int)[:, 0]
        outputs = {name: array[rows].copy() for name, array in bundle.golden.outputs.items()}
        outputs["action"][:, 4] += np.where(rows == 33, value, 0.0)
        return outputs

    if passes:
        bundle.golden.check(bundle, infer)
    else:
        with pytest.raises(CorruptFileError, match=r"output 'action' at tick 33, column 4 is .*1 of 600 values"):
            bundle.golden.check(bundle, infer)
