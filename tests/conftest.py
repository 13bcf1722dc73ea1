import gc
import os
from pathlib import Path

import jax
import numpy as np
import pytest

import vibrid as vb
from vibrid.core import kept_programs

kept_programs.keeps = False  # tests change code while it runs: what they compile is not for later
os.environ.setdefault("VIBRID_NATIVE", "strict")  # a fault of the native loops is not hidden by going back to XLA


def shared_data_folder() -> Path:
    """The folder of real records: beside the repository, or where VIBRID_SHARED_DATA says."""
    chosen = os.environ.get("VIBRID_SHARED_DATA")
    return Path(chosen) if chosen else Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items):
    missing = not shared_data_folder().is_dir()
    for item in items:
        if missing and "shared_data" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="the folder of real records is not here"))


MOST_MAPS = 15_000


@pytest.fixture(scope="module", autouse=True)
def few_programs():
    """Compiled programs go when they are many: each holds pieces of memory, and Linux lets a process have 65 530."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    return shared_data_folder()


def ground(values, step) -> vb.Record:
    return vb.Record(np.asarray(values), [vb.Channel("ground", "ground_acceleration")], step=step, name="test motion")


@pytest.fixture(scope="session")
def motion() -> vb.Record:
    """Ten seconds of a smooth irregular motion with an envelope, piecewise linear at 50 Hz, given at 100 Hz."""
    rng = np.random.default_rng(1)
    t = np.arange(0, 10.001, 0.02)
    phases = rng.uniform(0, 2 * np.pi, 12)
    freqs = np.linspace(0.3, 4.0, 12)
    raw = sum(np.sin(2 * np.pi * f * t + p) for f, p in zip(freqs, phases, strict=True))
    values = 0.8 * raw * np.exp(-(((t - 4) / 3) ** 2))
    fine = np.arange(0, 10.001, 0.01)
    return ground(np.interp(fine, t, values), 0.01)


@pytest.fixture(scope="session")
def bouc_wen_building() -> vb.ShearBuilding:
    return vb.ShearBuilding(
        masses=[1.0] * 3,
        storeys=[vb.BoucWen(stiffness=k, beta=2.0, gamma=2.0, exponent=1.0) for k in (50.0, 45.0, 45.0)],
        damping=vb.Thermostat(initial=1.5, rate=10.0),
    )
