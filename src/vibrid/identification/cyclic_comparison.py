"""`compare_cyclic`: which law meets a cyclic test best where it was not fitted, in hidden cycles or specimens."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vibrid.core.arguments import Seed, checked
from vibrid.core.errors import InputError, VibridError
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.cyclic import CyclicFit, fit_cyclic, fitted
from vibrid.identification.cyclic_tests import read, thinned, zeros_of
from vibrid.laws.base import LAWS
from vibrid.records.cycles import CyclicReading
from vibrid.records.imposed import one_of
from vibrid.records.record import Record

HELD_OUT = 4
"""Every fourth cycle is left out where laws are compared."""
HIDDEN = ("cycles", "specimens")


@dataclass(frozen=True, eq=False)
class CyclicComparison:
    """Laws fitted to the same tests, the best first; `refused` holds the messages for laws that could not be fitted."""

    fits: tuple[CyclicFit, ...]
    refused: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def best(self) -> CyclicFit:
        """The law with the least error where it was not fitted."""
        return self.fits[0]

    def __str__(self) -> str:
        rows = [
            f"{one.name}: NRMSE {100 * one.calibration.nrmse:.3g} %, of hidden {one.hidden} {100 * one.held_out:.3g} %"
            for one in self.fits
        ]
        return "\n".join([*rows, *(f"{name}: {why}" for name, why in self.refused.items())])

    __repr__ = __str__


@checked
def compare_cyclic(
    tests: Record | list[Record],
    laws: list[str],
    hide: str = "cycles",
    *,
    offset: str | Sequence[str] = (),
    checks: str = "all",
    key: Seed = 0,
    progress: Progress = SILENT,
) -> CyclicComparison:
    """Fit several laws to the same tests, the best first: by their error where they were not fitted. Each law is then
    fitted to all. A law that cannot be fitted is left out, with the reason; the others go on.

    Arguments
        hide: "cycles", every fourth of each test, whose path leads through the law and only whose forces are hidden; or
            "specimens", each test in turn, predicted by the law that is fitted to the others.
        offset: as for `fit_cyclic`.

    Example
        >>> best = compare_cyclic(test, ["imk-peak-oriented", "imk-pinching"]).best
    """
    if not laws:
        raise InputError("No law was given.")
    if hide not in HIDDEN:
        raise InputError(f"Laws are compared by {' or '.join(HIDDEN)} that are hidden, not by '{hide}'.")
    records = thinned([tests] if isinstance(tests, Record) else list(tests))
    if hide == "specimens" and len(records) < 2:
        raise InputError("A comparison by specimens needs two tests or more: one is predicted from the others.")
    zeros = (offset,) if isinstance(offset, str) else tuple(offset)
    readings = [read(record, zeros_of(records, zeros)) for record in records]
    if hide == "cycles" and max(len(reading.cycles) for reading in readings) < HELD_OUT:
        raise InputError(
            f"A comparison leaves every {HELD_OUT}th cycle out; the tests have fewer than {HELD_OUT} cycles."
        )
    made, refused = [], {}
    for name in laws:
        LAWS[name.strip()]  # a name that does not exist is a slip, not a law that does not fit
    for name in dict.fromkeys(map(str.strip, laws)):
        try:
            if hide == "cycles":
                score = _score_of_cycles(records, readings, name, zeros, key, progress)
            else:
                score = _score_of_specimens(records, name, zeros, key, progress)
            whole = fit_cyclic(records, name, offset=zeros, checks=checks, key=key, progress=progress)
        except VibridError as problem:
            refused[name] = str(problem)
            continue
        if not math.isfinite(score):
            refused[name] = f"Its force in the hidden {hide} is not finite."
            continue
        made.append(dataclasses.replace(whole, held_out=score, hidden=hide))
    if not made:
        raise InputError("None of the laws could be fitted. " + " ".join(f"{k}: {why}" for k, why in refused.items()))
    return CyclicComparison(tuple(sorted(made, key=lambda one: one.held_out)), refused)


def _score_of_cycles(
    records: list[Record], readings: list[CyclicReading], law: str, offset: tuple[str, ...], key, progress
) -> float:
    """NRMSE over every fourth cycle, of the law that is fitted to the others."""
    hidden = [_hidden(record, reading) for record, reading in zip(records, readings, strict=True)]
    part, _, _ = fitted([record for record, _ in hidden], law, offset=offset, key=key, progress=progress)
    return _score(records, [trial.force for trial in part.trials], [mask for _, mask in hidden])


def _score_of_specimens(records: list[Record], law: str, offset: tuple[str, ...], key, progress) -> float:
    """NRMSE over all tests, each predicted by the law that is fitted to the others."""
    predicted = []
    for i, record in enumerate(records):
        others = [*records[:i], *records[i + 1 :]]
        part, _, _ = fitted(others, law, offset=offset, key=key, progress=progress, left_out=[record])
        predicted.append(part.trials[-1].force)
    return _score(records, predicted, [np.ones(len(record), bool) for record in records])


def _score(records: list[Record], predicted: list[np.ndarray], masks: list[np.ndarray]) -> float:
    """Mean over the tests of the rms error of the force where it was hidden, over its range, as `Calibration.nrmse`."""
    shares = []
    for record, force, mask in zip(records, predicted, masks, strict=True):
        measured = one_of(record, "element_force")
        seen = np.isfinite(measured)
        error = (force - measured)[mask & seen]
        if error.size:  # a short test may have no hidden cycle
            shares.append(math.sqrt(float(np.mean(np.square(error)))) / float(np.ptp(measured[seen])))
    return float(np.mean(shares))


def _hidden(record: Record, reading: CyclicReading) -> tuple[Record, np.ndarray]:
    """The record without the forces of every fourth cycle, and where these are."""
    mask = np.zeros(len(record), bool)
    for cycle in reading.cycles[HELD_OUT - 1 :: HELD_OUT]:
        mask[cycle.first : cycle.last + 1] = True
    (place,) = [i for i, c in enumerate(record.channels) if c.quantity == "element_force"]
    data = np.array(record.data)
    data[mask, place] = np.nan
    return record.replace("every fourth cycle hidden", data=data), mask
