"""OpenSeesPy, or a skip: its wheels need their own bundled libraries loaded first."""

import ctypes
import importlib
import importlib.util
from pathlib import Path

_BUNDLED = ("libquadmath", "libgfortran", "libgomp", "libblas", "liblapack")  # in the order they need each other


def load_opensees():
    """The module `openseespy.opensees`; ImportError when it is not installed or cannot run here."""
    wheel = importlib.util.find_spec("openseespylinux")
    try:
        if wheel is not None:
            folder = Path(wheel.submodule_search_locations[0]) / "lib"
            for name in _BUNDLED:
                for path in folder.glob(f"{name}.so*"):
                    ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
        return importlib.import_module("openseespy.opensees")
    except Exception as problem:  # OSError or RuntimeError where its libraries are for another machine
        raise ImportError(f"OpenSeesPy cannot be imported: {problem}") from problem


def opensees():
    """OpenSeesPy with an empty model; the test is skipped where it cannot be imported."""
    import pytest

    try:
        ops = load_opensees()
    except ImportError as problem:
        pytest.skip(str(problem))
    ops.wipe()
    return ops
