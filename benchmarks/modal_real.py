"""Modes of real structures: a tower under white noise, an overpass in an earthquake; part `real` of `modal.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import vibrid as vb
from vibrid.modal import MeasuredModes
from vibrid.records.readers import read_records

TOWER = (0.53, 1.73, 2.97, 4.2, 5.4)  # Hz, that others found; 1.2, 3.64 and 6.1 are parasitic
OVERPASS = {"strong motion, 1 to 11 s": ((1.0, 11.0), 2.45), "after it, 13 to 22.7 s": ((13.0, 22.7), 2.99)}
BEHIND = 0.015  # share by which a frequency of two digits may differ from the band


def real(folder: Path) -> list[dict]:
    """The rows of the table, from the folder of the two structures."""
    found = tower(folder / "unison_tower" / "wn_01.dat")
    five = [int(np.abs(found.frequencies - f).argmin()) for f in TOWER]
    near = all(_inside(found, i, f) for i, f in zip(five, TOWER, strict=True))
    others = np.delete(np.arange(len(found)), five)
    rows = [
        {
            "what": "five-storey tower under white noise of its mass damper, 410 s, five accelerometers",
            "measured": _told(found, five),
            "target": f"near {', '.join(f'{f:g}' for f in TOWER)} Hz",
            "met": near,
            "note": f"also {_told(found, others)}; MAC between the five at most {_alike(found, five):.2f}",
        }
    ]
    parts = {name: overpass(folder, *window) for name, (window, _) in OVERPASS.items()}
    for name, modes in parts.items():
        f = OVERPASS[name][1]
        rows.append(
            {
                "what": f"Meloland overpass, transverse, five accelerometers of the deck: {name}",
                "measured": _told(modes, range(len(modes))),
                "target": f"near {f:g} Hz",
                "met": bool(len(modes) == 1 and _inside(modes, 0, f)),
            }
        )
    strong, coda = parts.values()
    apart = coda.frequencies[0] - strong.frequencies[0]
    band = 2 * float(np.hypot(coda.frequency_deviations[0], strong.frequency_deviations[0]))
    rows.append(
        {
            "what": "its frequency after the strong motion over that within it",
            "measured": f"higher by {apart:.2f} ± {band:.2f} Hz",
            "target": "",
            "met": None,
            "note": f"MAC of the two shapes {vb.structures.mac(strong.shapes, coda.shapes)[0, 0]:.3f}",
        }
    )
    return rows


def tower(path: Path) -> MeasuredModes:
    values = np.loadtxt(path)[:, 2:7] * [-9.8, 2.0, 2.0, 1.0, 1.0]  # volts: floors 5, 4, 1, 2, 3
    channels = [vb.Channel(f"floor {n}", "acceleration", location=n) for n in (5, 4, 1, 2, 3)]
    return vb.ssi(vb.Record(values, channels, step=0.01, name="tower"), highest=8.0)


def overpass(folder: Path, start: float, end: float) -> MeasuredModes:
    """Ten seconds make few pieces: short correlations, so that there are enough."""
    deck = [f"ch{n:02d}_acceleration" for n in (3, 5, 7, 9, 13)]
    records = read_records(folder / "csmip_quakeio" / "imperialvalley79_ce01336p.zip")
    record = next(r for r in records if deck[0] in r.names).select(deck)
    return vb.ssi(record.cut(start=start, end=end), lags=5, order=8)


def _inside(found: MeasuredModes, i: int, f: float) -> bool:
    return bool(abs(found.frequencies[i] - f) < 2 * found.frequency_deviations[i] + BEHIND * f)


def _told(found: MeasuredModes, chosen) -> str:
    """Frequencies in Hz and damping ratios, with ± 2σ."""
    each = [
        f"{found.frequencies[i]:.3f} ± {2 * found.frequency_deviations[i]:.3f} Hz "
        f"({100 * found.ratios[i]:.1f} ± {200 * found.ratio_deviations[i]:.1f} %)"
        for i in chosen
    ]
    return ", ".join(each)


def _alike(found: MeasuredModes, chosen: list[int]) -> float:
    shapes = found.shapes[:, chosen]
    return float((vb.structures.mac(shapes, shapes) - np.eye(len(chosen))).max())
