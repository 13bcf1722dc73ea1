"""Array operations of a traced program as operations of scalars.

An array is a NumPy array of scalars (`scalars.Scalar`). What would need an index that is known only when the program
runs, or an operation that is not here, raises `NotNative`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from vibrid.core.native.elementwise import Elementwise
from vibrid.core.native.scalars import (
    INTEGER,
    NUMBER,
    STEP,
    TRUTH,
    Block,
    NotNative,
    Ref,
    Repeat,
    Scalar,
    type_of,
)
from vibrid.core.traced import Operation, Program, Value

Elements = np.ndarray  # of scalars, dtype object

_LONGEST_INNER = 64  # steps of an inner scan that are written one after another


def known(numbers: Any) -> Elements:
    """An array of known numbers."""
    numbers = np.asarray(numbers)
    type_of(numbers.dtype)
    out = np.empty(numbers.shape, object)
    bits = numbers.view(np.int64) if numbers.dtype == np.uint64 else numbers
    out.reshape(-1)[:] = bits.reshape(-1).tolist()
    return out


class Unroller(Elementwise):
    """Runs programs on arrays of scalars."""

    def run(self, program: Program, given: list[Elements]) -> list[Elements]:
        at = {v.name: elements for v, elements in zip(program.inputs, given, strict=True)}

        def read(value: Value) -> Elements:
            return at[value.name] if value.constant is None else known(value.constant)

        for operation in program.operations:
            results = self.results(operation, [read(v) for v in operation.arguments])
            at |= {v.name: r for v, r in zip(operation.results, results, strict=True)}
        return [read(v) for v in program.outputs]

    def results(self, operation: Operation, given: list[Elements]) -> list[Elements]:
        by_element = self.by_element(operation)
        shape = operation.results[0].shape
        if by_element is not None:
            out = np.empty(shape, object)
            spread = [np.broadcast_to(a, shape).reshape(-1) for a in given]
            out.reshape(-1)[:] = [by_element(*scalars) for scalars in zip(*spread, strict=True)] if out.size else []
            return [out]
        write = getattr(self, f"do_{operation.kind.replace('-', '_')}", None)
        if write is None:
            raise NotNative(f"the operation '{operation.kind}'")
        made = write(operation, given)
        return made if isinstance(made, list) else [made]

    # -- shapes ----------------------------------------------------------------------------------------------------

    def do_reshape(self, o: Operation, given):
        return given[0].reshape(o.results[0].shape)

    def do_broadcast_in_dim(self, o: Operation, given):
        shape = o.results[0].shape
        between = [1] * len(shape)
        for axis, size in zip(o.settings["axes"], given[0].shape, strict=True):
            between[axis] = size
        return np.broadcast_to(given[0].reshape(between), shape)

    def do_transpose(self, o: Operation, given):
        return given[0].transpose(o.settings["order"])

    def do_rev(self, o: Operation, given):
        return np.flip(given[0], o.settings["axes"])

    def do_concatenate(self, o: Operation, given):
        return np.concatenate(given, axis=o.settings["axis"])

    def do_iota(self, o: Operation, given):
        raise NotNative("a counted array of unknown size")

    def do_slice(self, o: Operation, given):
        s = o.settings
        return given[0][tuple(slice(*cut) for cut in zip(s["begin"], s["end"], s["jump"], strict=True))]

    def do_dynamic_slice(self, o: Operation, given):
        source, sizes = given[0], o.settings["sizes"]
        first = [self.index(a.item()) for a in given[1:]]
        first = [min(max(i, 0), n - size) for i, n, size in zip(first, source.shape, sizes, strict=True)]
        return source[tuple(slice(i, i + size) for i, size in zip(first, sizes, strict=True))]

    def index(self, a: Scalar) -> int:
        if isinstance(a, Ref):
            raise NotNative("an index that is known only when the program runs")
        return int(a)

    def do_pad(self, o: Operation, given):
        low = [int(p[0]) for p in o.settings["edges"]]
        if any(p[0] < 0 or p[1] < 0 or p[2] for p in o.settings["edges"]):
            raise NotNative("a pad that cuts")
        out = np.full(o.results[0].shape, given[1].item(), object)
        out[tuple(slice(first, first + n) for first, n in zip(low, given[0].shape, strict=True))] = given[0]
        return out

    # -- picking and putting by places -----------------------------------------------------------------------------

    def starts(self, places: Elements, axes, rank: int) -> np.ndarray:
        """(number of places, rank): where each begins."""
        count, width = (math.prod(places.shape[:-1]), places.shape[-1]) if places.ndim else (1, 1)
        rows = places.reshape(count, width)
        first = np.zeros((rows.shape[0], rank), int)
        for column, axis in enumerate(axes):
            first[:, axis] = [self.index(a) for a in rows[:, column]]
        return first

    def do_gather(self, o: Operation, given):
        source, places = given
        s, shape = o.settings, o.results[0].shape
        sizes = np.array(s["sizes"])
        first = self.starts(places, s["start_axes"], source.ndim)
        inside = ((first >= 0) & (first + sizes <= source.shape)).all(axis=1)
        if s["outside"] == "fill" and not inside.all():
            raise NotNative("a place outside its array")
        first = np.clip(first, 0, np.array(source.shape) - sizes)
        rows = [source[tuple(slice(i, i + n) for i, n in zip(at, sizes, strict=True))].reshape(-1) for at in first]
        kept = [axis for axis in range(source.ndim) if axis not in s["dropped_axes"]]
        window = [int(sizes[axis]) for axis in kept]
        windows = s["window_axes"]
        others = [axis for axis in range(len(shape)) if axis not in windows]
        out = np.empty((len(rows), *window), object)
        for number, row in enumerate(rows):
            out[number, ...] = row.reshape(window) if window else row[0]
        out = out.reshape([*(shape[axis] for axis in others), *window])
        return np.moveaxis(out, range(len(shape)), [*others, *windows])

    def do_scatter(self, o: Operation, given):
        return self.put_elements(o, given, lambda old, new: new)

    def do_scatter_add(self, o: Operation, given):
        return self.put_elements(o, given, self.b.add)

    def put_elements(self, o: Operation, given, together):
        target, places, new = given
        s = o.settings
        out, windows = target.copy(), s["window_axes"]
        kept = [axis for axis in range(target.ndim) if axis not in s["dropped_axes"]]
        others = [axis for axis in range(new.ndim) if axis not in windows]
        pieces = np.moveaxis(new, [*others, *windows], range(new.ndim))
        window = [new.shape[axis] for axis in windows]
        pieces = pieces.reshape(math.prod(pieces.shape[: len(others)]), *window)
        sizes = np.ones(target.ndim, int)
        sizes[kept] = window
        for number, at in enumerate(self.starts(places, s["start_axes"], target.ndim)):
            if ((at < 0) | (at + sizes > target.shape)).any():
                if s["outside"] == "clip":
                    at = np.clip(at, 0, np.array(target.shape) - sizes)
                else:
                    continue  # what lies outside is left out
            for offset in np.ndindex(*sizes):
                place = tuple(at + offset)
                out[place] = together(out[place], pieces[(number, *np.array(offset, int)[kept])])
        return out

    # -- sums ------------------------------------------------------------------------------------------------------

    def reduced(self, o: Operation, given, together):
        axes = o.settings["axes"]
        moved = np.moveaxis(given[0], axes, range(len(axes)))
        rows = moved.reshape(math.prod(moved.shape[: len(axes)]), *moved.shape[len(axes) :])
        if not len(rows):
            raise NotNative("the sum of nothing")
        out = np.empty(rows.shape[1:], object)
        for place in np.ndindex(*out.shape):
            out[place] = functools.reduce(together, (rows[(k, *place)] for k in range(len(rows))))
        return out

    def do_reduce_sum(self, o: Operation, given):
        return self.reduced(o, given, self.b.add)

    def do_reduce_max(self, o: Operation, given):
        return self.reduced(o, given, functools.partial(self.b.call, "max"))

    def do_reduce_min(self, o: Operation, given):
        return self.reduced(o, given, functools.partial(self.b.call, "min"))

    def do_reduce_and(self, o: Operation, given):
        return self.reduced(o, given, self.b.both)

    def do_reduce_or(self, o: Operation, given):
        return self.reduced(o, given, self.b.either)

    def do_dot_general(self, o: Operation, given):
        b = self.b
        sides = []
        for array, summed, shared in zip(given, o.settings["summed"], o.settings["shared"], strict=True):
            free = [axis for axis in range(array.ndim) if axis not in (*summed, *shared)]
            order = array.transpose(*shared, *free, *summed)
            counts = [int(np.prod([array.shape[axis] for axis in axes], dtype=int)) for axes in (shared, free, summed)]
            sides.append(order.reshape(counts))
        left, right = sides
        zero = {NUMBER: 0.0, INTEGER: 0, TRUTH: False}[type_of(o.results[0].dtype)]
        out = np.empty((left.shape[0], left.shape[1], right.shape[1]), object)
        for n, i, j in np.ndindex(*out.shape):
            out[n, i, j] = functools.reduce(b.add, map(b.mul, left[n, i], right[n, j]), zero)
        return out.reshape(o.results[0].shape)

    def do_solve(self, o: Operation, given):
        """x of `a x = b` by elimination with pivots: the largest entry of a column comes up, unless it is alone.

        The elimination of `a` is the same list of operations for every b, and therefore done once.
        """
        b = self.b
        a, x = given[0].copy(), given[1].copy()
        n = a.shape[0]
        for k in range(n):
            for i in range(k + 1, n):
                if _zero(a[i, k]):
                    continue
                larger = b.compare("gt", b.call("abs", a[i, k]), b.call("abs", a[k, k]))
                for row in (a[:, j] for j in range(k, n)):
                    row[k], row[i] = b.select(larger, row[i], row[k]), b.select(larger, row[k], row[i])
                for column in [x] if x.ndim == 1 else x.T:
                    column[k], column[i] = (
                        b.select(larger, column[i], column[k]),
                        b.select(larger, column[k], column[i]),
                    )
            one = b.div(1.0, a[k, k])
            for i in range(k + 1, n):
                if _zero(a[i, k]):
                    continue
                factor = b.mul(a[i, k], one)
                for j in range(k + 1, n):
                    a[i, j] = b.sub(a[i, j], b.mul(factor, a[k, j]))
                for column in [x] if x.ndim == 1 else x.T:
                    column[i] = b.sub(column[i], b.mul(factor, column[k]))
        for k in range(n - 1, -1, -1):
            for column in [x] if x.ndim == 1 else x.T:
                for j in range(k + 1, n):
                    column[k] = b.sub(column[k], b.mul(a[k, j], column[j]))
                column[k] = b.mul(column[k], b.div(1.0, a[k, k]))
        return x

    # -- programs inside -------------------------------------------------------------------------------------------

    def do_scan(self, o: Operation, given):
        s = o.settings
        if s["length"] > _LONGEST_INNER:
            raise NotNative("a long loop in a step")
        consts, carry = given[: s["consts"]], given[s["consts"] : s["consts"] + s["carried"]]
        rows = given[s["consts"] + s["carried"] :]
        order = range(s["length"])[::-1] if s["reverse"] else range(s["length"])
        seen: dict[int, list[Elements]] = {}
        for t in order:
            out = self.run(o.loop, [*consts, *carry, *(_row(r, t) for r in rows)])
            carry, seen[t] = out[: s["carried"]], out[s["carried"] :]
        stacked = [np.empty(v.shape, object) for v in o.results[s["carried"] :]]
        for t, parts in seen.items():
            for whole, part in zip(stacked, parts, strict=True):
                whole[t] = part if part.ndim else part.item()
        return [*carry, *stacked]

    def do_cond(self, o: Operation, given):
        """Every branch is computed, and the results of one are taken."""
        which = given[0].item()
        if not isinstance(which, Ref):
            chosen = min(max(int(which), 0), len(o.branches) - 1)
            return self.run(o.branches[chosen], given[1:])
        made = [self.run(branch, given[1:]) for branch in o.branches]
        results = []
        for parts in zip(*made, strict=True):
            out = np.empty(parts[0].shape, object)
            for place in np.ndindex(*out.shape):
                out[place] = self.selected(which, *(part[place] for part in parts))
            results.append(out)
        return results

    def do_while(self, o: Operation, given):
        b, s = self.b, o.settings
        test, body = o.branches
        of_test, of_body = given[: s["test"]], given[s["test"] : s["test"] + s["body"]]
        start = given[s["test"] + s["body"] :]
        first = [a for array in start for a in array.reshape(-1)]
        if any(isinstance(a, Ref) and a.level > STEP for a in first):
            raise NotNative("lanes in a while loop")
        variables, inside = [], []
        for value, array in zip(o.results, start, strict=True):
            own = np.empty(array.shape, object)
            own.reshape(-1)[:] = [b.new(type_of(value.dtype), STEP) for _ in range(array.size)]
            variables += list(own.reshape(-1))
            inside.append(own)
        outer = b.inner or b.step
        b.inner = tested = Block(outer)
        (go_on,) = self.run(test, [*of_test, *inside])
        b.inner = repeated = Block(outer)
        out = self.run(body, [*of_body, *inside])
        b.inner = None if outer is b.step else outer
        after = [a for array in out for a in array.reshape(-1)]
        outer.lines.append(Repeat(variables, first, tested, go_on.item(), repeated, after))
        return inside


def _row(rows: Elements, t: int) -> Elements:
    own = np.empty(rows.shape[1:], object)
    own[...] = rows[t]
    return own


def _zero(a: Scalar) -> bool:
    return not isinstance(a, Ref) and a == 0
