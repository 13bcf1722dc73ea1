"""Time loops as machine code: traced programs as straight lines of scalars in a loop, compiled by LLVM.

traced scan → scalars (`loop`, `unroll`) → LLVM (`text`, `handler`) → machine code
(`machine`) → called inside `jit` (`compiled`)
"""

from vibrid.core.native.compiled import batch, jacobian, jit
from vibrid.core.native.machine import why_not

__all__ = ["batch", "jacobian", "jit", "why_not"]
