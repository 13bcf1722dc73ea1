"""OpenSeesPy itself, where it runs: its wheel for Linux brings libraries that must be loaded first."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path

_BUNDLED = ("libquadmath", "libgfortran", "libgomp", "libblas", "liblapack")  # in the order they need each other


def load_bundled() -> list[str]:
    """Load the libraries that the wheel of OpenSeesPy bundles, so that its import finds them; their names."""
    wheel = importlib.util.find_spec("openseespylinux")
    places = [] if wheel is None else list(wheel.submodule_search_locations or [])
    loaded = []
    for folder in places:
        for name in _BUNDLED:
            for path in sorted((Path(folder) / "lib").glob(f"{name}.so*")):
                ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
                loaded.append(path.name)
    return loaded
