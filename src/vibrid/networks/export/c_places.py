"""Operations that move numbers from place to place, as lines of C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.core.traced import Operation, Value


class Places:
    """The part of a `Writer` that rearranges, picks and puts; the writer has the names and lines."""

    expression: dict[str, str]
    lines: list[str]

    def pointer(self, value: Value) -> str:
        raise NotImplementedError

    def at(self, value: Value, index: str = "i") -> str:
        raise NotImplementedError

    def declare(self, value: Value) -> str:
        raise NotImplementedError

    def each(self, value: Value, text: str) -> None:
        raise NotImplementedError

    def _gathered(self, o: Operation, offset: int | str, steps: Sequence[int]) -> None:
        """A result whose element (j0, j1, …) is the argument's element at offset + Σ j_d steps_d."""
        result = o.results[0]
        if list(steps) == strides(result.shape) or result.size == 1 or (len(steps) == 1 and steps[0] == 1):
            self.expression[result.name] = f"({self.pointer(o.arguments[0])} + {offset})"
            return
        self.each(result, f"{self.pointer(o.arguments[0])}[{offset}{walk(result.shape, steps)}]")

    def do_slice(self, o: Operation) -> None:
        steps = strides(o.arguments[0].shape)
        offset = sum(b * s for b, s in zip(o.settings["begin"], steps, strict=True))
        self._gathered(o, offset, [s * j for s, j in zip(steps, o.settings["jump"], strict=True)])

    def do_transpose(self, o: Operation) -> None:
        steps = strides(o.arguments[0].shape)
        self._gathered(o, 0, [steps[d] for d in o.settings["order"]])

    def do_rev(self, o: Operation) -> None:
        steps, turned = strides(o.arguments[0].shape), o.settings["axes"]
        offset = sum((o.arguments[0].shape[d] - 1) * steps[d] for d in turned)
        self._gathered(o, offset, [-s if d in turned else s for d, s in enumerate(steps)])

    def do_broadcast_in_dim(self, o: Operation) -> None:
        source, result = o.arguments[0], o.results[0]
        steps = [0] * len(result.shape)
        for d, stride, size in zip(o.settings["axes"], strides(source.shape), source.shape, strict=True):
            steps[d] = 0 if size == 1 else stride
        if source.size == 1:
            self.each(result, self.at(source))
        else:
            self._gathered(o, 0, steps)

    def do_concatenate(self, o: Operation) -> None:
        axis, name = o.settings["axis"], self.declare(o.results[0])
        steps, begin = strides(o.results[0].shape), 0
        for part in o.arguments:
            where = f"{begin * steps[axis]}{walk(part.shape, steps)}"
            self.lines.append(f"for (int i = 0; i < {part.size}; i++) {name}[{where}] = {self.at(part)};")
            begin += part.shape[axis]

    # -- places that are known only in the step ------------------------------------------------------------------

    def do_dynamic_slice(self, o: Operation) -> None:
        source, begin, steps = o.arguments[0], o.arguments[1:], strides(o.arguments[0].shape)
        sizes = zip(source.shape, o.settings["sizes"], strict=True)
        starts = [_held(self.at(at, "0"), size - cut) for at, (size, cut) in zip(begin, sizes, strict=True)]
        place = " + ".join(f"{start} * {step}" for start, step in zip(starts, steps, strict=True))
        name = f"{o.results[0].name}_at"
        self.lines.append(f"const int {name} = {place or 0};")
        self._gathered(o, name, steps)

    def do_gather(self, o: Operation) -> None:
        """Slices of an array, one a row of indices; an index beyond an end counts as that end."""
        source, indices = o.arguments
        axes, sizes = o.settings["start_axes"], o.settings["sizes"]
        starts = [source.shape[d] - sizes[d] for d in axes]
        if o.settings["outside"] == "fill" and not _inside(indices, starts):
            raise Refusal("Numbers picked from places that may lie outside an array cannot be written as C.")
        result = o.results[0]
        whole = [d for d in range(len(source.shape)) if d not in o.settings["dropped_axes"]]
        row, window = _steps(result.shape, o.settings["window_axes"], whole, source.shape, indices)
        steps = strides(source.shape)
        at = [_held(f"{self.pointer(indices)}[{row} + {k}]", size) for k, size in enumerate(starts)]
        place = " + ".join(f"{a} * {steps[d]}" for a, d in zip(at, axes, strict=True))
        self.each(result, f"{self.pointer(source)}[{place}{window}]")

    def do_scatter(self, o: Operation) -> None:
        self._put(o, "=")

    def do_scatter_add(self, o: Operation) -> None:
        self._put(o, "+=")

    def _put(self, o: Operation, sign: str) -> None:
        """A copy of an array with slices put or added into it; those that do not fit inside are left out."""
        source, indices, updates = o.arguments
        if o.settings["outside"] == "clip":
            raise Refusal("Numbers put into the places nearest to some outside an array cannot be written as C.")
        whole = [d for d in range(len(source.shape)) if d not in o.settings["dropped_axes"]]
        row, window = _steps(updates.shape, o.settings["window_axes"], whole, source.shape, indices)
        cut = dict(zip(whole, (updates.shape[d] for d in o.settings["window_axes"]), strict=True))
        steps, places, fits = strides(source.shape), [], []
        for k, d in enumerate(o.settings["start_axes"]):
            at = f"{self.pointer(indices)}[{row} + {k}]"
            places.append(f"{at} * {steps[d]}")
            fits.append(f"{at} >= 0 && {at} <= {source.shape[d] - cut.get(d, 1)}")
        given, name = self.at(updates), self.pointer(source)
        result = self.declare(o.results[0])
        self.lines.append(f"memcpy({result}, {name}, sizeof {result});")
        put = f"if ({' && '.join(fits)}) {result}[{' + '.join(places)}{window}] {sign} {given};"
        self.lines.append(f"for (int i = 0; i < {updates.size}; i++) {put}")


def strides(shape) -> list[int]:
    return [int(np.prod(shape[d + 1 :], dtype=int)) for d in range(len(shape))]


def walk(shape, steps, by: str = "i") -> str:
    """` + …`: where element i (or `by`) of an array of this shape lies in an array with these steps."""
    text = ""
    for size, stride, step in zip(shape, strides(shape), steps, strict=True):
        if step and size > 1:
            text += f" + {by} / {stride} % {size} * {step}"
    return text


def _steps(shape, window_axes, whole, source_shape, indices: Value) -> tuple[str, str]:
    """For element i of an array of slices: where its row of indices begins, and ` + …` where in its slice it lies."""
    rows, inside = [0] * len(shape), [0] * len(shape)
    apart = [d for d in range(len(shape)) if d not in window_axes]
    for d, step in zip(apart, strides(indices.shape)[:-1], strict=True):
        rows[d] = step
    for d, axis in zip(window_axes, whole, strict=True):
        inside[d] = strides(source_shape)[axis]
    return f"0{walk(shape, rows)}", walk(shape, inside)


def _held(number: str, last: int) -> str:
    return f"({number} < 0 ? 0 : {number} > {last} ? {last} : {number})"


def _inside(indices: Value, last: Sequence[int]) -> bool:
    known = indices.constant
    return known is not None and bool(np.all((known >= 0) & (known <= np.asarray(last))))
