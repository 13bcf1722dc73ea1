"""Is the backbone of a hinge found from a cyclic test alone?

    python benchmarks/cyclic.py                                   # 30 tests for every law, 300 of the fastest
    python benchmarks/cyclic.py --laws bilinear --count 10
    python benchmarks/cyclic.py --laws flag --out flag.json       # one process a law; then --join *.json

Virtual tests of specimens whose parameters are drawn anew, protocol of FEMA 461, noise of 2 % of the force;
`fit_cyclic` begins from the data alone. A backbone is found where each of its n parameters is within its interval (of
`Identification.interval`) at the level 1 − 0.05/n, so that all hold together in 95 % of the tests. A parameter that the
fit names as not identifiable counts with its interval, and not among the errors. Times are those of the processor, all
threads together: the cores are shared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np
from table import FOLDER, save

import vibrid as vb
from vibrid.core import paths
from vibrid.identification.cyclic import fit_cyclic
from vibrid.laws.base import has_rate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from cyclic_test import virtual_test

_HINGE = {
    "stiffness": 20e6, "yield_force": 400e3, "plastic_deformation": 0.03, "post_capping_deformation": 0.15,
    "capping_ratio": 1.12, "strength_capacity": 2.0, "capping_capacity": 2.0,
}  # fmt: skip
_BACKBONE = ("stiffness", "yield_force", "plastic_deformation", "post_capping_deformation", "capping_ratio")
_STEEL = {"stiffness": 20e6, "yield_force": 400e3, "hardening_ratio": 0.03, "sharpness": 12.0}
_POINTS = {"deformations": [0.02, 0.05, 0.12], "forces": [360e3, 450e3, 250e3], "strength_by_energy": 0.01}
_LINES = tuple(f"{name}[{i}]" for name in ("deformations", "forces") for i in range(3))
_SLIP = {
    "stiffness": 20e6, "beta": 25.0, "gamma": 25.0, "strength_loss": 0.01, "stiffness_loss": 0.02, "slip": 0.6,
    "slip_spread": 0.005,
}  # fmt: skip
LAWS = {  # parameters about which specimens are drawn, which are also fitted, and those of the backbone (None: all)
    "bilinear": ({"stiffness": 20e6, "yield_deformation": 0.02, "post_yield_ratio": 0.05}, None),
    "imk-peak-oriented": (_HINGE, _BACKBONE),
    "imk-bilinear": (_HINGE, _BACKBONE),
    "imk-pinching": (_HINGE | {"pinching_force": 0.35, "pinching_deformation": 0.4}, _BACKBONE),
    "giuffre-menegotto-pinto": (_STEEL, None),
    "giuffre-menegotto-pinto-fatigue": (_STEEL | {"fatigue_deformation": 0.15}, tuple(_STEEL)),
    "multilinear": (_POINTS, _LINES),
    "pinching": (_POINTS | {"pinching_force": 0.25, "pinching_deformation": 0.5}, _LINES),
    "ramberg-osgood": ({"stiffness": 20e6, "yield_force": 400e3, "exponent": 7.0}, None),
    "tension-only": ({"stiffness": 20e6, "yield_force": 400e3, "post_yield_ratio": 0.05, "slack": 0.005}, None),
    "friction-gap": ({"friction": 200e3, "stiffness": 20e6, "gap": 0.05, "stop_stiffness": 15e6}, None),
    "flag": ({"stiffness": 20e6, "activation_force": 400e3, "post_activation_ratio": 0.1, "height": 0.7}, None),
    "bouc-wen-baber-noori": (_SLIP, ("stiffness", "beta", "gamma")),
    "lead-rubber": (
        {"rubber_stiffness": 2e6, "strength": 200e3, "yield_deformation": 0.01, "heat_capacity": 3e3},
        None,
    ),
    "rate-rubber": (
        {"stiffness": 2e6, "cubic": 100e6, "overstress_stiffness": 10e6, "overstress": 100e3, "rate_exponent": 0.3},
        None,
    ),
}
COUNTS = {"bilinear": 300}  # a test takes a fraction of a second; judged by the first 30 as the others
JUDGED = 30
FINE = 64
"""Steps per sample of the specimens whose law has a rate: far more than a fit takes."""


def specimen(name: str, random: np.random.Generator) -> vb.laws.Law:
    """A law whose parameters differ by 20 % (deviation of ln θ) from the usual ones; the capping ratio above 1, and a
    height, a slip and the places of an envelope's points by 10 %, so that they stay below 1 and in order."""
    values = {}
    for key, value in LAWS[name][0].items():
        spread = 0.1 if key in ("height", "slip", "deformations") else 0.2
        values[key] = np.asarray(value) * np.exp(spread * random.standard_normal(np.shape(value)))
    if "capping_ratio" in values:
        values["capping_ratio"] = 1.0 + 0.12 * np.exp(0.2 * random.standard_normal())
    return vb.laws.LAWS[name](**values)


