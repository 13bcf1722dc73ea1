"""Readers of the collection's files, as the package `nonlinear_benchmarks` lays them out in its folder.

Every file is MATLAB's. The files were not at hand when this was written: their SHA-256 is not known and is therefore
not checked, but it is told with the result. Splits are those of the package; F-16 has none there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from vibrid.core.errors import InputError, Refusal
from vibrid.core.inputs import InputFile

SOURCE = (
    "It is one of the public files of https://www.nonlinearbenchmark.org; the package nonlinear_benchmarks downloads "
    "it into this place of its folder."
)


@dataclass(frozen=True, eq=False)
class FreeRunData:
    """Input and output of one part, and the step in seconds."""

    u: np.ndarray
    y: np.ndarray
    step: float

    def cut(self, start: int, stop: int) -> FreeRunData:
        return FreeRunData(self.u[start:stop], self.y[start:stop], self.step)


@dataclass(frozen=True)
class CollectionFile:
    """A file of the collection by its place in the folder, and the variables that it must have."""

    place: str
    variables: tuple[str, ...]

    def read(self, folder: Path | None) -> tuple[dict[str, np.ndarray], str]:
        """Its variables, and its SHA-256."""
        name = self.place.rsplit("/", 1)[-1]
        if folder is None:
            raise Refusal(
                f"This entry needs the file '{name}': name the folder of '{self.place}' with --data. {SOURCE}"
            )
        path = Path(folder) / self.place
        if not path.is_file():
            raise InputError(f"There is no file '{self.place}' in the folder of --data. {SOURCE}")
        try:
            found = scipy.io.loadmat(path)
        except Exception as problem:  # a damaged file stops the parser in many ways
            raise InputError(f"'{self.place}' is no MATLAB file that can be read ({problem}). {SOURCE}") from problem
        missing = [v for v in self.variables if v not in found]
        if missing:
            raise InputError(
                f"'{self.place}' has no variable '{missing[0]}'; {name} of the collection has it. {SOURCE}"
            )
        arrays = {}
        for variable in self.variables:
            values = np.asarray(found[variable])
            if values.dtype.kind not in "fiu" or not np.all(np.isfinite(values)):
                raise InputError(f"'{variable}' of '{self.place}' is not made of finite numbers. {SOURCE}")
            arrays[variable] = values.astype(float)
        return arrays, InputFile.at(path).sha256


SILVERBOX = CollectionFile("Silverbox/SilverboxFiles/SNLS80mV.mat", ("V1", "V2"))
TANKS = CollectionFile("Cascaded_Tanks/CascadedTanksFiles/dataBenchmark.mat", ("uEst", "yEst", "uVal", "yVal", "Ts"))
WIENER_HAMMERSTEIN = CollectionFile(
    "WienerHammerBenchMark/WienerHammerBenchMark.mat", ("uBenchMark", "yBenchMark", "fs")
)
F16_TRAINING, F16_TEST = (
    CollectionFile(f"F16/F16GVT_Files/BenchmarkData/F16Data_FullMSine_{level}.mat", ("Force", "Acceleration", "Fs"))
    for level in ("Level3", "Level4_Validation")
)


def silverbox(folder: Path | None, part: str) -> FreeRunData:
    """V1 drives, V2 answers (V), 610.35 Hz: "training", "multisine", "arrow" or "arrow within" (not extrapolating)."""
    arrays, _ = SILVERBOX.read(folder)
    whole = FreeRunData(arrays["V1"].ravel(), arrays["V2"].ravel(), 1 / 610.35)
    _long(whole, 127_400, SILVERBOX)
    border = 40_650 + int(0.75 * (127_400 - 40_650))
    places = {
        "training": (40_650, border),
        "multisine": (border, 127_400),
        "arrow": (100, 40_575),
        "arrow within": (100, 32_100),
    }
    return whole.cut(*places[part])


def cascaded_tanks(folder: Path | None, part: str) -> FreeRunData:
    """Voltage of the pump and level of the lower tank (V): "training" or "test"."""
    arrays, _ = TANKS.read(folder)
    end = {"training": "Est", "test": "Val"}[part]
    return _same(FreeRunData(arrays["u" + end].ravel(), arrays["y" + end].ravel(), float(arrays["Ts"].flat[0])), TANKS)


def wiener_hammerstein(folder: Path | None, part: str) -> FreeRunData:
    """Voltages: "training" or "test"."""
    arrays, _ = WIENER_HAMMERSTEIN.read(folder)
    whole = FreeRunData(arrays["uBenchMark"].ravel(), arrays["yBenchMark"].ravel(), 1 / float(arrays["fs"].flat[0]))
    _long(whole, 184_000, WIENER_HAMMERSTEIN)
    return whole.cut(*{"training": (5_200, 105_200), "test": (105_200, 184_000)}[part])


def f16(folder: Path | None, part: str, output: int) -> FreeRunData:
    """Force (N) and one of the three accelerations (m/s²) under full multisines: "training" (level 3), "test" (4)."""
    file = {"training": F16_TRAINING, "test": F16_TEST}[part]
    arrays, _ = file.read(folder)
    answers = np.atleast_2d(arrays["Acceleration"])
    if not 0 <= output < len(answers):
        raise InputError(f"'{file.place}' has {len(answers)} accelerations; there is no number {output}.")
    return _same(FreeRunData(arrays["Force"].ravel(), answers[output].ravel(), 1 / float(arrays["Fs"].flat[0])), file)


def shas(folder: Path | None, *needed: CollectionFile) -> str:
    """The beginning of the SHA-256 of files, in a sentence."""
    return "; ".join(f"SHA-256 of {f.place.rsplit('/', 1)[-1]} {f.read(folder)[1][:16]}…" for f in needed) + "."


def _same(data: FreeRunData, file: CollectionFile) -> FreeRunData:
    if len(data.u) != len(data.y) or len(data.u) < 2:
        raise InputError(f"'{file.place}' has {len(data.u)} values of the input and {len(data.y)} of the output.")
    return data


def _long(data: FreeRunData, samples: int, file: CollectionFile) -> Any:
    if len(_same(data, file).u) < samples:
        raise InputError(
            f"'{file.place}' has {len(data.u)} samples; the file of the collection has at least {samples}."
        )
