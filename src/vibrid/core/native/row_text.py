"""A loop of rows as LLVM's intermediate language.

A row is gone over in vectors. The last vector ends at the last element and may overlap the one before it: its elements
are computed again, from the same numbers, because no loop writes what it reads.
"""

from __future__ import annotations

from typing import Any

from vibrid.core.native.handler import STORED
from vibrid.core.native.row_action_text import write_action
from vibrid.core.native.row_loop import Moment, RowLoop, RowProgram
from vibrid.core.native.rows import Buffer, Put, Stored
from vibrid.core.native.scalars import LANE, ONCE, STEP, TRUTH, Assignment, Ref, Scalar
from vibrid.core.native.text import LoopWriter, constant

VECTOR = 4
"""Numbers in a vector; at most `LEAST_ROW`."""


class RowWriter(LoopWriter):
    program: RowProgram

    def __init__(self, program: RowProgram):
        super().__init__(program)
        self.vector = VECTOR
        self.known: dict[int, str] = {}
        self.tables: list[str] = []  # of places, and functions
        self.here = "0"  # the element at hand in a loop over elements

    # -- memory ----------------------------------------------------------------------------------------------------

    def row_at(self, a: Stored, place: str) -> str:
        """The pointer to an element of a row."""
        buffer, stored = a.buffer, "i8" if a.type == TRUTH else a.type
        if buffer.kind == "known":
            self.keep(buffer)
            pointer = f"@known{buffer.number}"
        elif buffer.kind in ("in", "out"):
            pointer = f"%{buffer.kind}{buffer.number}"
            if buffer.by_step:
                start = self.new()
                self(f"{start} = mul i64 %row, {buffer.size}")
                pointer = self.at(pointer, stored, start)
        else:
            base = {"old": "%old", "new": "%new", "own": "%scratch"}[buffer.kind]
            pointer = self.at(base, "double", str(buffer.number))
        if a.first:
            pointer = self.at(pointer, stored, str(a.first))
        return pointer if place == "0" else self.at(pointer, stored, place)

    def keep(self, buffer: Buffer) -> None:
        assert buffer.numbers is not None
        type = "i8" if buffer.type == TRUTH else buffer.type
        written = (str(int(a)) if buffer.type == TRUTH else constant(a, buffer.type) for a in buffer.numbers)
        numbers = ", ".join(f"{type} {a}" for a in written)
        self.known[buffer.number] = (
            f"@known{buffer.number} = private unnamed_addr constant [{buffer.size} x {type}] [{numbers}], align 64"
        )

    def line(self, line: Assignment) -> None:
        if line.operation == "row":
            return self.load_row(f"%{line.result.name}", line.arguments[0], None, self.here)
        if line.operation == "element":
            row, place = line.arguments
            return self.load_row(f"%{line.result.name}", row, place, str(place))
        super().line(line)

    def load_row(self, name: str, a: Stored, place: int | None, at: str) -> None:
        """An element, or where there is no `place` the vector that begins there."""
        pointer, wide = self.row_at(a, at), place is None
        if a.type != TRUTH:
            return self(f"{name} = load {self.type(a.type, wide)}, ptr {pointer}, align 8")
        raw = self.new()
        self(f"{raw} = load {self.type('i8', wide)}, ptr {pointer}, align 1")
        self(f"{name} = trunc {self.type('i8', wide)} {raw} to {self.type(TRUTH, wide)}")

    def store_row(self, a: Scalar, into: Stored, wide: bool, at: str) -> None:
        value = self.value(a, into.type, wide)
        if into.type != TRUTH:
            return self.store_text(f"{self.type(into.type, wide)} {value}", into, at)
        small = self.new()
        self(f"{small} = zext {self.type(TRUTH, wide)} {value} to {self.type('i8', wide)}")
        self.store_text(f"{self.type('i8', wide)} {small}", into, at)

    def store_text(self, value: str, into: Stored, at: str) -> None:
        self(f"store {value}, ptr {self.row_at(into, at)}, align {1 if into.type == TRUTH else 8}")

    # -- loops over elements ---------------------------------------------------------------------------------------

    def moments(self, scope: int) -> None:
        for own in self.program.scopes[scope]:
            self.moment(own)

    def moment(self, own: Moment) -> None:
        for line in own.lines:
            self.line(line)
        for put in own.puts:
            self.put(put)
        for loop in own.loops:
            self.over(loop)
        for action in own.actions:
            write_action(self, action)

    def put(self, own: Put) -> None:
        self.store_row(own.value, own.into, False, "0")

    def over(self, loop: RowLoop) -> None:
        number, came = next(self.names), self.label
        chunks = -(-loop.size // self.vector)
        name = f"elements{number}"
        self.spread = {}
        given = [a for line in loop.block.lines for a in _read(line)] + [a for a, _ in loop.stores]
        before = {a.name: a for a in given if isinstance(a, Ref) and a.level != LANE}
        for a in before.values():
            self.value(a, a.type, True)
        self(f"br label %{name}")
        self.place(name)
        at = self.here = f"%at{number}"
        self(f"%chunk{number} = phi i64 [ 0, %{came} ], [ %chunk{number}.next, %{name} ]")
        self(f"%first{number} = mul i64 %chunk{number}, {self.vector}")
        self.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        self(f"{at} = call i64 @llvm.smin.i64(i64 %first{number}, i64 {loop.size - self.vector})")
        for line in loop.block.lines:
            assert isinstance(line, Assignment)
            self.line(line)
        for a, into in loop.stores:
            self.store_row(a, into, True, self.here)
        self(f"%chunk{number}.next = add i64 %chunk{number}, 1")
        self(f"%more{number} = icmp slt i64 %chunk{number}.next, {chunks}")
        after = f"after{number}"
        self(f"br i1 %more{number}, label %{name}, label %{after}")
        self.place(after)
        self.spread = {}

    # -- the loop over time ----------------------------------------------------------------------------------------

    def loop(self) -> list[str]:
        p = self.program
        self(f"%half1 = getelementptr double, ptr %scratch, i64 {p.half}")
        for array, slot, bytes in p.firsts:
            self.move(self.at("%scratch", "double", str(slot)), f"%in{array}", bytes)
        self.moments(ONCE)
        came = self.label
        self("br label %step")
        self.place("step")
        start = len(self.lines)
        self("%row = sub i64 %last, %n" if p.reverse else "%row = add i64 %n, 0")
        self.moments(STEP)
        for i, result in enumerate(p.written):
            if result.by_step and result.elements is not None:
                for j, a in enumerate(result.elements):
                    self.store(f"%out{i}", result.dtype, self.index(True, result.size, j, False), a, False)
        after = [self.value(own.after, own.here.type) for own in p.carried]
        self("%next = add i64 %n, 1")
        self("%more = icmp slt i64 %next, %steps")
        self("br i1 %more, label %step, label %done")
        phis = [f"  %n = phi i64 [ 0, %{came} ], [ %next, %{self.label} ]"]
        phis += [
            f"  %{own.here.name} = phi {own.here.type} [ %{own.first.name}, %{came} ], [ {a}, %{self.label} ]"
            for own, a in zip(p.carried, after, strict=True)
        ]
        phis += [f"  %old = phi ptr [ %scratch, %{came} ], [ %new, %{self.label} ]"]
        phis += [f"  %new = phi ptr [ %half1, %{came} ], [ %old, %{self.label} ]"]
        self.lines[start:start] = phis
        self.place("done")
        self.final()
        self("ret void")
        return self.function_of(self.lines)

    def final(self) -> None:
        for i, own in enumerate(self.program.written):
            if own.by_step:
                continue
            if own.elements is None:
                size = STORED[own.dtype.name][1] * own.size
                self.move(f"%out{i}", self.at("%new", "double", str(own.slot)), size)
            else:
                for j, a in enumerate(own.elements):
                    self.store(f"%out{i}", own.dtype, str(j), a, False)

    def move(self, to: str, source: str, bytes: int) -> None:
        self.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
        self(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {bytes}, i1 false)")

    def globals(self) -> list[str]:
        return [*(self.known[number] for number in sorted(self.known)), *self.tables]


def _read(line: Any) -> list[Ref]:
    return [a for a in line.arguments if isinstance(a, Ref)]


def written_rows(program: RowProgram, batched: list[bool], version: tuple[int, int]) -> str:
    """The module of a loop of rows; arguments as of `text.written`."""
    return RowWriter(program).module(batched, version)
