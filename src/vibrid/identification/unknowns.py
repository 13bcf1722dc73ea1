"""Unknowns: the parameters to identify, given as paths into the experiment, apart from the model.

Methods work with free variables φ of plain numbers, from which the physical parameters θ follow; θ stays within its
bounds for every φ. There are two such spaces, and a set of unknowns is in one of them:

- The **smooth** space has no edges: bounds are reached at infinity. Filters, samplers and networks need that.
- The **box** (`boxed`) has edges, which a step can reach: φ is ln(θ/start) for parameters that must be positive and
  (θ − start)/scale for the others. Descents need that: in the smooth space the gradient vanishes towards a bound, and
  a descent stalls there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import paths
from vibrid.core.arguments import Array, checked
from vibrid.core.errors import InputError
from vibrid.core.numbers import as_array
from vibrid.identification.box import STEP, WALL, Box
from vibrid.identification.experiment import Experiment
from vibrid.identification.places import NOISE, kind_of

KINDS = ("log", "interval", "above", "below", "linear")


if TYPE_CHECKING:
    from vibrid.identification.loads.unknown_load import UnknownLoad

    Unknowns: TypeAlias = "str | Unknown | UnknownLoad | Iterable[str | Unknown | UnknownLoad]"
else:
    Unknowns = object  # annotation of the argument `unknown`; `compile_unknowns` checks it


@checked
@dataclass(frozen=True)
class Unknown:
    """One unknown to identify; a path with `[*]` stands for one unknown at every index.

    Arguments
        path: where it is in the experiment: `storeys[*].stiffness`, `sensors[0].gain`, `sensors[*].offset`,
            `loads[0].offset` (of the measured excitation), `initial[0].displacement[2]`, …
        bounds: (low, high), either may be None. Parameters that must be positive are so without bounds.
        start: first guess; the value in the experiment by default. One value, or one for each index of `[*]`.
        prior: (mean, standard deviation) of a normal prior, in the parameter's unit.
        tied: all parameters that the path names share one value.
        scale: a typical size of the change, for parameters whose first guess is zero.
        name: its name in tables; the path by default.
    """

    path: str | Sequence[str]
    bounds: tuple[float | None, float | None] | None = None
    start: float | Sequence[float] | None = None
    prior: tuple[float, float] | None = None
    tied: bool = False
    scale: float | None = None
    name: str = ""


class UnknownSet(eqx.Module):
    """The unknowns of a problem, compiled: places, transformations, first guesses and priors."""

    names: tuple[str, ...] = eqx.field(static=True)
    units: tuple[str, ...] = eqx.field(static=True)
    places: tuple[tuple[str, ...], ...] = eqx.field(static=True)
    kinds: tuple[str, ...] = eqx.field(static=True)
    positive: tuple[bool, ...] = eqx.field(static=True)  # positive by its meaning, with or without bounds
    low: jax.Array
    high: jax.Array
    start: jax.Array  # θ at φ = 0 for "log" and "linear"
    scale: jax.Array
    prior_mean: jax.Array  # NaN where there is none
    prior_deviation: jax.Array

    def __len__(self) -> int:
        return len(self.names)

    def _is(self, kind: str):
        return jnp.asarray(np.array([k == kind for k in self.kinds]))

    @eqx.filter_jit
    def to_physical(self, free: Array) -> jax.Array:
        """θ from φ."""
        e = jnp.exp(jnp.clip(free, -60.0, 60.0))
        low, high = jnp.where(jnp.isfinite(self.low), self.low, 0.0), jnp.where(jnp.isfinite(self.high), self.high, 0.0)
        interval = low + (high - low) * jax.nn.sigmoid(free)
        out = self.start + self.scale * free
        out = jnp.where(self._is("log"), self.start * e, out)
        out = jnp.where(self._is("interval"), interval, out)
        out = jnp.where(self._is("above"), low + self.scale * e, out)
        out = jnp.where(self._is("below"), high - self.scale * e, out)
        moving = out - jax.lax.stop_gradient(out)  # zero; keeps the slope where rounding ends just outside a bound
        out = jnp.where(out < self.low, self.low + moving, out)
        return jnp.where(out > self.high, self.high + moving, out)

    def to_free(self, physical: Array) -> np.ndarray:
        """φ from θ; values outside a bound are moved to it, in the smooth space a little inside."""
        out = []
        if self.is_box:
            edges = (np.where(np.isfinite(b), b, e) for b, e in ((self.low, -np.inf), (self.high, np.inf)))
            physical = np.clip(np.asarray(physical, dtype=float), *edges)
        columns = (np.asarray(part, dtype=float) for part in (physical, self.start, self.scale, self.low, self.high))
        for kind, value, start, scale, low, high in zip(self.kinds, *columns, strict=True):
            if kind == "log":
                out.append(np.log(max(value / start, 1e-12)))
            elif kind == "interval":
                share = np.clip((value - low) / (high - low), 1e-6, 1 - 1e-6)
                out.append(np.log(share / (1 - share)))
            elif kind == "above":
                out.append(np.log(max((value - low) / scale, 1e-12)))
            elif kind == "below":
                out.append(np.log(max((high - value) / scale, 1e-12)))
            else:
                out.append((value - start) / scale)
        return np.array(out)

    @property
    def is_box(self) -> bool:
        return all(kind in ("log", "linear") for kind in self.kinds)

    def boxed(self) -> UnknownSet:
        """The same unknowns in the space with edges.

        Parameters that must be positive are logarithmic: they never quite reach a bound at zero. The others can be at a
        bound at zero, so they are linear.
        """
        start, low = np.asarray(self.start), np.asarray(self.low)
        log = (np.array(self.positive, bool) | (low > 0.0)) & (start > 0.0)
        return dataclasses.replace(self, kinds=tuple("log" if yes else "linear" for yes in log))

    def box(self) -> Box:
        """Where φ may be. The smooth space has no edges."""
        low, high = self._limits(np.asarray(self.low), -np.inf), self._limits(np.asarray(self.high), np.inf)
        log = np.array([kind == "log" for kind in self.kinds], bool)
        longest, trust, wall = np.full(len(self), STEP), np.where(log, STEP, np.inf), np.where(log, WALL, np.inf)
        return Box(low, high, longest, trust, wall)

    def _limits(self, bounds: np.ndarray, none: float) -> np.ndarray:
        """Bounds of θ as limits of φ; `none` where there is none."""
        limits, start, scale = np.full(len(self), none), np.asarray(self.start), np.asarray(self.scale)
        for i, kind in enumerate(self.kinds):
            if kind == "log" and bounds[i] > 0.0:
                limits[i] = np.log(bounds[i] / start[i])
            elif kind == "linear" and np.isfinite(bounds[i]):
                limits[i] = (bounds[i] - start[i]) / scale[i]
        return limits

    def named(self, patterns: Iterable[str]) -> np.ndarray:
        """(p,): the unknowns that any of the patterns names: a name, or a path in which `[*]` is any index and nothing
        else. A path may end early: `storeys` is everything in the storeys."""
        chosen = np.zeros(len(self), bool)
        for pattern in patterns:
            matches = np.array([pattern == name for name in self.names], bool)
            if not matches.any():
                asked = paths.parse(Experiment.full_path(pattern))
                matches = np.array([any(_begins(paths.parse(p), asked) for p in places) for places in self.places])
            if not matches.any():
                raise InputError(
                    f"The stage '{pattern}' names no unknown; write a name or a path of these: {', '.join(self.names)}."
                )
            chosen |= matches
        return chosen

    @property
    def needs(self) -> frozenset[str]:
        """Abilities that the places of the unknowns require of a method."""
        return frozenset(kind_of(place).need for places in self.places for place in places) - {""}

    def begins(self, record: int, records: int) -> bool:
        """Whether the initial state of a record, one of `records`, is unknown."""
        tokens = [paths.parse(place) for places in self.places for place in places]
        return any(t[0] == "initial" and int(t[1]) % records == record for t in tokens)

    def noise(self) -> dict[int, tuple[int, ...]]:
        """Unknowns that are the noise of sensors: the number of the unknown, and those of its sensors."""
        sensors = {}
        for i, places in enumerate(self.places):
            if all(kind_of(place) is NOISE for place in places):
                sensors[i] = tuple(int(paths.parse(place)[1]) for place in places)
        return sensors

    def at_bound(self, free: Array) -> np.ndarray:
        """(p,): −1 and 1 where θ(φ) is at its lower or upper bound (smooth: within 1 % of the interval)."""
        side = self.box().side(np.asarray(free))
        for i in np.flatnonzero(np.array(self.kinds) == "interval"):
            share = float(jax.nn.sigmoid(free[i]))
            side[i] = int(share > 0.99) - int(share < 0.01)
        return side

    @eqx.filter_jit
    def slope(self, free: Array) -> jax.Array:
        """dθ/dφ, one number per unknown."""
        return jax.jvp(self.to_physical, (free,), (jnp.ones_like(free),))[1]

    def apply(self, experiment: Experiment, free: Array) -> Experiment:
        """The experiment with the unknowns set to θ(φ)."""
        return self.place(experiment, self.to_physical(free))

    def place(self, experiment: Experiment, values: Array) -> Experiment:
        """The experiment with the unknowns set to physical values θ."""
        each = [(values[i], places) for i, places in enumerate(self.places)]
        return paths.replace(experiment, {place: value for value, places in each for place in places})

    @eqx.filter_jit
    def prior_residual(self, free: Array) -> jax.Array:
        """(θ − mean)/deviation of every prior; zero where there is none."""
        given = jnp.isfinite(self.prior_mean)
        r = (self.to_physical(free) - jnp.where(given, self.prior_mean, 0.0)) / jnp.where(
            given, self.prior_deviation, 1.0
        )
        return jnp.where(given, r, 0.0)

    @eqx.filter_jit
    def prior_slope(self, free: Array) -> jax.Array:
        """d prior_residual / dφ, (p, p)."""
        return jax.jacfwd(self.prior_residual)(free)


def _begins(path: tuple[Any, ...], pattern: tuple[Any, ...]) -> bool:
    """Whether a path begins with a pattern in which `*` is any index."""
    pairs = zip(path, pattern, strict=False)
    return len(pattern) <= len(path) and all(a == b or (b == "*" and isinstance(a, int)) for a, b in pairs)


def listed(unknown: Unknowns) -> list[str | Unknown | UnknownLoad]:
    """The unknowns as a list; a single path or `Unknown` need not be in one."""
    if isinstance(unknown, Iterable) and not isinstance(unknown, str | Mapping):
        return list(cast("Iterable[str | Unknown | UnknownLoad]", unknown))
    return [cast("str | Unknown | UnknownLoad", unknown)]


def compile_unknowns(
    experiment: Experiment,
    unknown: Iterable[str | Unknown],
    may_be_none: bool = False,
    size_of: Callable[[str], float | None] | None = None,
) -> UnknownSet:
    """Expand paths, choose transformations, and check that every first guess is allowed.

    `size_of` gives the natural size of a parameter whose first guess is zero, from its place; None where there is none.
    """
    rows: list[dict[str, Any]] = []
    for entry in listed(unknown):
        entry = Unknown(entry) if isinstance(entry, str) else entry
        if not isinstance(entry, Unknown):
            raise InputError(f"An unknown is a path such as 'storeys[*].stiffness' or an Unknown(path), not {entry!r}.")
        rows += _expand(experiment, entry, size_of or (lambda place: None))
    if not rows and not may_be_none:
        raise InputError("Nothing is unknown: name at least one parameter, e.g. unknown=['storeys[*].stiffness'].")
    taken = [_from_zero(experiment, place) for row in rows for place in row["places"]]
    twice = sorted({experiment.short_path(place) for place in taken if taken.count(place) > 1})
    if twice:
        raise InputError(f"{', '.join(twice)} is named as unknown more than once.")

    def column(key):
        return as_array([float(row[key]) for row in rows])

    return UnknownSet(
        names=tuple(r["name"] for r in rows),
        units=tuple(r["unit"] for r in rows),
        places=tuple(r["places"] for r in rows),
        kinds=tuple(r["kind"] for r in rows),
        positive=tuple(r["positive"] for r in rows),
        low=column("low"),
        high=column("high"),
        start=column("start"),
        scale=column("scale"),
        prior_mean=column("mean"),
        prior_deviation=column("deviation"),
    )


def _from_zero(experiment: Experiment, place: str) -> str:
    """The same place with every index counted from the first: `storeys[-1]` of three is `storeys[2]`."""
    tokens: tuple[str | int, ...] = ()
    for token in paths.parse(place):
        if isinstance(token, int) and token < 0:
            parts: Any = paths.get(experiment, paths.spell(tokens))
            token += len(parts)
        tokens = (*tokens, token)
    return paths.spell(tokens)


def _expand(experiment: Experiment, entry: Unknown, size_of) -> list[dict[str, Any]]:
    given = [entry.path] if isinstance(entry.path, str) else list(entry.path)
    places = [p for path in given for p in paths.expand(experiment, experiment.full_path(path))]
    groups = [tuple(places)] if entry.tied or not isinstance(entry.path, str) else [(p,) for p in places]
    start = np.asarray(np.nan if entry.start is None else entry.start, dtype=float)
    if start.shape not in ((), (1,), (len(groups),)):
        raise InputError(f"'{entry.path}' needs one start, or one for each of its {len(groups)}, not {start.tolist()}.")
    starts = np.broadcast_to(start, (len(groups),))
    rows = []
    for group, start in zip(groups, starts, strict=True):
        label = experiment.short_path(group[0]) if len(group) == 1 else experiment.short_path(given[0])
        name = entry.name if entry.name and len(groups) == 1 else label
        info = paths.info(experiment, group[0])
        value = float(np.asarray(paths.get(experiment, group[0])) if np.isnan(start) else start)
        if not np.isfinite(value):
            raise InputError(f"'{name}' has no finite first guess; give start=... for it.")
        rows.append(_row(name, info, group, value, entry, size_of))
    return rows


def _row(name: str, info, places: tuple[str, ...], value: float, entry: Unknown, size_of) -> dict[str, Any]:
    low, high = entry.bounds or (None, None)
    low = 0.0 if low is None and info.positive else low
    if low is not None and high is not None and not low < high:
        raise InputError(f"The bounds of '{name}' must be (low, high) with low < high, not ({low}, {high}).")
    if (low is not None and value < low) or (high is not None and value > high):
        raise InputError(
            f"The first guess of '{name}', {value:g}, is outside its bounds ({low}, {high}); give a start inside them."
        )
    mean, deviation = entry.prior or (np.nan, np.nan)
    if entry.prior and not deviation > 0:
        raise InputError(f"The prior of '{name}' needs a positive standard deviation, not {deviation}.")
    half = 0.5 * (high - low) if low is not None and high is not None else 1.0
    scale = entry.scale or abs(value) or (deviation if entry.prior else size_of(places[0]) or half)
    if low is not None and high is not None:
        kind = "interval"
    elif low == 0.0 and value > 0.0:
        kind = "log"
    elif low is not None:
        kind, scale = "above", max(value - low, 0.1 * scale)
    elif high is not None:
        kind, scale = "below", max(high - value, 0.1 * scale)
    else:
        kind = "linear"
    return {
        "name": name,
        "unit": info.unit,
        "places": places,
        "kind": kind,
        "positive": bool(info.positive),
        "low": np.nan if low is None else low,
        "high": np.nan if high is None else high,
        "start": value,
        "scale": scale,
        "mean": mean,
        "deviation": deviation,
    }
