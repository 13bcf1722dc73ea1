"""A cyclic test of a virtual column: `python examples/cyclic_test.py column.csv`, then
`vibrid cyclic column.csv --law imk-pinching`.

Two cycles at each of nine amplitudes, each 1.4 times the one before (FEMA 461); a pinching hinge that loses strength;
noise of 2 % of the force.
"""

import sys

import numpy as np

import vibrid as vb


def protocol(largest: float, steps: int = 9, points: int = 25) -> np.ndarray:
    """Deformations in m: two cycles at every amplitude, straight from turn to turn."""
    sizes = largest / 1.4 ** np.repeat(np.arange(steps - 1, -1, -1), 2)
    turns = np.array([0.0, *(way * size for size in sizes for way in (1.0, -1.0)), 0.0])
    return np.interp(np.arange((len(turns) - 1) * points + 1) / points, np.arange(len(turns)), turns)


def virtual_test(
    law: vb.laws.Law, largest: float, noise: float = 0.02, key: int = 0, name: str = "column", substeps: int = 1
) -> vb.Record:
    """Deformation and force of a law in that protocol, at two samples a second. A law with a rate needs `substeps`,
    between which the machine moves smoothly; laws of the path alone need none."""
    x = vb.Record(protocol(largest), [vb.Channel("drift", "imposed_displacement")], step=0.5, name=name)
    hold = "cubic" if substeps > 1 else "linear"
    force = vb.simulate(vb.Device(law), x, hold=hold, substeps=substeps).part("device")[1]
    force = force + noise * np.std(force) * np.random.default_rng(key).standard_normal(len(x))
    channels = (*x.channels, vb.Channel("load", "element_force"))
    return x.replace(data=np.stack([x["drift"], force], axis=1), channels=channels)


COLUMN = vb.laws.IMKPinching(
    stiffness=20e6, yield_force=400e3, plastic_deformation=0.04, post_capping_deformation=0.12, capping_ratio=1.12,
    strength_capacity=1.5, capping_capacity=1.5, pinching_force=0.35, pinching_deformation=0.4,
)  # fmt: skip

if __name__ == "__main__":
    virtual_test(COLUMN, 0.09).write_csv(sys.argv[1], units={"drift": "mm", "load": "kN"})
