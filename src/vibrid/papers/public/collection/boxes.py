"""Fits of the collection's entries: a cubic oscillator whose parameters are all unknown, a polynomial state space."""

from __future__ import annotations

from typing import Any

import numpy as np

from vibrid.identification.identify import identify
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.laws.polynomial import Cubic
from vibrid.papers.public.black_box.series import Budget, DrivenSeries
from vibrid.papers.public.black_box.state_space import PolynomialStateSpace
from vibrid.papers.public.bouc_wen.choice import first_oscillator
from vibrid.papers.public.bouc_wen.fitting import MASS_AND_DAMPING, oscillator_of
from vibrid.papers.public.collection.layouts import FreeRunData
from vibrid.records.record import Channel, Record
from vibrid.simulation.simulate import simulate

_CUBIC = (*MASS_AND_DAMPING, "storeys[0].stiffness", "storeys[0].cubic")
_HOLD = "band-limited"


def record_of(data: FreeRunData, washout: int | None = None) -> Record:
    """The input as a force, and the output after the washout as a displacement; without one the input alone."""
    columns, channels = [data.u], [Channel("u", "load", location="0")]
    if washout is not None:
        columns.append(np.where(np.arange(len(data.y)) < washout, np.nan, data.y))
        channels.append(Channel("y", "displacement", location="0"))
    return Record(np.stack(columns, axis=1), tuple(channels), step=data.step)


def fit_cubic(data: FreeRunData, substeps: int, washout: int):
    """m ÿ + c ẏ + k y + k₃ y³ = u in the units of the voltages; starts from the linear oscillator of the spectra."""
    mass, damping, stiffness = first_oscillator(data.u, data.y, 1.0 / data.step)
    mild = 0.1 * stiffness / float(np.abs(data.y).max()) ** 2
    start = oscillator_of(Cubic(stiffness, mild), mass, max(damping, 1e-3 * np.sqrt(mass * stiffness)))
    return identify(
        start, record_of(data, washout), list(_CUBIC), TrajectoryFit(), hold=_HOLD, substeps=substeps, checks="none"
    ).structure


def run_cubic(structure, data: FreeRunData, substeps: int) -> np.ndarray:
    """Free run from rest."""
    return np.asarray(simulate(structure, record_of(data), hold=_HOLD, substeps=substeps).displacement)[:, 0]


class StateSpaceBox:
    """A polynomial state space trained on a part; `run` gives its free run on another one."""

    def __init__(self, data: FreeRunData, setting: dict[str, Any], washout: int, share: float, budget: Budget):
        self.setting = {"states": setting["states"], "degree": setting["degree"]}
        self.series = DrivenSeries.of(data.u, data.y, washout, share)
        self.trained = PolynomialStateSpace().train(self.setting, self.series, 0, budget)

    def run(self, data: FreeRunData) -> np.ndarray:
        vectors, scaled = self.trained.vector[None], self.series.scaled(data.u)
        return self.series.measured(PolynomialStateSpace().run(self.setting, self.series, vectors, scaled)[0])
