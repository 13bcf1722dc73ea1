"""A loop of scalars as LLVM's intermediate language.

Lanes are vectors of up to `_VECTOR` numbers. A step computes what all lanes share once, and then goes over the lanes;
the last vector ends at the last lane and may overlap the one before it, so carried lanes are read from one half of a
scratch array and written to the other.
"""

from __future__ import annotations

import itertools
import struct

import numpy as np

from vibrid.core.native.handler import STORED, handler
from vibrid.core.native.loop import LoopProgram
from vibrid.core.native.scalars import (
    INTEGER,
    LANE,
    NUMBER,
    TRUTH,
    Assignment,
    Block,
    NotNative,
    Ref,
    Repeat,
    Scalar,
    _type,
)

_VECTOR = 4
_INTRINSIC = {
    "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "pow": "pow", "abs": "fabs",
    "floor": "floor", "ceil": "ceil", "max": "maximum", "min": "minimum", "copysign": "copysign",
}  # fmt: skip
_LIBRARY = {"log1p", "expm1", "tanh", "tan", "sinh", "cosh", "atan", "asin", "acos", "atan2", "cbrt", "erf"}
_ARITHMETIC = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "rem": "rem"}
_COMPARED = {
    NUMBER: {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"},
    INTEGER: {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"},
    TRUTH: {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "eq": "eq", "ne": "ne"},
}


def written(program: LoopProgram, batched: list[bool], version: tuple[int, int]) -> str:
    """The module of a loop.

    Arguments
        batched: which of the arrays that are read have a leading axis over runs; what is written then has one too.
        version: of XLA's interface.
    """
    return LoopWriter(program).module(batched, version)


class LoopWriter:
    def __init__(self, program: LoopProgram):
        self.program = program
        self.lines: list[str] = []
        self.names = itertools.count()
        self.declared: dict[str, str] = {}
        self.label = "entry"
        self.vector = min(program.lanes, _VECTOR)
        self.spread: dict[str, str] = {}

    def __call__(self, text: str) -> None:
        self.lines.append("  " + text)

    def new(self) -> str:
        return f"%x{next(self.names)}"

    def place(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.label = name

    def type(self, type: str, wide: bool) -> str:
        return f"<{self.vector} x {type}>" if wide else type

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, a: Scalar, type: str, wide: bool = False) -> str:
        """A scalar as an operand; spread over a vector where that is wanted."""
        if isinstance(a, Ref):
            if not wide or a.level == LANE:
                return f"%{a.name}"
            if a.name not in self.spread:
                own, one, all = self.type(type, True), self.new(), self.new()
                self(f"{one} = insertelement {own} poison, {type} %{a.name}, i64 0")
                self(f"{all} = shufflevector {own} {one}, {own} poison, <{self.vector} x i32> zeroinitializer")
                self.spread[a.name] = all
            return self.spread[a.name]
        text = constant(a, type)
        return "<" + ", ".join([f"{type} {text}"] * self.vector) + ">" if wide else text

    def line(self, line: Assignment) -> None:
        result, operation, given = line.result, line.operation, line.arguments
        name, wide = f"%{result.name}", result.level == LANE
        if operation == "load":
            return self.load(name, result, *given)
        if operation == "carry":
            return self.load_carried(name, *given)
        if operation == "select":
            test, yes, no = given
            own = self.type(result.type, wide)
            wide_test = isinstance(test, Ref) and test.level == LANE
            return self(
                f"{name} = select {self.type(TRUTH, wide_test)} {self.value(test, TRUTH, wide_test)}, "
                f"{own} {self.value(yes, result.type, wide)}, {own} {self.value(no, result.type, wide)}"
            )
        inside = _type(*given)
        own = self.type(inside, wide)
        values = [self.value(a, inside, wide) for a in given]
        if operation in _ARITHMETIC:
            prefix = "f" if inside == NUMBER else "s" if operation in ("div", "rem") else ""
            flags = " contract" if inside == NUMBER and operation != "rem" else ""
            return self(f"{name} = {prefix}{operation}{flags} {own} {values[0]}, {values[1]}")
        if operation in _COMPARED[NUMBER]:
            kind = "fcmp" if inside == NUMBER else "icmp"
            return self(f"{name} = {kind} {_COMPARED[inside][operation]} {own} {values[0]}, {values[1]}")
        if operation in ("and", "or", "xor", "lshr"):
            return self(f"{name} = {operation} {own} {values[0]}, {values[1]}")
        if operation == "not":
            return self(f"{name} = xor {own} {values[0]}, {self.value(True, TRUTH, wide)}")
        if operation == "neg":
            zero = self.value(0, INTEGER, wide)
            return self(
                f"{name} = fneg {own} {values[0]}" if inside == NUMBER else f"{name} = sub {own} {zero}, {values[0]}"
            )
        if operation == "unsigned":
            return self(f"{name} = uitofp {own} {values[0]} to {self.type(NUMBER, wide)}")
        if operation.startswith("to "):
            how = {(TRUTH, NUMBER): "uitofp", (INTEGER, NUMBER): "sitofp", (TRUTH, INTEGER): "zext"}
            if (inside, result.type) not in how:
                raise NotNative("numbers made whole")
            return self(f"{name} = {how[inside, result.type]} {own} {values[0]} to {self.type(result.type, wide)}")
        if inside == INTEGER:
            return self.of_integers(name, operation, own, values)
        self.function(name, operation, own, values, wide)

    def of_integers(self, name: str, operation: str, own: str, values: list[str]) -> None:
        function = {"max": "smax", "min": "smin", "abs": "abs"}[operation]
        suffix = own if own == INTEGER else f"v{self.vector}i64"
        more = ["i1 false"] if function == "abs" else []
        arguments = [*(f"{own} {v}" for v in values), *more]
        self.declare(f"llvm.{function}.{suffix}", own, [own] * len(values) + ["i1"] * len(more))
        self(f"{name} = call {own} @llvm.{function}.{suffix}({', '.join(arguments)})")

    def function(self, name: str, operation: str, own: str, values: list[str], wide: bool) -> None:
        if operation in _INTRINSIC:
            function = f"llvm.{_INTRINSIC[operation]}." + (f"v{self.vector}f64" if wide else "f64")
            self.declare(function, own, [own] * len(values))
            return self(f"{name} = call {own} @{function}({', '.join(f'{own} {v}' for v in values)})")
        if operation not in _LIBRARY:
            raise NotNative(f"the operation '{operation}'")
        self.declare(operation, "double", ["double"] * len(values))
        if not wide:
            return self(f"{name} = call double @{operation}({', '.join(f'double {v}' for v in values)})")
        sofar = "poison"
        for i in range(self.vector):
            parts = []
            for v in values:
                parts.append(self.new())
                self(f"{parts[-1]} = extractelement {own} {v}, i64 {i}")
            one, after = self.new(), name if i == self.vector - 1 else self.new()
            self(f"{one} = call double @{operation}({', '.join(f'double {p}' for p in parts)})")
            self(f"{after} = insertelement {own} {sofar}, double {one}, i64 {i}")
            sofar = after

    def declare(self, name: str, result: str, arguments: list[str]) -> None:
        self.declared[name] = f"declare {result} @{name}({', '.join(arguments)})"

    # -- memory ----------------------------------------------------------------------------------------------------

    def at(self, pointer: str, type: str, index: str) -> str:
        place = self.new()
        self(f"{place} = getelementptr {type}, ptr {pointer}, i64 {index}")
        return place

    def sum(self, *terms: str) -> str:
        total = terms[0]
        for term in terms[1:]:
            if term != "0":
                after = self.new()
                self(f"{after} = add i64 {total}, {term}")
                total = after
        return total

    def index(self, by_step: bool, size: int, element: int, wide: bool) -> str:
        """The place of an element in its array; of the first lane at hand where it has lanes."""
        lanes = self.program.lanes if wide else 1
        first = str(element * lanes)
        if by_step:
            start = self.new()
            self(f"{start} = mul i64 %row, {size * lanes}")
            first = self.sum(start, first)
        return self.sum("%lane", first) if wide else first

    def load(self, name: str, result: Ref, array: int, element: int) -> None:
        read = self.program.reads[array]
        stored, _ = STORED[read.dtype.name]
        place = self.at(f"%in{array}", stored, self.index(read.by_step, read.size, element, read.wide))
        if read.wide:
            if stored != "double":
                raise NotNative("lanes that are no numbers")
            return self(f"{name} = load {self.type(NUMBER, True)}, ptr {place}, align 8")
        if stored in (NUMBER, INTEGER):
            return self(f"{name} = load {stored}, ptr {place}, align 8")
        raw = self.new()
        self(f"{raw} = load {stored}, ptr {place}")
        self(f"{name} = trunc i8 {raw} to i1" if stored == "i8" else f"{name} = sext i32 {raw} to i64")

    def load_carried(self, name: str, array: int, element: int, number: int) -> None:
        place = self.at("%old", "double", self.sum("%lane", str(self.slot(number) * self.program.lanes)))
        self(f"{name} = load {self.type(NUMBER, True)}, ptr {place}, align 8")

    def slot(self, number: int) -> int:
        """The place of a carried number with lanes among those."""
        return sum(own.here.level == LANE for own in self.program.carried[:number])

    def store(self, pointer: str, dtype: np.dtype, index: str, a: Scalar, wide: bool) -> None:
        stored, _ = STORED[dtype.name]
        type = {"double": NUMBER, "i8": TRUTH}.get(stored, INTEGER)
        value = self.value(a, type, wide)
        place = self.at(pointer, stored, index)
        if wide or stored in (NUMBER, INTEGER):
            return self(f"store {self.type(type, wide)} {value}, ptr {place}, align 8")
        small = self.new()
        self(f"{small} = {'zext i1' if stored == 'i8' else 'trunc i64'} {value} to {stored}")
        self(f"store {stored} {small}, ptr {place}")

    # -- blocks ----------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        for line in block.lines:
            self.line(line) if isinstance(line, Assignment) else self.repeat(line)

    def repeat(self, own: Repeat) -> None:
        number = next(self.names)
        first = [self.value(a, v.type) for v, a in zip(own.variables, own.first, strict=True)]
        came = self.label
        self(f"br label %test{number}")
        self.place(f"test{number}")
        start = len(self.lines)
        self.block(own.test)
        self(f"br i1 {self.value(own.go_on, TRUTH)}, label %body{number}, label %end{number}")
        self.place(f"body{number}")
        self.block(own.body)
        after = [self.value(a, v.type) for v, a in zip(own.variables, own.after, strict=True)]
        self(f"br label %test{number}")
        self.lines[start:start] = [
            f"  %{v.name} = phi {v.type} [ {f}, %{came} ], [ {a}, %{self.label} ]"
            for v, f, a in zip(own.variables, first, after, strict=True)
        ]
        self.place(f"end{number}")

    def loop(self) -> list[str]:
        """The function `loop`: arrays read, arrays written, a scratch array, and the number of steps."""
        p = self.program
        narrow = [own for own in p.carried if own.here.level != LANE]
        broad = [own for own in p.carried if own.here.level == LANE]
        self.block(p.builder.once)
        if broad:
            self.fill_scratch(len(broad))
        came = self.label
        self("br label %step")
        self.place("step")
        start = len(self.lines)
        self("%row = sub i64 %last, %n" if p.reverse else "%row = add i64 %n, 0")
        self.block(p.builder.step)
        self.outputs(wide=False)
        if p.lanes:
            self.lane_loop(broad)
        after = [self.value(own.after, own.here.type) for own in narrow]
        self("%next = add i64 %n, 1")
        self("%more = icmp slt i64 %next, %steps")
        self("br i1 %more, label %step, label %done")
        phis = [f"  %n = phi i64 [ 0, %{came} ], [ %next, %{self.label} ]"]
        phis += [
            f"  %{own.here.name} = phi {own.here.type} [ %{own.first.name}, %{came} ], [ {a}, %{self.label} ]"
            for own, a in zip(narrow, after, strict=True)
        ]
        if broad:
            phis += [f"  %old = phi ptr [ %half0, %{came} ], [ %new, %{self.label} ]"]
            phis += [f"  %new = phi ptr [ %half1, %{came} ], [ %old, %{self.label} ]"]
        self.lines[start:start] = phis
        self.place("done")
        self.final()
        self("ret void")
        return self.function_of(self.lines)

    def function_of(self, lines: list[str]) -> list[str]:
        p = self.program
        given = [f"ptr noalias %in{i}" for i in range(len(p.reads))]
        given += [f"ptr noalias %out{i}" for i in range(len(p.written))]
        head = f"define internal void @loop({', '.join([*given, 'ptr noalias %scratch', 'i64 %steps'])}) {{"
        return [head, "entry:", "  %last = sub i64 %steps, 1", *lines, "}"]

    def globals(self) -> list[str]:
        return []

    def fill_scratch(self, count: int) -> None:
        """The first values of carried lanes go to the first half of the scratch array."""
        p, size = self.program, count * self.program.lanes
        self("%half0 = getelementptr double, ptr %scratch, i64 0")
        self(f"%half1 = getelementptr double, ptr %scratch, i64 {size}")
        self.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
        owners = [self.owner(number) for number, own in enumerate(p.carried) if own.here.level == LANE]
        slot = 0
        for i in dict.fromkeys(owners):
            place = self.at("%half0", "double", str(slot * p.lanes))
            bytes = 8 * p.reads[i].size * p.lanes
            self(f"call void @llvm.memcpy.p0.p0.i64(ptr {place}, ptr %in{i}, i64 {bytes}, i1 false)")
            slot += p.reads[i].size

    def owner(self, number: int) -> int:
        """The array among those read that holds the first value of a carried number with lanes."""
        line = next(
            own
            for own in self.program.builder.lane.lines
            if isinstance(own, Assignment) and own.operation == "carry" and own.arguments[2] == number
        )
        return line.arguments[0]

    def lane_loop(self, broad) -> None:
        p = self.program
        chunks = -(-p.lanes // self.vector)
        came = self.label
        self("br label %lanes")
        self.place("lanes")
        self(f"%chunk = phi i64 [ 0, %{came} ], [ %chunk.next, %lanes ]")
        self(f"%chunk.at = mul i64 %chunk, {self.vector}")
        self.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        self(f"%lane = call i64 @llvm.smin.i64(i64 %chunk.at, i64 {p.lanes - self.vector})")
        self.spread = {}
        self.block(p.builder.lane)
        self.outputs(wide=True)
        for slot, own in enumerate(broad):
            self.store("%new", np.dtype(float), self.sum("%lane", str(slot * p.lanes)), own.after, True)
        self("%chunk.next = add i64 %chunk, 1")
        self(f"%chunk.more = icmp slt i64 %chunk.next, {chunks}")
        self("br i1 %chunk.more, label %lanes, label %after.lanes")
        self.place("after.lanes")
        self.spread = {}

    def outputs(self, wide: bool) -> None:
        for i, own in enumerate(self.program.written):
            if own.by_step and own.wide == wide:
                for j, a in enumerate(own.elements):
                    self.store(f"%out{i}", own.dtype, self.index(True, len(own.elements), j, wide), a, wide)

    def final(self) -> None:
        """What is carried out of the last step; its values are at hand where the loop ends."""
        p, slot = self.program, 0
        for number, own in enumerate(p.written):
            if own.by_step:
                continue
            if own.wide:
                place = self.at("%new", "double", str(slot * p.lanes))
                size = 8 * len(own.elements) * p.lanes
                self(f"call void @llvm.memcpy.p0.p0.i64(ptr %out{number}, ptr {place}, i64 {size}, i1 false)")
                slot += len(own.elements)
            else:
                for j, a in enumerate(own.elements):
                    self.store(f"%out{number}", own.dtype, str(j), a, False)

    # -- the module ------------------------------------------------------------------------------------------------

    def module(self, batched: list[bool], version: tuple[int, int]) -> str:
        loop = self.loop()
        return "\n".join(
            [*sorted(self.declared.values()), *self.globals(), *loop, *handler(self.program, batched, version)]
        )


def constant(a: Scalar, type: str) -> str:
    if type == NUMBER:
        return f"0x{struct.unpack('>Q', struct.pack('>d', float(a)))[0]:016X}"  # type: ignore[arg-type]
    if type == TRUTH:
        return "true" if a else "false"
    return str(int(a))  # type: ignore[arg-type]
