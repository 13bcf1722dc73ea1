"""An estimated load: its history with a band, and the weights that were used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.attached import attached
from vibrid.core.moved import renamed_arguments
from vibrid.records.readers.assemble import numbered
from vibrid.records.record import Channel, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Weights:
    """Standard deviations of the noise of the readings (ny,) and of the innovations of the loads.

    `first` is that of the loads before the record, `motion` that of the initial motion relative to the motion that the
    loads would cause (0: known).
    """

    noise: np.ndarray
    spread: np.ndarray
    first: np.ndarray
    motion: float = 0.0

    def loosened(self, factor: float) -> Weights:
        """The same with the standard deviations of the loads multiplied by a factor."""
        return replace(self, spread=factor * self.spread, first=factor * self.first)


@dataclass(frozen=True, eq=False)
class LoadEstimate:
    """The unknown loads of one record, each with its standard deviation at every sample.

    The band includes the effect of noise and, where the structure was unknown too, of its uncertainty; it assumes that
    model and sensors are right.
    """

    record: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    time: np.ndarray  # (samples,) s
    values: np.ndarray  # (samples, loads)
    deviation: np.ndarray  # (samples, loads)
    weights: Weights  # standard deviations of readings and loads that were used

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[:, self.names.index(name)]

    @renamed_arguments(truth="reference")
    def error(self, reference: Array) -> np.ndarray:
        """100 ‖f − f̂‖/‖f‖ in per cent of every load, against true histories (samples,) or (samples, loads)."""
        reference = np.asarray(reference, float).reshape(len(self.time), -1)
        return 100.0 * np.linalg.norm(self.values - reference, axis=0) / np.linalg.norm(reference, axis=0)

    def as_record(self) -> Record:
        """The loads and their standard deviations as channels of a record; loads of one name are numbered."""
        kind = {"N": "load", "m/s^2": "ground_acceleration"}
        pairs = list(zip(self.names, self.units, strict=True))
        channels = [Channel(f"load {n}", kind[u], u, n if u == "N" else "") for n, u in pairs]
        channels += [Channel(f"deviation {n}", "other", u) for n, u in pairs]
        data = np.concatenate([self.values, self.deviation], axis=1)
        return Record(
            data, tuple(numbered(channels)), step=float(self.time[1] - self.time[0]), name=f"loads of {self.record}"
        )

    def table(self) -> list[dict[str, Any]]:
        """One row per load: name, unit, largest value, rms, and the median of its standard deviation."""
        return [
            {
                "name": name,
                "unit": self.units[i],
                "peak": float(np.max(np.abs(self.values[:, i]))),
                "rms": float(np.sqrt(np.mean(self.values[:, i] ** 2))),
                "standard_deviation": float(np.median(self.deviation[:, i])),
            }
            for i, name in enumerate(self.names)
        ]

    def __str__(self) -> str:
        width = max(len(n) for n in self.names) + 2
        head = f"{'load':<{width}}{'peak':>12}{'rms':>12}{'band (2σ)':>12}"
        rows = [
            f"{r['name']:<{width}}{r['peak']:>12.4g}{r['rms']:>12.4g}{2 * r['standard_deviation']:>12.3g}"
            f"  [{r['unit']}]"
            for r in self.table()
        ]
        return "\n".join([f"Loads of '{self.record}'", head, *rows])

    __repr__ = __str__

    @renamed_arguments(truth="reference")
    @attached
    def plot(self, ax: Axes | None = None, reference: Array | None = None) -> Any:
        """Every load over time with its band of ± 2σ; returns the figure, or the axes that were given."""
