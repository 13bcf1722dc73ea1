"""Array operations of a traced program as loops over rows: for steps on long arrays.

Where `unroll` writes every element of an array as a scalar of its own, here an array of `LEAST_ROW` elements and more is a
*row*: it is computed by a loop over its elements, a vector at a time, and the program does not grow with its length.

    node      a row that is computed element by element from others of the same length
    stored    a row that stands in memory: an argument, a part of another one, or a node that was stored

Nodes of one length whose arguments are at hand are one loop. What is at hand later has a larger `depth`: a node that
reads a stored row comes after the loop that stores it. Short arrays are scalars, as in `unroll`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from vibrid.core.native.scalars import NUMBER, ONCE, STEP, Assignment, Builder, NotNative, Ref, Scalar, same, type_of
from vibrid.core.native.unroll import Elements, Unroller
from vibrid.core.traced import Operation

LEAST_ROW = 8
"""Elements from which an array is a row: as many as the longest vector, or more."""
_MOST_PIECES = 12
_MOST_MOVED = 200_000  # elements of an array that is cut or put together


@dataclass(eq=False)
class Buffer:
    """Memory of a row.

    Fields
        kind: "in" or "out" (an array of the loop), "old" or "new" (a carried row before and after a step), "own".
        number: of the array, or the place in the scratch memory in numbers of 8 bytes.
        fixed: no other row may use the same memory.
    """

    kind: str
    size: int
    type: str
    number: int = 0
    by_step: bool = False
    fixed: bool = False
    numbers: tuple[float, ...] | None = None


@dataclass(eq=False)
class Stored:
    """`size` elements of a buffer from `first` on; at hand in loops of `depth` and later."""

    buffer: Buffer
    first: int
    size: int
    level: int
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
    level: int
    depth: int
    kept: Stored | None = None

    @property
    def loop(self) -> tuple[int, int, int]:
        """The loop in which it is computed."""
        return self.level, self.depth, self.size


@dataclass(eq=False)
class Row:
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


Long: TypeAlias = Elements | Row
_MOVES = {"reshape", "broadcast_in_dim", "transpose", "rev", "concatenate", "slice", "dynamic_slice", "pad", "gather",
          "scatter"}  # fmt: skip


class RowBuilder(Builder):
    """A builder that knows the depth of its scalars."""

    def __init__(self, most: int):
        super().__init__(most)
        self.depths: dict[str, int] = {}

    def emit(self, operation: str, type: str, *arguments: Any) -> Ref:
        result = super().emit(operation, type, *arguments)
        if result.name not in self.depths:
            self.depths[result.name] = max((self.depth(a) for a in arguments), default=0)
        return result

    def depth(self, a: Any) -> int:
        return self.depths.get(a.name, 0) if isinstance(a, Ref) else 0


@dataclass(eq=False)
class Put:
    """A scalar that is stored as one element of a row."""

    value: Scalar
    into: Stored
    level: int
    depth: int


@dataclass
class Stores:
    """What a program of rows stores."""

    rows: list[tuple[Node, Stored]] = field(default_factory=list)
    scalars: list[Put] = field(default_factory=list)


class RowUnroller(Unroller):
    """Runs programs on rows and scalars."""

    b: RowBuilder

    def __init__(self, builder: RowBuilder):
        super().__init__(builder)
        self.stores = Stores()
        self.known_rows: dict[tuple, Stored] = {}

    def results(self, operation: Operation, given: Sequence[Long]) -> list[Any]:
        kind, result = operation.kind, operation.results[0]
        long = result.size >= LEAST_ROW or any(isinstance(a, Row) for a in given)
        if not long or all(_is_known(a) for a in given):
            return super().results(operation, list(given))  # type: ignore[arg-type]
        by_element = self.by_element(operation)
        if by_element is not None:
            return [self.by_row(by_element, operation, given)]
        if kind == "reshape" and isinstance(given[0], Row):
            return [Row(result.shape, given[0].source)]
        if kind in _MOVES:
            return [self.moved(operation, given)]
        if kind == "reduce_sum" and isinstance(given[0], Row):
            return [self.summed(operation, given[0])]
        raise NotNative(f"the operation '{kind}' on rows")

    # -- element by element ----------------------------------------------------------------------------------------

    def by_row(self, write, o: Operation, given: Sequence[Long]) -> Long:
        result = o.results[0]
        operands = [self.operand(a, result.shape) for a in given]
        if not any(isinstance(a, Node | Stored) for a in operands):
            return np.broadcast_to(np.array(write(*operands), object), result.shape)
        return Row(result.shape, self.node(write, operands, result.size, type_of(result.dtype)))

    def operand(self, a: Long, shape: tuple[int, ...]) -> Node | Stored | Scalar:
        """An argument as what every element of a row reads: a row of the same shape, or one scalar for all."""
        if isinstance(a, Row):
            if a.shape != shape:
                raise NotNative("rows of different shapes")
            return a.source
        first = a.reshape(-1)[0]
        if all(b is first or same(first, b) for b in a.reshape(-1)):
            return first
        if a.shape != shape:
            raise NotNative("rows of different shapes")
        return self.of_elements(a)

    def node(self, write, operands: Sequence[Any], size: int, type: str) -> Node:
        level = min(max((a.level for a in operands if isinstance(a, Node | Stored | Ref)), default=ONCE), STEP)
        own = (a.depth if isinstance(a, Node | Stored) else self.b.depth(a) for a in operands if _level(a) == level)
        return Node(write, tuple(operands), size, type, level, max(own, default=0))

    def stored(self, a: Node | Stored) -> Stored:
        if isinstance(a, Stored):
            return a
        if a.kept is None:
            a.kept = Stored(Buffer("own", a.size, a.type, fixed=a.level == ONCE), 0, a.size, a.level, a.depth + 1)
        return a.kept

    def copied(self, a: Stored) -> Node:
        return self.node(lambda own: own, [a], a.size, a.type)

    def summed(self, o: Operation, a: Row) -> Long:
        axes = o.settings["axes"]
        if any(a.shape[axis] != 1 for axis in axes):
            raise NotNative("the sum of a row")
        return Row(o.results[0].shape, a.source)

    # -- rows from elements, and elements of rows ------------------------------------------------------------------

    def of_elements(self, a: Elements) -> Stored:
        """Scalars as a row."""
        own = list(a.reshape(-1))
        if not any(isinstance(b, Ref) for b in own):
            kind = NUMBER if isinstance(own[0], float) else ""
            if not kind:
                raise NotNative("known rows that are no numbers")
            key = tuple((b, np.signbit(b)) for b in own)
            if key not in self.known_rows:
                buffer = Buffer("known", len(own), kind, number=len(self.known_rows), numbers=tuple(own))
                self.known_rows[key] = Stored(buffer, 0, len(own), ONCE, 0)
            return self.known_rows[key]
        return self.assembled([(b, 1) for b in own])

    def element(self, a: Node | Stored, place: int) -> Ref:
        """One element of a row as a scalar."""
        row = self.stored(a)
        row.buffer.fixed = True
        key = ("element", id(row.buffer), row.first + place)
        block = self.b.block(row.level)
        found = block.find(key)
        if found is None:
            found = self.b.new(row.type, row.level)
            self.b.depths[found.name] = row.depth
            block.lines.append(Assignment(found, "element", (row, place)))
            block.found[key] = found
        return found

    # -- moving elements -------------------------------------------------------------------------------------------

    def moved(self, o: Operation, given: Sequence[Long]) -> Long:
        """An operation that only moves elements: done with marks instead of them."""
        if max(o.results[0].size, *(a.size for a in given)) > _MOST_MOVED:
            raise NotNative("a long row whose elements are moved")
        marks = [self.marked(i, a) for i, a in enumerate(given)]
        out = getattr(self, f"do_{o.kind}")(o, marks)
        flat = list(out.reshape(-1))
        sources = [a.source if isinstance(a, Row) else None for a in given]
        if out.size < LEAST_ROW or not any(isinstance(a, Mark) for a in flat):
            own = np.empty(out.size, object)
            own[:] = [self.element(sources[a.argument], a.place) if isinstance(a, Mark) else a for a in flat]  # type: ignore[arg-type]
            return own.reshape(out.shape)
        pieces = []
        for first, count in _runs(flat):
            if not isinstance(first, Mark):
                pieces.append((first, count))
                continue
            source = sources[first.argument]
            assert source is not None
            whole = first.place == 0 and count == source.size
            pieces.append((source if whole else self.part(source, first.place, count), count))
        if len(pieces) == 1:
            return Row(out.shape, pieces[0][0])
        if len(pieces) > _MOST_PIECES:
            raise NotNative("a row of many pieces")
        return Row(out.shape, self.assembled(pieces))

    def marked(self, i: int, a: Long) -> Elements:
        if not isinstance(a, Row):
            return a
        own = np.empty(a.size, object)
        own[:] = [Mark(i, place) for place in range(a.size)]
        return own.reshape(a.shape)

    def part(self, a: Node | Stored, first: int, count: int) -> Stored:
        row = self.stored(a)
        return Stored(row.buffer, row.first + first, count, row.level, row.depth)

    def assembled(self, pieces: Sequence[tuple[Any, int]]) -> Stored:
        """A row of pieces: rows, and scalars that are repeated."""
        type = next((a.type for a, _ in pieces if isinstance(a, Node | Stored | Ref)), NUMBER)
        buffer = Buffer("own", sum(count for _, count in pieces), type, fixed=True)
        level, depth, at = ONCE, 0, 0
        for a, count in pieces:
            into = Stored(buffer, at, count, ONCE, 0)
            for own_level, own_depth in self.put(a, into):
                if own_level == level:
                    depth = max(depth, own_depth + 1)
                elif own_level > level:
                    level, depth = own_level, own_depth + 1
            at += count
        return Stored(buffer, 0, at, level, depth)

    def put(self, a: Any, into: Stored) -> list[tuple[int, int]]:
        """Store a row or a repeated scalar; returns the levels and depths at which that happens."""
        if into.size >= LEAST_ROW:
            node = a if isinstance(a, Node) else self.copied(a) if isinstance(a, Stored) else None
            node = node or self.node(lambda own: own, [a], into.size, into.type)
            self.stores.rows.append((node, into))
            return [(node.level, node.depth)]
        done = []
        for place in range(into.size):
            own = self.element(a, place) if isinstance(a, Node | Stored) else a
            level = own.level if isinstance(own, Ref) else ONCE
            part = Stored(into.buffer, into.first + place, 1, level, 0)
            self.stores.scalars.append(Put(own, part, level, self.b.depth(own)))
            done.append((level, self.b.depth(own)))
        return done

    # -- what rows do not know -------------------------------------------------------------------------------------

    def do_while(self, o: Operation, given):
        raise NotNative("iterations beside rows")


def _level(a: Any) -> int:
    return a.level if isinstance(a, Node | Stored | Ref) else ONCE


def _is_known(a: Long) -> bool:
    return not isinstance(a, Row) and not any(isinstance(b, Ref) for b in a.reshape(-1))


def _runs(flat: list[Any]) -> list[tuple[Any, int]]:
    """First elements and lengths of runs: of places one after another, or of equal scalars."""
    runs: list[tuple[Any, int]] = []
    for a in flat:
        if runs:
            first, count = runs[-1]
            if isinstance(first, Mark) and isinstance(a, Mark):
                goes_on = a.argument == first.argument and a.place == first.place + count
            else:
                goes_on = a is first or same(a, first)
            if goes_on:
                runs[-1] = first, count + 1
                continue
        runs.append((a, 1))
    return runs
