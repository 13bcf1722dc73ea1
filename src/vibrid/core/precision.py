"""64-bit numbers for physics, and a compile cache on disk so that a program is compiled once per machine.

Importing this module sets both; every module of the core that uses JAX imports it, so that no room can forget.
`VIBRID_CACHE` names another folder for the cache; `VIBRID_CACHE=off` turns it off.
"""

from __future__ import annotations

import os
from pathlib import Path

import jax


def cache_folder() -> Path | None:
    """Where compiled programs are kept, or None when the cache is off."""
    chosen = os.environ.get("VIBRID_CACHE", "")
    if chosen.lower() == "off":
        return None
    return Path(chosen) if chosen else Path.home() / ".cache" / "vibrid" / "compiled"


def configure() -> None:
    """Called once, when this module is imported."""
    jax.config.update("jax_enable_x64", True)
    folder = cache_folder()
    if folder is not None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.02)  # small ones are many


configure()
