"""Tuning with one budget: a few settings are tried with the first seed, the best one is trained from every seed."""

from __future__ import annotations

from typing import Any, Protocol

import jax
import numpy as np

from vibrid.core.progress import SILENT, Progress
from vibrid.papers.public.black_box.narx import NARX
from vibrid.papers.public.black_box.recurrent import RecurrentBox
from vibrid.papers.public.black_box.series import Budget, DrivenSeries, TrainedBox
from vibrid.papers.public.black_box.sparse import SparseBox
from vibrid.papers.public.black_box.state_space import PolynomialStateSpace


class BlackBox(Protocol):
    """A kind of black box: what it is called, its training, and free runs of several trained ones side by side."""

    name: str

    def train(self, setting: dict[str, Any], series: DrivenSeries, seed: int, budget: Budget) -> TrainedBox: ...

    def run(self, setting: dict[str, Any], series: DrivenSeries, vectors: np.ndarray, u: jax.Array) -> np.ndarray: ...


METHODS: dict[str, BlackBox] = {
    "pysindy": SparseBox(),
    "narx": NARX(),
    "recurrent": RecurrentBox(),
    "state-space": PolynomialStateSpace(),
}
"""The black boxes by their names in the settings."""


def tuned(
    method: BlackBox, settings: list[dict[str, Any]], series: DrivenSeries, seeds: list[int], budget: Budget,
    progress: Progress = SILENT,
) -> dict[str, np.ndarray]:  # fmt: skip
    """The number of the best setting, and what was trained with it from every seed, as arrays."""
    tried = []
    for number, setting in enumerate(settings):
        progress.stage(f"{method.name}, setting {number + 1} of {len(settings)}")
        tried.append(method.train(setting, series, seeds[0], budget))
    best = int(np.argmin([box.validation for box in tried]))
    boxes = [tried[best]]
    for seed in seeds[1:]:
        progress.stage(f"{method.name}, seed {seed}")
        boxes.append(method.train(settings[best], series, seed, budget))
    return {
        "setting": np.array(best),
        "tried": np.array([box.validation for box in tried]),
        "vectors": np.array([box.vector for box in boxes]),
        "validation": np.array([box.validation for box in boxes]),
        "seconds": np.array([box.seconds for box in boxes]),
        "steps": np.array([box.steps for box in boxes]),
    }
