"""A project and its measured files, checked in one run: everything wrong or odd, before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vibrid.core.errors import InputError, VibridError, nearest
from vibrid.core.findings import ODD, WRONG, Finding
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.checks.before import Forecast, forecast
from vibrid.identification.method import refuse_impossible
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.identification.problem import make_problem
from vibrid.identification.problem_data import channel_of
from vibrid.project.excitation import read_unprepared
from vibrid.project.load import load_project
from vibrid.project.project import Project
from vibrid.records.condition import Condition, conditions
from vibrid.records.readers import read_records
from vibrid.records.record import EXCITATIONS, Record
from vibrid.structures.sensors import Sensor, Sensors

GUESSED_NOISE = 0.02
"""Noise over signal where neither the project nor the record says anything."""


@dataclass
class ProjectCheck:
    """What was found: the channels, findings, and what a fit can find.

    `rows` are the channels of all files: their condition, the sensor or input each was taken for, and why; `records`
    the measured records, before and after their preparation.
    """

    project: Project | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    records: list[tuple[Record, Record]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    forecast: Forecast | None = None
    display_units: dict[str, str] = field(default_factory=dict)  # of the unknowns, as the project gives them
    next: str = ""

    def of(self, verdict: str) -> list[Finding]:
        """The findings of one verdict."""
        return [finding for finding in self.findings if finding.verdict == verdict]

    @property
    def exit_code(self) -> int:
        """0 clean, 1 odd, 2 wrong."""
        return 2 if self.of(WRONG) else 1 if self.of(ODD) else 0


def check_files(
    path: Path | None, files: Sequence[Path], trust: bool = False, progress: Progress = SILENT
) -> ProjectCheck:
    """Check a project with its measured files, or measured files alone. Nothing is raised for what is wrong in them."""
    check = ProjectCheck()
    if path is not None:
        progress.stage(f"reading {path.name}")
        try:
            check.project = load_project(path, trust)
        except VibridError as problem:
            check.findings += [Finding("project", WRONG, line) for line in str(problem).splitlines()]
    project = check.project
    named: list[tuple[Path, float | None, float | None]] = [(file, None, None) for file in files]
    if project is not None and not files:
        named = [(project.beside(part.file), part.start, part.end) for part in project.records_table.files]
    for part in named:
        _read(check, *part, progress)
    records = [prepared for _, prepared in check.records]
    check.findings = list({(f.name, f.sentence): f for f in check.findings}.values())
    if project is not None and not any(f.name in ("file", "missing") for f in check.findings):
        _look_ahead(check, project, records, progress)
    check.next = _next(check, path, files)
    return check


def _read(check: ProjectCheck, file: Path, start: float | None, end: float | None, progress: Progress) -> None:
    """Note the records of a file, or of a part of it, and the condition of their channels."""
    progress.stage(f"reading {file.name}")
    try:
        found = _before_and_after(check.project, file, start, end)
    except VibridError as problem:
        check.findings.append(Finding("file", WRONG, str(problem), str(file)))
        return
    check.records += found
    for _, record in found:
        if record.step is None:
            sentence = (
                f"{file}: the time stamps are uneven (steps from {np.diff(record.time).min():.4g} to "
                f"{np.diff(record.time).max():.4g} s): give a rate, [records] resample = "
                f"{1 / np.median(np.diff(record.time)):.3g}."
            )
            verdict = ODD if check.project is None else WRONG
            check.findings.append(Finding("uneven", verdict, sentence, str(file)))
        taken = _taken(check, record, file)
        for condition in conditions(record):
            use, why = taken.get(condition.channel.name, ("", "not used" if check.project is not None else ""))
            check.rows.append(_row(file, condition, use, why))
            if use or check.project is None:
                check.findings += condition.findings


def _before_and_after(
    project: Project | None, file: Path, start: float | None, end: float | None
) -> list[tuple[Record, Record]]:
    """The records of a file, each before and after the preparation that the project asks for."""
    if project is None:
        return [(record, record) for record in read_records(file)]
    before = read_unprepared(project, file)
    return [(before, project.records_table.preparation(start, end)(before))]


def _taken(check: ProjectCheck, record: Record, file: Path) -> dict[str, tuple[str, str]]:
    """Which channel was taken for which sensor or input, and why; sensors without a channel are noted."""
    taken = {c.name: (c.quantity.replace("_", " "), "excitation") for c in record.channels if c.quantity in EXCITATIONS}
    for sensor in _sensors(check.project, record):
        what = f"{sensor.quantity.replace('_', ' ')} at {sensor.place}"
        try:
            channel = channel_of(record, sensor)
        except InputError:
            close = nearest(sensor.label, [n for n in record.names if n not in taken])
            sentence = f"{file}: there is no channel for the sensor '{sensor.label}' ({what}); {close}"
            check.findings.append(Finding("missing", WRONG, sentence, sensor.label))
            continue
        taken[channel] = (what, _why(check.project, sensor, channel))
    return taken


def _why(project: Project | None, sensor: Sensor, channel: str) -> str:
    if channel != sensor.label:
        return "by quantity and place"
    usual = sensor.label == f"{sensor.quantity}_{sensor.place}"
    return "by name" if project is None or usual else "the project's `channel`"


def _sensors(project: Project | None, record: Record) -> Sequence[Sensor]:
    """The sensors of the project, or those that the record describes."""
    if project is not None and project.sensors is not None:
        return project.sensors
    try:
        return Sensors.of(record)
    except InputError:
        return ()


def _row(file: Path, condition: Condition, use: str, why: str) -> dict[str, Any]:
    return {
        "file": file.name,
        "channel": condition.channel.name,
        "taken_for": use,
        "why": why,
        "quantity": condition.channel.quantity,
        "unit": condition.channel.unit,
        "rate": condition.rate,
        "seconds": condition.seconds,
        "samples": condition.samples,
        "missing": condition.missing,
        "peak": condition.peak,
        "rms": condition.deviation,
        "noise": condition.noise,
        "resolution": condition.resolution,
        "findings": [finding.name for finding in condition.findings],
    }


def _look_ahead(check: ProjectCheck, project: Project, records: list[Record], progress: Progress) -> None:
    """Expected uncertainty and faults of instruments, from the measured records or from a simulated one."""
    if not records and not _drives(check, project):
        return
    if not project.unknown and not records:
        return  # a project for a simulation
    if not project.unknown:
        sentence = 'Nothing is unknown: add [[unknown]] with path = "storeys[*].stiffness" or the like.'
        check.findings.append(Finding("unknown", ODD, sentence))
        return
    measured = bool(records)
    try:
        if not records:
            records = [_simulated(project, progress)]
        problem = make_problem(
            project.structure,
            records,
            project.unknown,
            sensors=_alive(check, project, records),
            initial=project.initial or None,
            **project.simulation.arguments,
        )
        refuse_impossible(problem, project.method or TrajectoryFit())
        if problem.unknown_loads:
            return
        check.forecast = forecast(problem, _noise(problem, records), measured, progress)
        check.findings += check.forecast.findings
        check.display_units = project.given.of(problem.unknowns)
    except VibridError as problem:
        check.findings.append(Finding("problem", WRONG, str(problem)))


def _drives(check: ProjectCheck, project: Project) -> bool:
    """Whether the excitation of the project can be read or made; a file's channels are noted like measured ones."""
    table = project.excitation_table
    try:
        record = project.excitation()
    except VibridError as problem:
        check.findings.append(Finding("excitation", WRONG, str(problem)))
        return False
    if table is not None and table.file:
        for condition in conditions(record):
            check.rows.append(
                _row(Path(table.file), condition, condition.channel.quantity.replace("_", " "), "excitation")
            )
            check.findings += condition.findings
    return True


