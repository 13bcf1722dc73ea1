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
