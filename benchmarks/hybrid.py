"""Virtual hybrid tests: how much faster than real time they run.

    python benchmarks/hybrid.py

Forty seconds each: a shear building with two virtual friction dampers commanded at 1024 Hz, and the two-storey fibre
frame in steps of 4/1024 s with its dampers at 1024 Hz; with and without an actuator and its compensation. Compilation
is not counted. Results go to `benchmarks/results/`, the table to `benchmarks/README.md`.
"""

import argparse
import os
import platform
import time

import jax
import numpy as np
from table import save

import vibrid as vb
from vibrid.core.loops import compile_whole_loops
from vibrid.papers.two_storey import FLOOR, ROOF, damper, two_storey_building

SECONDS = 40.0
TIMES = 5


def row(what, measured, target="", met=None, note="", **details) -> dict:
    return {"what": what, "measured": measured, "target": target, "met": met, "note": note, "details": details}


def building() -> vb.ShearBuilding:
    storeys = [vb.BoucWen(stiffness=9e6, beta=25.0, gamma=15.0, post_yield_ratio=0.05)] * 2
    return vb.ShearBuilding(masses=[8.9e3, 9.1e3], storeys=storeys, damping=vb.Modal(0.03))


def machine() -> dict:
    """A servo-hydraulic machine that lags by 18 ms, and its compensation."""
    actuator = vb.Actuator(vb.hybrid.SecondOrder.with_lag(0.018), velocity_limit=0.33, stroke=0.089, noise=2e-5)
    return {"actuator": actuator, "compensator": vb.hybrid.AdaptiveTimeSeries(0.015)}


def tests() -> list[tuple]:
    """(what, test, required ratio of real time to run time)."""
    virtual, law = vb.BandedFrictionDamper(), damper(1)
    places = {"shear building": (("0", ""), ("1", "0")), "fibre frame": ((FLOOR, ""), (ROOF, FLOOR))}

    def test(structure, kind, first, second, substeps, **moved):
        (at, _), (above, below) = places[kind]
        tested = vb.Experimental(first, at=at, name="first", count=4, **moved)
        modelled = vb.Modelled(second, at=above, to=below, name="second", count=4, companion="first")
        return vb.HybridTest(structure, [tested], [modelled], substeps=substeps)

    frame = two_storey_building()
    return [
        ("shear building, two virtual banded friction dampers, 1/1024 s",
         test(building(), "shear building", virtual, virtual, 1), 20.0),
        ("the same, one of them in a machine with ATS",
         test(building(), "shear building", virtual, virtual, 1, **machine()), 20.0),
        ("the same, two LuGre dampers moved exactly", test(building(), "shear building", law, law, 1), None),
        ("fibre frame in steps of 4/1024 s, two virtual dampers at 1/1024 s, one in a machine with ATS",
         test(frame, "fibre frame", virtual, virtual, 4, **machine()), 5.0),
        ("the same, steps of 1/1024 s", test(frame, "fibre frame", virtual, virtual, 1, **machine()), None),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", default="", help="the machine in general words, for the table")
    parser.add_argument("--name", default="hybrid", help="file name of the results")
    chosen = parser.parse_args()
    compile_whole_loops()
    motion = vb.synthetic_motion(3, duration=SECONDS, rate=1024.0, pga=4.0)
    rows = []
    for what, test, required in tests():
        result = test.run(motion)
        wall, own = [], []
        for _ in range(TIMES):
            began, used = time.perf_counter(), time.process_time()
            test.run(motion)
            wall.append(time.perf_counter() - began)
            own.append(time.process_time() - used)
        best = SECONDS / min(wall)
        peak = 1e3 * np.abs(result.response.displacement).max()
        note = (
            f"{min(wall):.2f} s of wall clock (median {np.median(wall):.2f} s), {min(own):.2f} s of processor time; "
            f"largest displacement {peak:.1f} mm; J₂ {100 * result.tracking('first').error:.2f} %"
        )
        target, met = ("", None) if required is None else (f"≥ {required:g} ×", bool(best >= required))
        rows.append(row(what, f"{best:.1f} × real time", target, met, note, wall=wall, processor=own))
        print(what, rows[-1]["measured"], note, flush=True)
    machine_words = chosen.machine or f"{os.cpu_count()} cores, {platform.machine()}, {jax.default_backend()}"
    save(chosen.name, "Hybrid tests", "python benchmarks/hybrid.py", machine_words, rows)


if __name__ == "__main__":
    main()