def _alive(check: ProjectCheck, project: Project, records: list[Record]) -> Sequence[Sensor] | None:
    """The sensors of the project without those whose channel is dead or empty, which is noted already."""
    gone = {finding.where for finding in check.findings if finding.name in ("dead", "empty")}
    if project.sensors is None or not gone:
        return project.sensors
    alive = [s for s in project.sensors if not any(channel_of(record, s) in gone for record in records)]
    if not alive:
        raise InputError("No sensor is left: all channels are dead or empty.")
    return alive


def _simulated(project: Project, progress: Progress) -> Record:
    """Readings that the project itself predicts, where nothing is measured yet."""
    progress.stage("simulating the first guess (compiling)")
    response = project.simulate()
    if project.sensors is None:
        return project.measure(response)  # refuses with what to do
    return response.measure(project.sensors, noise=project.simulation.noise or GUESSED_NOISE)


def _noise(problem, records: list[Record]) -> np.ndarray:
    """Noise of every sensor: as stated, else from the power near half the rate, at least a thousandth of the signal."""
    stated, size = problem.given_deviations(), problem.signal_size()
    found = np.full(len(size), np.nan)
    for i, sensor in enumerate(problem.sensors):
        seen = [c.noise for r in records for c in conditions(r.select([channel_of(r, sensor)]))]
        found[i] = np.nanmax(seen) if np.any(np.isfinite(seen)) else GUESSED_NOISE * size[i]
    return np.where(np.isfinite(stated) & (stated > 0), stated, np.maximum(found, 1e-3 * size))


def _next(check: ProjectCheck, path: Path | None, files: Sequence[Path]) -> str:
    """The command that follows."""
    data = " ".join(_quoted(file) for file in files)
    if path is None:
        return f"vibrid record plot {data}"
    if check.of(WRONG):
        return f"vibrid check {_quoted(path)} {data}".rstrip() + "  (after the corrections)"
    named = bool(files) or (check.project is not None and bool(check.project.records_table.files))
    if not named:
        return f"vibrid simulate {_quoted(path)}"
    return f"vibrid identify {_quoted(path)} {data}".rstrip() + " --report report.html"


def _quoted(path: Path) -> str:
    text = str(path)
    return f'"{text}"' if " " in text else text
