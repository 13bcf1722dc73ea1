"""Faster time loops on a CPU."""

from __future__ import annotations

import os

_OPTION = "xla_cpu_small_while_loop_byte_threshold"
_BYTES = 1 << 18
whole = False
"""Whether this process compiles whole loops."""


def compile_whole_loops() -> None:
    """Make the compiler turn a loop over time into one native function; call it before anything is computed.

    On a CPU, XLA runs the operations in the body of a loop one by one from a list, which for small structures costs
    more than the operations do. Loops that work on less than a kilobyte become one function instead. This raises that
    limit to 256 kilobytes for this process: a hybrid test of a small building runs five times faster, and a step of it
    takes a few µs. A value already set in `XLA_FLAGS` stays.

    The last bits of a result depend on it, so it is not handed on to the processes that this one starts: the compiler
    reads `XLA_FLAGS` when it starts, here, and the environment is then as before.
    """
    global whole
    before = os.environ.get("XLA_FLAGS")
    if "xla_backend_extra_options" in (before or ""):
        return
    import jax

    whole = True
    os.environ["XLA_FLAGS"] = f"{before or ''} --xla_backend_extra_options={_OPTION}={_BYTES}".strip()
    try:
        jax.devices()
    finally:
        if before is None:
            del os.environ["XLA_FLAGS"]
        else:
            os.environ["XLA_FLAGS"] = before
