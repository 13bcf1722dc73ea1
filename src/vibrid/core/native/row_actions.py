"""Operations on rows that are more than one loop over elements: sums, products with matrices, solutions, iterations."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from vibrid.core.native.row_unroll import Long, RowUnroller
from vibrid.core.native.rows import LEAST_ROW, LongRow, Mark, RowAction, Stored
from vibrid.core.native.scalars import NUMBER, STEP, NotNative, Ref, Scalar, type_of
from vibrid.core.native.unroll import known
from vibrid.core.traced import Operation, Value

_MOST_TERMS = 8  # of a product of small matrices, many at once


class Added:
    """Marks and scalars that are added up in one place."""

    def __init__(self, target: Any, parts: tuple[Any, ...] = ()):
        self.target, self.parts = target, parts


class RowActions(RowUnroller):
    """Rows with sums, products, solutions and loops inside a step."""

    # -- sums ------------------------------------------------------------------------------------------------------

    def row_reduce_sum(self, o: Operation, given):
        return self.combined(o, given[0], "add")

    def row_reduce_max(self, o: Operation, given):
        return self.combined(o, given[0], "max")

    def row_reduce_min(self, o: Operation, given):
        return self.combined(o, given[0], "min")

    def row_reduce_and(self, o: Operation, given):
        return self.combined(o, given[0], "and")

    def row_reduce_or(self, o: Operation, given):
        return self.combined(o, given[0], "or")

    def combined(self, o: Operation, a: Long, how: str) -> Long:
        """Along some axes: to one number, or of short axes one after another."""
        result, axes = o.results[0], o.settings["axes"]
        if isinstance(a, LongRow) and result.size == a.size:
            return LongRow(result.shape, a.source)
        if not isinstance(a, LongRow):
            return super(RowUnroller, self).results(o, [a])[0]  # repeated numbers
        if result.size == 1 and a.source.type != "i64":
            row = self.stored(a.source)
            row.buffer.fixed = True
            scope, depth = self.b.home([row])
            number = self.b.told(self.b.new(row.type, min(scope, STEP)), scope, depth + 1)
            self.stores.actions.append(RowAction("reduce", scope, depth, [row], result=number, how=how))
            out = np.empty(result.shape, object)
            out[...] = number
            return out
        marks = np.moveaxis(self.marked(0, a), axes, range(len(axes))).reshape(-1, *result.shape)
        if len(marks) > _MOST_TERMS:
            if how != "add" or min(len(marks), result.size) < LEAST_ROW:
                raise NotNative("sums along a long axis")
            matrix = self.of_marks(marks.reshape(len(marks), -1).T, [a.source])
            ones = self.as_stored(known(np.ones(len(marks))))
            return LongRow(result.shape, self.acted("product", [self.as_stored(matrix), ones], NUMBER, result.size))
        together = {"add": self.b.add, "and": self.b.both, "or": self.b.either}.get(how)
        together = together or functools.partial(self.b.call, how)
        terms = [self.of_marks(own, [a.source]) for own in marks]
        return functools.reduce(lambda x, y: self.by_row(together, result, [x, y]), terms)

    def row_dot_general(self, o: Operation, given: Sequence[Long]) -> Long:
        """A matrix times a row as an action; small products, many at once, as rows of their terms."""
        result, (left, right) = o.results[0], given
        summed = o.settings["summed"]
        if result.size == 1 and len(left.shape) == len(right.shape) == 1:
            terms = self.by_row(self.b.mul, Value("", left.shape, result.dtype), [left, right])
            return self.combined(Operation("", (), (result,), {"axes": (0,)}), terms, "add")
        if result.size < LEAST_ROW:
            raise NotNative("a short product of long matrices")
        if o.settings["shared"] == ((), ()) and sorted((len(left.shape), len(right.shape))) == [1, 2]:
            order = ((left, summed[0]), (right, summed[1]))
            (vector, _), (matrix, (axis,)) = sorted(order, key=lambda own: len(own[0].shape))
            if min(matrix.shape) >= LEAST_ROW:
                rows = [self.turned(matrix, axis), self.as_stored(vector)]
                return LongRow(result.shape, self.acted("product", rows, NUMBER, result.size))
        sides = []
        for i, (array, own, shared) in enumerate(zip(given, summed, o.settings["shared"], strict=True)):
            marks = self.marked(i, array)
            free = [axis for axis in range(marks.ndim) if axis not in (*own, *shared)]
            order = marks.transpose(*shared, *free, *own)
            counts = [int(np.prod([marks.shape[axis] for axis in axes], dtype=int)) for axes in (shared, free, own)]
            sides.append(order.reshape(counts))
        left_marks, right_marks = sides
        terms, shape = left_marks.shape[2], (len(left_marks), left_marks.shape[1], right_marks.shape[1])
        if terms > _MOST_TERMS:
            raise NotNative("a product of long matrices")
        sources = [a.source if isinstance(a, LongRow) else None for a in given]
        total: Any = None
        for k in range(terms):
            pair = [np.broadcast_to(own, shape).reshape(result.shape)
                    for own in (left_marks[:, :, k, None], right_marks[:, None, :, k])]  # fmt: skip
            x, y = (self.of_marks(own, sources) for own in pair)
            product = self.by_row(self.b.mul, result, [x, y])
            total = product if total is None else self.by_row(self.b.add, result, [total, product])
        return total

    def turned(self, matrix: Long, axis: int) -> Stored:
        """A matrix in memory, row by row, with the given axis along its rows."""
        if axis == 1:
            return self.as_stored(matrix)
        sources = [matrix.source if isinstance(matrix, LongRow) else None]
        made = self.of_marks(self.marked(0, matrix).T, sources)
        return self.as_stored(made)

    def row_scatter_add(self, o: Operation, given: Sequence[Long]) -> Long:
        target, places, new = given
        if isinstance(places, LongRow):
            raise NotNative("places that are known only when the program runs")
        together = lambda old, own: Added(  # noqa: E731
            *((old.target, (*old.parts, own)) if isinstance(old, Added) else (old, (own,)))
        )
        new_marks = np.empty(new.size, object)
        new_marks[:] = [Mark(2, place) for place in range(new.size)]
        marks = [self.marked(0, target), places, new_marks.reshape(new.shape)]
        out = self.put_elements(o, marks, together)
        to = np.full(new.size, -1)
        for place, own in enumerate(out.reshape(-1)):
            for part in own.parts if isinstance(own, Added) else ():
                to[part.place] = place
        if target.size < LEAST_ROW:
            raise NotNative("rows that are added up in a short array")
        rows = [self.as_stored(new)]
        scope, _ = self.b.home([*rows, *([target.source] if isinstance(target, LongRow) else [])])
        start = target.source if isinstance(target, LongRow) else self.operand(target, target.shape)
        into = self.assembled([(start, target.size)], scope=scope)
        return LongRow(target.shape, self.acted("add at", rows, into.type, target.size, to, into))

    def row_solve(self, o: Operation, given: Sequence[Long], kind: str = "solve") -> Long:
        b = given[1]
        if len(b.shape) != 1 or b.size < LEAST_ROW:
            raise NotNative("many equations at once")
        scope, _ = self.b.home([own.source for own in given if isinstance(own, LongRow)])
        starts = [own.source if isinstance(own, LongRow) else self.operand(own, own.shape) for own in given]
        lost, into = (self.assembled([(s, own.size)], scope=scope) for s, own in zip(starts, given, strict=True))
        return LongRow(b.shape, self.acted(kind, [lost], NUMBER, b.size, None, into))

    def row_solve_bands(self, o: Operation, given: Sequence[Long]) -> Long:
        if len(given[0].shape) != 2:
            raise NotNative("many bands at once")
        return self.row_solve(o, given, "solve bands")

    # -- programs inside -------------------------------------------------------------------------------------------

    def do_scan(self, o: Operation, given):
        if any(isinstance(a, LongRow) for a in given[o.settings["consts"] + o.settings["carried"] :]):
            raise NotNative("a loop over rows in a step")
        return super().do_scan(o, given)

    def do_cond(self, o: Operation, given):
        """Every branch is computed, and the results of one are taken."""
        if isinstance(given[0], LongRow) or not isinstance(given[0].item(), Ref):
            return super().do_cond(o, given)
        made = [self.run(branch, given[1:]) for branch in o.branches]
        out = []
        for value, *parts in zip(o.results, *made, strict=True):
            out.append(self.chosen(value, [given[0], *parts]))
        return out

    def chosen(self, value, given: list[Any]) -> Long:
        if value.size >= LEAST_ROW:
            return self.by_row(self.selected, value, given)
        out = np.empty(value.shape, object)
        for place in np.ndindex(*value.shape):
            out[place] = self.selected(given[0].item(), *(part[place] for part in given[1:]))
        return out

    def do_while(self, o: Operation, given):
        b, s = self.b, o.settings
        test, body = o.branches
        of_test, of_body = given[: s["test"]], given[s["test"] : s["test"] + s["body"]]
        start = given[s["test"] + s["body"] :]
        outer = b.here
        header = b.open()
        b.at(outer)
        inside: list[Any] = []
        variables: list[tuple[Ref, Scalar]] = []
        memory: list[Stored] = []
        for value, array in zip(o.results, start, strict=True):
            type = type_of(value.dtype)
            if value.size >= LEAST_ROW:
                source = array.source if isinstance(array, LongRow) else self.operand(array, value.shape)
                first = self.assembled([(source, value.size)], scope=outer)
                memory.append(Stored(first.buffer, 0, value.size, header, 0))
                inside.append(LongRow(value.shape, memory[-1]))
                continue
            own = np.empty(value.shape, object)
            for place in np.ndindex(*value.shape):
                own[place] = here = b.told(b.new(type, STEP), header, 0)
                variables.append((here, array[place]))
            inside.append(own)
        b.at(header)
        (go_on,) = self.run(test, [*of_test, *inside])
        into = b.open(header)
        out = self.run(body, [*of_body, *inside])
        after = [a for own in out if not isinstance(own, LongRow) and own.size < LEAST_ROW for a in own.reshape(-1)]
        moved = []
        for row, own in zip(memory, (own for own in out if own.size >= LEAST_ROW), strict=True):
            source = own.source if isinstance(own, LongRow) else self.operand(own, own.shape)
            moved.append((row, self.assembled([(source, row.size)], scope=into)))
        b.at(outer)
        depth = b.deepest[outer] + 1
        b.deepest[outer] = depth + 1
        for a in _refs([go_on.item(), *after, *(first for _, first in variables)]):
            assert a.level <= STEP
        self.stores.actions.append(
            RowAction(
                "while", outer, depth, go_on=go_on.item(), inside=(header, into), after=moved,
                variables=[(here, first, last) for (here, first), last in zip(variables, after, strict=True)],
            )
        )  # fmt: skip
        return [self.seen(own, outer, depth + 1) for own in inside]

    def seen(self, a: Long, scope: int, depth: int) -> Long:
        """What a variable of a loop is after it."""
        if isinstance(a, LongRow):
            assert isinstance(a.source, Stored)
            return LongRow(a.shape, Stored(a.source.buffer, 0, a.source.size, scope, depth))
        for own in a.reshape(-1):
            self.b.told(own, scope, depth)
        return a


def _refs(given) -> list[Ref]:
    return [a for a in given if isinstance(a, Ref)]
