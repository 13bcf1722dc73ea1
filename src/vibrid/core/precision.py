"""64-bit numbers for physics, and a compile cache on disk so that a program is compiled once per machine.

Importing this module sets up both; every module of the core that uses JAX imports it, so that no package can forget.
Settings of the user stay: their own cache is used as it is, and a request for 32-bit numbers is refused instead of
overruled (docs/process.md). `VIBRID_CACHE` names another folder for the cache; `VIBRID_CACHE=off` turns ours off.

Compiled programs use all that a processor can do, and another one may not have it: every kind of processor has a folder
of its own inside, so that machines may share a disk.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from pathlib import Path
from typing import Any

import jax

from vibrid.core.errors import Refusal

_NO = ("0", "false", "off", "no", "n", "f")
_SHORTEST = "jax_persistent_cache_min_compile_time_secs"
_FEATURES = {
    *("vendor_id", "cpu family", "model", "model name", "flags"),  # x86
    *("cpu implementer", "cpu architecture", "cpu variant", "cpu part", "features"),  # ARM
    *("cpu", "isa", "uarch"),  # POWER, RISC-V
}
"""The lines of /proc/cpuinfo that say which programs a processor can run."""


def own_folder() -> Path | None:
    """Where vibrid would keep compiled programs; None when its cache is off or this user has no home."""
    chosen = os.environ.get("VIBRID_CACHE", "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen) / processor()
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return caches / "vibrid" / "compiled" / processor()


@functools.cache
def processor() -> str:
    """The kind of processor, as the name of a folder: its machine, and a digest of its model and features."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        told = ""
    return kind_of_processor(platform.machine(), told or platform.processor())


def kind_of_processor(machine: str, told: str) -> str:
    """The name for a machine and what is told of its processor: the text of /proc/cpuinfo, or one line.

    Speeds and numbers of cores do not matter, nor does the order of the features.
    """
    found = set()
    for line in filter(str.strip, told.splitlines()):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            found.add(line.strip())
        elif name.lower() in _FEATURES:
            found.add(f"{name.lower()}: {' '.join(sorted(value.split()))}")
    digest = hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()
    return f"{machine or 'unknown'}-{digest[:12]}"


def _setting(name: str) -> Any:
    """A setting of JAX, which makes them as it goes."""
    return getattr(jax.config, name)


def cache_folder() -> Path | None:
    """Where JAX keeps compiled programs in this process, or None when it does not."""
    folder = _setting("jax_compilation_cache_dir")
    return Path(folder) if folder and _setting("jax_enable_compilation_cache") else None


def configure() -> None:
    """Called once, when this module is imported."""
    wish = os.environ.get("JAX_ENABLE_X64", "").strip().lower()
    if wish in _NO:
        raise Refusal(
            f"JAX_ENABLE_X64={wish} asks for 32-bit numbers, with which vibrid's answers would be wrong without a "
            "sign of it: unset it, or run what needs it in a process of its own."
        )
    jax.config.update("jax_enable_x64", True)
    theirs = _setting("jax_compilation_cache_dir") and not os.environ.get("VIBRID_CACHE")
    folder = own_folder()
    if theirs or folder is None:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    if _SHORTEST.upper() not in os.environ and _setting(_SHORTEST) == 1.0:  # JAX's own default
        jax.config.update(_SHORTEST, 0.02)  # small ones are many


def check_precision() -> None:
    """Refuse to compute where 64-bit numbers were turned off after vibrid was imported."""
    if not _setting("jax_enable_x64"):
        raise Refusal(
            "64-bit numbers were turned off (jax_enable_x64) after vibrid was imported, and its answers would be wrong "
            'without a sign of it: jax.config.update("jax_enable_x64", True).'
        )


configure()
