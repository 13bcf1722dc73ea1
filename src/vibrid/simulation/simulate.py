"""`simulate`: the motion of a structure under an excitation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core import native, paths
from vibrid.core.arguments import checked
from vibrid.core.device import accelerated, cores
from vibrid.core.errors import Divergence, InputError
from vibrid.core.memory import refuse_without_memory
from vibrid.laws.base import has_rate, may_overflow, simplified
from vibrid.records.record import Record
from vibrid.simulation.base import Integrator
from vibrid.simulation.choose_modes import simulate_in_modes, wants_modes
from vibrid.simulation.choose_parts import simulate_parts, wants_parts
from vibrid.simulation.exact import ExactLinear, Imposed
from vibrid.simulation.excitation import Drive, drive, inputs_of, loads_of
from vibrid.simulation.implicit import pattern_for, told, with_pattern
from vibrid.simulation.initial import Initial, as_initial, as_start
from vibrid.simulation.modal_response import ModalResponse
from vibrid.simulation.newmark import Newmark
from vibrid.simulation.response import Response, RunSettings
from vibrid.simulation.run import Kept, Watched, run
from vibrid.simulation.runge_kutta import RungeKutta4
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest
from vibrid.structures.model import Loads, Model

_RUNS_PER_CORE = 8


@checked
def default_integrator(structure: Structure, hold: str = "linear") -> Integrator:
    """Exact for linear structures, Runge–Kutta 4 where every law has a rate, Newmark for stiff and path laws."""
    if isinstance(structure, ImposedTest):
        return Imposed()
    laws = structure.laws()
    if all(law.is_linear for law in laws):
        return ExactLinear({"zero": "zero", "linear": "first"}.get(hold, "cubic"))
    if all(has_rate(law) and not law.is_stiff for law in laws):
        return RungeKutta4()
    return Newmark()


def chosen_integrator(structure: Structure, integrator: Integrator | None, hold: str, substeps: int) -> Integrator:
    """The integrator as given, or the default; refused where it assumes another hold of the inputs than `hold`."""
    if integrator is None:
        return default_integrator(structure, hold)
    if isinstance(integrator, ExactLinear):
        fitting = {"zero": ("zero",), "linear": ("first", "cubic")}.get(hold, ("cubic",))
        by_chords = integrator.hold == "first" and hold != "zero" and substeps > 1
        if integrator.hold not in fitting and not by_chords:
            raise InputError(
                f"ExactLinear('{integrator.hold}') would not follow inputs with a '{hold}' hold: take "
                f"ExactLinear('{fitting[0]}'), or leave the integrator out."
            )
    return integrator


@native.jit
def _run(structure, loads, integrator, drive: Drive, dt, observe, start, substeps):
    model = structure if isinstance(structure, Model) else structure.model(loads)
    return run(model, integrator, drive, dt, observe, start, substeps)


@checked
def simulate(
    structure: Structure,
    excitation: Record,
    *,
    integrator: Integrator | None = None,
    hold: str = "linear",
    substeps: int = 1,
    start: Initial | dict[str, Any] | None = None,
    modes: str | int | None = "auto",
) -> Response:
    """Move a structure under a recorded excitation, or release it from an initial state.

    Arguments
        structure: what moves.
        excitation: a record with ground acceleration (m/s²) or loads (N) at places; for a `Device`, the imposed
            displacement (m). With a `start` it may have no excitation at all: `free_vibration(duration, rate)`.
        integrator: by default exact for linear structures, Runge–Kutta 4 for laws with rates, else Newmark.
        hold: what the excitation does between samples: "zero", "linear", "cubic" or "band-limited".
        substeps: integrator steps per sample.
        start: `Initial(displacement, velocity)` at the first sample, or a table {"displacement": {"roof": 0.02}};
            `Initial(displacement, velocity, states)` gives the states of the laws as well. Rest by default.
        modes: "auto" simulates linear structures of more than 100 degrees of freedom in their modes and says so in the
            response: all modes up to 3000 degrees of freedom, which is exact, above that the lowest with static
            correction and an estimated error. "all" or a number of modes asks for it, None switches it off. A large
            structure whose nonlinear laws touch few degrees of freedom takes the step of `Newmark` in all modes of its
            linear part, and says so too; with a number of modes, in these and the static shapes of laws and loads.

    Example
        >>> response = simulate(building, read_record("kobe.AT2"), substeps=4)
        >>> response.displacement.max()
    """
    if substeps < 1:
        raise InputError(f"substeps must be 1 or more, not {substeps}.")
    if len(excitation) < 2:
        raise InputError(f"Record '{excitation.name}' has {len(excitation)} samples; a simulation needs at least two.")
    moving = start is not None
    loads = loads_of(structure, excitation, moving)
    inputs = inputs_of(structure, excitation, moving, loads)
    if isinstance(integrator, Newmark | None) and wants_parts(structure, modes):
        again = partial(simulate, integrator=integrator, hold=hold, start=start, modes=modes)
        given = None if start is None else as_start(start, structure, structure.shape_of_model(loads))
        settings = RunSettings(again, integrator or Newmark(), hold, substeps)
        made = simulate_parts(structure, excitation, loads, inputs, given, settings, modes or "auto")
        if made is not None:
            return _checked(made, loads)
    elif integrator is None or modes not in ("auto", None):
        if integrator is not None:
            raise InputError("A simulation in modes takes no integrator; leave out modes= or integrator=.")
        again = partial(simulate, hold=hold, start=start, modes=modes)
        made = _in_modes(structure, excitation, loads, inputs, hold, substeps, start, modes, again)
        if made is not None:
            return made
    integrator = chosen_integrator(structure, integrator, hold, substeps)
    _check_memory(structure, integrator, len(excitation), substeps)
    start = None if start is None else as_start(start, structure, structure.model(loads))
    driven = drive(inputs, hold, substeps)
    watched = Watched(Kept(), integrator)
    step = jnp.asarray(excitation.step)  # an array: another step is not another program
    built = simplified(structure).built(loads)
    pattern = pattern_for(built, integrator)
    if pattern is not None:
        built = with_pattern(built if isinstance(built, Model) else built.model(loads), pattern)
    recorded = _run(built, loads, integrator, driven, step, watched, start, substeps)
    (x, v, a, s), failed = jax.tree.map(np.asarray, recorded)
    check_memory(structure, loads, s, excitation.time)
    structure.check_states(s, excitation.time)
    check_finite(x, excitation.time, integrator)
    check_equilibrium(failed, excitation.time, integrator)
    again = partial(simulate, integrator=integrator, hold=hold, start=start)
    settings = RunSettings(again, integrator, hold, substeps, told(integrator, pattern))
    return Response(structure, excitation, loads, inputs, x, v, a, s, settings)


def _in_modes(structure, excitation, loads, inputs, hold, substeps, start, modes, again):
    """The response in modes, where these are wanted and possible."""
    if modes is None or isinstance(structure, ImposedTest):
        return None
    linear = all(law.is_linear for law in structure.laws())
    size = structure.size if linear or modes != "auto" else 0
    if not wants_modes(structure, modes, size, linear):
        return None
    start = None if start is None else as_initial(start, structure, size)
    made = simulate_in_modes(structure, excitation, loads, inputs, hold, substeps, start, modes, again)
    if made is not None:
        check_finite(made.coordinates[0], excitation.time, ExactLinear())
    return made


def _checked(made: tuple[ModalResponse, np.ndarray], loads: Loads) -> ModalResponse:
    """A response with laws in modes, refused where it failed."""
    response, failed = made
    settings, time = response.settings, response.excitation.time
    assert settings is not None
    check_memory(response.structure, loads, response.states, time)
    response.structure.check_states(response.states, time)
    check_finite(response.coordinates[0], time, settings.integrator)
    check_equilibrium(failed, time, settings.integrator)
    return response


def _check_memory(structure, integrator, samples: int, substeps: int) -> None:
    """Refuse a motion, or the matrices of an exact step, that would not fit in memory."""
    size = 1 if isinstance(structure, ImposedTest) else structure.size
    refuse_without_memory(
        f"The motion of {size} degrees of freedom at {samples} samples", 32.0 * size * samples,
        "simulate a shorter record, a lower sampling rate, or observe less with simulate_many(observe=)",
    )  # fmt: skip
    if isinstance(integrator, ExactLinear):
        refuse_without_memory(
            f"The exact step of {size} degrees of freedom", 12 * 8.0 * (2 * size) ** 2, "simulate it in its modes"
        )


def check_finite(x: np.ndarray, time: np.ndarray, integrator: Integrator) -> None:
    """Refuse a run that diverged, stating when and where."""
    bad = ~np.isfinite(x).all(axis=-1)
    if bad.any():
        row = int(np.argmax(bad))
        where = int(np.argmax(~np.isfinite(x[row])))
        raise Divergence(
            f"The simulation stopped being finite at {time[row]:g} s, first at degree of freedom {where}, with "
            f"{type(integrator).__name__}. Use more substeps, or an implicit integrator such as Newmark()."
        )


def check_memory(structure: Structure, loads: Loads, states: Any, time: np.ndarray) -> None:
    """Refuse a run in which the memory of a path law was too small, stating which and when."""
    if not any(map(may_overflow, structure.laws())):
        return
    for group, state in zip(structure.model(loads).groups, states, strict=True):
        full = np.asarray(group.law.overflowed(state))
        if full.any():
            when = time[int(np.argmax(full.reshape(len(time), -1).any(axis=1)))]
            raise Divergence(
                f"The memory of {type(group.law).__name__} was full at {when:g} s: the path has more nested turning "
                "points than its capacity. Give the law a larger capacity, or filter noise from the motion."
            )


def check_equilibrium(failed: np.ndarray, time: np.ndarray, integrator: Integrator) -> None:
    """Refuse a run in which a step did not find equilibrium, stating when."""
    if failed.any():
        raise Divergence(
            f"{type(integrator).__name__} found no equilibrium in the step before {time[int(np.argmax(failed))]:g} s. "
            "Use more substeps, or allow more iterations or a wider tolerance."
        )


@checked
def simulate_many(
    structure: Structure,
    excitation: Record | list[Record],
    changes: dict[str, np.ndarray] | None = None,
    *,
    integrator: Integrator | None = None,
    hold: str = "linear",
    substeps: int = 1,
    observe: Callable[..., Any] | None = None,
) -> Any:
    """Many runs in one compiled program: over parameters, over motions, or over both in step.

    On a machine without an accelerator a large batch is shared among its processor cores.

    Arguments
        changes: values by path, each with a leading axis over the runs.
        excitation: one record for all runs, or one record a run (same length, step and channels).
        observe: what to record of each run; the motion (x, v, a, states) by default.

    Returns the arrays of `observe` with a leading axis over the runs. A run that grows without bound, or finds no
    equilibrium, holds NaN from there on; the other runs are not affected.
    """
    records = [excitation] if isinstance(excitation, Record) else list(excitation)
    if not records:
        raise InputError("No record was given.")
    first = records[0]
    if any(len(r) != len(first) or r.step != first.step for r in records):
        raise InputError("Motions of a batch must have the same length and sampling step; resample and cut them first.")
    changes = changes or {}
    for path, value in changes.items():
        if not np.ndim(value):
            raise InputError(f"The change of '{path}' needs one value for each run, not {value!r}.")
    paths.check_values(structure, changes)
    counts = {len(v) for v in changes.values()} | ({len(records)} if len(records) > 1 else set())
    if len(counts) != 1:
        raise InputError(
            f"The runs of a batch disagree in number: {sorted(counts)}. Give every change one value a run."
        )
    integrator = chosen_integrator(structure, integrator, hold, substeps)
    loads = loads_of(structure, first)
    for r in records[1:]:
        if loads_of(structure, r) != loads:
            raise InputError(
                f"Record '{r.name}' does not drive the structure as record '{first.name}' does "
                f"({_inputs_in_words(loads_of(structure, r))}; {_inputs_in_words(loads)}); all runs of a batch need "
                "the same inputs."
            )
    drives = [drive(inputs_of(structure, r), hold, substeps) for r in records]
    many = len(records) > 1
    driven = jax.tree.map(lambda *a: jnp.stack(a), *drives) if many else drives[0]
    values = {path: jnp.asarray(value) for path, value in changes.items()}
    observe = Kept() if observe is None else observe
    cheap, step = simplified(structure, free=values), jnp.asarray(first.step)
    pattern = pattern_for(structure, integrator)

    def some(batch):
        values, driven = batch
        shared = (cheap, loads, integrator, None if many else driven, step, observe, substeps, pattern)
        return _run_many(shared, (values, driven if many else None))

    return _shared_among_cores(some, (values, driven), (True, many), counts.pop())


def _inputs_in_words(loads) -> str:
    return ", ".join(" ".join(filter(None, (quantity.replace("_", " "), place))) for quantity, place in loads)


def _shared_among_cores(job, batch: tuple[Any, ...], batched: tuple[bool, ...], runs: int):
    """`job(batch)`, or the same in equal parts on several threads when there are enough runs for it.

    The last part is filled up with repeats of the last run, so that all parts are one compiled program.
    """
    parts = min(cores(), runs // _RUNS_PER_CORE)
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(batch))
    if parts < 2 or traced or accelerated():
        return job(batch)
    size = -(-runs // parts)

    def cut(part: int):
        index = np.minimum(np.arange(part * size, (part + 1) * size), runs - 1)
        pairs = zip(batch, batched, strict=True)
        return tuple(jax.tree.map(lambda leaf: leaf[index], tree) if own else tree for tree, own in pairs)

    with ThreadPoolExecutor(parts) as pool:
        answers = list(pool.map(lambda part: jax.block_until_ready(job(cut(part))), range(parts)))
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[:runs], *answers)


@native.batch
def _run_many(shared, own):
    (structure, loads, integrator, driven, dt, observe, substeps, pattern), (values, own_drive) = shared, own
    model = dataclasses.replace(paths.replace(structure, values).model(loads), batched=True, pattern=pattern)
    drive = driven if own_drive is None else own_drive
    seen, failed = run(model, integrator, drive, dt, Watched(observe, integrator), None, substeps)
    if not integrator.iterates:
        return seen
    return jax.tree.map(lambda a: jnp.where(failed.reshape(-1, *[1] * (a.ndim - 1)), jnp.nan, a), seen)
