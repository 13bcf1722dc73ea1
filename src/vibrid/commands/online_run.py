"""One live run: samples in; parameters on the screen, in a file, and in a state to resume from."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack

import numpy as np

from vibrid.commands.online_files import EstimatesFile, SavedRun, Stopped, samples_path
from vibrid.commands.online_screen import screen
from vibrid.core.digits import with_uncertainty
from vibrid.core.errors import FileProblem
from vibrid.core.interrupts import PatientStop, spoken
from vibrid.identification.display import factor_of
from vibrid.identification.online.live import LiveRun, live_problem
from vibrid.records.streams import Sequencer, Silence

FIRST = 20
"""Samples that are collected before the run begins."""
KEEP_EVERY = 5.0
"""Seconds between saved states."""


class OnlineSession:
    """The run of `vibrid online` from its first to its last sample."""

    def __init__(self, loaded, columns, source, method, seed, out, state, every):
        self.loaded, self.columns, self.source, self.method, self.seed = loaded, columns, source, method, seed
        self.out, self.every = out, every
        self.order = Sequencer(source.step, longest_gap=max(1000, round(10.0 / source.step)))
        self.saved = SavedRun(state, columns.names, self._fail)
        self.run_: LiveRun | None = None
        self.first: np.ndarray | None = None  # the samples with which the run began
        self.gathered: list = []
        self.recorded: EstimatesFile | None = None
        self.problems: dict[str, str] = {}  # messages about files that could not be written, by file
        self.stopped: Stopped | None = None
        self.taken = self.before = 0  # arrivals; samples of the stopped run
        self.origin: float | None = None
        self.kept = self.shown = self.started = time.monotonic()

    def resume(self) -> None:
        """Read what a stopped run left, before anything is listened to; refused where it cannot be resumed."""
        self.stopped = self.saved.resume(self.source)
        self.taken, self.origin = self.stopped.taken, self.stopped.origin
        state = self.stopped.state
        if state is None:
            return
        try:
            self.order.restore(state.note["order"])
            self.first = np.asarray(state.arrays["first"], float)
            self._set_up(self.first)
            self.live.restore(state)
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise FileProblem(state.path, f"it is not the state of this run ({type(problem).__name__}).") from None
        self.before = self.live.samples

    def run(self) -> str:
        """Take samples until they end; returns how they ended."""
        ended, complete = "the source ended", True
        with ExitStack() as stack:
            stack.callback(self.saved.close)
            self._open_out(stack)
            show = stack.enter_context(screen())
            stop = stack.enter_context(PatientStop())
            try:
                for arrival in self._arrivals():
                    with stop.step():
                        self._arrive(arrival, show)
            except Silence:
                ended = "the sender stopped sending"
            except KeyboardInterrupt as request:
                ended, complete = spoken(request), False
            with stop.step():
                self._end(show, complete)
        return ended

    def _open_out(self, stack: ExitStack) -> None:
        if self.out is None:
            return
        self.recorded = EstimatesFile(self.out, self._fail)
        stack.callback(self.recorded.file.close)
        if self.stopped is not None and self.stopped.state is not None:
            self.recorded.go_on(self.live.problem.unknowns.names, self.stopped.state.note["written"])

    def _arrivals(self):
        """Those that the stopped run had received and not used, then those of the source."""
        waiting = self.stopped.arrivals if self.stopped is not None else []
        fresh = self.source.open(self.taken + len(waiting), self.origin, self.saved.keep)  # listens from now on
        yield from waiting
        if self.stopped is not None:
            self.order.resumed()
        yield from fresh

    def _arrive(self, arrival, show) -> None:
        self.taken += 1
        self.origin = arrival.time if self.origin is None else self.origin
        known = self.order.known
        for sample in self.order.feed(arrival._replace(values=self.source.in_si(arrival.values))):
            self._take(sample, show)
        if self.order.known == self.order.believe > known:
            print(
                "The source repeats samples that the run has used: they are passed over up to number "
                f"{self.order.next}. If this is another test, start a new run without --resume.",
                file=sys.stderr, flush=True,
            )  # fmt: skip
        if self.run_ is not None and time.monotonic() - self.kept > KEEP_EVERY:
            self._keep()

    def _end(self, show, complete: bool) -> None:
        """Save, then use what still waits for earlier samples: a resumed run may yet receive those."""
        if complete and self.run_ is None and self.gathered:
            self._begin(show)
        self._keep()
        for sample in self.order.finish():
            self._take(sample, show)
        if self.run_ is None and self.gathered:  # too few samples for a state; they are kept as they arrived
            self._begin(show)

    @property
    def live(self) -> LiveRun:
        """The run, which begins with the first samples."""
        if self.run_ is None:
            raise RuntimeError("the run has not begun")
        return self.run_

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

    def _set_up(self, first: np.ndarray) -> None:
        """The problem and the compiled run, from the first samples."""
        problem = live_problem(
            self.loaded.structure, self.loaded.sensors, self.loaded.unknown,
            self.columns.record(first, self.source.step), **self.loaded.simulation.arguments,
        )  # fmt: skip
        self.run_ = LiveRun(self.method, problem, self.seed)

    def _begin(self, show) -> None:
        """Set the problem up with the first samples, then feed them."""
        self.first = np.array([s.values for s in self.gathered], dtype=float)
        self._set_up(self.first)
        if self.recorded is not None:
            self.recorded.begin(self.live.problem.unknowns.names)
        waiting, self.gathered = self.gathered, []
        for sample in waiting:
            self._feed(sample, show)

    def _feed(self, sample, show) -> None:
        inputs, readings = sample.values[: self.columns.inputs], sample.values[self.columns.inputs :]
        self.live.feed(self._driving(inputs), readings)
        now = time.monotonic()
        if self.recorded is not None and self.live.samples % self.every == 0:
            values, deviations = self.live.estimate()
            self.recorded.row([f"{sample.time:.15g}", *(f"{v:.9g}" for v in (*values, *deviations))])
        if now - self.shown > show.every:
            self.shown = now
            show(self.rows(), f"{sample.time:.2f} s, {self.rate(now):.0f} samples/s, {self.counts()}")

    def _driving(self, inputs):
        """Inputs of the model; a device without a velocity column gets the slope of its displacement."""
        quantities = [c.quantity for c in self.columns.channels[: self.columns.inputs]]
        if "imposed_displacement" not in quantities:
            return inputs
        x = inputs[quantities.index("imposed_displacement")]
        if "imposed_velocity" in quantities:
            return np.array([x, inputs[quantities.index("imposed_velocity")]])
        last = self.live.before
        elapsed = (1 + self.live.missed) * self.source.step
        return np.array([x, 0.0 if last is None else (x - last[0]) / elapsed])

    def _keep(self) -> None:
        """Save the state; the last one counts."""
        self.kept = time.monotonic()
        if self.run_ is None or self.first is None:
            return
        written = {"bytes": 0, "crc32": 0} if self.recorded is None else self.recorded.position()
        used = {"kind": self.source.kind, "used": self.source.used(self.taken)}
        note = {"order": self.order.state(), "origin": self.origin, "written": written, "source": used}
        note["inputs"] = [vars(file) for file in (*self.loaded.files, *self.source.files)]
        if self.saved.save(self.live, self.taken, {"first": self.first}, **note) and self.saved.path is not None:
            self.problems.pop(str(self.saved.path), None)
            if self.saved.samples is not None and not self.saved.samples.broken:
                self.problems.pop(str(samples_path(self.saved.path)), None)

    # -- display -------------------------------------------------------------------------------------------------

    def rate(self, now: float) -> float:
        return (self.live.samples - self.before) / max(now - self.started, 1e-9)

    def counts(self) -> str:
        o = self.order
        more = {"restarts": o.restarts, "with a number far away": o.wild, "known already": o.known}
        counts = [f"{o.lost} lost", f"{o.late + o.repeated} late or repeated"]
        return ", ".join(counts + [f"{n} {word}" for word, n in more.items() if n])

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Name, value, ± 2σ and unit of every unknown."""
        u = self.live.problem.unknowns
        units = self.loaded.given.of(u)
        rows = []
        for name, v, d, si_unit in zip(u.names, *self.live.estimate(), u.units, strict=True):
            unit = units.get(name, si_unit)
            factor = factor_of(unit, si_unit) or 1.0
            rows.append((name, *with_uncertainty(float(v) / factor, 2 * float(d) / factor), unit))
        return rows

    def summary(self, ended: str, refused) -> list[str]:
        """The last lines of a run."""
        if self.run_ is None:
            return [f"No sample arrived: {ended}."]
        lines = [f"{self.live.samples} samples, {ended}; {self.counts()}, {refused.count} refused."]
        lines += [f"{name} = {value} ± {band} {unit}".rstrip() for name, value, band, unit in self.rows()]
        lines += self.live.warnings() + self.losses()
        lines += [f"First refused: {refused.first}"] if refused.count else []
        return lines + [f"wrote {file}" for file in self.written()]

    def written(self) -> list[str]:
        """The files of the run."""
        files = [str(file) for file in (self.out, self.saved.path) if file is not None]
        return [file for file in files if file not in self.problems and os.path.exists(file)]

    def content(self, ended: str, refused) -> dict:
        """The result of a run as plain data, in SI units."""
        o, begun = self.order, self.run_ is not None
        found = zip(*self.live.estimate(), strict=True) if begun else ()
        unknowns = self.live.problem.unknowns if begun else None
        rows = [] if unknowns is None else zip(unknowns.names, unknowns.units, found, strict=True)
        return {
            "samples": self.live.samples if begun else 0,
            "ended": ended,
            "parameters": [
                {"name": name, "unit": unit, "estimate": float(v), "standard_deviation": float(d)}
                for name, unit, (v, d) in rows
            ],
            "lost": o.lost,
            "late": o.late,
            "repeated": o.repeated,
            "restarts": o.restarts,
            "refused": {"count": refused.count, "first": refused.first},
            "warnings": [*self.live.warnings(), *self.losses()] if begun else [],
            "files": self.written(),
        }

    def losses(self) -> list[str]:
        """Warnings about samples that never came."""
        o, lines = self.order, []
        if o.lost:
            lines.append(
                f"{o.lost} samples were lost ({100 * o.lost / max(o.lost + self.taken, 1):.2g} %): nothing was learnt "
                "from them, and what happened meanwhile is not known; the estimates may be off."
            )
        if o.restarts:
            lines.append(f"The sender began its numbers anew {o.restarts} times; how much was lost is not known.")
        if o.late >= o.believe:
            lines.append(f"{o.late} samples came too late; did the sender begin its numbers anew?")
        return lines
