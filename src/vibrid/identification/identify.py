"""`identify`: estimate the unknown parameters of a structure from records."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vibrid.core.arguments import Seed, checked
from vibrid.core.errors import InputError, Refusal
from vibrid.core.findings import Finding
from vibrid.core.linalg import one_blas_thread
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.auto_start import PROPOSAL, check_start, solve_from_data
from vibrid.identification.checks.run import checked_result
from vibrid.identification.checks.time_step import STEP, refined, steps_needed
from vibrid.identification.first_step import first_steps
from vibrid.identification.method import Method, MethodChoice, as_method, refuse_impossible
from vibrid.identification.methods.modal_fit import ModalFit
from vibrid.identification.methods.trajectory import TrajectoryFit, refuse_method_in_modes, went_astray
from vibrid.identification.modal_problem import make_modal_problem
from vibrid.identification.modal_records import modes_of_records
from vibrid.identification.problem import Problem, make_problem
from vibrid.identification.result import Identification
from vibrid.identification.unknowns import Unknowns
from vibrid.modal.measured import MeasuredModes
from vibrid.records.record import Record
from vibrid.simulation.base import Integrator
from vibrid.simulation.initial import Initial
from vibrid.structures.base import Structure
from vibrid.structures.sensors import Sensor


@checked
def identify(
    structure: Structure,
    data: Record | list[Record] | MeasuredModes,
    unknown: Unknowns,
    method: MethodChoice | None = None,
    *,
    start: str | MeasuredModes = "given",
    sensors: Sequence[Sensor] | None = None,
    initial: Initial | Mapping[str, Any] | Sequence[Any] | None = None,
    integrator: Integrator | None = None,
    hold: str = "auto",
    substeps: int | str = "auto",
    hold_out: float = 0.0,
    modes: str | int | None = None,
    checks: str = "all",
    key: Seed = 0,
    progress: Progress = SILENT,
    on_answer: Callable[[Identification], None] | None = None,
) -> Identification:
    """Estimate the unknown parameters of a structure from measurements.

    Arguments
        structure: the tested structure, with first guesses for the unknown parameters.
        data: one record or several (shared parameters), each with its excitation and readings; NaN marks a missing
            sample. Or measured modes, such as those of `ssi`, for `ModalFit`, which is the default then; records of
            ambient vibration, without excitation, where `ModalFit` is asked for.
        unknown: paths such as "storeys[*].stiffness", or `Unknown(path, bounds=…, prior=…, tied=…)`, one or a list of
            them. All other parameters keep their values.
        method: `TrajectoryFit()` by default; also a name as in project files, "ukf".
        start: "given" for the first guesses of the structure and its unknowns. "auto" looks for a first guess in the
            records, where the given one is far off: forces are balanced along the measured motion; where the
            model does not fit from there, stiffnesses are scaled, then the given guess is used, and the most likely
            answer is kept. Measured modes, such as those of ambient vibration by `ssi`: a fit to them comes first. The
            result says which it was (`started_from`).
        sensors: the sensors of the channels, where the record does not state them.
        initial: `Initial(displacement, velocity)` at the start of each record; rest by default. A record of a free
            vibration has no excitation: it needs an initial state here, or one among the unknowns.
        integrator, hold, substeps: as for `simulate`. "auto" begins with "linear" and 1 (for a device whose motion is
            imposed, with the steps that its law needs at the first guess); where the error of the time step, or of the
            input between its samples, would bias the estimate, the fit is repeated with a finer step, or with hold
            "band-limited" if the data prefer it, and the result says so.
        hold_out: share at the end of each record that is used to score the fit, not to fit.
        modes: a large structure whose nonlinear laws touch few degrees of freedom is fitted by `TrajectoryFit` in so
            many modes of its linear part, found anew at every step, and the static shapes of laws and loads; "all" for
            all modes. It takes checks="none". None for whole matrices.
        checks: "all", or "none" for the answer of the method as it is: its intervals then assume that model, time step
            and noise are right.
        key: seed of all random numbers.
        on_answer: called with the answer of the method before its checks begin, which may take longer than the fit and
            may change estimates and intervals; not called with checks="none".

    Example
        >>> fit = identify(building, record, ["storeys[*].stiffness"])
        >>> print(fit)
    """
    default = ModalFit() if isinstance(data, MeasuredModes) else TrajectoryFit()
    method = default if method is None else as_method(method)
    if isinstance(data, MeasuredModes) or isinstance(method, ModalFit):
        _refuse_for_modes(
            start=None if start == "given" else start,
            sensors=sensors if isinstance(data, MeasuredModes) else None,
            initial=initial,
            hold_out=hold_out or None,
        )
        return _from_modes(structure, data, unknown, method, sensors, key, progress)
    check_start(start)
    if isinstance(substeps, str) and substeps != "auto":
        raise InputError(f"substeps is a whole number or 'auto', not '{substeps}'.")
    if checks not in ("all", "none"):
        raise InputError(f"checks are 'all' or 'none', not '{checks}'.")
    if on_answer is not None and not callable(on_answer):
        raise InputError(f"on_answer is a function of the result, not {on_answer!r}.")
    if modes is not None and (checks != "none" or start != "given"):
        raise Refusal('A fit in modes has no checks and begins where it is told to: say checks="none", start="given".')
    records = [data] if isinstance(data, Record) else data
    known_hold = "linear" if hold == "auto" else hold
    problem = make_problem(
        structure,
        data,
        unknown,
        sensors=sensors,
        initial=initial,
        integrator=integrator,
        hold=known_hold,
        substeps=first_steps(structure, records, known_hold) if isinstance(substeps, str) else substeps,
        hold_out=hold_out,
        modes=modes,
    )
    refuse_impossible(problem, method)
    refuse_method_in_modes(problem, method)
    with one_blas_thread():
        if start == "given":
            fit = method.solve(problem, key, progress)
        else:
            fit = solve_from_data(method, problem, start, key, progress)
        open_ = [name for name, value in (("hold", hold), ("substeps", substeps)) if value == "auto"]
        if checks == "all":
            with contextlib.suppress(KeyboardInterrupt):  # the answer is kept
                if on_answer is not None:
                    on_answer(fit)
                fit = checked_result(fit, records, progress, open_)
                steps = steps_needed(fit)
                again = method.solve(_finer(problem, fit, steps), key, progress) if steps else fit
                if steps and not again.cut_short:  # else the whole answer stays, with what it says of its steps
                    again = checked_result(again, records, progress, open_).replace(started_from=fit.started_from)
                    fit = again.replace(checks=(*again.checks, *_refined_once(again, problem.substeps)))
        if start == "given" and isinstance(method, TrajectoryFit) and not fit.cut_short and went_astray(fit):
            fit = fit.replace(warnings=(*fit.warnings, PROPOSAL))
    files = tuple(dict.fromkeys(file for r in records for file in r.files))
    return fit.replace(provenance=tuple((r.name, r.history) for r in records), files=files)


def _finer(problem: Problem, fit: Identification, steps: int) -> Problem:
    """The problem with other steps per sample, and the first guess from which an answer came."""
    unknowns = dataclasses.replace(problem.unknowns, start=fit.problem.unknowns.start)
    return dataclasses.replace(problem, unknowns=unknowns).integrated(substeps=steps)


def _refined_once(fit: Identification, first: int) -> list[Finding]:
    """That the step was refined, where the checks of the second answer do not say it of a finer one."""
    said = any(finding.name == STEP for finding in fit.checks)
    return [] if said else [refined(fit.problem.substeps, first)]


def _refuse_for_modes(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"'{name}' belongs to a fit of records: a fit to modes has no use for it.")


def _from_modes(
    structure: Structure,
    data: Record | list[Record] | MeasuredModes,
    unknown: Unknowns,
    method: Method,
    sensors: Sequence[Sensor] | None,
    key: int,
    progress: Progress,
) -> Identification:
    """A fit to measured modes, or to those that are found in records of ambient vibration."""
    if not isinstance(method, ModalFit):
        raise Refusal(f"{type(method).__name__} takes records, not modes: ModalFit() takes modes.")
    records = [] if isinstance(data, MeasuredModes) else [data] if isinstance(data, Record) else list(data)
    found = data if isinstance(data, MeasuredModes) else modes_of_records(records, sensors, method.highest, progress)
    problem = make_modal_problem(structure, found, unknown, method.frequency_error, method.shape_error)
    with one_blas_thread():
        fit = method.solve(problem, key, progress).replace(measured=found)
    if not records:
        return fit
    files = tuple(dict.fromkeys(file for r in records for file in r.files))
    provenance = tuple((r.name, r.history) for r in records)
    return fit.replace(warnings=(*found.notes, *fit.warnings), provenance=provenance, files=files)
