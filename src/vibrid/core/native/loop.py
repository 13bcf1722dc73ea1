"""A scan as a loop of scalars: what is read, what is carried from step to step, what is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vibrid.core.native.scalars import LANE, ONCE, STEP, Assignment, Builder, NotNative, Ref, Scalar, type_of, used
from vibrid.core.native.unroll import Elements, Unroller
from vibrid.core.traced import Operation

MOST_OPERATIONS = 40_000


@dataclass(frozen=True)
class Read:
    """An array that the loop reads: one of the scan's arguments. `wide`: with one number more a lane, side by side."""

    argument: int
    dtype: np.dtype
    size: int  # elements, of one step where it has a row a step
    by_step: bool
    wide: bool


@dataclass(frozen=True)
class Carried:
    """A number that goes from step to step: its first value, its name in a step, and its value after the step."""

    first: Ref
    here: Ref
    after: Scalar


@dataclass(frozen=True)
class LoopResult:
    """An array that the loop writes: elements after the last step, or of every step."""

    dtype: np.dtype
    elements: list[Scalar]
    by_step: bool
    wide: bool

    @property
    def size(self) -> int:
        return len(self.elements)


@dataclass
class LoopProgram:
    """A whole loop; `lanes` is the number of lanes, 0 where there are none."""

    builder: Builder
    length: int
    reverse: bool
    lanes: int
    reads: list[Read] = field(default_factory=list)
    carried: list[Carried] = field(default_factory=list)
    written: list[Any] = field(default_factory=list)

    def operations(self) -> int:
        return sum(block.count() for block in (self.builder.once, self.builder.step, self.builder.lane))

    @property
    def scratch(self) -> int:
        """Numbers in the scratch array: two halves of carried lanes."""
        return 2 * self.lanes * sum(own.here.level == LANE for own in self.carried)


def loop_program(
    scan: Operation, known: Sequence[Elements | None], wide: Sequence[bool], lanes: int, most: int = MOST_OPERATIONS
) -> LoopProgram:
    """The loop of a scan.

    Arguments
        known: for every argument of the scan, its elements where some of them are known numbers.
        wide: which arguments have lanes.
        lanes: how many; 0 for none.
        most: operations; a longer program raises `NotNative`.
    """
    settings, body = scan.settings, scan.loop
    consts, carried = settings["consts"], settings["carried"]
    wide = widened(scan, list(wide))
    builder = Builder(most)
    made = LoopProgram(builder, settings["length"], settings["reverse"], lanes)
    given, firsts = [], []
    for i, value in enumerate(body.inputs):
        own, numbers = np.empty(value.shape, object), known[i] if i < consts else None
        type, by_step, is_carried = type_of(value.dtype), i >= consts + carried, consts <= i < consts + carried
        array = len(made.reads)
        level = LANE if wide[i] else STEP if by_step or is_carried else ONCE
        need = False
        for j, place in enumerate(np.ndindex(*value.shape)):
            if numbers is not None and not isinstance(numbers[place], Ref):
                own[place] = numbers[place]
                continue
            need = True
            own[place] = here = builder.new(type, level)
            if not is_carried:
                builder.block(level).lines.append(Assignment(here, "load", (array, j)))
            elif wide[i]:
                builder.lane.lines.append(Assignment(here, "carry", (array, j, len(firsts))))
                firsts.append((here, here))
            else:
                first = builder.new(type, ONCE)
                builder.once.lines.append(Assignment(first, "load", (array, j)))
                firsts.append((first, here))
        if need or is_carried:
            made.reads.append(Read(i, value.dtype, own.size, by_step, wide[i]))
        given.append(own)
    out = Unroller(builder).run(body, given)
    after = [a for array in out[:carried] for a in array.reshape(-1)]
    made.carried = [Carried(first, here, a) for (first, here), a in zip(firsts, after, strict=True)]
    for i, (value, array) in enumerate(zip(body.outputs, out, strict=True)):
        elements = list(array.reshape(-1))
        own_wide = wide[consts + i] if i < carried else any(isinstance(a, Ref) and a.level == LANE for a in elements)
        made.written.append(LoopResult(value.dtype, elements, i >= carried, own_wide))
    wanted = {a.name for a in after if isinstance(a, Ref)}
    wanted |= {a.name for own in made.written for a in own.elements if isinstance(a, Ref)}
    wanted |= {own.first.name for own in made.carried}
    for block in (builder.lane, builder.step, builder.once):
        used(block, wanted)
    return made


def widened(scan: Operation, wide: list[bool]) -> list[bool]:
    """Which arguments of a scan have lanes, with the carried arrays that get them in the loop."""
    consts, carried = scan.settings["consts"], scan.settings["carried"]
    while True:
        has = {v.name: w for v, w in zip(scan.loop.inputs, wide, strict=True)}
        for operation in scan.loop.operations:
            touched = any(has.get(v.name, False) for v in operation.arguments)
            if touched and operation.kind == "while":
                raise NotNative("lanes in a while loop")
            has |= {v.name: touched for v in operation.results}
        more = [has.get(v.name, False) for v in scan.loop.outputs[:carried]]
        new = [w or (consts <= i < consts + carried and more[i - consts]) for i, w in enumerate(wide)]
        if new == wide:
            return wide
        wide = new
