"""Where a computation runs. A motion is integrated step after step, thousands of small operations in a row: on an
accelerator each of them waits to be launched, and a processor is a hundred times quicker."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

from vibrid.core import precision  # noqa: F401


def cores() -> int:
    """Processor cores this process may use; at most `OMP_NUM_THREADS`, where it is set."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wish = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(there, int(wish)) if wish.isdigit() and int(wish) > 0 else there


def accelerated() -> bool:
    """Whether programs run on something else than the processor, unless chosen otherwise."""
    return jax.default_backend() != "cpu"


def unrolled() -> int:
    """Samples in one turn of a compiled loop: a turn costs an accelerator a launch, a processor almost nothing."""
    return 16 if accelerated() else 1


def on_processor() -> AbstractContextManager[Any]:
    """A context in which programs run on the processor, whatever other devices JAX has; no change where it has none.

    Arrays on other devices are moved to it.
    """
    if not accelerated():
        return nullcontext()
    try:
        return jax.default_device(jax.devices("cpu")[0])
    except RuntimeError:  # JAX_PLATFORMS names the accelerator alone
        return nullcontext()
