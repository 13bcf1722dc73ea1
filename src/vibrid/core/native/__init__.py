"""Time loops as machine code: traced programs as straight lines of scalars in a loop, compiled by LLVM.

traced scan → scalars (`loop`, `unroll`) → LLVM (`text`, `handler`) → machine code
(`machine`) → called inside `jit` (`compiled`), or for many points within a loop of XLA (`points`)
"""

from vibrid.core.native.compiled import batch, in_pieces, jacobian, jit, parts
from vibrid.core.native.machine import why_not
from vibrid.core.native.points import each, value_and_slope

__all__ = ["batch", "each", "in_pieces", "jacobian", "jit", "parts", "value_and_slope", "why_not"]
