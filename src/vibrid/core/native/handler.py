"""The handler by which XLA calls a loop, as LLVM's intermediate language."""

from __future__ import annotations

from vibrid.core.native.loop import LoopProgram

STORED = {"float64": ("double", 8), "int64": ("i64", 8), "uint64": ("i64", 8), "int32": ("i32", 4), "bool": ("i8", 1)}
"""The types of numbers in memory, and their bytes."""


class Offsets:
    """Bytes in the structures of XLA's foreign-function interface (xla/ffi/api/c_api.h, version 0)."""

    extension, extension_type, metadata, major, minor = 8, 8, 24, 24, 28
    arguments, results = 72, 112
    data, dimensions = 24, 40


def handler(p: LoopProgram, batched: list[bool], version: tuple[int, int]) -> list[str]:
    """The function that XLA calls: it answers which version of the interface it knows, and runs the loop for every run
    of a batch."""
    at, scratch = Offsets, p.scratch
    text = [
        "define ptr @handler(ptr %frame) {",
        f"  %e = getelementptr i8, ptr %frame, i64 {at.extension}",
        "  %extension = load ptr, ptr %e",
        "  %none = icmp eq ptr %extension, null",
        "  br i1 %none, label %call, label %look",
        "look:",
        f"  %t = getelementptr i8, ptr %extension, i64 {at.extension_type}",
        "  %type = load i32, ptr %t",
        "  %asked = icmp eq i32 %type, 1",
        "  br i1 %asked, label %tell, label %call",
        "tell:",
        f"  %m = getelementptr i8, ptr %extension, i64 {at.metadata}",
        "  %metadata = load ptr, ptr %m",
        f"  %major = getelementptr i8, ptr %metadata, i64 {at.major}",
        f"  store i32 {version[0]}, ptr %major",
        f"  %minor = getelementptr i8, ptr %metadata, i64 {at.minor}",
        f"  store i32 {version[1]}, ptr %minor",
        "  ret ptr null",
        "call:",
        f"  %a = getelementptr i8, ptr %frame, i64 {at.arguments}",
        "  %arguments = load ptr, ptr %a",
        f"  %r = getelementptr i8, ptr %frame, i64 {at.results}",
        "  %results = load ptr, ptr %r",
    ]
    for kind, source, count in (
        ("in", "arguments", len(p.reads)),
        ("out", "results", len(p.written) + bool(scratch)),
    ):
        for i in range(count):
            own = f"{kind}{i}"
            text += [
                f"  %{own}.p = getelementptr ptr, ptr %{source}, i64 {i}",
                f"  %{own}.b = load ptr, ptr %{own}.p",
                f"  %{own}.d = getelementptr i8, ptr %{own}.b, i64 {at.data}",
                f"  %{own} = load ptr, ptr %{own}.d",
                f"  %{own}.n = getelementptr i8, ptr %{own}.b, i64 {at.dimensions}",
                f"  %{own}.dims = load ptr, ptr %{own}.n",
            ]
    counted = next((i for i, read in enumerate(p.reads) if read.by_step), None)
    if counted is None:
        text += [f"  %steps = add i64 0, {p.length}"]
    else:
        text += [
            f"  %steps.p = getelementptr i64, ptr %in{counted}.dims, i64 {int(batched[counted])}",
            "  %steps = load i64, ptr %steps.p",
        ]
    runs = next((i for i, own in enumerate(batched) if own), None)
    text += ["  %runs = add i64 0, 1"] if runs is None else [f"  %runs = load i64, ptr %in{runs}.dims"]
    text += ["  br label %run", "run:", "  %number = phi i64 [ 0, %call ], [ %number.next, %run ]"]
    given = []
    for i, read in enumerate(p.reads):
        text += _moved(p, f"in{i}", read.dtype, read.size, read.by_step, read.wide, batched[i])
        given.append(f"ptr %in{i}.run")
    for i, own in enumerate(p.written):
        text += _moved(p, f"out{i}", own.dtype, own.size, own.by_step, own.wide, runs is not None)
        given.append(f"ptr %out{i}.run")
    given.append(f"ptr %out{len(p.written)}" if scratch else "ptr null")
    text += [
        f"  call void @loop({', '.join(given)}, i64 %steps)",
        "  %number.next = add i64 %number, 1",
        "  %number.more = icmp slt i64 %number.next, %runs",
        "  br i1 %number.more, label %run, label %end",
        "end:",
        "  ret ptr null",
        "}",
    ]
    return text


def _moved(p: LoopProgram, name: str, dtype, size: int, by_step: bool, wide: bool, batched: bool) -> list[str]:
    """The pointer to an array of the run at hand."""
    if not batched:
        return [f"  %{name}.run = getelementptr i8, ptr %{name}, i64 0"]
    bytes = STORED[dtype.name][1] * size * (p.lanes if wide else 1)
    rows = "%steps" if by_step else "1"
    return [
        f"  %{name}.row = mul i64 {rows}, {bytes}",
        f"  %{name}.skip = mul i64 %number, %{name}.row",
        f"  %{name}.run = getelementptr i8, ptr %{name}, i64 %{name}.skip",
    ]
