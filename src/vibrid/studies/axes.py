"""The axes of a study: what varies along each dimension of its dataset, and which run has which values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import paths
from vibrid.core.arguments import Numbers
from vibrid.core.errors import InputError, unknown_name
from vibrid.identification.result import Identification
from vibrid.structures.base import Structure
from vibrid.studies.distributions import SAMPLINGS, Distribution, draws

COMBINATIONS = ("grid", "zip", *SAMPLINGS)
MOST_RUNS = 10_000_000
"""The most runs of one study: their places are kept in memory."""


@dataclass(frozen=True, eq=False)
class Axis:
    """One dimension of a study.

    name: of the dimension; labels: (size,) what stands at its ticks, numbers or texts; values: by path, (size,) numbers
    of parameters that change along it; units: by path; grows: whether more ticks may be added later.
    """

    name: str
    labels: np.ndarray
    values: dict[str, np.ndarray]
    units: dict[str, str]
    grows: bool = True

    @property
    def size(self) -> int:
        return len(self.labels)

    def ordered(self, order: Sequence[int]) -> Axis:
        """The same axis with its ticks in another order."""
        places = np.asarray(order, int)
        return replace(self, labels=self.labels[places], values={path: v[places] for path, v in self.values.items()})


def plain_name(path: str) -> str:
    """A path as the name of a dimension or a variable: `storeys[*].stiffness` is `storeys.stiffness`."""
    return path.replace("[*]", "")


def parameter_axes(
    structure: Structure,
    vary: Mapping[str, Any] | Identification | None,
    combine: str | None,
    count: int | None,
    correlation: Numbers | None,
    key: int,
) -> list[Axis]:
    """The axes of the parameters: one for each list, and one called `sample` for all that is drawn or zipped."""
    if isinstance(vary, Identification):
        return [posterior_axis(vary, 200 if count is None else count, key)]
    vary = dict(vary or {})
    drawn = {path: d for path, d in vary.items() if isinstance(d, Distribution)}
    listed = {path: _list(path, v) for path, v in vary.items() if path not in drawn}
    combine = ("latin-hypercube" if drawn else "grid") if combine is None else combine
    if combine not in COMBINATIONS:
        raise unknown_name("way to combine parameters", combine, COMBINATIONS)
    if drawn and combine not in SAMPLINGS:
        raise InputError(
            f"{', '.join(drawn)} has a distribution and cannot be combined as a {combine}: choose one of "
            f"{', '.join(SAMPLINGS)} (lists stay dimensions of their own)."
        )
    if not drawn and (combine in SAMPLINGS or correlation is not None or count is not None):
        raise InputError("No parameter has a distribution, so that there is nothing to draw: leave out what says how.")
    axes = []
    if drawn:
        if count is None or count < 1:
            raise InputError("State how many samples are drawn from the distributions: count=100.")
        check_size([count])
        values = draws(list(drawn.values()), count, combine, correlation, key)
        axes.append(_axis("sample", structure, dict(zip(drawn, values.T, strict=True)), grows=False))
    if combine == "zip" and listed:
        lengths = {path: len(v) for path, v in listed.items()}
        if len(set(lengths.values())) > 1:
            spoken = ", ".join(f"{path}: {n}" for path, n in lengths.items())
            raise InputError(f"Lists that are zipped have the same length, not {spoken}.")
        axes.append(_axis("sample", structure, listed))
    else:
        axes += [_axis(plain_name(path), structure, {path: values}) for path, values in listed.items()]
    for axis in axes:
        paths.check_values(structure, axis.values)
    return axes


def _list(path: str, given: Any) -> np.ndarray:
    try:
        values = np.asarray(given, float)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise InputError(f"'{path}' varies over a list of finite numbers or a distribution, not {given!r:.80}.")
    return values


def _axis(name: str, structure: Structure, values: dict[str, np.ndarray], grows: bool = True) -> Axis:
    units = {path: paths.info(structure, paths.expand(structure, path)[0]).unit for path in values}
    first = next(iter(values.values()))
    alone = len(values) == 1 and name != "sample"
    if alone and len(set(first.tolist())) < len(first):
        raise InputError(f"The list of '{name}' has a value twice.")
    return Axis(name, first if alone else np.arange(len(first)), values, units, grows)


def posterior_axis(fit: Identification, count: int, key: int = 0) -> Axis:
    """Draws from the uncertainty of a fit: of its samples where the method has them, else of the normal distribution of
    its free variables, so that signs and bounds are respected. Unknowns outside the structure are left out."""
    if count < 1:
        raise InputError(f"The number of samples must be at least one, not {count}.")
    check_size([count])
    unknowns, generator = fit.problem.unknowns, np.random.default_rng(key)
    if fit.samples is not None:
        physical = np.asarray(fit.samples)[generator.integers(len(fit.samples), size=count)]
    elif fit.free_covariance is not None:
        covariance = np.where(np.isfinite(fit.free_covariance), fit.free_covariance, 0.0)
        sizes, vectors = np.linalg.eigh(covariance)
        steps = generator.standard_normal((count, len(sizes))) * np.sqrt(np.maximum(sizes, 0.0))
        physical = np.asarray(jax.vmap(unknowns.to_physical)(jnp.asarray(fit.free + steps @ vectors.T)))
    else:
        raise InputError(
            f"{fit.method} gives no uncertainty, so that nothing can be drawn; identify with a method that does."
        )
    root, values, units = "structure.", {}, {}
    for i, places in enumerate(unknowns.places):
        for place in places:
            if place.startswith(root):
                values[place.removeprefix(root)] = physical[:, i]
                units[place.removeprefix(root)] = unknowns.units[i]
    if not values:
        raise InputError("None of the unknowns of this fit belongs to the structure: there is nothing to vary.")
    return Axis("sample", np.arange(count), values, units, grows=False)


def check_size(sizes: Sequence[int]) -> int:
    """The number of runs; refused with its size where it is too many."""
    runs = math.prod(sizes)
    if runs > MOST_RUNS:
        shape = " × ".join(f"{size:,}" for size in sizes).replace(",", " ")
        raise InputError(
            f"This study has {shape} = {_spoken(runs)} runs; at most {_spoken(MOST_RUNS)} can be made. Vary fewer "
            "parameters at once, or draw samples from distributions instead of a grid."
        )
    return runs


def _spoken(number: int) -> str:
    return re.sub(r"(?<=\d)(?=(\d{3})+$)", " ", str(number)) if number < 10**15 else f"{number:.3g}"


def refuse_twice(axes: Sequence[Axis], taken: Sequence[str]) -> None:
    """Refuse axes, parameters or variables of one name."""
    names = [axis.name for axis in axes] + list(taken)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"Two dimensions of the study have the name '{twice[0]}'.")
    varied = [path for axis in axes for path in axis.values]
    again = sorted({path for path in varied if varied.count(path) > 1})
    if again:
        raise InputError(f"'{again[0]}' varies along two dimensions of the study.")
