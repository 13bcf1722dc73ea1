"""A small building and short motions, shared by the tests of studies: few programs are compiled."""

import numpy as np

import vibrid as vb
from vibrid.studies import Engine, InProcess

BUILDING = vb.ShearBuilding(
    masses=[1.0, 1.0],
    storeys=[vb.BoucWen(40.0, 3.0, 2.0, post_yield_ratio=0.1)] * 2,
    damping=vb.Viscous(0.5),
)


def motion(seed: int, samples: int = 150, name: str = "") -> vb.Record:
    t = 0.02 * np.arange(samples)
    waves = np.random.default_rng(seed).uniform(0, 6.28, 3)
    values = sum(np.sin((2.0 + 2 * i) * t + phase) for i, phase in enumerate(waves)) * np.sin(np.pi * t / t[-1])
    channel = vb.Channel("ground", "ground_acceleration")
    return vb.Record(values, [channel], step=0.02, name=name or f"motion {seed}")


MOTIONS = [motion(0), motion(1, 131), motion(2, 124), motion(3, 147), motion(4, 60)]


class Counted(Engine):
    """Computes in this process and counts; stops after some batches, as Ctrl-C would."""

    def __init__(self, stop_after: int | None = None):
        self.inner, self.left, self.runs = InProcess(1), stop_after, 0

    def begin(self, program):
        self.inner.begin(program)

    def results(self, batches):
        for answer in self.inner.results(batches):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left = None if self.left is None else self.left - 1
            self.runs += answer[0].size
            yield answer

    def close(self):
        self.inner.close()


def equal(first, second) -> None:
    """Two datasets have the same variables with the same numbers, bit for bit."""
    assert set(first.variables) == set(second.variables)
    for name in first.variables:
        a, b = np.asarray(first[name].values), np.asarray(second[name].values)
        assert a.shape == b.shape
        same = (a == b) | ((a != a) & (b != b)) if a.dtype.kind == "f" else a == b
        assert np.all(same), name
