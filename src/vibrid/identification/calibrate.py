"""`calibrate`: the parameters of a law from tests in which its deformation was imposed and its force measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core import paths
from vibrid.core.arguments import Seed, checked
from vibrid.core.attached import attached
from vibrid.core.errors import InputError
from vibrid.core.parameters import ParameterInfo, Parameterised
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.experiment import without_offsets
from vibrid.identification.first_step import FINEST, is_integrated
from vibrid.identification.identify import identify
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.identification.result import Identification
from vibrid.identification.unknowns import Unknown
from vibrid.laws.base import LAWS, Law, Parallel
from vibrid.laws.commanded import Commanded
from vibrid.laws.loops import LoopSizes, first_guess
from vibrid.laws.material import Material
from vibrid.records.force_scores import ForceScores, force_scores
from vibrid.records.imposed import CORNER, every_for, one_of, velocity_of
from vibrid.records.record import Channel, Record
from vibrid.simulation.step_error import ALLOWED
from vibrid.structures.device import Device
from vibrid.structures.sensors import Sensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPREAD = 0.7
"""Standard deviation of ln θ of the further starts."""
GROWTH = 0.5
"""First guess of the change of a parameter at the largest command, over its value without one."""
FORCE, OFFSET = "force", "force offset"


@dataclass(frozen=True)
class ScoredTest:
    """The force of a law beside the measured one in one test."""

    record: Record  # displacement, velocity and force, as they were used
    force: np.ndarray  # N, of the law
    scores: ForceScores
    zero: float  # NRMSE of a force of zero
    fitted: bool  # whether the test was fitted, or left out


@dataclass(frozen=True, eq=False)
class Calibration:
    """A law fitted to tests of one set-up: its parameters with intervals, its error in every test, and its time step.

    `fit` is the whole result of the identification: its checks, intervals, file and report.
    """

    fit: Identification
    trials: tuple[ScoredTest, ...]
    step_error: float  # largest error of the time step over the largest force
    warnings: tuple[str, ...] = ()

    @property
    def law(self) -> Law:
        """The law with the estimated parameters."""
        device: Any = self.fit.structure
        return device.law

    @property
    def nrmse(self) -> float:
        """Mean over the fitted tests of the rms error over the range of the force."""
        return float(np.mean([trial.scores.nrmse for trial in self.trials if trial.fitted]))

    def table(self) -> list[dict[str, Any]]:
        """One row per parameter, as of `Identification.table`."""
        return [row | {"name": row["name"].removeprefix("law.")} for row in self.fit.table()]

    def __str__(self) -> str:
        rows = [
            f"  {trial.record.name}: NRMSE {100 * trial.scores.nrmse:.3g} %, strong part "
            f"{100 * trial.scores.strong:.3g} %, zero force {100 * trial.zero:.3g} %"
            + ("" if trial.fitted else " (left out)")
            for trial in self.trials
        ]
        return "\n".join([str(self.fit), *self.warnings, *rows])

    __repr__ = __str__

    @attached
    def plot(self) -> Figure:
        """Measured force and that of the law over time and over displacement, one row per test."""
        ...


@checked
def calibrate(
    tests: Record | list[Record],
    law: Law | str,
    unknown: str | Sequence[str | Unknown] | None = None,
    *,
    follows: str | Sequence[str] = (),
    powers: int = 1,
    offset: bool | float = False,
    by_test: bool = False,
    left_out: list[Record] | None = None,
    rate: float | None = None,
    corner: float = CORNER,
    starts: int = 8,
    substeps: int | str = "auto",
    checks: str = "all",
    key: Seed = 0,
    progress: Progress = SILENT,
) -> Calibration:
    """Fit a law to tests in which its deformation was imposed and its force measured: a damper in a testing machine, a
    hinge in a cyclic test. All tests are fitted together: give those of one set-up.

    Arguments
        tests: records with a channel of quantity imposed_displacement and one of element_force; imposed_velocity is
            used if present, else the displacement is low-passed and differentiated.
        law: with first guesses, or a name as in project files: "bouc-wen", "lugre", "bouc-wen+viscous" for two in
            parallel. The first guesses then follow from the measured loops.
        unknown: parameters of the law, "stiffness" or "laws[0].beta"; all of them by default. The zero of the
            displacement may be added, "loads[0].offset".
        follows: parameters of the law, "slip_positive", that follow the command of a semi-active device: the law is
            then the base of a `Commanded` one. The tests need a channel of quantity command, and several commands.
        powers: of the command in their polynomials.
        offset: a constant of the measured force is unknown too: the zero of its sensor, the gas of a damper. A number
            is its first guess, in N.
        by_test: every test has noise of its own, found with the parameters, so that tests with small forces count as
            much as those with large ones; otherwise one for all.
        left_out: tests that are predicted and scored, but not fitted.
        rate: Hz, of the fit; the records' rate must be a multiple of it. Their own by default.
        corner: Hz, of the low-pass before a displacement is differentiated.
        starts: first guesses, descended together: the first, and others spread about it.
        substeps: steps of the law per sample; "auto" refines them until the error of the step is below 1 % of the
            force and moves no estimate.
        checks, key: as for `identify`.

    Example
        >>> print(calibrate([read_record("sine.csv"), read_record("kobe.csv")], "bouc-wen"))
    """
    records = [tests] if isinstance(tests, Record) else list(tests)
    if not records:
        raise InputError("No test was given.")
    if starts < 1:
        raise InputError(f"A calibration needs at least one start, not {starts}.")
    for what, value in (("rate", rate), ("corner", corner)):
        if value is not None and not value > 0.0:
            raise InputError(f"The {what} of a calibration is a positive frequency in Hz, not {value:g}.")
    used = [_prepared(record, rate, corner) for record in records]
    others = [_prepared(record, rate, corner) for record in left_out or []]
    constant = offset is not False
    middle = float(np.mean([np.nanpercentile(r[FORCE], (2, 98)).mean() for r in used])) if offset is True else offset
    loop = LoopSizes.of([(r["x"], r["v"], r[FORCE] - middle) for r in used])
    guessed = _with_guesses(law, loop)
    if follows:
        guessed = _following(guessed, follows, powers, used)
    device = Device(guessed)
    unknowns = _unknowns(device.law, unknown, loop, _largest_command(used), any(map(_is_switched, used)))
    channels = [f"{FORCE} {i + 1}" for i in range(len(used))] if by_test and len(used) > 1 else [FORCE]
    data = used if channels == [FORCE] else [_with_own_force(r, channels, i) for i, r in enumerate(used)]
    sensors = [Sensor("element_force", Device.place, offset=float(middle), name=name) for name in channels]
    if constant:
        places = [f"sensors[{i}].offset" for i in range(len(sensors))]
        unknowns.append(Unknown(places, name=OFFSET, scale=loop.force, tied=True))
    settings: dict[str, Any] = {"sensors": sensors, "key": key, "checks": checks, "progress": progress}
    settings["hold"] = "cubic"  # a machine moves smoothly between samples
    method = TrajectoryFit(starts=starts, spread=SPREAD, segments=1)
    fit = identify(device, data, unknowns, method, substeps=substeps, **settings)
    error = _step_error(fit, used)
    while not error < ALLOWED and substeps == "auto" and fit.problem.substeps < FINEST and not fit.cut_short:
        near = [dataclasses.replace(unknown, start=None) for unknown in unknowns]
        settings["sensors"], finer = fit.experiment.sensors, 2 * fit.problem.substeps
        fit = identify(fit.structure, data, near, TrajectoryFit(segments=1), substeps=finer, **settings)
        error = _step_error(fit, used)
    warnings = () if error < ALLOWED else (_too_long(error, fit.problem.substeps),)
    warnings += _not_followed(device.law, used)
    trials = [_scored(fit, record, fitted) for group, fitted in ((used, True), (others, False)) for record in group]
    return Calibration(fit, tuple(trials), error, warnings)


def _prepared(record: Record, rate: float | None, corner: float) -> Record:
    """Displacement, velocity and force of a test, of standard names, at the rate of the fit."""
    columns = {"x": one_of(record, "imposed_displacement"), "v": velocity_of(record, corner)}
    columns[FORCE] = one_of(record, "element_force")
    quantities = ["imposed_displacement", "imposed_velocity", "element_force"]
    if any(c.quantity == "command" for c in record.channels):
        columns["command"] = one_of(record, "command")
        quantities.append("command")
    data, every = np.stack(list(columns.values()), axis=1), every_for(record, rate) if rate else 1
    return record.replace(
        f"displacement, velocity and force, every {every}. sample" if every > 1 else "",
        data=data[::every],
        channels=tuple(Channel(name, q) for name, q in zip(columns, quantities, strict=True)),
        step=record.step if record.step is None else every * record.step,
    )


def _with_own_force(record: Record, channels: Sequence[str], own: int) -> Record:
    """The test with its force in a channel of its own; those of the other tests have no sample in it."""
    kept = record.select([name for name in record.names if name != FORCE])
    forces = np.full((len(record), len(channels)), np.nan)
    forces[:, own] = record[FORCE]
    added = tuple(Channel(name, "element_force") for name in channels)
    return kept.replace(data=np.concatenate([kept.data, forces], axis=1), channels=kept.channels + added)


def _with_guesses(law: Law | str, loop: LoopSizes) -> Law:
    """The law as it was given, or first guesses of the laws with these names."""
    if isinstance(law, str):
        kinds = [LAWS[name.strip()] for name in law.split("+")]
        for kind in kinds:
            _refuse_other_kinds(kind, law)
        parts = [first_guess(kind, loop) for kind in kinds]
        return parts[0] if len(parts) == 1 else Parallel(parts)
    _refuse_other_kinds(type(law), type(law).__name__)
    return law


def _following(law: Law, follows: str | Sequence[str], powers: int, tests: Sequence[Record]) -> Commanded:
    """The law with parameters that follow a command, of which nothing is known but its size."""
    if isinstance(law, Commanded):
        raise InputError("The law follows a command already: `follows` is for the law without one.")
    if powers < 1:
        raise InputError(f"A polynomial of the command has at least one power, not {powers}.")
    paths_of = [follows] if isinstance(follows, str) else list(follows)
    if not all("command" in test.names for test in tests):
        raise InputError("A parameter can follow a command only if all tests have a channel of quantity command.")
    commands, largest = np.concatenate([test["command"] for test in tests]), _largest_command(tests)
    if not np.nanmax(commands) > np.nanmin(commands):
        raise InputError(f"All tests have the same command, {largest:g}: what follows it cannot be found from them.")
    first = np.zeros((len(paths_of), powers))
    first[:, 0] = GROWTH / largest
    return Commanded(law, paths_of, first)


def _largest_command(tests: Sequence[Record]) -> float:
    """V, of all tests; 0 where none has a command."""
    return max((float(np.nanmax(np.abs(test["command"]))) for test in tests if "command" in test.names), default=0.0)


def _is_switched(test: Record) -> bool:
    """Whether the command changes during a test."""
    return "command" in test.names and bool(np.ptp(test["command"][np.isfinite(test["command"])]) > 0)


def _not_followed(law: Law, tests: Sequence[Record]) -> tuple[str, ...]:
    """A warning where the command of the tests changes and the law does not follow it."""
    commands = [test["command"] for test in tests if "command" in test.names]
    if isinstance(law, Commanded) or not commands:
        return ()
    low, high = min(map(np.nanmin, commands)), max(map(np.nanmax, commands))
    if not high > low:
        return ()
    return (
        f"The command of the tests goes from {low:g} to {high:g}, and this law does not follow it: name the parameters "
        "that do (`follows`), or fit tests of one command.",
    )


def _refuse_other_kinds(kind: type[Law], name: str) -> None:
    if kind.components != 1 and not issubclass(kind, Commanded):
        raise InputError(f"'{name}' has {kind.components} deformations; a law with one can be fitted to a device test.")
    if issubclass(kind, Material):
        raise InputError(f"'{name}' is a law of stress over strain, not of force over displacement.")


def _unknowns(
    law: Law, unknown: str | Sequence[str | Unknown] | None, loop: LoopSizes, command: float, changes: bool
) -> list[Unknown]:
    """Unknowns of the experiment; without any given, all parameters of the law that have a finite value.

    command: V, the largest; 0 without any. changes: whether it changes during a test.
    """
    own = dict(parameters_of(law))
    if unknown is None and isinstance(law, Commanded) and not changes:
        own.pop("lag", None)  # a constant command does not show it
    entries = list(own) if unknown is None else [unknown] if isinstance(unknown, str) else list(unknown)
    made = []
    for entry in entries:
        entry = Unknown(entry) if isinstance(entry, str) else entry
        if isinstance(entry.path, str) and entry.path in own:
            scale = entry.scale or (_size(own[entry.path], loop) if not paths.get(law, entry.path) else None)
            if scale is None and command and entry.path.startswith("gains[") and not paths.get(law, entry.path):
                scale = command ** -(1.0 + int(entry.path.rpartition("[")[2].rstrip("]")))
            entry = dataclasses.replace(entry, path=f"law.{entry.path}", name=entry.name or entry.path, scale=scale)
        made.append(entry)
    return made


def parameters_of(owner: Any, path: str = "") -> Iterator[tuple[str, ParameterInfo]]:
    """The path and declaration of every parameter of a law, and of what it holds, that has a finite value."""
    for f in dataclasses.fields(owner):
        value, here = getattr(owner, f.name), f"{path}.{f.name}" if path else f.name
        info = f.metadata.get("parameter")
        if info is not None:
            places = {index: here + "".join(f"[{i}]" for i in index) for index in np.ndindex(np.shape(value))}
            yield from ((place, info) for index, place in places.items() if np.isfinite(value[index]))
        elif isinstance(value, tuple) and not f.metadata.get("static"):
            for i, part in enumerate(value):
                yield from parameters_of(part, f"{here}[{i}]")
        elif isinstance(value, Parameterised):
            yield from parameters_of(value, here)


def _size(info: ParameterInfo, loop: LoopSizes) -> float | None:
    """A typical value of a parameter whose first guess is zero, where its unit gives one."""
    try:
        return loop.size(info.unit)
    except (KeyError, InputError):
        return None


def _step_error(fit: Identification, tests: Sequence[Record]) -> float:
    """The largest error of the time step over the largest force, in the fastest test."""
    device: Any = fit.structure
    if not is_integrated(device.law):
        return 0.0
    fastest = max(tests, key=lambda record: float(np.max(np.abs(record["v"]))))
    return fit.predict(fastest).step_error().largest


def _too_long(error: float, substeps: int) -> str:
    return (
        f"The time step is too long for this law: with {substeps} steps per sample its force is off by up to "
        f"{100 * error:.3g} % of the peak. Give more substeps, or tests at a higher rate."
    )


def _scored(fit: Identification, record: Record, fitted: bool) -> ScoredTest:
    experiment, measured = fit.experiment, record[FORCE]
    force = fit.predict(without_offsets(record, experiment)).part(Device.place)[1]
    force = force + float(experiment.sensors[0].offset)
    seen = np.isfinite(measured)
    scores, zero = (force_scores(f[seen], measured[seen], record["v"][seen]) for f in (force, np.zeros_like(force)))
    return ScoredTest(record, force, scores, zero.nrmse, fitted)
