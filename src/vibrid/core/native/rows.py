"""Rows: long arrays of a step, gone over in loops.

Where `unroll` writes every element of an array as a scalar of its own, an array of `LEAST_ROW` elements or more can be
a *row*: it is computed by a loop over its elements, a vector at a time, and the program does not grow with its length.

    node      a row that is computed element by element from others of the same length
    stored    a row that stands in memory: an argument, a part of another one, or a node that was stored
    action    work on stored rows that is no such loop: a sum, a product with a matrix, iterations

Everything belongs to a *scope*: before the loop over time (`ONCE`), a step (`STEP`), or the iterations of a while loop
inside. Nodes of one scope and length whose arguments are at hand are one loop. What is at hand later has a larger
`depth`: a node that reads a stored row comes after the loop that stores it. Short arrays are scalars, as in `unroll`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vibrid.core.native.scalars import LANE, ONCE, STEP, Block, Builder, Ref, Scalar

LEAST_ROW = 8
"""Elements from which an array is a row: as many as the longest vector, or more."""


@dataclass(eq=False)
class Buffer:
    """Memory of a row.

    Fields
        kind: "in" or "out" (an array of the loop), "old" or "new" (a carried row before and after a step), "own" (in
            the scratch memory) or "known" (its numbers stand in the program).
        number: of the array, or the place in the scratch memory in numbers of 8 bytes.
        fixed: no other row may use the same memory.
    """

    kind: str
    size: int
    type: str
    number: int = 0
    by_step: bool = False
    fixed: bool = False
    numbers: tuple[float | int | bool, ...] | None = None


@dataclass(eq=False)
class Stored:
    """`size` elements of a buffer from `first` on; at hand at `depth` of its scope and later."""

    buffer: Buffer
    first: int
    size: int
    scope: int
    depth: int

    @property
    def type(self) -> str:
        return self.buffer.type


@dataclass(eq=False)
class Node:
    """A row whose elements are `write` of those of the arguments; `kept` where it is stored for later loops."""

    write: Callable[..., Scalar]
    arguments: tuple[Any, ...]
    size: int
    type: str
    scope: int
    depth: int
    kept: Stored | None = None

    @property
    def loop(self) -> tuple[int, int, int]:
        """The loop in which it is computed."""
        return self.scope, self.depth, self.size


@dataclass(eq=False)
class LongRow:
    """A long array: its shape, and its elements one after another."""

    shape: tuple[int, ...]
    source: Node | Stored

    @property
    def size(self) -> int:
        return self.source.size


@dataclass(frozen=True, slots=True)
class Mark:
    """The place of an element in one of the arguments of an operation."""

    argument: int
    place: int


@dataclass(eq=False)
class Put:
    """A scalar that is stored as one element of a row."""

    value: Scalar
    into: Stored
    scope: int
    depth: int


@dataclass(eq=False)
class RowAction:
    """Work on stored rows; its results are at hand at the depth after its own.

    reduce    result: a scalar; how: "add", "max", "min", "and" or "or"
    product   into: matrix (rows, columns) times a row
    gather    into: elements of a row at `places`
    add at    into: to its elements at `places` those of a row are added; a place of −1 is left out
    solve     into, which holds b before: x of `a x = b`; the first row is a, and lost
    solve bands   the same with the bands of a (`core.banded`)
    while     `variables` and `rows` (their memory, and the rows that they become) while `go_on`
    """

    kind: str
    scope: int
    depth: int
    rows: list[Stored] = field(default_factory=list)
    into: Stored | None = None
    result: Ref | None = None
    how: str = ""
    places: np.ndarray | None = None
    variables: list[tuple[Ref, Scalar, Scalar]] = field(default_factory=list)
    after: list[tuple[Stored, Stored]] = field(default_factory=list)
    go_on: Scalar = False
    inside: tuple[int, int] = (0, 0)  # the scopes of test and body


@dataclass
class Stores:
    """What a program of rows stores and does."""

    rows: list[tuple[Node, Stored]] = field(default_factory=list)
    scalars: list[Put] = field(default_factory=list)
    actions: list[RowAction] = field(default_factory=list)


class RowBuilder(Builder):
    """A builder that knows the scope and the depth of its scalars."""

    def __init__(self, most: int):
        super().__init__(most)
        self.depths: dict[str, int] = {}
        self.scopes: dict[str, int] = {}
        self.blocks = [self.once, self.step]
        self.headers: dict[int, int] = {}  # scope of a body: scope of its test
        self.deepest = {ONCE: 0, STEP: 0}
        self.here = STEP

    def open(self, header: int | None = None) -> int:
        """A new scope inside the one at hand, which is then at hand; `header` is that of the test of a body."""
        self.blocks.append(Block(self.blocks[self.here]))
        scope = len(self.blocks) - 1
        if header is not None:
            self.headers[scope] = header
        self.deepest[scope] = 0
        self.at(scope)
        return scope

    def at(self, scope: int) -> None:
        self.here = scope
        self.inner = self.blocks[scope] if scope > STEP else None

    def emit(self, operation: str, type: str, *arguments: Any) -> Ref:
        result = super().emit(operation, type, *arguments)
        if result.level != LANE and result.name not in self.depths:
            scope = ONCE if result.level == ONCE else self.here if self.here > STEP else STEP
            self.told(result, scope, max((self.depth(a, scope) for a in arguments), default=0))
        return result

    def block(self, level: int) -> Block:
        return self.lane if level == LANE else super().block(level)

    def told(self, a: Ref, scope: int, depth: int) -> Ref:
        self.scopes[a.name], self.depths[a.name] = scope, depth
        self.deepest[scope] = max(self.deepest[scope], depth)
        return a

    def scope(self, a: Any) -> int:
        """Where a row or scalar belongs to; known numbers belong to everywhere."""
        if isinstance(a, Node | Stored):
            return a.scope
        if isinstance(a, Ref):
            return self.scopes.get(a.name, a.level)
        return ONCE

    def depth(self, a: Any, scope: int) -> int:
        """When it is at hand in a scope."""
        if self.scope(a) != scope:
            return 0
        return a.depth if isinstance(a, Node | Stored) else self.depths.get(a.name, 0) if isinstance(a, Ref) else 0

    def home(self, given: Any) -> tuple[int, int]:
        """Scope and depth of what is computed from others."""
        scope = max((self.scope(a) for a in given), default=ONCE)
        if self.headers.get(self.here) == scope:
            scope = self.here  # what only the body needs is not computed before the test
        depth = max((self.depth(a, scope) for a in given), default=0)
        self.deepest[scope] = max(self.deepest[scope], depth)
        return scope, depth
