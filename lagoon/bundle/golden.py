"""Golden ticks: a recorded stretch of inputs and outputs that every load recomputes.

What enters: arrays recorded at export from the trained policy itself. What leaves: the proof, before a
motor moves, that this computer's onnxruntime gives the numbers the policy was trained to give. The rows are
calls in their order, each fed with the action and state of the one before; their time steps need not be
consecutive, since export spreads them over the whole motion.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lagoon.bundle.contract import BundleInfo
from lagoon.bundle.ports import Port
from lagoon.errors import CorruptFileError

Floats = NDArray[np.float32]
Infer = Callable[[Mapping[str, Floats]], dict[str, Floats]]
"""Runs the graph on named inputs (B, size) and returns its named outputs."""

FED_BACK = {"prev_action": "action", "state": "state_out"}
"""Inputs that are outputs of the tick before."""


@dataclass(frozen=True)
class Golden:
    """K calls of the graph, one after another; each array is (K, size), float32, keyed by the port's name.

    ``prev_action`` and ``state`` of a row are ``action`` and ``state_out`` of the row before. ``time_step`` may leap.
    """

    inputs: Mapping[str, Floats]
    outputs: Mapping[str, Floats]

    @property
    def num_ticks(self) -> int:
        """Number of recorded calls K."""
        return len(self.inputs["time_step"])

    def check_shape(self, info: BundleInfo) -> None:
        """Check names, shapes and finiteness.

        Raises:
            CorruptFileError: an array is missing, unknown, of another shape or not finite.
        """
        for kind, arrays, ports in (("input", self.inputs, info.inputs), ("output", self.outputs, info.outputs)):
            wanted = {port.name for port in ports}
            if set(arrays) != wanted:
                raise CorruptFileError(
                    f"The golden {kind}s lack {sorted(wanted - set(arrays)) or 'nothing'} and have beyond them "
                    f"{sorted(set(arrays) - wanted) or 'nothing'}; expected {sorted(wanted)}."
                )
            for port in ports:
                self._check_array(kind, port, arrays[port.name])

    def _check_array(self, kind: str, port: Port, array: Floats) -> None:
        wanted = (self.num_ticks, port.shape[1])
        if array.ndim != 2 or array.shape != wanted or len(array) == 0:
            raise CorruptFileError(
                f"The golden {kind} '{port.name}' has shape {array.shape}; expected {wanted}, with at least one tick."
            )
        if not np.isfinite(array).all():
            row, column = np.argwhere(~np.isfinite(array))[0]
            raise CorruptFileError(
                f"The golden {kind} '{port.name}' holds {array[row, column]} in row {row}, column {column}; "
                f"every recorded value must be finite."
            )

    def check(self, info: BundleInfo, infer: Infer) -> None:
        """Recompute every tick, all at once and then in closed loop, and compare.

        The first pass shows which output differs; the second, in which ``prev_action`` and ``state`` come
        from the graph itself, shows that the chain holds too.

        Raises:
            CorruptFileError: an output differs by more than ``info.golden_tolerance``; its name, tick and
                column are told.
        """
        self.check_shape(info)
        self._compare(info, infer(self.inputs), "all ticks at once")
        first = {name: self.inputs[name][:1] for name in FED_BACK}
        ticks: dict[str, list[Floats]] = {port.name: [] for port in info.outputs}
        fed = first
        for k in range(self.num_ticks):
            given = {name: array[k : k + 1] for name, array in self.inputs.items() if name not in FED_BACK}
            result = infer({**given, **fed})
            for name, values in ticks.items():
                values.append(result[name])
            fed = {name: result[source] for name, source in FED_BACK.items()}
        self._compare(info, {name: np.concatenate(values) for name, values in ticks.items()}, "tick by tick")

    def _compare(self, info: BundleInfo, results: Mapping[str, Floats], how: str) -> None:
        for name, recorded in self.outputs.items():
            # A value that is not finite compares as a difference, since `not (nan <= x)` is true.
            wrong = ~(np.abs(results[name] - recorded) <= info.golden_tolerance)
            if wrong.any():
                row, column = np.argwhere(wrong)[0]
                tick = self.inputs["time_step"][row, 0]
                raise CorruptFileError(
                    f"The policy does not reproduce its golden record: output '{name}' at tick {tick:g}, column "
                    f"{column} is {results[name][row, column]:.6g} ({how}); recorded {recorded[row, column]:.6g}, "
                    f"tolerance {info.golden_tolerance:g}. {int(wrong.sum())} of {wrong.size} values of this output "
                    "differ. Do not run it on a robot."
                )

    def to_bytes(self) -> bytes:
        """Return the content of golden_io.npz: keys ``in_<input>`` and ``out_<output>``."""
        arrays = {f"in_{name}": np.asarray(array, np.float32) for name, array in self.inputs.items()}
        arrays |= {f"out_{name}": np.asarray(array, np.float32) for name, array in self.outputs.items()}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes, source: str) -> Golden:
        """Read what to_bytes gave.

        Raises:
            CorruptFileError: the bytes are not an npz of number arrays.
        """
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                arrays = {name: np.asarray(archive[name], dtype=np.float32) for name in archive.files}
        except (ValueError, OSError, zipfile.BadZipFile, EOFError, KeyError) as error:
            raise CorruptFileError(f"{source} cannot be read as an npz file of numbers ({error}).") from error
        take = lambda prefix: {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}  # noqa: E731
        golden = Golden(inputs=take("in_"), outputs=take("out_"))
        if "time_step" not in golden.inputs:
            raise CorruptFileError(f"{source} lacks 'in_time_step'; it has {sorted(arrays) or 'nothing'}.")
        return golden