def measured(name: str, i: int, seed: int) -> dict:
    """One test: which parameters of the backbone lie outside their intervals, and which the fit calls not shown."""
    usual, backbone = LAWS[name]
    fitted = [f"{key}[{i}]" if np.ndim(value) else key for key, value in usual.items() for i in range(np.size(value))]
    backbone = backbone or tuple(fitted)
    truth = specimen(name, np.random.default_rng([seed, i]))
    test = virtual_test(truth, 0.09, key=i, substeps=FINE if has_rate(truth) else 1)
    began = time.process_time()
    fit = fit_cyclic(test, name, fitted, checks="none")
    seconds = time.process_time() - began
    rows = {row["name"]: row for row in fit.calibration.table()}
    ends = dict(zip(rows, fit.calibration.fit.interval(1.0 - 0.05 / len(backbone)), strict=True))
    true = {n: float(paths.get(truth, n)) for n in backbone}
    if name == "rate-rubber":  # its overstress is the force at a velocity, which the fit takes from the test
        true["overstress"] *= float((fit.law.reference_velocity / truth.reference_velocity) ** truth.rate_exponent)
    outside = [n for n in backbone if not ends[n][0] <= true[n] <= ends[n][1]]
    shown = [n for n in backbone if rows[n]["identifiable"]]
    error = max((abs(rows[n]["estimate"] / true[n] - 1.0) for n in shown), default=0.0)
    print(
        f"{name} {i}: {100 * error:.2g} %, {seconds:.1f} s, {fit.rounds} rounds"
        + "".join(f"; {n} {true[n]:.5g} outside {ends[n][0]:.5g} to {ends[n][1]:.5g}" for n in outside)
        + "".join(f"; {n} not shown" for n in backbone if n not in shown),
        flush=True,
    )
    unseen = [n for n in backbone if n not in shown]
    return {"law": name, "test": i, "outside": outside, "unseen": unseen, "error": error, "seconds": seconds}


def row(name: str, tests: list[dict]) -> dict:
    """How many backbones were found, and the processor time of each fit that did not compile."""
    tests = sorted(tests, key=lambda one: one["test"])
    found, count = [not one["outside"] for one in tests], len(tests)
    first, times = found[:JUDGED], np.sort([one["seconds"] for one in tests])
    unseen = sum(bool(one["unseen"]) for one in tests)
    note = f"largest error of a parameter that is shown {100 * np.median([one['error'] for one in tests]):.2g} % "
    note += f"(median); a parameter named as not shown in {unseen}; " if unseen else "(median); "
    warm = np.array([one["seconds"] for one in tests if not one.get("compiled")] or times)
    cold = [one["seconds"] for one in tests if one.get("compiled")]
    note += f"{np.median(warm):.1f} s a test (of the processor, median; longest {warm.max():.0f} s"
    return {
        "what": f"{name}: backbones found within their intervals",
        "measured": f"{sum(first)} of {len(first)}" + (f" ({sum(found)} of {count} in all)" if count > JUDGED else ""),
        "target": "28 of 30",
        "met": bool(sum(first) >= 28 * len(first) / 30),
        "note": note + (f", first {max(cold):.0f} s, with compilation)" if cold else ")"),
        "details": {
            "outside": {str(one["test"]): one["outside"] for one in tests if one["outside"]},
            "largest_error": float(max(one["error"] for one in tests)),
        },
    }


def kept(machine: str) -> list[dict]:
    """The rows of earlier runs, with the machine on which they were measured."""
    page = FOLDER / "results" / "cyclic.json"
    if not page.exists():
        return []
    table = json.loads(page.read_text())
    return [row if table["machine"] == machine else {"machine": table["machine"]} | row for row in table["rows"]]


def joined(rows: list[dict], more: list[dict]) -> list[dict]:
    """Rows of all laws in the order of `LAWS`, the later ones where there are two of a law."""
    of = {row["what"].partition(":")[0]: row for row in [*rows, *more]}
    return [of[name] for name in LAWS if name in of]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laws", default=",".join(LAWS))
    parser.add_argument("--count", type=int)
    parser.add_argument("--begin", type=int, default=0, help="the first test, where the tests of a law are divided")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a file for these tests alone: the table stays as it is")
    parser.add_argument("--join", type=Path, nargs="+", help="files of --out to put into the table; nothing is run")
    options = parser.parse_args()
    title, machine = "Cyclic tests: the backbone from the data alone", f"{os.cpu_count()} cores, {platform.machine()}"
    command = "python benchmarks/cyclic.py" + (f" --seed {options.seed}" if options.seed else "")
    if options.join:
        parts = [json.loads(part.read_text()) for part in options.join]
        (machine,) = {part["machine"] for part in parts}
        tests = [one for part in parts for one in part["tests"]]
        own = {name: [one for one in tests if one["law"] == name] for name in LAWS}
        save("cyclic", title, command, machine, joined(kept(machine), [row(k, v) for k, v in own.items() if v]))
        sys.exit()
    tests: list[dict] = []
    for name in options.laws.split(","):
        for i in range(options.begin, options.begin + (options.count or COUNTS.get(name, 30))):
            tests.append(measured(name, i, options.seed) | {"compiled": i == options.begin})
            if options.out:
                options.out.write_text(json.dumps({"machine": machine, "tests": tests}, indent=1) + "\n")
        if not options.out:
            own = row(name, [one for one in tests if one["law"] == name])
            save("cyclic", title, command, machine, joined(kept(machine), [own]))
