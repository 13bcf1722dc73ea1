"""Array operations of a traced program as rows, scalars and actions (`rows`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from vibrid.core.native.rows import LEAST_ROW, Buffer, LongRow, Mark, Node, Put, RowAction, RowBuilder, Stored, Stores
from vibrid.core.native.scalars import ONCE, STEP, Assignment, NotNative, Ref, Scalar, _type, same, type_of
from vibrid.core.native.unroll import Elements, Unroller
from vibrid.core.traced import Operation

_MOST_PIECES = 12
_MOST_MOVED = 300_000  # elements of an array that is cut or put together

Long: TypeAlias = Elements | LongRow
_MOVES = {"reshape", "broadcast_in_dim", "transpose", "rev", "concatenate", "slice", "dynamic_slice", "pad", "gather",
          "scatter"}  # fmt: skip


class RowUnroller(Unroller):
    """Runs programs on rows and scalars."""

    b: RowBuilder

    def __init__(self, builder: RowBuilder):
        super().__init__(builder)
        self.stores = Stores()
        self.kept: list[Node] = []
        self.known_rows: dict[tuple, Stored] = {}

    def results(self, operation: Operation, given: Sequence[Long]) -> list[Any]:
        kind, result = operation.kind, operation.results[0]
        short = result.size < LEAST_ROW and not any(isinstance(a, LongRow) for a in given)
        if short or kind in ("while", "cond", "scan") or all(map(_is_known, given)):
            return super().results(operation, list(given))  # type: ignore[arg-type]
        if max(result.size, *(a.size for a in given)) > _MOST_MOVED:
            raise NotNative("a very long row")
        by_element = self.by_element(operation)
        if by_element is not None:
            return [self.by_row(by_element, operation.results[0], given)]
        if kind in _MOVES:
            return [self.moved(operation, given)]
        write = getattr(self, f"row_{kind.replace('-', '_')}", None)
        if write is None:
            raise NotNative(f"the operation '{kind}' on rows")
        return [write(operation, list(given))]

    # -- element by element ----------------------------------------------------------------------------------------

    def by_row(self, write, result: Any, given: Sequence[Long]) -> Long:
        if result.size < LEAST_ROW:
            scalars = [np.broadcast_to(self.in_scalars(a), result.shape).reshape(-1) for a in given]
            out = np.empty(result.size, object)
            out[:] = [write(*own) for own in zip(*scalars, strict=True)]
            return out.reshape(result.shape)
        operands = [self.operand(a, result.shape) for a in given]
        if not any(isinstance(a, Node | Stored) for a in operands):
            return np.broadcast_to(np.array(write(*operands), object), result.shape)
        return LongRow(result.shape, self.node(write, operands, result.size, type_of(result.dtype)))

    def in_scalars(self, a: Long) -> Elements:
        """A short array as scalars."""
        if not isinstance(a, LongRow):
            return a
        own = np.empty(a.size, object)
        own[:] = [self.element(a.source, place) for place in range(a.size)]
        return own.reshape(a.shape)

    def operand(self, a: Long, shape: tuple[int, ...]) -> Node | Stored | Scalar:
        """An argument as what every element of a row reads: a row of the same shape, or one scalar for all."""
        if isinstance(a, LongRow):
            made = a if a.shape == shape else self.of_marks(np.broadcast_to(self.marked(0, a), shape), [a.source])
            assert isinstance(made, LongRow)
            return made.source
        first = a.reshape(-1)[0]
        if all(b is first or same(first, b) for b in a.reshape(-1)):
            return first
        return self.of_elements(np.broadcast_to(a, shape))

    def node(self, write, operands: Sequence[Any], size: int, type: str) -> Node:
        return Node(write, tuple(operands), size, type, *self.b.home(operands))

    def stored(self, a: Node | Stored) -> Stored:
        if isinstance(a, Stored):
            return a
        if a.kept is None:
            a.kept = self.memory(a.size, a.type, a.scope, a.depth + 1, fixed=a.scope != STEP)
            self.kept.append(a)
        return a.kept

    def memory(self, size: int, type: str, scope: int, depth: int, fixed: bool = True) -> Stored:
        self.b.deepest[scope] = max(self.b.deepest[scope], depth)
        return Stored(Buffer("own", size, type, fixed=fixed), 0, size, scope, depth)

    def copied(self, a: Any, size: int, type: str) -> Node:
        return self.node(lambda own: own, [a], size, type)

    def as_stored(self, a: Long) -> Stored:
        """An array that stands in memory."""
        if isinstance(a, LongRow):
            return self.stored(a.source)
        own = list(a.reshape(-1))
        if all(b is own[0] or same(own[0], b) for b in own):
            return self.assembled([(own[0], len(own))])
        return self.of_elements(a)

    # -- rows from elements, and elements of rows ------------------------------------------------------------------

    def of_elements(self, a: Elements) -> Stored:
        """Scalars as a row."""
        own = list(a.reshape(-1))
        if any(isinstance(b, Ref) for b in own):
            return self.assembled([(b, 1) for b in own])
        type = _type(*own)
        key = (type, *((b, bool(np.signbit(b))) for b in own))
        if key not in self.known_rows:
            buffer = Buffer("known", len(own), type, number=len(self.known_rows), numbers=tuple(own))
            self.known_rows[key] = Stored(buffer, 0, len(own), ONCE, 0)
        return self.known_rows[key]

    def element(self, a: Node | Stored, place: int) -> Ref:
        """One element of a row as a scalar."""
        row = self.stored(a)
        row.buffer.fixed = True
        key = ("element", id(row.buffer), row.first + place)
        scope = ONCE if row.scope == ONCE else self.b.here
        block = self.b.blocks[scope]
        found = block.find(key)
        if found is None:
            found = self.b.new(row.type, min(scope, STEP))
            self.b.told(found, scope, self.b.depth(row, scope))
            block.lines.append(Assignment(found, "element", (row, place)))
            block.found[key] = found
        return found

    # -- moving elements -------------------------------------------------------------------------------------------

    def moved(self, o: Operation, given: Sequence[Long]) -> Long:
        """An operation that only moves elements: done with marks instead of them."""
        if o.kind == "reshape" and isinstance(given[0], LongRow) and given[0].size >= LEAST_ROW:
            return LongRow(o.results[0].shape, given[0].source)
        marks = [self.marked(i, a) for i, a in enumerate(given)]
        out = getattr(self, f"do_{o.kind}")(o, marks)
        return self.of_marks(out, [a.source if isinstance(a, LongRow) else None for a in given])

    def marked(self, i: int, a: Long) -> Elements:
        if not isinstance(a, LongRow):
            return a
        own = np.empty(a.size, object)
        own[:] = [Mark(i, place) for place in range(a.size)]
        return own.reshape(a.shape)

    def index(self, a: Any) -> int:
        if isinstance(a, Mark):
            raise NotNative("an index that is known only when the program runs")
        return super().index(a)

    def of_marks(self, out: Elements, sources: Sequence[Node | Stored | None]) -> Long:
        """Elements of rows, and scalars beside them, as an array."""
        flat = list(out.reshape(-1))
        if out.size < LEAST_ROW or not any(isinstance(a, Mark) for a in flat):
            own = np.empty(out.size, object)
            own[:] = [self.element(sources[a.argument], a.place) if isinstance(a, Mark) else a for a in flat]  # type: ignore[arg-type]
            return own.reshape(out.shape)
        runs = _runs(flat)
        if len(runs) > _MOST_PIECES:
            return LongRow(out.shape, self.gathered(flat, sources))
        pieces: list[tuple[Any, int]] = []
        for first, count in runs:
            if not isinstance(first, Mark):
                pieces.append((first, count))
                continue
            source = sources[first.argument]
            assert source is not None
            whole = first.place == 0 and count == source.size
            pieces.append((source if whole else self.part(source, first.place, count), count))
        return LongRow(out.shape, pieces[0][0] if len(pieces) == 1 else self.assembled(pieces))

    def gathered(self, flat: list[Any], sources: Sequence[Node | Stored | None]) -> Stored:
        which = {a.argument if isinstance(a, Mark) else -1 for a in flat}
        if len(which) > 1:
            raise NotNative("a row of many pieces")
        source = sources[which.pop()]
        assert source is not None
        return self.acted("gather", [self.stored(source)], source.type, len(flat), np.array([a.place for a in flat]))

    def acted(self, kind: str, rows: list[Stored], type: str, size: int, places: Any = None, into=None) -> Stored:
        """An action whose result is a row."""
        for row in rows:
            row.buffer.fixed = True
        scope, depth = self.b.home(rows if into is None else [*rows, into])
        result = self.memory(size, type, scope, depth + 1)
        if into is not None:
            result.buffer = into.buffer
        self.stores.actions.append(RowAction(kind, scope, depth, rows, result, places=places))
        return result

    def part(self, a: Node | Stored, first: int, count: int) -> Stored:
        row = self.stored(a)
        return Stored(row.buffer, row.first + first, count, row.scope, row.depth)

    def assembled(self, pieces: Sequence[tuple[Any, int]], scope: int = ONCE) -> Stored:
        """A row of pieces: rows, and scalars that are repeated; of a new memory, not of an outer `scope`."""
        type = next((a.type for a, _ in pieces if isinstance(a, Node | Stored | Ref)), None)
        type = _type(pieces[0][0]) if type is None else type
        buffer = Buffer("own", sum(count for _, count in pieces), type, fixed=True)
        at, done = 0, [(scope, -1)]
        for a, count in pieces:
            done += self.put(a, Stored(buffer, at, count, ONCE, 0), scope)
            at += count
        scope = max(own for own, _ in done)
        depth = 1 + max(depth for own, depth in done if own == scope)
        self.b.deepest[scope] = max(self.b.deepest[scope], depth)
        return Stored(buffer, 0, at, scope, depth)

    def put(self, a: Any, into: Stored, scope: int = ONCE) -> list[tuple[int, int]]:
        """Store a row or a repeated scalar, in a scope or inside it; returns where that happens: scopes and depths."""
        if into.size >= LEAST_ROW:
            inside = isinstance(a, Node) and a.scope >= scope
            node = a if inside else self.copied(self.stored(a) if isinstance(a, Node) else a, into.size, into.type)
            if node.scope < scope:
                node.scope, node.depth = scope, 0
            self.stores.rows.append((node, into))
            return [(node.scope, node.depth)]
        done = []
        for place in range(into.size):
            own = self.element(a, place) if isinstance(a, Node | Stored) else a
            where, depth = max(self.b.scope(own), scope), self.b.depth(own, max(self.b.scope(own), scope))
            part = Stored(into.buffer, into.first + place, 1, where, 0)
            self.stores.scalars.append(Put(own, part, where, depth))
            done.append((where, depth))
        return done


def _is_known(a: Long) -> bool:
    return not isinstance(a, LongRow) and not any(isinstance(b, Ref) for b in a.reshape(-1))


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
