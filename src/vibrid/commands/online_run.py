"""One live run: samples in; parameters on the screen, in a file, and in a state to resume from."""

from __future__ import annotations

import csv
import io
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from vibrid.core.errors import FileProblem
from vibrid.core.files import Appended, cannot_write
from vibrid.identification.online.live import LiveRun, live_problem
from vibrid.records.streams import Sequencer, Silence

FIRST = 20
"""Samples that are collected before the run begins."""
KEEP_EVERY = 5.0
"""Seconds between saved states."""


class OnlineSession:
    """The run of `vibrid online` from its first to its last sample."""

    def __init__(self, loaded, columns, step, method, seed, out, state, resume, every):
        self.loaded, self.columns, self.step_seconds, self.method, self.seed = loaded, columns, step, method, seed
        self.out, self.state, self.resume, self.every = out, state, resume, every
        self.order = Sequencer(step, longest_gap=max(1000, round(10.0 / step)))
        self.run_: LiveRun | None = None
        self.gathered: list = []
        self.recorded: Appended | None = None
        self.heading: list[list[str]] = []  # written with the first row
        self.problems: dict[str, str] = {}  # messages about files that could not be written, by file
        self.kept = self.shown = time.monotonic()
        self.started = self.kept
        self.note: dict = {}

    def run(self, arrivals) -> str:
        """Take samples until they end; returns how they ended."""
        ended = "the source ended"
        with ExitStack() as stack:
            if self.out is not None:
                self.recorded = Appended(self.out)
                stack.callback(self.recorded.close)
            show = stack.enter_context(_screen())
            try:
                for arrival in arrivals:
                    for sample in self.order.feed(arrival):
                        self._take(sample, show)
                for sample in self.order.finish():
                    self._take(sample, show)
            except Silence:
                ended = "the sender stopped sending"
            except KeyboardInterrupt:
                ended = "stopped by Ctrl-C"
            if self.run_ is None and self.gathered:
                self._begin(show)
        self._keep()
        return ended

    @property
    def live(self) -> LiveRun:
        """The run, which begins with the first samples."""
        if self.run_ is None:
            raise RuntimeError("the run has not begun")
        return self.run_

    def _row(self, recorded: Appended, cells) -> None:
        """Add a row to the file of the run; a full disk is reported once and the run continues."""
        lines = io.StringIO()
        csv.writer(lines).writerows([*self.heading, cells])
        try:
            recorded.append(lines.getvalue().encode())
            self.heading = []
        except OSError as problem:
            self._fail(cannot_write(self.out, problem), "rows are missing from it.")

    def _fail(self, problem: FileProblem, lost: str) -> None:
        if str(problem.path) not in self.problems:
            self.problems[str(problem.path)] = f"{problem} The run continued; {lost}"
            print(f"{problem} The run continues.", file=sys.stderr, flush=True)

    def _take(self, sample, show) -> None:
        if self.run_ is None:
            self.gathered.append(sample)
            if len(self.gathered) >= FIRST:
                self._begin(show)
            return
        self._feed(sample, show)

    def _begin(self, show) -> None:
        """Set the problem up with the first samples, then feed them."""
        first = self.columns.record(np.array([s.values for s in self.gathered]), self.step_seconds)
        problem = live_problem(
            self.loaded.structure, self.loaded.sensors, self.loaded.unknown, first,
            **self.loaded.simulation.arguments,
        )  # fmt: skip
        self.run_ = LiveRun(self.method, problem, self.seed)
        if self.resume:
            self.note = self.live.restore(Path(self.state))
        if self.recorded is not None and self.resume:
            self.recorded.go_on()
        elif self.recorded is not None:
            self.recorded.begin()  # only now: a run without samples does not touch an old file
            names = problem.unknowns.names
            self.heading = [["time", *names, *(f"{n} deviation" for n in names)]]
        waiting, self.gathered = self.gathered, []
        for sample in waiting:
            self._feed(sample, show)

    def _feed(self, sample, show) -> None:
        inputs, readings = sample.values[: self.columns.inputs], sample.values[self.columns.inputs :]
        self.live.feed(self._driving(inputs), readings)
        now = time.monotonic()
        if self.recorded is not None and self.live.samples % self.every == 0:
            values, deviations = self.live.estimate()
            self._row(self.recorded, [f"{v:.9g}" for v in (sample.time, *values, *deviations)])
        if now - self.shown > show.every:
            self.shown = now
            show(self.rows(), f"{sample.time:.2f} s, {self.rate(now):.0f} samples/s, {self.counts()}")
        if self.state is not None and now - self.kept > KEEP_EVERY:
            self._keep()

    def _driving(self, inputs):
        """Inputs of the model; a device without a velocity column gets the slope of its displacement."""
        quantities = [c.quantity for c in self.columns.channels[: self.columns.inputs]]
        if "imposed_displacement" not in quantities:
            return inputs
        x = inputs[quantities.index("imposed_displacement")]
        if "imposed_velocity" in quantities:
            return np.array([x, inputs[quantities.index("imposed_velocity")]])
        last = self.live.before
        return np.array([x, 0.0 if last is None else (x - last[0]) / self.step_seconds])

    def _keep(self) -> None:
        self.kept = time.monotonic()
        if self.state is None or self.run_ is None:
            return
        try:
            self.live.save(Path(self.state))
            self.problems.pop(str(self.state), None)  # the last state counts
        except FileProblem as problem:
            self._fail(problem, "its state was not saved.")

    # -- display -------------------------------------------------------------------------------------------------

    def rate(self, now: float) -> float:
        return (self.live.samples - self.note.get("samples", 0)) / max(now - self.started, 1e-9)

    def counts(self) -> str:
        o = self.order
        again = f", {o.restarts} restarts" if o.restarts else ""
        return f"{o.lost} lost, {o.late + o.repeated} late or repeated{again}"

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Name, value, ± 2σ and unit of every unknown."""
        values, deviations = self.live.estimate()
        u = self.live.problem.unknowns
        return [
            (name, f"{v:.5g}", f"{2 * d:.2g}", unit)
            for name, v, d, unit in zip(u.names, values, deviations, u.units, strict=True)
        ]

    def summary(self, ended: str, refused: list[str]) -> list[str]:
        """The last lines of a run."""
        if self.run_ is None:
            return [f"No sample arrived: {ended}."]
        lines = [f"{self.live.samples} samples, {ended}; {self.counts()}, {len(refused)} refused."]
        lines += [f"{name} = {value} ± {band} {unit}".rstrip() for name, value, band, unit in self.rows()]
        lines += self.live.warnings()
        lines += [f"First refused: {refused[0]}"] if refused else []
        files = [str(file) for file in (self.out, self.state) if file is not None]
        return lines + [f"wrote {file}" for file in files if file not in self.problems]


class _Lines:
    """Plain lines on stderr where there is no terminal."""

    every = 5.0

    def __call__(self, rows, note: str) -> None:
        text = ", ".join(f"{name} {value} ± {band}" for name, value, band, _ in rows)
        print(f"{note}: {text}", file=sys.stderr, flush=True)


class _Table:
    """A table that stays in place."""

    every = 0.2

    def __init__(self, live):
        self.live = live

    def __call__(self, rows, note: str) -> None:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, caption=note, caption_justify="left")
        for heading in ("parameter", "estimate", "± 2σ", "unit"):
            table.add_column(heading, justify="right" if heading in ("estimate", "± 2σ") else "left")
        for row in rows:
            table.add_row(*row)
        self.live.update(table)


class _screen:
    """The display that suits the terminal."""

    def __enter__(self):
        if not sys.stderr.isatty():
            self.live = None
            return _Lines()
        from rich.console import Console
        from rich.live import Live

        self.live = Live(console=Console(stderr=True), refresh_per_second=5)
        self.live.__enter__()
        return _Table(self.live)

    def __exit__(self, *problem):
        if self.live is not None:
            self.live.__exit__(*problem)
