"""Device models on tests of a real friction damper that were left out of their training.

    python benchmarks/devices.py --data FOLDER                       # two folds by the documented command: 40 minutes
    python benchmarks/devices.py --data FOLDER --fold A --set steps=10000 --set seeds=4

FOLDER holds the tests of the banded rotary friction device (`ds*__*.npz`, see the reader in
`vibrid.papers.ocpnn.real_tests`). Each fold leaves out a whole earthquake with all its scales, and harmonic tests of
several set-ups. The others are written as records with a training file, earthquakes with six times the weight, and
`vibrid hybrid train` is called with it as a user would; laws are fitted to the same tests. What is kept is scored on
the tests that were left out, with their first force known, and unknown as in a hybrid test.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from table import save

import vibrid as vb
from vibrid.hybrid.learned.beside import LAWS_BESIDE, laws_beside
from vibrid.hybrid.learned.files import SavedModel, load_model
from vibrid.hybrid.learned.from_records import device_test
from vibrid.hybrid.learned.histories import DeviceTest, stack
from vibrid.hybrid.learned.training import predict
from vibrid.papers.ocpnn.real_tests import RATE, Named, capacity_of, read_tests
from vibrid.papers.pages import machine
from vibrid.project.training import load_training
from vibrid.records.force_scores import ForceScores, force_scores

FOLDS = {
    "A": ("ds2__ImperialValleyDBE", "ds2__ImperialValleyMCE", "ds1__1Hz25lbtension", "ds2__1Hz36lbtension1amplitude",
          "ds3__0.5Hz30lbtension1amplitude"),
    "B": ("ds2__KocaeliDBE", "ds1__1Hz22lbtension", "ds2__0.25Hz36lbtension1amplitude",
          "ds3__1Hz30lbtension1.5amplitude"),
}  # fmt: skip
EARTHQUAKES = 6.0  # weight of an earthquake
REST = 20.0  # s, after the end of a test
LIMITS = (3.4, 4.3)  # %, whole and strong part


def record_of(test: Named) -> vb.Record:
    channels = [vb.Channel("x", "imposed_displacement"), vb.Channel("force", "element_force")]
    return vb.Record(test.data[:, 1:3], channels, step=1.0 / RATE, name=test.name)


def capacities(tests: list[Named], left_out: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """N, of every set-up, for each direction: the median over its harmonic tests that are not left out."""
    known = [test for test in tests if test.setting and test.name not in left_out]
    setups = {test.setup: [capacity_of(t) for t in known if t.setup == test.setup] for test in tests}
    return {setup: tuple(np.median(found, axis=0).tolist()) for setup, found in setups.items()}


def written(tests: list[Named], left_out: tuple[str, ...], settings: list[str], folder: Path) -> Path:
    """A training file with records of all tests but those left out."""
    capacity = capacities(tests, left_out)
    lines = ["[recipe]", "uses_companion = false", *settings] if settings else []
    for test in tests:
        if test.name in left_out:
            continue
        record_of(test).write_hdf5(folder / f"{test.name}.h5")
        stated = ", ".join(f'"{value:.1f} N"' for value in capacity[test.setup])
        weight = EARTHQUAKES if test.setting is None else 1.0
        group = test.event or f"{test.setting[0]:g} Hz, {test.setting[1]:g} in"
        lines += ["", "[[tests]]", f'file = "{test.name}.h5"', f"capacity = [{stated}]", f"weight = {weight}",
                  f'group = "{group}"']  # fmt: skip
    path = folder / "training.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def scored(saved: SavedModel, tests: list[DeviceTest], told: bool) -> dict:
    """Scores of a model, test by test, and the largest force (kN) that it holds at rest."""
    histories = stack(tests)
    if not told:
        unknown = np.zeros_like(histories.setting.first_force)
        histories = histories._replace(setting=histories.setting._replace(first_force=unknown))
    found = [force[: len(t.x)] for force, t in zip(np.asarray(predict(saved.model, histories)), tests, strict=True)]
    scores = [force_scores(force, t.force, t.v) for force, t in zip(found, tests, strict=True)]
    mean = ForceScores.mean(scores)
    return {
        "nrmse": round(100 * mean.nrmse, 2), "strong": round(100 * mean.strong, 2),
        "tests": {t.name: [round(100 * s.nrmse, 2), round(100 * s.strong, 2), round(s.energy, 2)]
                  for t, s in zip(tests, scores, strict=True)},
    }  # fmt: skip


def at_rest(saved: SavedModel, tests: list[DeviceTest]) -> float:
    """kN: the largest force that is held some time after a test, at its last displacement."""
    more = round(REST * saved.model.rate)
    still = [t._replace(x=np.pad(t.x, (0, more), "edge"), v=np.pad(t.v, (0, more)), force=np.pad(t.force, (0, more)),
                        companion=np.pad(t.companion, ((0, more), (0, 0)))) for t in tests]  # fmt: skip
    forces = np.asarray(predict(saved.model, stack(still)))
    return round(max(abs(float(force[len(t.x) - 1])) for force, t in zip(forces, still, strict=True)) / 1e3, 3)


def fold(name: str, tests: list[Named], settings: list[str]) -> dict:
    """One fold: the command, the laws, and their scores on what was left out."""
    with tempfile.TemporaryDirectory() as place:
        folder, began = Path(place), time.perf_counter()
        file, out = written(tests, FOLDS[name], settings, folder), folder / "damper.npz"
        subprocess.run([sys.executable, "-m", "vibrid", "hybrid", "train", str(file), "--out", str(out)], check=True)
        minutes = (time.perf_counter() - began) / 60
        saved, training = load_model(out), load_training(file)
        rate = training.recipe.rate
        capacity = capacities(tests, FOLDS[name])
        left = [device_test(record_of(t), None, capacity[t.setup], rate)
                for t in tests if t.name in FOLDS[name]]  # fmt: skip
        laws = laws_beside([*training.training, *training.validation], [], rate, LAWS_BESIDE)
    kept = saved.facts.get("law") or saved.facts["recipe"]["network"]
    return {
        "fold": name, "settings": settings, "minutes": round(minutes, 1), "kept": kept, "rest_kN": at_rest(saved, left),
        "known": scored(saved, left, True), "unknown": scored(saved, left, False),
        "laws": {law.facts["law"]: scored(law, left, True) for law in laws},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the tests")
    parser.add_argument("--fold", action="append", choices=tuple(FOLDS))
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE of [recipe], as in TOML")
    parser.add_argument("--progress", type=Path, help="append the folds to this file, and write no table")
    parser.add_argument("--machine", default=machine())
    given = parser.parse_args()
    tests = read_tests(given.data)
    folds = [fold(name, tests, given.set) for name in given.fold or FOLDS]
    for line in folds:
        print(json.dumps(line))
    if given.progress:
        with given.progress.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in folds)


if __name__ == "__main__":
    main()
