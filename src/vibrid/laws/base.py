"""The base classes of laws: the force of one part of a structure.

A law is written for one part. `e` and `w` are its deformation and deformation rate: scalars for a spring-like part,
`(components,)` vectors for parts with several (a section, an element). Laws of one type are stacked and evaluated
together by the model.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.arguments import as_entries
from vibrid.core.errors import InputError, Refusal
from vibrid.core.missing import Missing
from vibrid.core.parameters import Parameterised
from vibrid.core.registry import Registry

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes

LAWS = Registry("law", reserved=("parallel",))


CORNERS = ("none", "turns", "within")
"""Where the force of a law has corners along a smooth path: nowhere; where the motion turns; or also between two turns,
at places that depend on its parameters. Between corners every law has exact derivatives by its parameters; a fit of one
with corners within has a rough misfit."""


class Motion(NamedTuple):
    """Deformation `e` and deformation rate `w` of a part at one instant."""

    e: jax.Array
    w: jax.Array


class Law(Parameterised):
    """The force of a part from its deformation, its rate and a state.

    A *path law* overrides `start`, `force` and `advance`: its state follows the path of the deformation. Laws whose
    state obeys a differential equation derive from `RateLaw`; laws without a state from `StaticLaw`.
    """

    components: ClassVar[int] = 1  # number of deformations; 1 means scalars
    component_names: ClassVar[tuple[str, ...]] = ()  # names of the forces of a part with several, for sensors
    is_linear: ClassVar[bool] = False
    is_heavy: ClassVar[bool] = False  # a step costs far more than the loop around it
    is_stiff: ClassVar[bool] = False  # the state moves much faster than the structure: explicit rates need tiny steps
    corners: ClassVar[str] = "within"  # where its force bends sharply: see CORNERS
    is_averageable: ClassVar[bool] = True  # the mean of two states is a state, as a Kalman filter assumes

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        """Parameters of a first guess from measured loops, by name, where their units alone would say less."""
        return {}

    def start(self) -> Any:
        """The state at rest, from the parameters."""
        return ()

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        """The force at deformation `e`, rate `w` and state `s`; has no side effect."""
        raise NotImplementedError

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        """The state after a step of `dt` seconds from the committed state `s`, moving from `before` to `after`.

        May be called again from the same `s` with another `after`: nothing is remembered between calls.
        """
        raise NotImplementedError

    def overflowed(self, s: Any) -> jax.Array:
        """Whether a memory of fixed capacity was too small for the path (also of a stack of states): such a run is
        refused."""
        return jnp.zeros((), bool)

    def slope(
        self,
        s: Any,
        before: Motion,
        after: Motion,
        dt: jax.Array | float,
        dx: jax.Array | float,
        dv: jax.Array | float,
        end: Any = None,
    ) -> jax.Array:
        """dF/dq at the end of a step, its state included, when the end moves by `dx q` and its rate by `dv q`.

        `end` is the state there where it is known already: laws that hold their own tangent take it from there.
        """

        def force(q):
            end = Motion(after.e + dx * q, after.w + dv * q)
            return self.force(*end, self.advance(s, before, end, dt))

        return jax.jacfwd(force)(jnp.zeros_like(after.e))

    def recorded(self, s: Any) -> Any:
        """The part of a state that a response keeps, enough for `force`; all of it, unless that would be too much."""
        return s

    def initial_stiffness(self) -> jax.Array:
        """dF/de at rest, for a quick small deformation from rest."""
        zero = self._zero()
        h = 1e-9

        def path(e):
            s = self.advance(self.start(), Motion(zero, e / h), Motion(e, e / h), h)
            return self.force(e, zero, s)

        return jax.jacfwd(path)(zero)

    def initial_damping(self) -> jax.Array:
        """dF/dw at rest."""
        zero = self._zero()
        return jax.jacfwd(lambda w: self.force(zero, w, self.start()))(zero)

    def simplify(self, free: frozenset[str]) -> Law:
        """An equal law that is cheaper to evaluate, using the values of parameters whose names are not `free`."""
        return self

    def _zero(self):
        return jnp.zeros(() if self.components == 1 else (self.components,))


class RateLaw(Law):
    """A law whose state obeys `ds/dt = state_rate(e, w, s)`."""

    corners: ClassVar[str] = "turns"

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        """ds/dt at deformation `e`, rate `w` and state `s`."""
        raise NotImplementedError

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        """The midpoint rule: second order, two evaluations; stiff laws override it with an implicit step."""
        half = _axpy(0.5 * dt, self.state_rate(before.e, before.w, s), s)
        e_mid = 0.5 * (before.e + after.e) + dt / 8.0 * (before.w - after.w)
        w_mid = 0.5 * (before.w + after.w)
        return _axpy(dt, self.state_rate(e_mid, w_mid, half), s)


class StaticLaw(RateLaw):
    """A law without a state."""

    corners: ClassVar[str] = "none"

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        return ()

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        return ()


def check_law(law: Law) -> None:
    """Refuse a law that was given lists instead of single numbers: the shape of its force is wrong."""
    if isinstance(law, Missing):
        return  # its force cannot be computed
    zero = jnp.zeros(() if law.components == 1 else (law.components,))
    try:
        shape = jax.eval_shape(lambda: law.force(zero, zero, law.start())).shape
    except (TypeError, ValueError, IndexError) as problem:
        raise InputError(f"the law cannot be evaluated with these values ({problem}).") from None
    if shape != zero.shape:
        raise InputError("a list was given where this law wants one number (or one number where it wants a list).")


class Parallel(Law):
    """Several laws that share one deformation; their forces add. Written `Parallel([law, law])`."""

    # Constants of the class for other laws depend here on the laws it holds: hence properties.

    laws: tuple[Law, ...] = eqx.field(converter=lambda value: as_entries(value, "laws"))

    def __check_init__(self) -> None:
        for law in self.laws:
            if not isinstance(law, Law):
                raise InputError(f"Parallel([...]) holds laws such as Linear(stiffness=...), not {law!r}.")

    @property
    def is_linear(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return all(law.is_linear for law in self.laws)

    @property
    def is_stiff(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return any(law.is_stiff for law in self.laws)

    @property
    def corners(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return max((law.corners for law in self.laws), key=CORNERS.index, default="none")

    @property
    def is_averageable(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return all(law.is_averageable for law in self.laws)

    def start(self) -> Any:
        return tuple(law.start() for law in self.laws)

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return cast("jax.Array", sum(law.force(e, w, state) for law, state in zip(self.laws, s, strict=True)))

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        laws: tuple[Any, ...] = self.laws
        for law in laws:
            refuse_without_rate(law)
        return tuple(law.state_rate(e, w, state) for law, state in zip(laws, s, strict=True))

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        return tuple(law.advance(state, before, after, dt) for law, state in zip(self.laws, s, strict=True))

    def overflowed(self, s: Any) -> jax.Array:
        parts = (law.overflowed(state) for law, state in zip(self.laws, s, strict=True))
        return functools.reduce(jnp.logical_or, parts, jnp.zeros((), bool))


def with_fields(law: Law, **values: Any) -> Any:
    """A copy with other values of some fields that need no check: ten times cheaper than `dataclasses.replace`."""
    kind: Any = type(law)
    copy = object.__new__(kind)
    for name in _names_of_fields(kind):
        object.__setattr__(copy, name, values[name] if name in values else object.__getattribute__(law, name))
    return copy


@functools.cache
def _names_of_fields(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(kind))


def may_overflow(law: Law) -> bool:
    """Whether a law has a memory of fixed capacity."""
    if isinstance(law, Parallel):
        return any(may_overflow(part) for part in law.laws)
    return type(law).overflowed is not Law.overflowed


def has_rate(law: Law) -> bool:
    """Whether the state of a law obeys a differential equation (or the law has no state)."""
    if isinstance(law, Parallel):
        return all(has_rate(part) for part in law.laws)
    return isinstance(law, RateLaw)


def refuse_without_rate(law: Law) -> None:
    """Refuse a path law where ds/dt is needed."""
    if not has_rate(law):
        raise Refusal(
            f"{type(law).__name__} remembers the path of its deformation and has no rate equation. "
            "Use an integrator that advances the path (Newmark, CentralDifference, KRAlpha, MKRAlpha)."
        )


def _axpy(a, x, y):
    return jax.tree.map(lambda xi, yi: yi + a * xi, x, y)


def absolute_power(z: jax.Array, exponent: jax.Array | float) -> jax.Array:
    """`|z|**exponent` with value 0 and a finite gradient at z = 0, for any positive exponent.

    A Python int is multiplied out: ten times cheaper than the exponential of a logarithm.
    """
    size = jnp.abs(z)
    if isinstance(exponent, int):
        return cast("jax.Array", math.prod([size] * exponent))
    safe = jnp.where(size > 1e-30, size, 1.0)
    return jnp.where(size > 1e-30, jnp.exp(exponent * jnp.log(safe)), 0.0)


def simplified(tree: Any, free: Iterable[str] = ()) -> Any:
    """The same structure with laws that are cheaper to evaluate, for runs in which parameter values are known.

    `free` are the paths of parameters that will still change. Either all laws of a type are simplified in the same way
    or none, so that they stack as before.
    """
    names = frozenset(re.findall(r"[A-Za-z_]\w*", " ".join(free)))
    laws = list(_single_laws(tree))
    cheap = {id(law): type(law).simplify(law, names) for law in laws}  # a method bound to a module is a module: slow
    kinds: dict[type, set] = {}
    for law in laws:
        kinds.setdefault(type(law), set()).add(jax.tree.structure(cheap[id(law)]))

    def simplify(node):
        return cheap[id(node)] if _is_single_law(node) and len(kinds[type(node)]) == 1 else node

    return jax.tree.map(simplify, tree, is_leaf=_is_single_law)


def _single_laws(tree: Any) -> Iterable[Law]:
    """The laws in a tree, each object once."""
    found = filter(_is_single_law, jax.tree.leaves(tree, is_leaf=_is_single_law))
    return {id(law): law for law in found}.values()


def _is_single_law(node) -> bool:
    return isinstance(node, Law) and not isinstance(node, Parallel)
