"""Requirements on every structure: sound matrices, places that exist, rest, derivatives, and a text for files."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.conformance.base import Broken, Checks, expect, finite, same
from vibrid.core.errors import VibridError
from vibrid.simulation.excitation import drive
from vibrid.simulation.explicit import CentralDifference
from vibrid.simulation.run import Everything, run
from vibrid.structures.base import GROUND, Structure
from vibrid.structures.describe import describe, rebuild

CHECKS = Checks()
SAMPLES = 40


class StructureExample(NamedTuple):
    """A structure and the name of a place on it."""

    structure: Structure
    place: str


def _moved(structure: Structure, size: float):
    """Displacements (samples, n) of a short run under a ground motion of this size, in steps of its fastest mode."""
    pull = size * jnp.sin(jnp.arange(SAMPLES) * 0.3)[:, None]
    model = structure.model(GROUND)
    mass, _, stiffness = (jax.lax.stop_gradient(m) for m in model.initial_matrices())
    fastest = jnp.sqrt(jnp.max(jnp.abs(jnp.linalg.solve(mass, stiffness)).sum(axis=1)))  # a bound of it
    return run(model, CentralDifference(), drive(pull), 0.2 / fastest, Everything())[0]


@CHECKS("its mass is symmetric and positive, its stiffness symmetric and not negative")
def matrices_are_sound(example: StructureExample) -> None:
    mass, _, stiffness = (np.asarray(m) for m in example.structure.model().initial_matrices())
    for what, matrix in (("mass", mass), ("stiffness", stiffness)):
        finite(matrix, f"the {what} matrix")
        same(matrix, matrix.T, f"the {what} matrix beside its transpose", atol=1e-9 * np.abs(matrix).max())
    least = np.linalg.eigvalsh(mass)[0]
    expect(least > 0, f"the smallest eigenvalue of the mass is {least:g} kg.")
    values = np.linalg.eigvalsh(stiffness)
    expect(values[0] >= -1e-9 * values[-1], f"the smallest eigenvalue of the stiffness is {values[0]:g} N/m.")


@CHECKS("its places are there, and others are refused with a message")
def places_are_there(example: StructureExample) -> None:
    structure = example.structure
    n = structure.model().size
    for what, row in (("row(place)", structure.row(example.place)), ("ground()", structure.ground())):
        expect(np.shape(row) == (n,), f"{what} has the shape {np.shape(row)} and should have ({n},).")
        finite(row, what)
    expect(bool(np.any(structure.row(example.place))), f"nothing moves at '{example.place}'.")
    try:
        structure.row("no such place")
    except VibridError:
        return
    except Exception as problem:
        raise Broken(f"an unknown place ends in {type(problem).__name__}, not in a message (InputError).") from problem
    raise Broken("it has a place called 'no such place'.")


@CHECKS("it stays at rest without excitation, and moves when the ground moves")
def rests_and_moves(example: StructureExample) -> None:
    same(_moved(example.structure, 0.0), 0.0, "a displacement without excitation")
    moved = np.asarray(_moved(example.structure, 1.0))
    finite(moved, "its motion")
    expect(bool(np.any(moved)), "the ground does not move it.")


@CHECKS("its motion has finite derivatives with respect to its parameters")
def derivatives_are_finite(example: StructureExample) -> None:
    numbers, rest = eqx.partition(example.structure, eqx.is_inexact_array)
    slope = jax.jit(jax.grad(lambda values: jnp.sum(_moved(eqx.combine(values, rest), 1.0) ** 2)))(numbers)
    for leaf in jax.tree.leaves(slope):
        finite(leaf, "a derivative of its motion")


@CHECKS("it survives as text in a result file")
def survives_as_text(example: StructureExample) -> None:
    models = (structure.model() for structure in (rebuild(describe(example.structure)), example.structure))
    for found, wanted in zip(*(model.initial_matrices() for model in models), strict=True):
        same(found, wanted, "a matrix of the structure that was read again")
