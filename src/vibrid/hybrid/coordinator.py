"""The hybrid test: a computed structure with tested and modelled devices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import native
from vibrid.core.errors import InputError, Refusal, VibridError, unknown_name
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.parts import Experimental, Modelled, Scaling
from vibrid.hybrid.plan import Plan
from vibrid.hybrid.prepare import make_plan, on_steps
from vibrid.hybrid.result import Glimpse, HybridResult, device_record
from vibrid.hybrid.stepwise import run_stepwise
from vibrid.hybrid.stopping import DivergedTest, EarlyEnd, early_end, limits_of
from vibrid.hybrid.warnings import Warnings
from vibrid.records.record import Record
from vibrid.simulation.alpha import MKRAlpha
from vibrid.simulation.base import ExplicitIntegrator
from vibrid.simulation.excitation import inputs_of, loads_of
from vibrid.simulation.response import Response
from vibrid.simulation.simulate import check_memory
from vibrid.structures.base import Structure

RATE = 1024.0
"""Hz: usual rate of actuator commands in a laboratory."""
_GLIMPSES = 40  # looks at a test that is one compiled program otherwise


@dataclass(frozen=True)
class HybridTest:
    """A structure with tested and modelled devices.

    Arguments
        structure: the analytical substructure: any structure, without the devices.
        experimental: tested devices: virtual specimens, or external substructures.
        modelled: computed devices; each may use measurements of a tested one.
        integrator: an explicit one: `MKRAlpha` (default, ρ∞ = 0.75), `KRAlpha`, or `CentralDifference`, which is
            Newmark's explicit form. Its matrices include the initial stiffness and damping of the devices.
        substeps: m, actuator commands in one step of the structure; the step is m/rate (times the time scale).
        rate: Hz, actuator commands per second.
        interpolation: of commands inside a step: "linear", or "cubic" through the last four steps.
        scaling: between the devices and the structure.

    When all devices are computed (laws, specimens, networks) a run is one compiled scan; with an external device it
    goes step by step through the same functions.

    Example
        >>> test = HybridTest(building, [Experimental(BandedFrictionDamper(), at=0, count=4, name="damper")])
        >>> result = test.run(motion)
        >>> result.devices["damper.force"]
    """

    structure: Structure
    experimental: Sequence[Experimental] = ()
    modelled: Sequence[Modelled] = ()
    integrator: ExplicitIntegrator = field(default_factory=lambda: MKRAlpha(0.75))
    substeps: int = 1
    rate: float = RATE
    interpolation: str = "linear"
    scaling: Scaling = field(default_factory=Scaling)

    def __post_init__(self):
        for kind in ("experimental", "modelled"):
            given = enumerate(getattr(self, kind))
            named = tuple(p if p.name else dataclasses.replace(p, name=f"{kind}_{i}") for i, p in given)
            object.__setattr__(self, kind, named)
        if not self.parts:
            raise InputError("A hybrid test needs at least one device; without any, simulate() does the same.")
        names = [p.name for p in self.parts]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"Two devices are called '{name}'; give them different names.")
        for part in self.parts:
            if not np.any(part.row(self.structure)):
                raise InputError(f"'{part.name}' connects places that cannot move.")
        tested = [p.name for p in self.experimental]
        for part in self.modelled:
            if part.companion and part.companion not in tested:
                raise unknown_name(f"tested device (`companion` of '{part.name}')", part.companion, tested)
        if not isinstance(self.integrator, ExplicitIntegrator):
            raise Refusal(
                f"{type(self.integrator).__name__} iterates, and a tested device cannot be moved back. Use MKRAlpha, "
                "KRAlpha or CentralDifference (Newmark's explicit form)."
            )
        if not isinstance(self.substeps, int) or self.substeps < 1 or not self.rate > 0:
            raise InputError("A hybrid test needs at least one substep per step, and a positive rate.")
        if self.interpolation not in ("linear", "cubic"):
            raise InputError(f"Commands are interpolated 'linear' or 'cubic', not '{self.interpolation}'.")

    @property
    def parts(self) -> tuple[Experimental | Modelled, ...]:
        """All devices, the tested ones first."""
        return (*self.experimental, *self.modelled)

    @property
    def step(self) -> float:
        """Seconds of the structure's time in one step."""
        return self.substeps / self.rate * self.scaling.time

    @property
    def is_numerical(self) -> bool:
        """Whether every device is inside, so that a test is one compiled program."""
        return not any(part.is_outside for part in self.parts)

    def run(self, excitation: Record, watch: Callable[[Glimpse], None] | None = None, *,
            limits: SafetyLimits | None = None, **outside) -> HybridResult:  # fmt: skip
        """Run the test under an excitation (structure's time).

        Arguments
            excitation: ground acceleration or loads; linear between its samples.
            watch: called several times during the test with a `Glimpse` of it.
            limits: of every tested device, beside its own; the test ends where one is exceeded, and `stopped` of the
                result is the reason.
            outside: arguments of tests with external devices: `clock`, `unlimited`, `record`, `in_c`
                (see `run_stepwise`).

        A test that diverges is refused with the time and the device that caused it: `DivergedTest`, whose `result`
        holds the test up to there.
        """
        if not self.is_numerical:
            return run_stepwise(self, excitation, watch, limits=limits, **outside)
        if outside:
            raise InputError(f"{', '.join(outside)}: only for tests with an external device; here all are computed.")
        drive = on_steps(excitation, self.step)
        inputs, loads = inputs_of(self.structure, drive), loads_of(self.structure, drive)
        plan, carry, first_seen = make_plan(self, loads, inputs[0], outside=())
        ends = np.stack([inputs[:-1], inputs[1:]], axis=1)
        count = len(ends)
        chunk = count if watch is None else -(-count // _GLIMPSES)
        seen, rows, warned = [], [], Warnings(self.parts)
        for first in range(0, count, chunk):
            part = ends[first : first + chunk]
            done, short = first + len(part), chunk - len(part)
            padded = np.concatenate([part, np.zeros((short, *part.shape[1:]))]) if short else part
            carry, (moved, substeps) = _scan(plan, carry, jnp.asarray(padded))
            moved, substeps = jax.tree.map(lambda leaf, keep=chunk - short: np.asarray(leaf)[:keep], (moved, substeps))
            seen.append(moved)
            rows.append(substeps)
            if watch is not None:
                forces = np.array([row.force[-1, -1] for row in substeps])
                small = drive.time[first] + self.step / self.substeps * np.arange(1, len(part) * self.substeps + 1)
                warnings = warned.see(small, jax.tree.map(_in_a_row, substeps))
                watch(Glimpse(drive.time[done], moved[0][-1], forces, 0, count, done, warnings))
        seen = jax.tree.map(lambda start, *rest: np.concatenate([start[None], *rest]), first_seen, *seen)
        rows = jax.tree.map(lambda *leaves: _in_a_row(np.concatenate(leaves)), *rows)
        signals = [part.device.signal_names for part in self.parts]
        end = early_end(self, seen[0], rows, limits_of(self, limits), float(drive.start))
        return self.conclude(drive, loads, inputs, seen, rows, signals, end)

    def conclude(self, drive: Record, loads, inputs, seen, rows, signals, end: EarlyEnd | None = None,
                 **more) -> HybridResult:  # fmt: skip
        """The result of a run, up to its early end if it has one; refused if that is a divergence."""
        if end is not None:
            steps, substeps = end.substep // self.substeps, end.substep + (not end.diverged)
            seen = jax.tree.map(lambda leaf: leaf[: steps + 1], seen)
            rows = jax.tree.map(lambda leaf: leaf[:substeps], rows)
            more["stopped"] = end.reason
            if steps < 1:
                raise (DivergedTest if end.diverged else VibridError)(f"Before its first step was over: {end.reason}")
        x, v, a, s = seen
        time = drive.time[: len(x)]
        devices = device_record(self, rows, drive, signals)
        check_memory(self.structure, loads, s, time)
        self.structure.check_states(s, time)
        drive = drive if len(time) == len(drive) else drive.cut(None, time[-1])
        response = Response(self.structure, drive, loads, inputs[: len(x)], x, v, a, s)
        result = HybridResult(self, response, devices, **more)
        if end is not None and end.diverged:
            problem = DivergedTest(end.reason)
            problem.result = result
            raise problem
        return result


def _in_a_row(values: np.ndarray) -> np.ndarray:
    """(steps, substeps, …) as (steps × substeps, …)."""
    return values.reshape(values.shape[0] * values.shape[1], *values.shape[2:])


@native.in_pieces
def _scan(plan: Plan, carry, ends):
    return jax.lax.scan(lambda carry, pair: plan.whole_step(carry, pair), carry, ends)
