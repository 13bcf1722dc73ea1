"""The C of a step, compiled on this machine and called from Python: microseconds a step."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vibrid.core.errors import FileProblem, Refusal
from vibrid.core.traced import Traced
from vibrid.networks.export.c_code import write_c
from vibrid.networks.export.interface import plain

FLAGS = ("-O3", "-march=native", "-fPIC", "-shared")


def compiler() -> str | None:
    """The C compiler of this machine, if it has one."""
    return next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)


def build(command: str, sources: list[Path], library: Path, flags: Sequence[str]) -> None:
    """A shared library from C files; refused with the compiler's words."""
    files = [str(source) for source in sources]
    run = subprocess.run([command, *flags, *files, "-o", str(library), "-lm"], capture_output=True, text=True)
    if run.returncode != 0:
        raise Refusal(f"The C compiler refused the exported step: {run.stderr.strip()[:500]}")


class CompiledStep:
    """`outputs = step(inputs)` with the state inside; `start()` brings it to rest.

    Arguments
        traced: the step.
        shares: another step whose state this one moves too; both were traced from the same state.
    """

    def __init__(self, traced: Traced, shares: CompiledStep | None = None):
        command = compiler()
        if command is None:
            raise Refusal("There is no C compiler here (cc, gcc or clang): use the compiled JAX step instead.")
        interface = plain(traced.input.size, traced.output.size)
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="vibrid-")
            source, _ = write_c(traced, Path(self._folder.name) / "device.c", interface, prefix="device")
        except (OSError, FileProblem) as problem:
            raise Refusal(f"The C of a step cannot be written here ({problem}); use the JAX step instead.") from None
        library = source.with_suffix(".so")
        build(command, [source], library, FLAGS)
        self._library = ctypes.PyDLL(str(library))  # keeps Python's lock: other threads might hold it for milliseconds
        self._inputs = np.zeros(traced.input.size, traced.input.dtype)
        self._outputs = np.zeros(traced.output.size, traced.output.dtype)
        room = sum(max(v.size, 1) * v.dtype.itemsize + 16 for v in traced.states) + 64
        self._state = ctypes.create_string_buffer(room) if shares is None else shares._state
        self._arguments = (
            ctypes.cast(self._state, ctypes.c_void_p),
            ctypes.c_void_p(self._inputs.ctypes.data),
            ctypes.c_void_p(self._outputs.ctypes.data),
        )
        self._step, self._start = self._library.device_step, self._library.device_start
        self._step.restype = self._start.restype = None
        self.start()

    def start(self) -> None:
        self._start(self._arguments[0])

    def __call__(self, inputs) -> np.ndarray:
        """The outputs; the array is used again by the next call."""
        self._inputs[:] = inputs
        self._step(*self._arguments)
        return self._outputs
