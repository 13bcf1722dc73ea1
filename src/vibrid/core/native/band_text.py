"""Equations with a band of coefficients (`core.banded`) as LLVM's intermediate language.

The elimination exchanges no rows, which the equations of a time step do not need: they are close to symmetric and
positive definite. Where a pivot is so small that digits would be lost, the answer is NaN, which is found and told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vibrid.core.native.row_text import RowWriter
    from vibrid.core.native.rows import RowAction

_SOLVE = """
define internal void @solve_bands(ptr noalias %a, ptr noalias %x, i64 %n, i64 %w) {
entry:
  %twice = mul i64 %w, 2
  %row.size = add i64 %twice, 1
  %end.row = sub i64 %n, 1
  br label %column
column:
  %k = phi i64 [ 0, %entry ], [ %k.next, %column.end ]
  %k.next = add i64 %k, 1
  %kn = mul i64 %k, %row.size
  %k.back = sub i64 %w, %k
  %k.first = add i64 %kn, %k.back
  %kk = add i64 %k.first, %k
  %kk.p = getelementptr double, ptr %a, i64 %kk
  %pivot = load double, ptr %kk.p
  %yk.p = getelementptr double, ptr %x, i64 %k
  %yk = load double, ptr %yk.p
  %reach = add i64 %k, %w
  %last = call i64 @llvm.smin.i64(i64 %reach, i64 %end.row)
  %any = icmp sle i64 %k.next, %last
  br i1 %any, label %below, label %column.end
below:
  %r = phi i64 [ %k.next, %column ], [ %r.next, %below.end ]
  %rn = mul i64 %r, %row.size
  %r.back = sub i64 %w, %r
  %r.first = add i64 %rn, %r.back
  %rk = add i64 %r.first, %k
  %rk.p = getelementptr double, ptr %a, i64 %rk
  %rk.v = load double, ptr %rk.p
  %quotient = fdiv double %rk.v, %pivot
  %kr = add i64 %k.first, %r
  %kr.p = getelementptr double, ptr %a, i64 %kr
  %kr.v = load double, ptr %kr.p
  %rr = add i64 %r.first, %r
  %rr.p = getelementptr double, ptr %a, i64 %rr
  %rr.v = load double, ptr %rr.p
  %taken = fmul double %quotient, %kr.v
  %taken.a = call double @llvm.fabs.f64(double %taken)
  %rr.a = call double @llvm.fabs.f64(double %rr.v)
  %most = fmul double %rr.a, 1.0e4
  %sound = fcmp ole double %taken.a, %most
  %factor = select i1 %sound, double %quotient, double 0x7FF8000000000000
  %yr.p = getelementptr double, ptr %x, i64 %r
  %yr = load double, ptr %yr.p
  %share = fmul contract double %factor, %yk
  %yr.new = fsub contract double %yr, %share
  store double %yr.new, ptr %yr.p
  br label %right
right:
  %c = phi i64 [ %k.next, %below ], [ %c.next, %right ]
  %kc = add i64 %k.first, %c
  %rc = add i64 %r.first, %c
  %kc.p = getelementptr double, ptr %a, i64 %kc
  %rc.p = getelementptr double, ptr %a, i64 %rc
  %kc.v = load double, ptr %kc.p
  %rc.v = load double, ptr %rc.p
  %part = fmul contract double %factor, %kc.v
  %rc.new = fsub contract double %rc.v, %part
  store double %rc.new, ptr %rc.p
  %c.next = add i64 %c, 1
  %c.more = icmp sle i64 %c.next, %last
  br i1 %c.more, label %right, label %below.end
below.end:
  %r.next = add i64 %r, 1
  %r.more = icmp sle i64 %r.next, %last
  br i1 %r.more, label %below, label %column.end
column.end:
  %k.more = icmp slt i64 %k.next, %n
  br i1 %k.more, label %column, label %back
back:
  br label %row
row:
  %b = phi i64 [ %end.row, %back ], [ %b.next, %row.end ]
  %bn = mul i64 %b, %row.size
  %b.back = sub i64 %w, %b
  %b.first = add i64 %bn, %b.back
  %bb = add i64 %b.first, %b
  %bb.p = getelementptr double, ptr %a, i64 %bb
  %bb.v = load double, ptr %bb.p
  %z.p = getelementptr double, ptr %x, i64 %b
  %z = load double, ptr %z.p
  %after = add i64 %b, 1
  %b.reach = add i64 %b, %w
  %b.last = call i64 @llvm.smin.i64(i64 %b.reach, i64 %end.row)
  %tail = icmp sle i64 %after, %b.last
  br i1 %tail, label %sum, label %row.end
sum:
  %m = phi i64 [ %after, %row ], [ %m.next, %sum ]
  %left = phi double [ %z, %row ], [ %left.next, %sum ]
  %bm = add i64 %b.first, %m
  %bm.p = getelementptr double, ptr %a, i64 %bm
  %xm.p = getelementptr double, ptr %x, i64 %m
  %bm.v = load double, ptr %bm.p
  %xm.v = load double, ptr %xm.p
  %term = fmul contract double %bm.v, %xm.v
  %left.next = fsub contract double %left, %term
  %m.next = add i64 %m, 1
  %m.more = icmp sle i64 %m.next, %b.last
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
"""x of the equations with the bands a, (n, 2w + 1); b stands in x before, and a is lost."""


def solve_bands(w: RowWriter, own: RowAction) -> None:
    assert own.into is not None
    bands, size = own.rows[0], own.into.size
    if _SOLVE not in w.tables:
        w.tables.append(_SOLVE)
        w.declare("llvm.fabs.f64", "double", ["double"])
        w.declare("llvm.smin.i64", "i64", ["i64", "i64"])
    width = (bands.size // size) // 2
    w(f"call void @solve_bands(ptr {w.row_at(bands, '0')}, ptr {w.row_at(own.into, '0')}, i64 {size}, i64 {width})")
