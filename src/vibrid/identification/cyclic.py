"""`fit_cyclic`: the law of a hinge from cyclic tests. The first guess is read off the data; the fit goes in stages that
corners of the loops cannot stop."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core import paths
from vibrid.core.arguments import Seed, checked
from vibrid.core.attached import attached
from vibrid.core.errors import InputError, Refusal
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.calibrate import Calibration, calibrate, parameters_of
from vibrid.identification.corners import Sampled, sampled, widened
from vibrid.identification.cyclic_tests import ZEROS, Zeros, motion_of, read, thinned, zeros_of
from vibrid.identification.elsewhere import Elsewhere, elsewhere
from vibrid.identification.first_step import FINEST, is_integrated
from vibrid.identification.law_search import CANDIDATES, LawSearch, Place
from vibrid.identification.unknowns import Unknown
from vibrid.laws.base import LAWS, Law, has_rate
from vibrid.laws.excursions import ExcursionLaw
from vibrid.laws.loops import LoopSizes, first_guess
from vibrid.records.cycles import CyclicReading
from vibrid.records.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from vibrid.identification.cyclic_comparison import CyclicComparison

AROUND = 0.4
"""Standard deviation of ln θ of the candidates about the first guess."""
ROUNDS = 3
DEFORMATION_OFFSET = "deformation offset"
FINER = 4
"""Times as many steps per sample with which an answer of a law with a rate is fitted again."""
SETTLED = 3.0
"""Standard deviations by which that may move it: what is left then is a fifteenth of it, as the steps are of second
order."""
GAIN = 1.0
"""Difference of ln L above which a place that was found by sampling is descended from."""


@dataclass(frozen=True)
class ComparedCycle:
    """One cycle of a test: measured, and of the fitted law. Deformations in m, forces in N, energy in J."""

    amplitude: float
    force: float  # half of the way from the largest to the smallest
    fitted_force: float
    energy: float
    fitted_energy: float
    stiffness: float  # N/m, from turn to turn
    fitted_stiffness: float


@dataclass(frozen=True, eq=False)
class CyclicFit:
    """A law fitted to cyclic tests: `calibration` has its parameters with intervals, `readings` what the tests show
    without any law, and `cycles` the two beside each other, a list for every test.

    guess: the law that was read off the data. held_out: NRMSE over cycles or specimens that were not fitted, NaN where
    all were, and `hidden` which of them.
    rounds: how often the search without derivatives found a better place than the descent had.
    """

    name: str
    calibration: Calibration
    readings: tuple[CyclicReading, ...]
    cycles: tuple[tuple[ComparedCycle, ...], ...]
    guess: Law
    rounds: int
    held_out: float = math.nan
    hidden: str = ""

    @property
    def law(self) -> Law:
        """The law with the estimated parameters."""
        return self.calibration.law

    @property
    def not_shown(self) -> list[str]:
        """Parameters that the tests do not determine: laws with other values of them fit as well."""
        return [row["name"] for row in self.calibration.table() if not row["identifiable"]]

    def correlations(self) -> tuple[list[str], np.ndarray]:
        """Names of the parameters, and the correlation of their estimates."""
        fit = self.calibration.fit
        covariance = np.asarray(fit.covariance)
        size = np.sqrt(np.diag(covariance))
        return [row["name"] for row in self.calibration.table()], covariance / np.outer(size, size)

    def __str__(self) -> str:
        lines = [
            f"{record.name}: {' '.join([_words(reading), *reading.warnings])}"
            for record, reading in zip(self._records, self.readings, strict=True)
        ]
        unseen = ", ".join(self.not_shown)
        told = [f"Not shown by the test: {unseen}. Laws with other values fit as well."] if unseen else []
        return "\n".join([*lines, f"{self.name}:", str(self.calibration), *told])

    __repr__ = __str__

    @property
    def _records(self) -> list[Record]:
        return [trial.record for trial in self.calibration.trials]

    @attached
    def plot(self) -> Figure:
        """Loops, forces and energy of the cycles, measured and of the law, one row per test."""
        ...

    @attached
    def report(self, path, compared: CyclicComparison | None = None) -> Path:
        """Write the report of the fit with its cycles, and with all laws of a comparison; see `Identification.report`.

        Arguments
            path: the file, usually ending in .html.
            compared: what `compare_cyclic` gave.
        """
        ...


def _words(reading: CyclicReading) -> str:
    lost = f", largest loss within a step {100 * max(reading.strength_loss):.0f} %" if reading.strength_loss else ""
    return (
        f"{reading.protocol}; {len(reading.cycles)} cycles, stiffness {reading.stiffness:.4g} N/m, yield "
        f"{reading.yield_force:.4g} N, peak {reading.peak:.4g} N at {reading.peak_at:.4g} m{lost}."
    )


@checked
def fit_cyclic(
    tests: Record | list[Record],
    law: Law | str,
    unknown: list[str] | None = None,
    *,
    offset: str | Sequence[str] = (),
    checks: str = "all",
    key: Seed = 0,
    progress: Progress = SILENT,
) -> CyclicFit:
    """Fit a law to cyclic tests of one kind of specimen, all together, from what the data show.

    1. Envelope, stiffness, energy and strength of the cycles are read off the tests; they give the first guess.
    2. 128 laws about it are tried at once, without derivatives; the best one is descended by `calibrate`, and so is the
       first guess of a law with corners; the better one of the two is kept.
    3. 128 laws about the answer, near and far, are tried; where one fits better, the descent begins again from it. So a
       false dip, which corners of the loops make, is left.
    4. A law with a rate is fitted again with four times as many steps per sample, until that no longer matters.
    5. For a law with corners the likelihood about the answer is sampled: its intervals are never narrower than that.
    6. Each parameter of such a law is held elsewhere while the others are fitted again (`elsewhere`): a better place is
       descended from; where the misfit stays level the interval reaches as far, and a parameter that may be anywhere is
       named (`CyclicFit.not_shown`).

    Arguments
        tests: records with a channel of quantity imposed_displacement and one of element_force.
        law: a name as in project files, "imk-pinching", or a law with values, which are then the first guess.
        unknown: parameters to fit. By default those that the first guess of a hinge names (for the IMK hinges all but
            `residual_ratio`, `exponent` and the capacities of unloading and reloading), and all of other laws.
        offset: "force", "deformation" or both: what the tests read at zero is unknown too, one value for all of them.
        checks, key: as for `identify`.

    Example
        >>> print(fit_cyclic(read_record("column.csv"), "imk-peak-oriented"))
    """
    records = thinned([tests] if isinstance(tests, Record) else list(tests))
    unknown_zeros = (offset,) if isinstance(offset, str) else tuple(offset)
    zeros = zeros_of(records, unknown_zeros)
    readings = tuple(read(record, zeros) for record in records)
    made, guess, rounds = fitted(records, law, unknown, unknown_zeros, checks, key, progress)
    cycles = tuple(_compared(t.record, t.force, r) for t, r in zip(made.trials, readings, strict=True))
    return CyclicFit(_name(law), made, readings, cycles, guess, rounds)


# -- stages --------------------------------------------------------------------------------------------------------


def fitted(
    records: list[Record],
    law: Law | str,
    unknown: list[str] | None = None,
    offset: tuple[str, ...] = (),
    checks: str = "none",
    key: Seed = 0,
    progress: Progress = SILENT,
    left_out: list[Record] | None = None,
) -> tuple[Calibration, Law, int]:
    """The calibration, the first guess and the rounds that were needed; tests that are left out are only scored."""
    motions = [motion_of(record) for record in records]
    zeros = zeros_of(records, offset)
    loop = LoopSizes.of([(x - zeros.deformation, v, f - zeros.force) for x, v, f, _ in motions])
    guess = first_guess(LAWS[law.strip()], loop) if isinstance(law, str) else law
    names = unknown or _usual(guess, loop)
    known = dict(parameters_of(guess))
    for name in names:
        if name not in known:
            raise InputError(f"'{name}' is no parameter of {_name(law)}; it has {', '.join(known)}.")
    search = LawSearch(names, motions, loop, offset)
    random = np.random.default_rng(key if isinstance(key, int) else 0)
    progress.stage(f"trying {CANDIDATES} laws about the first guess")
    first = Place(guess, zeros)
    first = search.at(first, search.values(first)) or first  # made as all later ones: one program serves them all
    best = search.better(first, search.steps(random, AROUND)) or first

    def descended(place: Place, checks: str = "none", substeps: int | None = None) -> Calibration:
        settings = {"substeps": substeps or ("auto" if has_rate(place.law) else 1), "checks": checks, "key": key}
        settings |= {"starts": 1, "left_out": left_out, "progress": progress}
        unknowns: list = list(names)
        if "deformation" in offset:
            start = place.zeros.deformation
            unknowns.append(Unknown("loads[0].offset", name=DEFORMATION_OFFSET, start=start, scale=loop.elastic))
        settings["offset"] = place.zeros.force if "force" in offset else False
        return calibrate(records, place.law, unknowns, **settings)

    made, rounds = descended(best), 0
    if best is not first and made.law.corners == "within":  # what was read off may be in the right dip where it is not
        with contextlib.suppress(Refusal):
            other = descended(first)
            if search.misfit(_place(other, offset)) < search.misfit(_place(made, offset)):
                made = other
    about = _sampled(search, made, offset, random)
    for _ in range(ROUNDS):
        here = _place(made, offset)
        if about is not None and about.gain > GAIN:
            other = search.at(here, _rows(made, offset, about.best[None])[0])
        else:
            spread = 10.0 ** random.uniform(-3.0, -0.5, (CANDIDATES - 1, 1))
            other = search.better(here, search.steps(random, spread))
        if other is None:
            break
        again = descended(other)
        if not search.misfit(_place(again, offset)) < (1.0 - 1e-6) * search.misfit(here):
            break
        made, rounds, about = again, rounds + 1, _sampled(search, again, offset, random)
    there = _elsewhere(search, made, offset, guess)
    for _ in range(ROUNDS):
        if there is None or not there.gain > GAIN:
            break
        other = search.at(_place(made, offset), _rows(made, offset, there.best[None])[0])
        again = descended(other) if other is not None else made
        if not search.misfit(_place(again, offset)) < (1.0 - 1e-6) * search.misfit(_place(made, offset)):
            break
        made, rounds = again, rounds + 1
        about, there = _sampled(search, made, offset, random), _elsewhere(search, made, offset, guess)
    slope, steps = made.fit.free_covariance, made.fit.problem.substeps
    while is_integrated(made.law) and steps < FINEST:
        steps, before = min(FINER * steps, FINEST), made
        made = descended(_place(made, offset), substeps=steps)
        if _moved(before, made) < SETTLED:
            break
    if checks != "none":
        progress.stage("checking the answer")
        made = descended(_place(made, offset), checks, steps)
    if about is not None:
        covariance = widened(np.asarray(made.fit.free_covariance), np.asarray(slope), about.covariance)
        made = dataclasses.replace(made, fit=made.fit.replace(free_covariance=covariance))
    if there is not None:
        covariance = there.widened(np.asarray(made.fit.free_covariance))
        limits = made.fit.limits.without(there.unseen)
        made = dataclasses.replace(made, fit=made.fit.replace(free_covariance=covariance, limits=limits))
    return made, guess, rounds


def _moved(before: Calibration, after: Calibration) -> float:
    """The largest change of an unknown that the tests show, in standard deviations."""
    step = np.abs(np.asarray(after.fit.free) - np.asarray(before.fit.free))
    shown = np.asarray(after.fit.limits.identifiable)
    with np.errstate(all="ignore"):
        shares = step / np.sqrt(np.diag(np.asarray(after.fit.free_covariance)))
    return float(np.max(np.where(shown & np.isfinite(shares), shares, 0.0), initial=0.0))


def _usual(law: Law, loop: LoopSizes) -> list[str]:
    """Parameters to fit where none are named."""
    own = [path for path, _ in parameters_of(law)]
    if not isinstance(law, ExcursionLaw):
        return own
    named = type(law).first_guess(loop)
    return [path for path in own if path.partition("[")[0] in named]


def _sampled(
    search: LawSearch, made: Calibration, offset: tuple[str, ...], random: np.random.Generator
) -> Sampled | None:
    """The likelihood about an answer; None for a law with a rate, which has no corners and may need finer steps."""
    if has_rate(made.law) or made.fit.free_covariance is None:
        return None
    estimate, covariance = np.asarray(made.fit.free), np.asarray(made.fit.free_covariance)
    return sampled(
        lambda free: search.squares(made.law, _rows(made, offset, free)), estimate, covariance, search.count, random
    )


def _elsewhere(search: LawSearch, made: Calibration, offset: tuple[str, ...], guess: Law) -> Elsewhere | None:
    """The likelihood with each parameter held elsewhere; None where none is sampled either."""
    if has_rate(made.law) or made.fit.free_covariance is None:
        return None
    fit, first = made.fit, np.array(made.fit.estimate)
    first[: len(search.names)] = [float(paths.get(guess, name)) for name in search.names]
    return elsewhere(
        lambda free: search.residuals(made.law, _rows(made, offset, free)), fit.problem, np.asarray(fit.free),
        np.asarray(fit.free_covariance), np.asarray(fit.problem.unknowns.to_free(first)),
    )  # fmt: skip


def _place(made: Calibration, offset: tuple[str, ...]) -> Place:
    """Where a descent ended."""
    return Place(made.law, Zeros(*_rows(made, offset, np.asarray(made.fit.free)[None])[0, -len(ZEROS) :]))


def _rows(made: Calibration, offset: tuple[str, ...], free: np.ndarray) -> np.ndarray:
    """Rows of a search: the parameters of the law and the zeros of the tests, of rows of unknowns."""
    values = np.asarray(jax.vmap(made.fit.problem.unknowns.to_physical)(jnp.asarray(free)))
    own = values.shape[1] - len(offset)
    zeros = np.zeros((len(values), len(ZEROS)))
    for i, what in enumerate(what for what in ZEROS if what in offset):  # in the order in which they were named
        zeros[:, ZEROS.index(what)] = values[:, own + i]
    return np.hstack([values[:, :own], zeros])


def _compared(record: Record, force: np.ndarray, reading: CyclicReading) -> tuple[ComparedCycle, ...]:
    """Force, energy and stiffness of every cycle, measured and of the law."""
    made = []
    for cycle in reading.cycles:
        here = slice(cycle.first, cycle.last + 1)
        x, own = record["x"][here], force[here]
        high, low = int(np.nanargmax(x)), int(np.nanargmin(x))
        made.append(
            ComparedCycle(
                cycle.amplitude,
                cycle.push,
                0.5 * float(own.max() - own.min()),
                cycle.energy,
                float(scipy.integrate.trapezoid(own, x)),
                cycle.stiffness,
                float((own[high] - own[low]) / (x[high] - x[low])),
            )
        )
    return tuple(made)


def _name(law: Law | str) -> str:
    return law.strip() if isinstance(law, str) else LAWS.name_of(type(law))
