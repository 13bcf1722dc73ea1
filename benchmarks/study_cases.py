"""The structure, motions and studies of `benchmarks/studies.py` and `study_kills.py`."""

import time

import numpy as np

import vibrid as vb
from vibrid.core.progress import Progress
from vibrid.studies import Collapse

LEVELS = np.linspace(2.0, 40.0, 20)


def building() -> vb.ShearBuilding:
    """Three storeys of 20 t, 0.45 s."""
    storeys = [vb.BoucWen(stiffness=20e6, beta=60.0, gamma=60.0, post_yield_ratio=0.02)] * 3
    return vb.ShearBuilding(masses=[20e3] * 3, storeys=storeys, damping=vb.Viscous(80e3))


def ida(motions: int = 44, duration: float = 40.0, rate: float = 200.0):
    """44 motions × 20 levels."""
    suite = [vb.synthetic_motion(key=i, duration=duration, rate=rate, name=f"motion {i}") for i in range(motions)]
    return vb.study(building(), suite, levels=LEVELS, collapse=Collapse(drift=0.12))


def small_ida():
    """The same with 128 motions of 15 s: 2560 runs in forty batches."""
    return ida(128, 15.0, 100.0)


class Begins(Progress):
    """Calls a function when the first batch of a process is written: it is compiled then, and kills meet real work."""

    def __init__(self, begun):
        self.begun, self.called = begun, False

    def update(self, done, note=""):
        if not self.called:
            self.called = True
            self.begun()


class Moments(Progress):
    """When each batch was written, in seconds; with `between`, from the first to the last of them."""

    def __init__(self):
        self.at = []

    def update(self, done, note=""):
        self.at.append(time.perf_counter())

    def between(self) -> float:
        return self.at[-1] - self.at[0]
