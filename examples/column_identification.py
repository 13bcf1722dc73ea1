"""Identify the strength of the bars and the stiffness of the concrete from a cyclic test of a column.

    python examples/column_identification.py

The measured force comes from a finer model than the fitted one: two and a half times as many layers of concrete, four
times as many steps, more iterations, and 1 % of noise.
"""

import dataclasses

import numpy as np

import vibrid as vb

STEEL, CONCRETE = 414e6, 27.5e9  # N/m², true values


def column(fine: bool = False) -> vb.ColumnTest:
    plain = vb.KentPark(strength=27.5e6, modulus=CONCRETE)
    section = vb.ReinforcedSection(
        name="column", width=0.2285, depth=0.208, cover=0.0225, density=2400.0,
        concrete=plain.confined(0.0, 0.0), core=plain.confined(0.012, 414e6, 0.18, 0.05),
        steel=vb.MenegottoPinto(yield_stress=STEEL),
        cover_layers=10, core_layers=20,
        bar_areas=[484e-6, 323e-6, 484e-6], bar_heights=[-0.0715, 0.0, 0.0715],
    )  # fmt: skip
    if fine:
        section = dataclasses.replace(section, cover_layers=25, core_layers=50)
    return vb.ColumnTest(
        section, height=1.2, axial_force=100e3, hinges=0.12, iterations=8 if fine else 4, softening="allow"
    )


def protocol(rate: float) -> vb.Record:
    """Cycles of 3, 6, 12 and 18 mm (1.5 % drift), one second each."""
    t = np.arange(round(4 * rate) + 1) / rate
    amplitude = np.array([3e-3, 6e-3, 12e-3, 18e-3, 18e-3])[np.floor(t + 1e-9).astype(int)]
    return vb.Record(amplitude * np.sin(2 * np.pi * t), [vb.Channel("top", "imposed_displacement")], step=1 / rate)


def measured(noise: float = 0.01, key: int = 0) -> vb.Record:
    """The test: force of a finer column, with noise as a share of its standard deviation."""
    finer = vb.simulate(column(fine=True), protocol(400.0))
    sensors = vb.Sensors(element_force=["column"])
    clean = finer.readings(sensors)[::4]
    rng = np.random.default_rng(key)
    noisy = clean + noise * clean.std() * rng.standard_normal(clean.shape)
    record = protocol(100.0)
    return record.replace(
        "force of the column",
        data=np.concatenate([record.data, noisy], axis=1),
        channels=record.channels + sensors.channels(),
    )


def find(record: vb.Record):
    stiffness = ("section.concrete.modulus", "section.core.modulus")  # one value for cover and core
    first = {"section.steel.yield_stress": 0.8 * STEEL, **dict.fromkeys(stiffness, 0.7 * CONCRETE)}
    guess = column().replace(first)
    unknown = [
        vb.Unknown("section.steel.yield_stress", bounds=(200e6, 800e6)),
        vb.Unknown(stiffness, bounds=(10e9, 60e9), name="concrete modulus"),
    ]
    return vb.identify(guess, record, unknown=unknown, method=vb.TrajectoryFit())


if __name__ == "__main__":
    fit = find(measured())
    print(fit)
    for name, value, true in zip(("steel strength", "concrete modulus"), fit.estimate, (STEEL, CONCRETE), strict=True):
        print(f"{name}: {value / true - 1:+.2%} from the true value")
