"""An adaptive reference: SciPy's error-controlled solvers, apart from the fixed-step integrators.

Data computed here and fitted with `simulate` come from another, finer integrator than that of the model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax.flatten_util import ravel_pytree

from vibrid.core.arguments import checked
from vibrid.core.device import on_processor
from vibrid.core.errors import Divergence, InputError
from vibrid.laws.base import refuse_without_rate
from vibrid.records.record import Record
from vibrid.simulation.exact import imposed_motion
from vibrid.simulation.excitation import Input, drive, inputs_of, loads_of
from vibrid.simulation.initial import Initial, as_start
from vibrid.simulation.response import Response
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest

_BAND_LIMITED_PIECES = 8  # spline pieces per sample interval of a band-limited excitation
_SMALLEST_SCALE = 1e-6  # m, m/s and units of law states: smaller values are resolved to tolerance × this
_MANY_STEPS = 60  # explicit steps in one piece beyond which an implicit method is cheaper


class _Pace(NamedTuple):
    """Settings passed from one piece to the next: the longest accepted step, and whether an implicit method pays."""

    step: float
    stiff: bool


@checked
def simulate_reference(
    structure: Structure,
    excitation: Record,
    hold: str = "linear",
    tolerance: float = 1e-10,
    *,
    start: Initial | dict[str, Any] | None = None,
) -> Response:
    """Simulate a structure with adaptive steps: reference data for tests, benchmarks and identification studies.

    The solver starts afresh at every sample, so the kinks of a piecewise-linear excitation never fall inside a step.
    It is Dormand and Prince's method of order 8, or Radau's of order 5 on pieces where the former takes very many
    steps. Laws must have rates; a path law is refused.

    Arguments
        structure: what moves; a `Device` has its deformation imposed.
        excitation: as for `simulate`.
        hold: what the excitation does between samples: "zero", "linear", "cubic" or "band-limited".
        tolerance: error allowed in a step, relative to the largest value so far of each displacement, velocity and law
            state.
        start: as for `simulate`; rest by default.

    Example
        >>> reference = simulate_reference(building, read_record("kobe.AT2"))
    """
    if not 1e-13 <= tolerance < 1:
        raise InputError(f"The tolerance of the reference must lie between 1e-13 and 1, not {tolerance:g}.")
    with on_processor():
        return _simulated(structure, excitation, hold, tolerance, start)


def _simulated(structure: Structure, excitation: Record, hold: str, tolerance: float, start) -> Response:
    moving = start is not None
    loads, inputs = loads_of(structure, excitation, moving), inputs_of(structure, excitation, moving)
    model = structure.model(loads)
    for group in model.groups:
        refuse_without_rate(group.law)
    imposed = isinstance(structure, ImposedTest)
    driven = drive(inputs, hold, _BAND_LIMITED_PIECES)
    pieces = np.concatenate(np.asarray(driven.coefficients))
    spacing: Any = excitation.step  # `inputs_of` refused a record that has none
    step = spacing / driven.pieces

    start = as_start(start, structure, model) or Initial.rest(model.size)
    states = model.start() if start.states is None else start.states
    first, unravel = ravel_pytree(states if imposed else (start.displacement, start.velocity, states))

    def unpack(y, u):
        return (*imposed_motion(u), unravel(y)) if imposed else unravel(y)

    @jax.jit
    def slope(t, y, coefficients):
        u = Input(coefficients, 0.0, 1.0 / step, coefficients[0])(t)
        x, v, s = unpack(y, u)
        rates = model.rates(x, v, s)
        return ravel_pytree(rates if imposed else (v, model.acceleration(x, v, s, u), rates))[0]

    jacobian = jax.jit(jax.jacfwd(slope, argnums=1))
    y = np.asarray(first, dtype=float)
    kept = np.empty((len(inputs), y.size))
    kept[0], largest = y, np.maximum(np.abs(y), _SMALLEST_SCALE)
    pace = _Pace(step, stiff=False)
    for i, coefficients in enumerate(pieces if y.size else ()):
        y, pace = _cross(slope, jacobian, coefficients, y, step, tolerance, largest, pace)
        if y is None:
            raise Divergence(
                f"The reference could not pass {excitation.time[i // driven.pieces]:g} s with a tolerance of "
                f"{tolerance:g}: the motion grows without bound or a law is not smooth enough there."
            )
        np.maximum(largest, np.abs(y), out=largest)
        if (i + 1) % driven.pieces == 0:
            kept[(i + 1) // driven.pieces] = y

    @jax.jit
    @jax.vmap
    def motion(y, u):
        x, v, s = unpack(y, u)
        return x, v, jnp.zeros_like(x) if imposed else model.acceleration(x, v, s, u), s

    x, v, a, s = jax.tree.map(np.asarray, motion(kept, jnp.asarray(inputs)))
    return Response(structure, excitation, loads, inputs, x, v, a, s)


def _cross(slope, jacobian, coefficients, y, step, tolerance, largest, pace: _Pace):
    """The values after one smooth piece of `step` seconds, and the pace for the next; values of None on failure."""

    def f(t, y):
        return np.asarray(slope(t, y, coefficients))

    def jac(t, y):
        return np.asarray(jacobian(t, y, coefficients))

    method, options = (scipy.integrate.Radau, {"jac": jac}) if pace.stiff else (scipy.integrate.DOP853, {})
    accuracy = {"rtol": tolerance, "atol": tolerance * largest, "first_step": min(step, pace.step)}
    solver = method(f, 0.0, y, step, **accuracy, **options)
    steps, longest = 0, 1e-3 * step
    while solver.status == "running":
        if steps == _MANY_STEPS and not pace.stiff:
            return _cross(slope, jacobian, coefficients, y, step, tolerance, largest, _Pace(longest, stiff=True))
        solver.step()
        steps += 1
        longest = max(longest, solver.step_size or 0.0)
    ended = solver.status == "finished" and np.all(np.isfinite(solver.y))
    return solver.y if ended else None, _Pace(longest, stiff=pace.stiff and steps < _MANY_STEPS / 3)
