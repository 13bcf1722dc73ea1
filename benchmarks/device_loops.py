"""Device models in the loop under near-fault motions: energy, and the roof beside a fitted law.

    python benchmarks/device_loops.py damper.npz law.npz --capacity 13.3 17.6

Twelve motions of the kind that is recorded beside a fault (a velocity pulse after Mavroeidis and Papageorgiou, 2003, on
a synthetic motion), each at three strengths, shake a two-storey building with four dampers in the first storey. The
first model is compared with the second, which is a law fitted to the same tests (`benchmarks/devices.py --keep FOLDER`
writes both).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from table import save

import vibrid as vb
from vibrid.hybrid.learned.closed_loop import run_or_break
from vibrid.hybrid.learned.files import SavedModel, load_model
from vibrid.hybrid.parts import Modelled
from vibrid.papers.pages import machine

RATE, LENGTH = 1024.0, 20.0
STRENGTHS = (0.4, 0.8, 1.2)  # m/s, of the pulse
PLACE = "damper"


def near_fault(number: int, strength: float) -> vb.Record:
    """A ground motion with a pulse in its velocity (m/s), then five seconds of rest."""
    rng = np.random.default_rng([17, number])
    period, cycles, phase = rng.uniform(0.6, 3.0), rng.uniform(1.0, 2.5), rng.uniform(0.0, 2.0 * np.pi)
    plain = vb.synthetic_motion(key=number, duration=LENGTH - 5.0, rate=RATE, pga=0.25 * 9.81 * strength)
    samples = np.zeros(round(LENGTH * RATE))
    samples[: len(plain)] = plain.data[: len(samples), 0]
    t = np.arange(len(samples)) / RATE - 5.0
    inside = np.abs(t) <= 0.5 * cycles * period
    shape = 0.5 * (1.0 + np.cos(2.0 * np.pi * t / period / cycles)) * np.cos(2.0 * np.pi * t / period + phase)
    pulse = strength * np.where(inside, shape, 0.0)
    channels = [vb.Channel("ground", "ground_acceleration", direction="x")]
    return vb.Record(samples + np.gradient(pulse, 1.0 / RATE), channels, step=1.0 / RATE, name=f"motion {number}")


def building() -> vb.ShearBuilding:
    """The one of `examples/hybrid.toml`."""
    storeys = [vb.BoucWen(9e6, beta=25.0, gamma=15.0, post_yield_ratio=0.05)] * 2
    return vb.ShearBuilding([8.9e3, 9.1e3], storeys, damping=vb.Modal(0.03))


def loop(saved: SavedModel, capacity: tuple[float, float], motion: vb.Record) -> dict | None:
    """Largest roof displacement (m), and the energy (J) that one device has taken up: least while running, and all."""
    device = saved.device(RATE, *capacity)
    result = run_or_break(vb.HybridTest(building(), modelled=[Modelled(device, 0, count=4, name=PLACE)]), motion)
    if result is None:
        return None
    x, force = (result.devices[f"{PLACE}.{what}"] for what in ("displacement", "force"))
    work = np.cumsum(force[1:] * np.diff(x))
    return {"roof": float(np.abs(result.displacement("1")).max()), "least": float(work.min()), "all": float(work[-1])}


def compared(model: SavedModel, law: SavedModel, capacity: tuple[float, float]) -> list[dict]:
    """Rows of the table: all motions at all strengths."""
    pairs = []
    for number in range(12):
        for strength in STRENGTHS:
            motion = near_fault(number, strength)
            pairs.append((loop(model, capacity, motion), loop(law, capacity, motion)))
            print(f"motion {number}, {strength:g} m/s: {pairs[-1]}", flush=True)
    both = [(one, other) for one, other in pairs if one and other]
    broken = sum(one is None for one, _ in pairs)
    differ = 100 * np.array([abs(one["roof"] / other["roof"] - 1.0) for one, other in both])
    least, ratio = min(one["least"] for one, _ in both), np.median([one["all"] / other["all"] for one, other in both])
    return [
        {"what": "hybrid tests that diverge", "measured": f"{broken} of {len(pairs)}", "target": "0", "met": not broken,
         "note": f"roofs up to {1e3 * max(one['roof'] for one, _ in both):.0f} mm"},
        {"what": "least running energy of a device", "measured": f"{least:.3g} J", "target": "≥ 0",
         "met": bool(least >= -1e-6), "note": "but for rounding"},
        {"what": "largest roof displacement beside the law's", "measured": f"{differ.max():.1f} %", "target": "≤ 15 %",
         "met": bool(differ.max() <= 15), "note": f"median {np.median(differ):.1f} %; "
         f"{(differ <= 15).sum()} of {len(both)} within 15 %"},
        {"what": "dissipated energy over the law's, median", "measured": f"{ratio:.2f}", "target": "", "met": None,
         "note": ""},
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("law", type=Path)
    parser.add_argument("--capacity", type=float, nargs=2, required=True, help="kN, for each direction")
    parser.add_argument("--machine", default=machine())
    given = parser.parse_args()
    capacity = (1e3 * given.capacity[0], 1e3 * given.capacity[1])
    rows = compared(load_model(given.model), load_model(given.law), capacity)
    command = f"python benchmarks/device_loops.py {given.model.name} {given.law.name} --capacity"
    command = " ".join([command, *(f"{value:g}" for value in given.capacity)])
    save("device_loops", "Device networks in the loop under near-fault motions", command, given.machine, rows)


if __name__ == "__main__":
    main()
