"""Device models on tests of a real friction damper that were left out of their training.

    python benchmarks/devices.py --data FOLDER                       # two folds by the documented command: half an hour
    python benchmarks/devices.py --data FOLDER --fold A --set seeds=4 --keep MODELS --lines four.jsonl
    python benchmarks/devices.py --data FOLDER --trained MODELS      # score networks that were trained elsewhere
    python benchmarks/devices.py --table default.jsonl four.jsonl    # the table of folds that were run apart

FOLDER holds the tests of the banded rotary friction device (`ds*__*.npz`, see the reader in
`vibrid.papers.ocpnn.real_tests`). Each fold leaves out a whole earthquake with all its scales, and harmonic tests of
several set-ups. The others are written as records with a training file, earthquakes with six times the weight, and
`vibrid hybrid train` is called with it as a user would; laws are fitted to the same tests. What is kept is scored on
the tests that were left out, with their first force known, and unknown as in a hybrid test. Their capacities are those
of other tests of the set-up; how much better they are when the capacity of each harmonic test itself is known is a row
of its own.

`--trained` takes folders of networks instead (`A-*.npz`, `B-*.npz`), made by `train_models` from the tests of a fold
with one recipe; the one is scored that the command would keep, by its error on the tests left out for validation. Of
several folders the mean of the forces of their means of seeds is scored. `--laws` is a folder of laws from `--keep`.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from table import save

import vibrid as vb
from vibrid.hybrid.learned.beside import LAWS_BESIDE, best_first, laws_beside
from vibrid.hybrid.learned.files import SavedModel, load_model, save_model
from vibrid.hybrid.learned.from_records import device_test
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.learned.recipes import forces
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


def own_capacity(test: Named, stated: dict[str, tuple[float, float]]) -> tuple[float, float]:
    """N: of a harmonic test itself; an earthquake hardly shows it, and has that of its set-up."""
    return capacity_of(test) if test.setting else stated[test.setup]


def written(tests: list[Named], left_out: tuple[str, ...], settings: list[str], folder: Path, own: bool) -> Path:
    """A training file with records of all tests but those left out; `own`: with the capacity of each test itself."""
    capacity = capacities(tests, left_out)
    lines = ["[recipe]", "uses_companion = false", *settings] if settings else []
    for test in tests:
        if test.name in left_out:
            continue
        record_of(test).write_hdf5(folder / f"{test.name}.h5")
        known = own_capacity(test, capacity) if own else capacity[test.setup]
        stated = ", ".join(f'"{value:.1f} N"' for value in known)
        weight = EARTHQUAKES if test.setting is None else 1.0
        group = test.event or f"{test.setting[0]:g} Hz, {test.setting[1]:g} in"
        lines += ["", "[[tests]]", f'file = "{test.name}.h5"', f"capacity = [{stated}]", f"weight = {weight}",
                  f'group = "{group}"']  # fmt: skip
    path = folder / "training.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def scored(models: list[SavedModel], tests: list[DeviceTest], told: bool) -> dict:
    """Scores of a model, or of the mean force of several, in %, their mean and test by test: whole record, strong part,
    energy over the measured."""
    each = zip(*(forces(saved.model, tests, told) for saved in models), strict=True)
    scores = [force_scores(np.mean(f, axis=0), t.force, t.v) for f, t in zip(each, tests, strict=True)]
    mean = ForceScores.mean(scores)
    return {
        "nrmse": round(100 * mean.nrmse, 2), "strong": round(100 * mean.strong, 2),
        "tests": {t.name: [round(100 * s.nrmse, 2), round(100 * s.strong, 2), round(s.energy, 2)]
                  for t, s in zip(tests, scores, strict=True)},
    }  # fmt: skip


def at_rest(models: list[SavedModel], tests: list[DeviceTest]) -> float:
    """kN: the largest force that is held some time after a test, at its last displacement."""
    more = round(REST * models[0].model.rate)
    still = [t._replace(x=np.pad(t.x, (0, more), "edge"), v=np.pad(t.v, (0, more)), force=np.pad(t.force, (0, more)),
                        companion=np.pad(t.companion, ((0, more), (0, 0)))) for t in tests]  # fmt: skip
    last = [[float(force[-1]) for force in forces(saved.model, still, told=False)] for saved in models]
    return round(float(np.abs(np.mean(last, axis=0)).max()) / 1e3, 3)


def kept_of(folder: Path, name: str, means: bool) -> SavedModel:
    """The network of a fold that the command would keep, or the mean of the seeds."""
    models = [load_model(file) for file in sorted(folder.glob(f"{name}-*.npz"))]
    return best_first(m for m in models if not means or isinstance(m.facts["seed"], list))[0]


def fold(name: str, tests: list[Named], given: argparse.Namespace) -> dict:
    """One fold: the command or trained networks, the laws, and their scores on what was left out."""
    spent = {"trained": [one.name for one in given.trained]} if given.trained else {}
    if given.reckoned:
        spent["processor_minutes"] = given.reckoned
    with tempfile.TemporaryDirectory() as place:
        folder, began = Path(place), time.perf_counter()
        file, out = written(tests, FOLDS[name], given.set, folder, given.own), folder / "damper.npz"
        training = load_training(file)
        if given.trained:
            models = [kept_of(one, name, means=len(given.trained) > 1) for one in given.trained]
        else:
            subprocess.run(
                [sys.executable, "-m", "vibrid", "hybrid", "train", str(file), "--out", str(out)], check=True
            )
            minutes, used = (time.perf_counter() - began) / 60, resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = {"minutes": round(minutes, 1), "processor_minutes": round((used.ru_utime + used.ru_stime) / 60, 1)}
            models = [load_model(out)]
    rate, capacity = training.recipe.rate, capacities(tests, FOLDS[name])
    out_of_it = [t for t in tests if t.name in FOLDS[name]]
    left = [device_test(record_of(t), None, capacity[t.setup], rate) for t in out_of_it]
    told = [device_test(record_of(t), None, own_capacity(t, capacity), rate) for t in out_of_it]
    if given.laws:
        laws = [load_model(given.laws / f"{name}-{law}.npz") for law in LAWS_BESIDE]
    else:
        laws = laws_beside([*training.training, *training.validation], [], rate, LAWS_BESIDE)
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
        for label, model in [("network", models[0]), *((law.facts["law"], law) for law in laws)]:
            save_model(given.keep / f"{name}-{label}.npz", model)
    kept = " and ".join(map(_kept, models))
    return {
        "fold": name, "settings": given.set, "own_capacity": given.own, **spent, "kept": kept,
        "rest_kN": at_rest(models, left), "known": scored(models, left, True), "unknown": scored(models, left, False),
        "told": scored(models, told, True), "laws": {law.facts["law"]: scored([law], left, True) for law in laws},
        "laws_told": {law.facts["law"]: scored([law], told, True) for law in laws},
    }  # fmt: skip


def _kept(saved: SavedModel) -> str:
    return saved.facts.get("law") or f"{saved.facts['recipe']['network']}, seed {saved.facts['seed']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the tests")
    parser.add_argument("--fold", action="append", choices=tuple(FOLDS))
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE of [recipe], as in TOML")
    parser.add_argument("--own", action="store_true", help="train with the capacity of each harmonic test itself")
    parser.add_argument("--trained", type=Path, nargs="+", help="folders of trained networks: score them, train none")
    parser.add_argument("--reckoned", type=float, help="processor minutes of such a training, from some of its steps")
    parser.add_argument("--laws", type=Path, help="folder of laws that were kept")
    parser.add_argument("--keep", type=Path, help="folder for the models and laws")
    parser.add_argument("--lines", type=Path, help="file to which folds are added")
    parser.add_argument("--table", type=Path, nargs="+", help="files of folds: make the table of all, and run none")
    parser.add_argument("--machine", default=machine())
    given = parser.parse_args()
    if given.table:
        lines = [json.loads(line) for file in given.table for line in file.read_text().splitlines()]
    else:
        tests, lines = read_tests(given.data), []
        for name in given.fold or FOLDS:
            lines.append({**fold(name, tests, given), "machine": given.machine})
            print(json.dumps(lines[-1]), flush=True)
            if given.lines:
                with given.lines.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
    runs: dict[tuple, list[dict]] = {}
    for line in lines:
        runs.setdefault((*line["settings"], *line.get("trained", ()), line.get("own_capacity", False)), []).append(line)
    whole = [folds for folds in runs.values() if {line["fold"] for line in folds} == set(FOLDS)]
    if whole:
        rows = [row for folds in whole for row in table(folds)]
        save("devices", "Device models on tests of a real damper that were left out",
             "python benchmarks/devices.py --data FOLDER", whole[0][0].get("machine", given.machine), rows)  # fmt: skip


def table(folds: list[dict]) -> list[dict]:
    """Rows for the page of benchmarks: means over the folds, each test counted once."""

    def mean(of) -> tuple[float, float]:
        errors = np.array([test[:2] for line in folds for test in of(line)["tests"].values()])
        return tuple(errors.mean(axis=0).tolist())

    known, unknown = mean(lambda line: line["known"]), mean(lambda line: line["unknown"])
    quakes = {name: test[2] for line in folds for name, test in line["known"]["tests"].items() if "Hz" not in name}
    rest = max(line["rest_kN"] for line in folds)
    kept = ", ".join(f"{line['fold']}: {line['kept']}" for line in folds)
    text, settings = "{:.2f} / {:.2f} %".format, ", ".join(folds[0]["settings"])
    trained = f"{settings or 'default settings'}{', trained with own capacities' * folds[0].get('own_capacity', False)}"
    of = folds[0].get("trained", ())
    trained = f"mean of {' and '.join(of)}" if len(of) > 1 else trained
    how = ("kept by the command", "chosen as by the command", "means of seeds")[min(len(of), 2)]
    goal, where = f"≤ {LIMITS[0]} / {LIMITS[1]} %", {"machine": folds[0]["machine"]} if "machine" in folds[0] else {}
    met = lambda error: error[0] <= LIMITS[0] and error[1] <= LIMITS[1]  # noqa: E731
    rows = [
        {
            "what": f"{trained}: NRMSE on whole records / strong parts, mean of the tests left out",
            "measured": text(*known), "target": goal, "met": met(known),
            "note": f"{how}: {kept}; first force unknown: {text(*unknown)}", "details": {"folds": folds},
        },
        *_laws(folds, "laws", mean, known, "capacity from other tests"),
    ]  # fmt: skip
    if all("told" in line for line in folds):
        told = mean(lambda line: line["told"])
        rows.append({"what": f"{trained}: the same, the capacity of each harmonic test itself known",
                     "measured": text(*told), "target": goal, "met": met(told), "note": ""})  # fmt: skip
        rows += _laws(folds, "laws_told", mean, told, "capacity of the test itself")
    if all("minutes" in line for line in folds):
        minutes, processor = (max(line.get(what, 0.0) for line in folds) for what in ("minutes", "processor_minutes"))
        rows.append({
            "what": f"{trained}: training by the command, laws beside it included", "measured": f"{minutes:.1f} min",
            "target": "≤ 20 min on two cores", "met": None if "H200" in where.get("machine", "") else minutes <= 20,
            "note": f"the longer of two folds{f'; {processor:g} min of processor time' * bool(processor)}",
        })  # fmt: skip
    elif all("processor_minutes" in line for line in folds):
        rows.append({
            "what": f"{trained}: training on processors, reckoned from 20 steps, laws and compilation included",
            "measured": f"{max(line['processor_minutes'] for line in folds):g} min of processor time",
            "target": "≤ 20 min on two cores", "met": max(line["processor_minutes"] for line in folds) <= 40,
            "note": "one network and its twin, on a core of 2.5 GHz that others used too",
        })  # fmt: skip
    rows += [
        {
            "what": f"{trained}: force {REST:g} s after a test", "measured": f"{rest:.3f} kN", "target": "≤ 0.1 kN",
            "met": rest <= 0.1, "note": "the largest of all tests left out",
        },
        {
            "what": f"{trained}: dissipated energy of the earthquakes left out, over the measured",
            "measured": ", ".join(f"{e:.2f}" for e in quakes.values()), "target": "0.8 to 1.2",
            "met": all(0.8 <= e <= 1.2 for e in quakes.values()), "note": ", ".join(quakes),
        },
    ]  # fmt: skip
    return [{**row, **where} for row in rows]


def _laws(folds: list[dict], which: str, mean, error: tuple[float, float], how: str) -> list[dict]:
    """A row of the best law, beside the error of what was kept."""
    found = {law: mean(lambda line, law=law: line[which][law]) for law in LAWS_BESIDE}
    best, text = min(found, key=lambda law: sum(found[law])), "{:.2f} / {:.2f} %".format
    return [{
        "what": f"the best law ({best}), fitted to the same tests, {how}", "measured": text(*found[best]),
        "target": "more than the network's", "met": sum(found[best]) > sum(error),
        "note": ", ".join(f"{law}: {text(*errors)}" for law, errors in found.items()),
    }]  # fmt: skip


if __name__ == "__main__":
    main()
