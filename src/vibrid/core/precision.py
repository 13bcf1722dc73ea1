"""64-bit numbers for physics, and a compile cache on disk so that a program is compiled once per machine.

Importing this module sets up both; every module of the core that uses JAX imports it, so that no package can forget.
Settings of the user stay: their own cache is used as it is, and a request for 32-bit numbers is refused instead of
overruled (docs/process.md). `VIBRID_CACHE` names another folder for the cache; `VIBRID_CACHE=off` turns ours off.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jax

from vibrid.core.errors import Refusal

_NO = ("0", "false", "off", "no", "n", "f")
_SHORTEST = "jax_persistent_cache_min_compile_time_secs"


def own_folder() -> Path | None:
    """Where vibrid would keep compiled programs; None when its cache is off or this user has no home."""
    chosen = os.environ.get("VIBRID_CACHE", "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen)
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return caches / "vibrid" / "compiled"


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
