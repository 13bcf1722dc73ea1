"""A scan as a loop of rows: which loops over elements a step has, in which order, and where rows stand in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vibrid.core.native.handler import STORED
from vibrid.core.native.loop import MOST_OPERATIONS, Carried, LoopProgram, Read
from vibrid.core.native.row_actions import RowActions
from vibrid.core.native.row_unroll import RowUnroller
from vibrid.core.native.rows import LEAST_ROW, Buffer, LongRow, Node, Put, RowAction, RowBuilder, Stored
from vibrid.core.native.scalars import LANE, ONCE, STEP, Assignment, Block, NotNative, Ref, Scalar, type_of, used
from vibrid.core.native.unroll import Elements
from vibrid.core.traced import Operation


@dataclass
class RowLoop:
    """One loop over the elements of rows: the lines of an element, and what is stored where."""

    size: int
    block: Block
    stores: list[tuple[Scalar, Stored]]


@dataclass
class Moment:
    """What is done at one depth: scalars, then scalars that are stored in rows, then loops, then actions."""

    lines: list[Assignment] = field(default_factory=list)
    puts: list[Put] = field(default_factory=list)
    loops: list[RowLoop] = field(default_factory=list)
    actions: list[RowAction] = field(default_factory=list)


@dataclass(frozen=True)
class RowResult:
    """An array that the loop writes; `elements` where it is short, `slot` where a carried row holds it at the end."""

    dtype: np.dtype
    size: int
    by_step: bool
    elements: list[Scalar] | None
    slot: int = 0
    wide: bool = False


@dataclass
class RowProgram(LoopProgram):
    """A whole loop of rows.

    Fields
        scopes: what is done before the loop, in every step, and in tests and bodies of loops inside.
        firsts: (array, place in the scratch memory, bytes) of carried rows.
        half: numbers of 8 bytes of all carried rows; the scratch memory holds them twice, and then rows of its own.
    """

    scopes: list[list[Moment]] = field(default_factory=list)
    firsts: list[tuple[int, int, int]] = field(default_factory=list)
    half: int = 0
    own: int = 0
    count: int = 0

    def operations(self) -> int:
        return self.count

    @property
    def scratch(self) -> int:
        return 2 * self.half + self.own


def row_program(scan: Operation, known: Sequence[Elements | None], most: int = MOST_OPERATIONS) -> RowProgram:
    """The loop of a scan, long arrays as rows; the arguments are those of `loop.loop_program`."""
    settings, body = scan.settings, scan.loop
    consts, carried = settings["consts"], settings["carried"]
    builder = RowBuilder(most)
    made = RowProgram(builder, settings["length"], settings["reverse"], 0)
    given: list[Any] = []
    firsts: list[Any] = []  # of every carried array: its slot, or the scalars
    for i, value in enumerate(body.inputs):
        numbers = known[i] if i < consts else None
        if numbers is not None and not any(isinstance(a, Ref) for a in numbers.reshape(-1)):
            given.append(numbers)
            continue
        type, by_step, is_carried = type_of(value.dtype), i >= consts + carried, consts <= i < consts + carried
        array, level = len(made.reads), STEP if by_step or is_carried else ONCE
        made.reads.append(Read(i, value.dtype, value.size, by_step, False))
        if value.size >= LEAST_ROW:
            if value.dtype == np.int32:
                raise NotNative("rows of short integers")
            if is_carried:
                bytes = STORED[value.dtype.name][1] * value.size
                buffer = Buffer("old", value.size, type, number=made.half, fixed=True)
                made.firsts.append((array, made.half, bytes))
                firsts.append(made.half)
                made.half += -(-bytes // 8)
            else:
                buffer = Buffer("in", value.size, type, number=array, by_step=by_step, fixed=True)
            given.append(LongRow(value.shape, Stored(buffer, 0, value.size, level, 0)))
            continue
        own = np.empty(value.shape, object)
        scalars = []
        for j, place in enumerate(np.ndindex(*value.shape)):
            own[place] = here = builder.new(type, level)
            first = builder.new(type, ONCE) if is_carried else here
            builder.block(ONCE if is_carried else level).lines.append(Assignment(first, "load", (array, j)))
            scalars.append((first, here))
        if is_carried:
            firsts.append(scalars)
        given.append(own)
    unroller = RowActions(builder)
    _finish(made, unroller, body, unroller.run(body, given), firsts)
    return made


def _finish(made: RowProgram, unroller: RowUnroller, body, out: list[Any], firsts: list[Any]) -> None:
    """What is carried and written, and when everything is done."""
    wanted: set[str] = set()
    for i, (value, array) in enumerate(zip(body.outputs, out, strict=True)):
        first = firsts[i] if i < len(firsts) else None
        by_step, type = first is None, type_of(value.dtype)
        elements = None
        if value.size >= LEAST_ROW:
            if value.dtype == np.int32:
                raise NotNative("rows of short integers")
            kind, number = ("out", i) if first is None else ("new", first)
            buffer = Buffer(kind, value.size, type, number=number, by_step=by_step, fixed=True)
            whole = Stored(buffer, 0, value.size, STEP, 0)
            source = array.source if isinstance(array, LongRow) else unroller.operand(array, value.shape)
            _stored_in_step(unroller, source, whole)
        else:
            elements = list(array.reshape(-1))
            wanted |= {a.name for a in elements if isinstance(a, Ref)}
            if first is not None:
                made.carried += [Carried(f, here, a) for (f, here), a in zip(first, elements, strict=True)]
                wanted |= {f.name for f, _ in first}
        slot = first if isinstance(first, int) else 0
        made.written.append(RowResult(value.dtype, value.size, by_step, elements, slot))
    _schedule(made, unroller, wanted)


def _stored_in_step(unroller: RowUnroller, source: Any, whole: Stored) -> None:
    """Store a result in every step, also one that does not change: a row that stands elsewhere is copied."""
    unroller.put(source, whole, scope=STEP)


def _schedule(made: RowProgram, unroller: RowUnroller, wanted: set[str]) -> None:
    """When everything is done: every scope is a list of moments."""
    builder, stores = unroller.b, unroller.stores
    nodes = _reached(unroller)
    into: dict[Node, list[Stored]] = {node: [] if node.kept is None else [node.kept] for node in nodes}
    for node, stored in stores.rows:
        into[node].append(stored)
    loops: dict[tuple[int, int, int], list[Node]] = {}
    for node in nodes:
        loops.setdefault(node.loop, []).append(node)
    moments: list[dict[int, Moment]] = [{} for _ in builder.blocks]

    def moment(scope: int, depth: int) -> Moment:
        return moments[scope].setdefault(depth, Moment())

    uses: dict[Buffer, list[int]] = {}
    count = 0
    for number, key in enumerate(sorted(loops)):
        scope, depth, size = key
        loop = _loop(builder, loops[key], into, size, scope)
        wanted |= _scalars_of(loop)
        for buffer in _buffers(loop):
            uses.setdefault(buffer, []).append(number)
        moment(scope, depth).loops.append(loop)
        count += loop.block.count()
    for put in stores.scalars:
        wanted |= _names([put.value])
        moment(put.scope, put.depth).puts.append(put)
        uses.setdefault(put.into.buffer, []).append(0)
    for action in stores.actions:
        wanted |= _names([action.go_on, *(a for own in action.variables for a in own)])
        moment(action.scope, action.depth).actions.append(action)
        rows = [*action.rows, *([action.into] if action.into else []), *(a for own in action.after for a in own)]
        for row in rows:
            uses.setdefault(row.buffer, []).append(0)
    for scope in range(len(builder.blocks) - 1, -1, -1):  # a scope stands after the one around it
        block = builder.blocks[scope]
        used(block, wanted)
        for line in block.lines:
            assert isinstance(line, Assignment)
            if line.operation == "element":
                uses.setdefault(line.arguments[0].buffer, []).append(0)
            moment(scope, builder.depth(line.result, scope)).lines.append(line)
        count += block.count()
    if count > MOST_OPERATIONS:
        raise NotNative("too many operations")
    made.scopes = [[own[depth] for depth in sorted(own)] for own in moments]
    made.count = count + len(stores.actions)
    made.own = _placed(uses, 2 * made.half) - 2 * made.half


def _reached(unroller: RowUnroller) -> list[Node]:
    """The nodes that are needed, every one after its arguments; those needed in other loops are kept."""
    seen: dict[Node, None] = {}
    for start in [*(node for node, _ in unroller.stores.rows), *unroller.kept]:
        waiting = [start]
        while waiting:
            node = waiting[-1]
            before = [a for a in node.arguments if isinstance(a, Node)]
            for a in before:
                if a.loop != node.loop:
                    unroller.stored(a)
            new = [a for a in before if a not in seen]
            if node in seen or not new:
                seen[node] = None
                waiting.pop()
            else:
                waiting += new
    return list(seen)


def _loop(builder: RowBuilder, nodes: list[Node], into: dict[Node, list[Stored]], size: int, scope: int) -> RowLoop:
    builder.at(max(scope, STEP))
    builder.lane = block = Block(builder.blocks[scope])
    here: dict[Node, Scalar] = {}

    def read(a: Any) -> Scalar:
        if isinstance(a, Node) and a in here:
            return here[a]
        if isinstance(a, Node):
            assert a.kept is not None
            a = a.kept
        if not isinstance(a, Stored):
            return a
        if a.scope != scope:
            a.buffer.fixed = True
        key = ("row", id(a.buffer), a.first)
        found = block.found.get(key)
        if found is None:
            found = block.found[key] = builder.new(a.type, LANE)
            block.lines.append(Assignment(found, "row", (a,)))
        return found

    for node in nodes:
        here[node] = node.write(*map(read, node.arguments))
    builder.at(STEP)
    stores = [(here[node], stored) for node in nodes for stored in into[node]]
    needed = {a.name for a, _ in stores if isinstance(a, Ref)}
    used(block, needed)
    return RowLoop(size, block, stores)


def _names(given) -> set[str]:
    return {a.name for a in given if isinstance(a, Ref)}


def _scalars_of(loop: RowLoop) -> set[str]:
    """Names of the scalars that a loop reads."""
    given = [a for line in loop.block.lines if isinstance(line, Assignment) for a in line.arguments]
    given += [a for a, _ in loop.stores]
    return {a.name for a in given if isinstance(a, Ref) and a.level != LANE}


def _buffers(loop: RowLoop) -> set[Buffer]:
    read = [line.arguments[0] for line in loop.block.lines if isinstance(line, Assignment) and line.operation == "row"]
    return {a.buffer for a in (*read, *(into for _, into in loop.stores))}


def _placed(uses: dict[Buffer, list[int]], start: int) -> int:
    """Give every own buffer its place, the same to rows that are not needed at the same time; returns the end."""
    end, free = start, []
    own = [(min(at), max(at), buffer) for buffer, at in uses.items() if buffer.kind == "own"]
    for first, last, buffer in sorted(own, key=lambda row: row[:2]):
        numbers = -(-buffer.size * (1 if buffer.type == "i1" else 8) // 8)
        found = next((k for k, (when, _, room) in enumerate(free) if when < first and room == numbers), None)
        if found is None or buffer.fixed:
            buffer.number, end = end, end + numbers
        else:
            buffer.number = free.pop(found)[1]
        if not buffer.fixed:
            free.append((last, buffer.number, numbers))
    return end
