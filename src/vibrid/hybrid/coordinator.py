"""The hybrid test: a structure that is computed, devices that are tested, devices that are modelled."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import Divergence, InputError, Refusal, unknown_name
from vibrid.hybrid.chain import Chain
from vibrid.hybrid.parts import Experimental, Modelled, Scaling
from vibrid.hybrid.plan import Carry, Outside, Plan, ScaleFactors
from vibrid.hybrid.result import Glimpse, HybridResult, device_record
from vibrid.laws.base import simplified
from vibrid.records.record import Record
from vibrid.simulation.alpha import MKRAlpha
from vibrid.simulation.base import ExplicitIntegrator
from vibrid.simulation.excitation import inputs_of, loads_of
from vibrid.simulation.response import Response
from vibrid.simulation.simulate import check_finite, check_memory
from vibrid.structures.base import Structure
from vibrid.structures.model import Model

RATE = 1024.0
"""Hz: how often the machines of a laboratory are commanded."""
_GLIMPSES = 40  # looks at a test that is one compiled program otherwise


@dataclass(frozen=True)
class HybridTest:
    """A structure, the devices that are tested with it, and those that are modelled in it.

    Arguments
        structure: the analytical substructure: any structure, without the devices.
        experimental: devices that are tested: virtual specimens, or substructures across a wire.
        modelled: devices that are computed beside the structure; each may listen to one that is tested.
        integrator: an explicit one: `MKRAlpha` (default, ρ∞ = 0.75), `KRAlpha`, or `CentralDifference`, which is
            Newmark's explicit form. Its matrices hold the first slopes of the devices.
        substeps: m, commands to the machines in one step of the structure; the step is m/rate (times the factor of
            time).
        rate: Hz, commands to the machines a second.
        interpolation: of commands inside a step: "linear", or "cubic" through the last four steps.
        scaling: between the devices and the structure.

    When all devices are inside (laws, specimens, networks) a run is one compiled scan; with one outside it goes step by
    step through the same functions.

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
                raise InputError(f"Two devices are called '{name}'; give each a name of its own.")
        for part in self.parts:
            if not np.any(part.row(self.structure)):
                raise InputError(f"'{part.name}' joins places that cannot move.")
        tested = [p.name for p in self.experimental]
        for part in self.modelled:
            if part.listens and part.listens not in tested:
                raise unknown_name(f"tested device for '{part.name}' to listen to", part.listens, tested)
        if not isinstance(self.integrator, ExplicitIntegrator):
            raise Refusal(
                f"{type(self.integrator).__name__} asks for forces at motions that it then takes back; a device "
                "cannot. Use MKRAlpha, KRAlpha or CentralDifference (Newmark's explicit form)."
            )
        if not isinstance(self.substeps, int) or self.substeps < 1 or not self.rate > 0:
            raise InputError("A hybrid test needs one or more substeps a step, and a positive rate.")
        if self.interpolation not in ("linear", "cubic"):
            raise InputError(f"Commands are interpolated 'linear' or 'cubic', not '{self.interpolation}'.")

    @property
    def parts(self) -> tuple[Experimental | Modelled, ...]:
        """All devices, those that are tested first."""
        return (*self.experimental, *self.modelled)

    @property
    def step(self) -> float:
        """Seconds of the structure's time in one step."""
        return self.substeps / self.rate * self.scaling.time

    @property
    def is_numerical(self) -> bool:
        """Whether every device is inside, so that a test is one compiled program."""
        return not any(part.is_outside for part in self.parts)

    def run(self, excitation: Record, watch: Callable[[Glimpse], None] | None = None, **outside) -> HybridResult:
        """Run the test under an excitation (structure's time).

        Arguments
            excitation: ground acceleration or loads; straight lines join samples that lie between steps.
            watch: called now and then with a `Glimpse` of the test.
            outside: what only tests with devices outside have: `clock`, `limits`, `record`, `in_c`
                (see `run_stepwise`).
        """
        if not self.is_numerical:
            from vibrid.hybrid.stepwise import run_stepwise

            return run_stepwise(self, excitation, watch, **outside)
        if outside:
            raise InputError(f"{', '.join(outside)}: only for tests with a device outside; here all is computed.")
        drive = on_steps(excitation, self.step)
        inputs, loads = inputs_of(self.structure, drive), loads_of(self.structure, drive)
        plan, carry, first_seen = make_plan(self, loads, inputs[0], outside=())
        ends = np.stack([inputs[:-1], inputs[1:]], axis=1)
        count = len(ends)
        chunk = count if watch is None else -(-count // _GLIMPSES)
        seen, rows = [], []
        for first in range(0, count, chunk):
            some = ends[first : first + chunk]
            done, short = first + len(some), chunk - len(some)
            padded = np.concatenate([some, np.zeros((short, *some.shape[1:]))]) if short else some
            carry, (moved, own) = _scan(plan, carry, jnp.asarray(padded))
            moved, own = jax.tree.map(lambda leaf, keep=chunk - short: np.asarray(leaf)[:keep], (moved, own))
            seen.append(moved)
            rows.append(own)
            if watch is not None:
                forces = np.array([f.force[-1, -1] for f in own])
                watch(Glimpse(drive.time[done], moved[0][-1], forces, 0, count, done))
        seen = jax.tree.map(lambda start, *rest: np.concatenate([start[None], *rest]), first_seen, *seen)
        rows = jax.tree.map(lambda *leaves: _in_a_row(np.concatenate(leaves)), *rows)
        signals = [part.device.signal_names for part in self.parts]
        return self.conclude(drive, loads, inputs, seen, rows, signals)

    def conclude(self, drive: Record, loads, inputs, seen, rows, signals, **more) -> HybridResult:
        """The result of a run, or the sentence that says where it broke."""
        x, v, a, s = seen
        time = drive.time[: len(x)]
        devices = device_record(self, rows, drive, signals)
        for part in self.parts:
            force = devices[f"{part.name}.force"]
            if not np.isfinite(force).all():
                when = devices.time[int(np.argmax(~np.isfinite(force)))]
                why = getattr(part.device, "no_force_means", "")
                if np.isfinite(x[time < when]).all():
                    raise Divergence(f"'{part.name}' gave no force at {when:.4g} s. {why}".strip())
        check_finite(x, time, self.integrator)
        check_memory(self.structure, loads, s, time)
        self.structure.check_states(s, time)
        drive = drive if len(time) == len(drive) else drive.cut(None, time[-1])
        return HybridResult(self, Response(self.structure, drive, loads, inputs[: len(x)], x, v, a, s), devices, **more)


def _in_a_row(values: np.ndarray) -> np.ndarray:
    """(steps, substeps, …) as (steps × substeps, …)."""
    return values.reshape(values.shape[0] * values.shape[1], *values.shape[2:])


def on_steps(excitation: Record, step: float) -> Record:
    """The excitation at the steps of a test, straight between its own samples."""
    if excitation.step is not None and abs(excitation.step / step - 1) < 1e-9:
        return excitation
    time = excitation.time
    count = int(np.floor((time[-1] - time[0]) / step * (1 + 1e-12))) + 1
    new = time[0] + step * np.arange(count)
    data = np.stack([np.interp(new, time, column) for column in excitation.data.T], axis=1)
    note = f"at steps of {step:g} s, straight between samples"
    return excitation.replace(note, data=data, step=step, start=float(time[0]), times=None)


def make_plan(test: HybridTest, loads, first_input, outside) -> tuple[Plan, Carry, tuple]:
    """The constants of a test, where it starts, and what is kept of that.

    `outside` are the opened substructures in the order of parts.
    """
    opened, slopes, parts = iter(outside), [], []
    for part in test.parts:
        if part.is_outside:
            own = next(opened)
            compensator = getattr(part, "compensator", None)
            if compensator is not None and compensator.needs_position and own.position is None:
                raise Refusal(
                    f"'{part.name}' does not say where it was found, and {type(compensator).__name__} learns from "
                    "that. Use another compensator, or compensate in the laboratory."
                )
            parts.append(Outside(compensator, len(own.signal_names), own.position is not None))
            slopes.append((float(own.stiffness()[0, 0]), float(own.damping()[0, 0])))
        else:
            chain = (getattr(part, name, None) for name in ("actuator", "compensator"))
            parts.append(Chain(simplified(part.device), *chain))
            slopes.append(None)
    names = [p.name for p in test.parts]
    listens = tuple(names.index(p.listens) if getattr(p, "listens", "") else None for p in test.parts)
    built = simplified(test.structure).built(loads)
    rows = np.stack([p.row(test.structure) for p in test.parts])
    counts = jnp.stack([jnp.asarray(p.count, float) for p in test.parts])
    scale = test.scaling
    factors = ScaleFactors(jnp.asarray(scale.length), jnp.asarray(scale.length / scale.time), scale.force * counts)
    how = (test.substeps, listens, test.interpolation == "cubic")
    known = tuple(None if s is None else jnp.asarray(s) for s in slopes)
    times = jnp.asarray(test.step), jnp.asarray(1.0 / test.rate)
    first_input = jnp.asarray(first_input)
    return _plan(built, loads, test.integrator, rows, tuple(parts), known, factors, times, how, first_input)


@eqx.filter_jit
def _plan(built, loads, integrator, rows, parts, slopes, factors: ScaleFactors, times, how, first_input):
    model = built if isinstance(built, Model) else built.model(loads)
    step, small = times
    rows = jnp.asarray(rows)
    first = [
        jnp.stack([part.device.initial_stiffness(), part.device.initial_damping()]) if own is None else own
        for part, own in zip(parts, slopes, strict=True)
    ]
    k, c = jnp.stack(first, axis=1)
    n = model.size
    whole = dataclasses.replace(
        model,
        stiffness=_sum(model.stiffness, n) + _spread(rows, factors.force * k / factors.length),
        damping=_sum(model.damping, n) + _spread(rows, factors.force * c / factors.velocity),
    )
    prepared = tuple(part.prepare(small) for part in parts)
    constants = integrator.prepare(whole, step)
    plan = Plan(model, integrator, constants, rows, parts, prepared, factors, step, small, *how)
    carry = plan.start(first_input)
    return plan, carry, plan.seen(carry)


def _sum(matrix, n: int):
    return jnp.zeros((n, n)) if matrix is None else matrix


def _spread(rows, values):
    return jnp.einsum("pn,p,pm->nm", rows, values, rows)


@eqx.filter_jit
def _scan(plan: Plan, carry, ends):
    return jax.lax.scan(lambda carry, pair: plan.whole_step(carry, pair), carry, ends)
