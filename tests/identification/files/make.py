"""The result files that are kept here, one set for every format that was ever written.

    python tests/identification/files/make.py             # or only some: trajectory, loads, samples

writes the set of the present format (`format-N-….h5`), each file with what was read from the result on that day
(`format-N-….json`). Sets of older formats stay as they are: the code that wrote them is gone, and
`tests/identification/test_kept_files.py` holds that they are still read, with the same answer.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

import vibrid as vb
from vibrid.records.writers import write_csv

FOLDER = Path(__file__).resolve().parent
SAMPLES, STEP = 200, 0.02
BUILDING = vb.ShearBuilding(masses=[1.0, 0.8], storeys=[vb.Linear(60.0, 0.9), vb.BoucWen(40.0, beta=3.0, gamma=2.0)])
GUESS = BUILDING.replace({"storeys[*].stiffness": np.array([50.0, 45.0])})


def motion() -> vb.Record:
    """Four seconds of irregular ground motion."""
    t = STEP * np.arange(SAMPLES)
    raw = sum(np.sin(2 * np.pi * f * t + 5 * f) for f in (0.6, 0.9, 1.3, 2.1)) * np.exp(-(((t - 1.5) / 1.2) ** 2))
    return vb.Record(raw, [vb.Channel("ground", "ground_acceleration")], step=STEP, name="motion")


def measured(sensors: vb.Sensors) -> vb.Record:
    return vb.simulate(BUILDING, motion()).measure(sensors, noise=0.03, key=0)


def trajectory() -> vb.Identification:
    """Two records from a file, an offset of a sensor, samples kept for scoring, a prior, bounds."""
    sensors = vb.Sensors(displacement=[1], acceleration=[0, 1])
    unknown = [
        vb.Unknown("storeys[*].stiffness", bounds=(10.0, 200.0)),
        vb.Unknown("storeys[0].damping", prior=(1.0, 0.5)),
        "sensors[0].offset",
    ]
    with tempfile.TemporaryDirectory() as folder:
        record = vb.read_record(write_csv(measured(sensors), Path(folder) / "test.csv"))
    second = record.replace("the first half", data=record.data[:100], name="second")
    return vb.identify(GUESS, [record, second], unknown, hold_out=0.2)


def loads() -> vb.Identification:
    """An unknown load beside an unknown stiffness."""
    chain = vb.ShearBuilding(masses=[1.0, 0.8], storeys=[vb.Linear(60.0, 0.9), vb.Linear(40.0, 0.7)])
    t = STEP * np.arange(SAMPLES)
    force = vb.Record(10 * np.sin(5 * t) * t, [vb.Channel("force", "load", "N", "1")], step=STEP, name="push")
    record = vb.simulate(chain, force).measure(vb.Sensors(displacement=[0, 1], acceleration=[1]), noise=0.02, key=0)
    record = record.select(quantity=("displacement", "acceleration"))
    guess = chain.replace({"storeys[0].stiffness": 50.0})
    return vb.identify(guess, record, ["storeys[0].stiffness", vb.UnknownLoad(1)], vb.JointLoads())


def samples() -> vb.Identification:
    """Samples of a posterior."""
    record = measured(vb.Sensors(displacement=[0, 1]))
    return vb.identify(GUESS, record, ["storeys[*].stiffness"], vb.Bayes(draws=50, warmup=50, chains=2))


def expected(fit: vb.Identification) -> dict:
    """What must be the same whenever the file is read: plain numbers and words."""
    other = fit.validate(measured(vb.Sensors(displacement=[1])))
    return {
        "text": str(fit),
        "table": fit.table(),
        "interval_90": fit.interval(0.9).tolist(),
        "fits": [vars(f) for f in fit.fits],
        "warnings": list(fit.warnings),
        "predicted": [float(p.std()) for p in fit.predictions],
        "loads": [own.values[::20].tolist() for own in fit.loads],
        "history": {name: list(np.shape(value)) for name, value in fit.history.items()},
        "validation": other.relative_error,
    }


def main(*names: str) -> None:
    for made in (trajectory, loads, samples):
        if names and made.__name__ not in names:
            continue
        fit = made()
        path = FOLDER / "new.h5"
        fit.save(path)
        with h5py.File(path) as file:
            name = f"format-{int(file.attrs['vibrid'])}-{made.__name__}"
        path.rename(FOLDER / f"{name}.h5")
        told = json.dumps(expected(fit), indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(told + "\n", encoding="utf-8")
        print(f"{name}.h5: {(FOLDER / name).with_suffix('.h5').stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
