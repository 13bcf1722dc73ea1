"""`simulate`: a structure, an excitation, and how it moves."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import paths
from vibrid.core.errors import Divergence, InputError
from vibrid.laws.base import has_rate
from vibrid.records.record import Record
from vibrid.simulation.base import Integrator
from vibrid.simulation.exact import ExactLinear, Imposed
from vibrid.simulation.excitation import Drive, drive, inputs_of, loads_of
from vibrid.simulation.newmark import Newmark
from vibrid.simulation.response import Response
from vibrid.simulation.run import Everything, Start, run
from vibrid.simulation.runge_kutta import RungeKutta4
from vibrid.structures.base import Structure
from vibrid.structures.device import Device


def default_integrator(structure: Structure, hold: str = "linear") -> Integrator:
    """Exact for linear structures, Runge–Kutta 4 where every law has a rate, Newmark for stiff and path laws."""
    if isinstance(structure, Device):
        return Imposed()
    model = structure.model(())
    if model.is_linear and hold in ("zero", "linear"):
        return ExactLinear("zero" if hold == "zero" else "first")
    if all(has_rate(g.law) and not g.law.is_stiff for g in model.groups):
        return RungeKutta4()
    return Newmark()


@eqx.filter_jit
def _run(structure, loads, integrator, drive: Drive, dt, observe, start, substeps):
    return run(structure.model(loads), integrator, drive, dt, observe, start, substeps)


def simulate(
    structure: Structure,
    excitation: Record,
    *,
    integrator: Integrator | None = None,
    hold: str = "linear",
    substeps: int = 1,
    start: Start | None = None,
) -> Response:
    """Move a structure under a recorded excitation.

    Arguments
        structure: what moves.
        excitation: a record with ground acceleration (m/s²) or loads (N) at places; for a `Device`, the imposed
            displacement (m).
        integrator: by default exact for linear structures, Runge–Kutta 4 for laws with rates, else Newmark.
        hold: what the excitation does between samples: "zero", "linear", "cubic" or "band-limited".
        substeps: integrator steps per sample.
        start: displacement, velocity (and law states) at the first sample; rest by default.

    Example
        >>> response = simulate(building, read_record("kobe.AT2"), substeps=4)
        >>> response.displacement.max()
    """
    if substeps < 1:
        raise InputError(f"substeps must be 1 or more, not {substeps}.")
    if len(excitation) < 2:
        raise InputError(f"Record '{excitation.name}' has {len(excitation)} samples; a simulation needs at least two.")
    integrator = default_integrator(structure, hold) if integrator is None else integrator
    loads = loads_of(structure, excitation)
    inputs = inputs_of(structure, excitation)
    made = _run(structure, loads, integrator, drive(inputs, hold, substeps), excitation.step, Everything(), start, substeps)
    x, v, a, s = jax.tree.map(np.asarray, made)
    check_finite(x, excitation.time, integrator)
    return Response(structure, excitation, loads, inputs, x, v, a, s)


def check_finite(x: np.ndarray, time: np.ndarray, integrator: Integrator) -> None:
    """Refuse a run that blew up, saying when and where."""
    bad = ~np.isfinite(x).all(axis=-1)
    if bad.any():
        row = int(np.argmax(bad))
        where = int(np.argmax(~np.isfinite(x[row])))
        raise Divergence(
            f"The simulation stopped being finite at {time[row]:g} s, first at degree of freedom {where}, with "
            f"{type(integrator).__name__}. Use more substeps, or an implicit integrator such as Newmark()."
        )


def simulate_many(
    structure: Structure,
    excitation: Record | list[Record],
    changes: dict[str, np.ndarray] | None = None,
    *,
    integrator: Integrator | None = None,
    hold: str = "linear",
    substeps: int = 1,
    observe=None,
):
    """Many runs in one compiled program: over parameters, over motions, or over both in step.

    Arguments
        changes: values by path, each with a leading axis over the runs.
        excitation: one record for all runs, or one record a run (same length, step and channels).
        observe: what to keep of each run; the motion (x, v, a, states) by default.

    Returns the arrays of `observe` with a leading axis over the runs.
    """
    records = excitation if isinstance(excitation, list) else [excitation]
    first = records[0]
    if any(len(r) != len(first) or r.step != first.step for r in records):
        raise InputError("Motions of a batch must have the same length and sampling step; resample and cut them first.")
    changes = changes or {}
    counts = {len(v) for v in changes.values()} | ({len(records)} if len(records) > 1 else set())
    if len(counts) != 1:
        raise InputError(f"The runs of a batch disagree in number: {sorted(counts)}. Give every change one value a run.")
    integrator = default_integrator(structure, hold) if integrator is None else integrator
    loads = loads_of(structure, first)
    drives = [drive(inputs_of(structure, r), hold, substeps) for r in records]
    many = len(records) > 1
    driven = jax.tree.map(lambda *a: jnp.stack(a), *drives) if many else drives[0]
    values = {path: jnp.asarray(value) for path, value in changes.items()}
    return _run_many(
        structure, loads, integrator, driven, first.step, Everything() if observe is None else observe, substeps, values, many
    )


@eqx.filter_jit
def _run_many(structure, loads, integrator, driven, dt, observe, substeps, values, many):
    def one(values, driven):
        model = dataclasses.replace(paths.replace(structure, values).model(loads), batched=True)
        return run(model, integrator, driven, dt, observe, None, substeps)

    return jax.vmap(one, in_axes=(0, 0 if many else None))(values, driven)
