"""Actions on rows (`rows.RowAction`) as LLVM's intermediate language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vibrid.core.native.band_text import solve_bands
from vibrid.core.native.rows import RowAction, Stored
from vibrid.core.native.scalars import NUMBER, TRUTH, NotNative

if TYPE_CHECKING:
    from vibrid.core.native.row_text import RowWriter

_TOGETHER = 4  # rows of a matrix that are multiplied at the same time
_SOLVE = """
define internal void @solve_rows(ptr noalias %a, ptr noalias %x, i64 %n) {
entry:
  br label %column
column:
  %k = phi i64 [ 0, %entry ], [ %k.next, %column.end ]
  %kn = mul i64 %k, %n
  %kk = add i64 %kn, %k
  %kk.p = getelementptr double, ptr %a, i64 %kk
  %kk.v = load double, ptr %kk.p
  %kk.a = call double @llvm.fabs.f64(double %kk.v)
  %k.next = add i64 %k, 1
  %any = icmp slt i64 %k.next, %n
  br i1 %any, label %look, label %back
look:
  %i = phi i64 [ %k.next, %column ], [ %i.next, %look ]
  %best = phi i64 [ %k, %column ], [ %best.next, %look ]
  %most = phi double [ %kk.a, %column ], [ %most.next, %look ]
  %in = mul i64 %i, %n
  %ik = add i64 %in, %k
  %ik.p = getelementptr double, ptr %a, i64 %ik
  %ik.v = load double, ptr %ik.p
  %ik.a = call double @llvm.fabs.f64(double %ik.v)
  %larger = fcmp ogt double %ik.a, %most
  %best.next = select i1 %larger, i64 %i, i64 %best
  %most.next = select i1 %larger, double %ik.a, double %most
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %n
  br i1 %i.more, label %look, label %found
found:
  %other = mul i64 %best.next, %n
  %same = icmp eq i64 %best.next, %k
  br i1 %same, label %ready, label %swap
swap:
  %j = phi i64 [ %k, %found ], [ %j.next, %swap ]
  %sk = add i64 %kn, %j
  %so = add i64 %other, %j
  %sk.p = getelementptr double, ptr %a, i64 %sk
  %so.p = getelementptr double, ptr %a, i64 %so
  %sk.v = load double, ptr %sk.p
  %so.v = load double, ptr %so.p
  store double %so.v, ptr %sk.p
  store double %sk.v, ptr %so.p
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %n
  br i1 %j.more, label %swap, label %swapped
swapped:
  %xk.p = getelementptr double, ptr %x, i64 %k
  %xo.p = getelementptr double, ptr %x, i64 %best.next
  %xk.v = load double, ptr %xk.p
  %xo.v = load double, ptr %xo.p
  store double %xo.v, ptr %xk.p
  store double %xk.v, ptr %xo.p
  br label %ready
ready:
  %pivot = load double, ptr %kk.p
  %one = fdiv double 1.0, %pivot
  %yk.p = getelementptr double, ptr %x, i64 %k
  %yk = load double, ptr %yk.p
  br label %below
below:
  %r = phi i64 [ %k.next, %ready ], [ %r.next, %below.end ]
  %rn = mul i64 %r, %n
  %rk = add i64 %rn, %k
  %rk.p = getelementptr double, ptr %a, i64 %rk
  %rk.v = load double, ptr %rk.p
  %factor = fmul double %rk.v, %one
  %nothing = fcmp oeq double %rk.v, 0.0
  br i1 %nothing, label %below.end, label %right
right:
  %c = phi i64 [ %k.next, %below ], [ %c.next, %right ]
  %kc = add i64 %kn, %c
  %rc = add i64 %rn, %c
  %kc.p = getelementptr double, ptr %a, i64 %kc
  %rc.p = getelementptr double, ptr %a, i64 %rc
  %kc.v = load double, ptr %kc.p
  %rc.v = load double, ptr %rc.p
  %part = fmul contract double %factor, %kc.v
  %rc.new = fsub contract double %rc.v, %part
  store double %rc.new, ptr %rc.p
  %c.next = add i64 %c, 1
  %c.more = icmp slt i64 %c.next, %n
  br i1 %c.more, label %right, label %right.end
right.end:
  %yr.p = getelementptr double, ptr %x, i64 %r
  %yr = load double, ptr %yr.p
  %share = fmul contract double %factor, %yk
  %yr.new = fsub contract double %yr, %share
  store double %yr.new, ptr %yr.p
  br label %below.end
below.end:
  %r.next = add i64 %r, 1
  %r.more = icmp slt i64 %r.next, %n
  br i1 %r.more, label %below, label %column.end
column.end:
  br label %column
back:
  br label %row
row:
  %b = phi i64 [ %k, %back ], [ %b.next, %row.end ]
  %bn = mul i64 %b, %n
  %bb = add i64 %bn, %b
  %bb.p = getelementptr double, ptr %a, i64 %bb
  %bb.v = load double, ptr %bb.p
  %z.p = getelementptr double, ptr %x, i64 %b
  %z = load double, ptr %z.p
  %after = add i64 %b, 1
  %tail = icmp slt i64 %after, %n
  br i1 %tail, label %sum, label %row.end
sum:
  %m = phi i64 [ %after, %row ], [ %m.next, %sum ]
  %left = phi double [ %z, %row ], [ %left.next, %sum ]
  %bm = add i64 %bn, %m
  %bm.p = getelementptr double, ptr %a, i64 %bm
  %xm.p = getelementptr double, ptr %x, i64 %m
  %bm.v = load double, ptr %bm.p
  %xm.v = load double, ptr %xm.p
  %term = fmul contract double %bm.v, %xm.v
  %left.next = fsub contract double %left, %term
  %m.next = add i64 %m, 1
  %m.more = icmp slt i64 %m.next, %n
  br i1 %m.more, label %sum, label %row.end
row.end:
  %all = phi double [ %z, %row ], [ %left.next, %sum ]
  %answer = fdiv double %all, %bb.v
  store double %answer, ptr %z.p
  %b.next = sub i64 %b, 1
  %b.more = icmp sge i64 %b.next, 0
  br i1 %b.more, label %row, label %end
end:
  ret void
}
"""
"""x of `a x = b` by elimination with pivots; b stands in x before, and a is lost."""


def write_action(w: RowWriter, own: RowAction) -> None:
    {
        "reduce": _reduce, "product": _product, "gather": _gather, "add at": _add_at, "solve": _solve,
        "solve bands": solve_bands, "while": _while,
    }[own.kind](w, own)  # fmt: skip


def _into(own: RowAction) -> Stored:
    assert own.into is not None
    return own.into


def _loop(w: RowWriter, count: int, body, carried: tuple[tuple[str, str], ...] = ()) -> list[str]:
    """A loop over i: `body(i, names of what is carried)` returns what it becomes; the last values are returned."""
    number, came = next(w.names), w.label
    name = f"each{number}"
    w(f"br label %{name}")
    w.place(name)
    start = len(w.lines)
    here = [f"%keep{number}.{k}" for k in range(len(carried))]
    after = body(f"%i{number}", here)
    w(f"%i{number}.next = add i64 %i{number}, 1")
    w(f"%i{number}.more = icmp slt i64 %i{number}.next, {count}")
    w(f"br i1 %i{number}.more, label %{name}, label %after{number}")
    w.lines[start:start] = [
        f"  %i{number} = phi i64 [ 0, %{came} ], [ %i{number}.next, %{w.label} ]",
        *(f"  {a} = phi {type} [ {first}, %{came} ], [ {b}, %{w.label} ]"
          for a, (type, first), b in zip(here, carried, after, strict=True)),
    ]  # fmt: skip
    w.place(f"after{number}")
    return after


def _combined(w: RowWriter, how: str, type: str, wide: bool, a: str, b: str) -> str:
    name, own = w.new(), w.type(type, wide)
    if how in ("and", "or"):
        w(f"{name} = {how} {own} {a}, {b}")
    elif how == "add":
        w(f"{name} = fadd {own} {a}, {b}")
    else:
        function = f"llvm.{how}imum." + (f"v{w.vector}f64" if wide else "f64")
        w.declare(function, own, [own] * 2)
        w(f"{name} = call {own} @{function}({own} {a}, {own} {b})")
    return name


def _reduce(w: RowWriter, own: RowAction) -> None:
    """Vectors of the row together, then their elements; the last vector of a sum counts what is new in it only."""
    (row,), how = own.rows, own.how
    size, type, count = row.size, row.type, -(-row.size // w.vector)
    if how in ("add", "max", "min") and type != NUMBER:
        raise NotNative("the sum of truths")
    rest = w.vector * count - size
    load = lambda at: _loaded(w, row, at)  # noqa: E731
    if how == "add":
        total = "zeroinitializer"
        if size // w.vector:
            (total,) = _loop(
                w, size // w.vector,
                lambda i, kept: [_combined(w, how, type, True, kept[0], load(_times(w, i, w.vector)))],
                ((w.type(type, True), total),),
            )  # fmt: skip
        if rest:
            last, new = load(str(size - w.vector)), w.new()
            mask = ", ".join(f"i1 {'true' if k >= rest else 'false'}" for k in range(w.vector))
            wide = w.type(type, True)
            w(f"{new} = select <{w.vector} x i1> <{mask}>, {wide} {last}, {wide} zeroinitializer")
            total = _combined(w, how, type, True, total, new)
    else:
        total = load(str(size - w.vector))
        if size // w.vector:
            (total,) = _loop(
                w, size // w.vector,
                lambda i, kept: [_combined(w, how, type, True, kept[0], load(_times(w, i, w.vector)))],
                ((w.type(type, True), total),),
            )  # fmt: skip
    parts = [w.new() for _ in range(w.vector)]
    for k, part in enumerate(parts):
        w(f"{part} = extractelement {w.type(type, True)} {total}, i64 {k}")
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [_combined(w, how, type, False, parts[k], parts[k + half]) for k in range(half)]
    assert own.result is not None
    w(f"%{own.result.name} = select i1 true, {type} {parts[0]}, {type} {parts[0]}")


def _times(w: RowWriter, i: str, factor: int) -> str:
    name = w.new()
    w(f"{name} = mul i64 {i}, {factor}")
    return name


def _loaded(w: RowWriter, row: Stored, at: str) -> str:
    name = w.new()
    w.load_row(name, row, None, at)
    return name


def _product(w: RowWriter, own: RowAction) -> None:
    """Several rows of the matrix at a time; the last ones may be computed twice."""
    matrix, vector = own.rows
    into, columns = _into(own), vector.size
    rows, wide = into.size, w.type(NUMBER, True)
    together = min(_TOGETHER, rows)
    whole, rest = divmod(columns, w.vector)
    w.declare("llvm.smin.i64", "i64", ["i64", "i64"])

    def some(i: str, _) -> list[str]:
        first, at = _times(w, i, together), w.new()
        w(f"{at} = call i64 @llvm.smin.i64(i64 {first}, i64 {rows - together})")
        begins = []
        for k in range(together):
            row = w.sum(at, str(k)) if k else at
            begins.append(_times(w, row, columns))

        def term(sofar: str, begin: str, place: str, x: str) -> str:
            a, product, total = _loaded(w, matrix, w.sum(begin, place)), w.new(), w.new()
            w(f"{product} = fmul contract {wide} {a}, {x}")
            w(f"{total} = fadd contract {wide} {sofar}, {product}")
            return total

        def chunk(j: str, kept: list[str]) -> list[str]:
            place = _times(w, j, w.vector)
            x = _loaded(w, vector, place)
            return [term(sofar, begin, place, x) for sofar, begin in zip(kept, begins, strict=True)]

        totals = _loop(w, whole, chunk, ((wide, "zeroinitializer"),) * together)
        if rest:
            x, new = _loaded(w, vector, str(columns - w.vector)), w.new()
            mask = ", ".join(f"i1 {'true' if k >= w.vector - rest else 'false'}" for k in range(w.vector))
            w(f"{new} = select <{w.vector} x i1> <{mask}>, {wide} {x}, {wide} zeroinitializer")
            totals = [term(t, begin, str(columns - w.vector), new) for t, begin in zip(totals, begins, strict=True)]
        function = f"llvm.vector.reduce.fadd.v{w.vector}f64"
        w.declare(function, NUMBER, [NUMBER, wide])
        for k, total in enumerate(totals):
            one = w.new()
            w(f"{one} = call reassoc double @{function}(double 0.0, {wide} {total})")
            w.store_text(f"double {one}", into, w.sum(at, str(k)) if k else at)
        return []

    _loop(w, -(-rows // together), some)


def _table(w: RowWriter, places) -> str:
    name = f"@places{len(w.tables)}"
    numbers = ", ".join(f"i32 {int(place)}" for place in places)
    w.tables.append(f"{name} = private unnamed_addr constant [{len(places)} x i32] [{numbers}]")
    return name


def _place(w: RowWriter, table: str, i: str) -> str:
    short, long = w.new(), w.new()
    w(f"{short} = load i32, ptr {w.at(table, 'i32', i)}")
    w(f"{long} = sext i32 {short} to i64")
    return long


def _gather(w: RowWriter, own: RowAction) -> None:
    table, stored = _table(w, own.places), "i8" if own.rows[0].type == TRUTH else own.rows[0].type

    def one(i: str, _) -> list[str]:
        value = w.new()
        w(f"{value} = load {stored}, ptr {w.row_at(own.rows[0], _place(w, table, i))}")
        w.store_text(f"{stored} {value}", _into(own), i)
        return []

    _loop(w, _into(own).size, one)


def _add_at(w: RowWriter, own: RowAction) -> None:
    into, row = _into(own), own.rows[0]
    if row.type != NUMBER:
        raise NotNative("sums that are no numbers")
    assert own.places is not None
    kept = [(int(place), k) for k, place in enumerate(own.places) if place >= 0]
    to, source = _table(w, [place for place, _ in kept]), _table(w, [k for _, k in kept])

    def one(i: str, _) -> list[str]:
        value, before, total = w.new(), w.new(), w.new()
        w(f"{value} = load double, ptr {w.row_at(row, _place(w, source, i))}")
        place = w.row_at(into, _place(w, to, i))
        w(f"{before} = load double, ptr {place}")
        w(f"{total} = fadd double {before}, {value}")
        w(f"store double {total}, ptr {place}")
        return []

    if kept:
        _loop(w, len(kept), one)


def _solve(w: RowWriter, own: RowAction) -> None:
    if _SOLVE not in w.tables:
        w.tables.append(_SOLVE)
        w.declare("llvm.fabs.f64", "double", ["double"])
    matrix, x = w.row_at(own.rows[0], "0"), w.row_at(_into(own), "0")
    w(f"call void @solve_rows(ptr {matrix}, ptr {x}, i64 {_into(own).size})")


def _while(w: RowWriter, own: RowAction) -> None:
    number = next(w.names)
    first = [w.value(a, v.type) for v, a, _ in own.variables]
    came = w.label
    w(f"br label %test{number}")
    w.place(f"test{number}")
    start = len(w.lines)
    test, body = own.inside
    w.moments(test)
    w(f"br i1 {w.value(own.go_on, TRUTH)}, label %body{number}, label %end{number}")
    w.place(f"body{number}")
    w.moments(body)
    for row, new in own.after:
        w.move(w.row_at(row, "0"), w.row_at(new, "0"), row.size * (1 if row.type == TRUTH else 8))
    after = [w.value(a, v.type) for v, _, a in own.variables]
    w(f"br label %test{number}")
    w.lines[start:start] = [
        f"  %{v.name} = phi {v.type} [ {f}, %{came} ], [ {a}, %{w.label} ]"
        for (v, _, _), f, a in zip(own.variables, first, after, strict=True)
    ]
    w.place(f"end{number}")
