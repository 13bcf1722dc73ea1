"""A small project and its data, for the commands that are killed or run on a full disk."""

from __future__ import annotations

import math
from pathlib import Path

DEVICE = """
[structure]
kind = "device"
law = {law = "masing", stiffness = 4.0, distribution = {kind = "rayleigh", mean = 4.0}, ductility = 2.0, capacity = 12}
[[sensors]]
quantity = "element_force"
place = "device"
channel = "f"
[excitation]
channels = [{column = "x", quantity = "imposed_displacement"}]
[[unknown]]
path = "law.stiffness"
start = 3.0
[method]
name = "online-masing"
window = 40
stride = 4
"""
STOREY = """
title = "one storey"
[structure]
kind = "shear-building"
masses = [1.0]
storeys = [{law = "bouc-wen", stiffness = 40.0, beta = 2.0, gamma = 2.0}]
[[sensors]]
quantity = "displacement"
place = 0
[excitation]
cyclic = {amplitudes = [3.0, 1.0], frequency = 2.0, cycles = 2, rate = 50.0}
quantity = "ground_acceleration"
channels = [{column = "ground"}]
[[unknown]]
path = "storeys[0].stiffness"
start = 30.0
"""
RATE = 25.0


def write_device(folder: Path, count: int = 300) -> list[tuple[float, float]]:
    """The project `p.toml` and `test.csv`; returns the samples."""
    (folder / "p.toml").write_text(DEVICE)
    motion = [5 * math.sin(0.3 * i) * math.sin(0.02 * i) for i in range(count)]
    samples = [(x, 3.5 * x + 0.5 * math.sin(9 * x)) for x in motion]
    rows = [f"{i / RATE:.2f},{x!r},{f!r}" for i, (x, f) in enumerate(samples)]
    (folder / "test.csv").write_text("time [s],x [m],f [N]\n" + "\n".join(rows) + "\n")
    return samples


def write_storey(folder: Path, count: int = 400) -> None:
    """The project `s.toml` and `s.csv`."""
    (folder / "s.toml").write_text(STOREY)
    rows = [f"{0.02 * i:.2f},{3 * math.sin(0.1 * i)!r},{0.2 * math.sin(0.1 * i - 1)!r}" for i in range(count)]
    (folder / "s.csv").write_text("time [s],ground [m/s^2],displacement_0 [m]\n" + "\n".join(rows) + "\n")


TRAINING = """
title = "a damper"
[recipe]
network = "resonant"
encoded = 6
oscillators = 4
hidden = [6]
plays = 2
epochs = 40
stretch = 128
every = 1
"""
RIG = """
[device]
kind = "law"
law = {law = "linear", stiffness = "1 MN/m"}
[limits]
displacement = "60 mm"
velocity = "1 m/s"
force = "120 kN"
step = "10 mm"
"""
SPLIT = """
title = "a split spring"
[structure]
kind = "shear-building"
masses = ["10 t"]
storeys = {law = "linear", count = 1, stiffness = "3 MN/m"}
damping = {kind = "modal", ratios = 0.03}
[excitation]
synthetic = {seed = 3, duration = 20.0, rate = 512.0, pga = "0.2 g"}
[hybrid]
[[hybrid.experimental]]
name = "spring"
at = 0
device = {kind = "remote", host = "127.0.0.1", port = PORT, timeout = 60.0}
"""


def write_training(folder: Path, count: int = 512) -> None:
    """The training file `t.toml` and the tests that it names."""
    import vibrid as vb

    text = TRAINING
    for i in range(3):
        t = [k / 256 for k in range(count)]
        x = [0.01 * math.sin((5 + i) * s) * math.sin(0.5 * s) for s in t]
        force = [8e3 * math.tanh(400 * v) + 1e5 * v for v in x]
        channels = [vb.Channel("displacement", "imposed_displacement"), vb.Channel("force", "element_force")]
        record = vb.Record([list(row) for row in zip(x, force, strict=True)], channels, step=1 / 256)
        record.write_hdf5(folder / f"test-{i}.h5")
        use = "training" if i < 2 else "validation"
        text += f'[[tests]]\nfile = "test-{i}.h5"\ncapacity = "20 kN"\nuse = "{use}"\n'
    (folder / "t.toml").write_text(text)


def write_hybrid(folder: Path, computed: bool = False) -> None:
    """The specimen `damper.toml` and the hybrid test `h.toml`, whose port is still to be written.

    computed: a short test with a computed device instead.
    """
    text = SPLIT
    if computed:
        device = 'device = {kind = "law", law = {law = "linear", stiffness = "1 MN/m"}}\n'
        text = SPLIT[: SPLIT.index("device =")].replace("duration = 20.0", "duration = 2.0") + device
    (folder / "damper.toml").write_text(RIG)
    (folder / "h.toml").write_text(text)
