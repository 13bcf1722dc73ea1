"""Tests of a virtual friction damper for `vibrid hybrid train`, as a laboratory would make them.

    python examples/device_tests.py device-tests
    vibrid hybrid train device-tests/training.toml --out damper.npz

A two-storey building with LuGre dampers is simulated under synthetic motions. The deformations of both dampers are
imposed on virtual specimens: the first-storey test is the input of the network (measurements of the tested device), the
second-storey test its output. One folder receives the records, a training file, and the hybrid test by which networks
are chosen.
"""

import sys
from pathlib import Path

import numpy as np

import vibrid as vb

CAPACITIES = (13e3, 18e3, 23e3)
MOTIONS = 6  # the last one is for validation
LOOP = """
title = "two storeys with friction dampers"

[structure]
kind = "shear-building"
masses = ["8.9 t", "9.1 t"]
storeys = {law = "linear", count = 2, stiffness = "9 MN/m"}
damping = {kind = "modal", ratios = 0.03}

[excitation]
synthetic = {seed = 99, duration = 20.0, rate = 1024.0, pga = "0.4 g", significant_duration = 6.0, middle = 6.0}

[[hybrid.experimental]]
name = "first"
at = 0
count = 4
device = {kind = "banded-friction-damper", capacity = "18 kN", seed = 1}

[[hybrid.modelled]]
name = "second"
at = 1
to = 0
count = 4
companion = "first"
device = {kind = "banded-friction-damper", capacity = "18 kN", seed = 2}   # to be replaced by a network
"""


def law(capacity: float) -> vb.LuGre:
    """A law for the damper before any training; one sine test gives these numbers."""
    share = capacity / 23e3
    return vb.LuGre(6.44e6, 29.6e3, share * 22.9e3, share * 19.8e3, share * 24.4e3, share * 21.9e3, 0.025)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    building = vb.ShearBuilding(masses=[8.9e3, 9.1e3], storeys=[vb.Linear(9e6)] * 2, damping=vb.Modal(0.03))
    rows = ['title = "friction damper"', "", "[recipe]", "steps = 1000", "seeds = 2", ""]
    for motion in range(MOTIONS):
        ground = vb.synthetic_motion(motion, duration=16.0, rate=1024.0, pga=4.0 + motion, significant_duration=6.0)
        for capacity in CAPACITIES:
            parts = [
                vb.Modelled(law(capacity), at=at, to=to, name=name, count=4)
                for name, at, to in (("first", 0, ""), ("second", 1, "0"))
            ]
            moved = vb.HybridTest(building, [], parts).run(ground)
            files = []
            for i, part in enumerate(parts):
                x = moved.devices[f"{part.name}.target"]
                v = (moved.response.velocity @ part.row(building))[1:]
                channels = [vb.Channel("x", "imposed_displacement"), vb.Channel("v", "imposed_velocity")]
                target = vb.Record(np.stack([x, v], axis=1), channels, step=1 / 1024, name=part.name)
                specimen = vb.BandedFrictionDamper.drawn(10 * motion + i, capacity)
                test = vb.impose(specimen, target)
                chosen = test.select(["displacement", "force", "band_1", "band_2"])
                files.append(f"{part.name}-{motion}-{capacity / 1e3:g}kN.h5")
                chosen.write_hdf5(folder / files[-1])
            use = "validation" if motion == MOTIONS - 1 else "training"
            rows += ["[[tests]]", f'file = "{files[1]}"', f'companion = "{files[0]}"', f"capacity = {capacity:g}",
                     f'use = "{use}"', ""]  # fmt: skip
    (folder / "loop.toml").write_text(LOOP)
    rows += ["[closed_loop]", 'project = "loop.toml"', 'place = "second"', 'capacity = "18 kN"', "rest = 4.0"]
    (folder / "training.toml").write_text("\n".join(rows) + "\n")
    print(f"wrote {2 * MOTIONS * len(CAPACITIES)} tests, loop.toml and training.toml to {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "device-tests"))
