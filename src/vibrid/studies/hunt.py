"""The hunt for collapse: every motion is scaled up until the structure collapses, then the gap is closed.

D. Vamvatsikos and C. A. Cornell, "Incremental dynamic analysis", Earthquake Engineering and Structural Dynamics 31
(2002) 491–514, hunt and fill: steps grow until the first collapse, the gap between the highest level that stands and
the lowest that does not is halved until it is small, and some more runs fill the largest gaps below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.core.progress import Progress
from vibrid.studies.engine import Engine, InProcess
from vibrid.studies.kept import SET_ASIDE, STANDS, WAITING
from vibrid.studies.program import Batch
from vibrid.studies.running import begun, compute, is_missing
from vibrid.studies.store import Store

if TYPE_CHECKING:
    import xarray

    from vibrid.studies.intensity import IntensityMeasure
    from vibrid.studies.study import Study


@checked
@dataclass(frozen=True)
class Hunt:
    """Levels of a study that are chosen for every motion by itself, each from the outcomes of those before.

    Arguments
        first: the lowest level, in the unit of the intensity measure.
        growth: each step upwards is longer than the one before by this factor; the first step is `first`.
        resolution: the gap around collapse is halved until it is below this share of its upper end.
        fill: runs that fill the largest gaps below collapse afterwards.
        most: runs of one motion, at most.
    """

    first: float
    growth: float = 1.5
    resolution: float = 0.1
    fill: int = 3
    most: int = 20

    def __post_init__(self) -> None:
        if not (self.first > 0 and self.growth >= 1 and 0 < self.resolution < 1 and self.fill >= 0 and self.most >= 1):
            raise InputError(
                "A hunt has a positive first level, a growth of 1 or more, a resolution between 0 and 1, no negative "
                "number of runs that fill, and at least one run for a motion."
            )

    def next_level(self, levels: np.ndarray, stands: np.ndarray) -> float | None:
        """The level after those that were tried; None when the motion is done."""
        if len(levels) >= self.most:
            return None
        if not len(levels):
            return self.first
        falls = levels[~stands]
        if not falls.size:
            steps = self.first * self.growth ** np.arange(len(levels) + 1)
            return float(steps.sum())
        high = float(falls.min())
        low = float(levels[stands & (levels < high)].max(initial=0.0))
        if high - low > self.resolution * high:
            return 0.5 * (low + high)
        ordered = np.concatenate([[0.0], np.sort(levels[stands & (levels < high)])])
        if len(levels) >= self._spent(levels, stands) + self.fill or ordered.size < 2:
            return None
        gap = int(np.argmax(np.diff(ordered)))
        return float(0.5 * (ordered[gap] + ordered[gap + 1]))

    def _spent(self, levels: np.ndarray, stands: np.ndarray) -> int:
        """How many runs were made until the gap around collapse was small."""
        for count in range(1, len(levels) + 1):
            falls = levels[:count][~stands[:count]]
            if falls.size:
                high = falls.min()
                low = levels[:count][stands[:count] & (levels[:count] < high)].max(initial=0.0)
                if high - low <= self.resolution * high:
                    return count
        return len(levels)


def run_hunt(
    study: Study,
    hunt: Hunt,
    measure: IntensityMeasure,
    out: str | Path | None,
    engine: Engine | None,
    progress: Progress,
) -> xarray.Dataset:
    """Compute the trials of a hunt that are not in its folder yet, and return the dataset.

    A run that neither stands nor collapses counts as the upper end of the gap, and not as a collapse.
    """
    now = study.intensities
    store = Store(out)
    engine = InProcess() if engine is None else engine
    with store.locked():
        state = _opened(study, store)
        (generation,) = state["generations"]
        try:
            engine.begin(study.program)
            _rounds(study, hunt, measure, now, store, generation["width"], engine, progress)
        finally:
            engine.close()
    return store.dataset()


def _opened(study: Study, store: Store) -> dict[str, Any]:
    """The state of the hunt in its dataset, which is begun where there is none."""
    if not store.exists:
        return begun(study, store, len(study.program.motions))
    state = store.open()
    motions = [motion.fingerprint for motion in study.program.motions]
    if state["fingerprint"] != study.fingerprint() or store.read("fingerprint").tolist() != motions:
        raise InputError(
            f"The folder '{store.folder}' holds another study: structure, motions, limits, or how levels are chosen "
            "differ. Take another folder."
        )
    return state


def _rounds(study, hunt: Hunt, measure, now: np.ndarray, store: Store, width: int, engine, progress) -> None:
    """One trial of every motion at a time, until all are done."""
    program = study.program
    for trial in range(hunt.most):
        outcomes, levels = store.read("outcome"), store.read("level")
        wanted: dict[int, float] = {}
        for number in range(len(now)):
            tried = outcomes[number, :trial]
            level = hunt.next_level(levels[number, :trial], tried == STANDS)
            if level is not None and not np.isin(tried, (WAITING, SET_ASIDE)).any():
                wanted[number] = level
        if not wanted:
            return
        active = np.array(list(wanted))
        batches = list(_batches(program, active, trial, wanted, measure, now, width))
        missing = [batch for batch in batches if is_missing(outcomes, batch)]
        label = f"trial {trial + 1} of {len(active)} motions"
        compute(study, store, iter(missing), sum(b.size for b in missing), engine, progress, label)


def _batches(program, active: np.ndarray, trial: int, wanted, measure, now, width: int) -> Iterator[Batch]:
    for chosen, length, _ in program.batches(active, width):
        numbers = active[chosen]
        levels = np.array([wanted[number] for number in numbers])
        factors = np.array([float(measure.factor(level, now[n])) for level, n in zip(levels, numbers, strict=True)])
        places = np.stack([numbers, np.full(len(numbers), trial)], axis=1)
        yield Batch(places, numbers, factors, {}, length, width, {"level": levels})
