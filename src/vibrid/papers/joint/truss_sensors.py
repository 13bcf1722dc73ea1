"""Section 3.2.2: five sets of sensors on the truss, and sets of the same size placed by two criteria."""

from __future__ import annotations

from typing import Any

import numpy as np

import vibrid as vb
from vibrid.papers.jobs import Arrays, run_jobs
from vibrid.papers.joint.paper import PAPER, norm_largest, percent
from vibrid.papers.joint.truss import (
    E_AND_RATIO,
    MODULUS,
    STEP,
    TABLE_5,
    TIME,
    away,
    first_load,
    place,
    second_load,
    sensors_of,
    truss,
    two_loads,
)
from vibrid.papers.paper import Check, Outcome
from vibrid.report import style

AIMS = ("parameters", "parameters and loads")


def placed(run, case: int, aim: str) -> vb.Sensors:
    """As many accelerometers as in Table 5, placed for the most information beside the case's displacements: without
    a displacement the loads drift."""
    printed = sensors_of(case)
    standing = [s for s in printed if s.quantity == "displacement"]
    candidates = vb.Sensors(acceleration=[place(d) for d in range(1, 21)])
    coarse = -np.stack([first_load(TIME), second_load(TIME)], axis=1)
    channels = [vb.Channel(f"load {n}", "load", "N", n) for n in ("1.y", "5.y")]
    expected = vb.Record(coarse, channels, step=STEP, name="expected loads")
    unknown = [E_AND_RATIO[0], vb.UnknownLoad("1.y"), vb.UnknownLoad("5.y")]
    count = len(printed) - len(standing)
    chosen = vb.place_sensors(
        truss(), candidates, count, excitation=expected, unknown=unknown, noise=0.01, standing=standing, aim=aim
    )
    return vb.Sensors([*standing, *chosen.sensors])


def tried(run, case: int, aim: str, noise: float) -> Arrays:
    """Three noise seeds (one without noise) on the sensors of a case, or on those placed with an `aim`, as a job."""
    sensors = placed(run, case, aim) if aim else sensors_of(case)
    results = [two_loads(run, case, noise, key, sensors) for key in range(1 if run.quick or not noise else 3)]
    loads = [r.loads[0].values for r in results]
    true = -np.stack([first_load(TIME), second_load(TIME)], axis=1)
    return {
        "E": np.array([float(percent(r.estimate, [MODULUS])[0]) for r in results]),
        "bound": np.array([100 * r.limits.relative_bound[0] for r in results]),
        "load": np.array([[away(f[:, i], true[:, i]) for i in range(2)] for f in loads]),
        "largest": np.array([[norm_largest(f[:, i], true[:, i]) for i in range(2)] for f in loads]),
        "path": results[0].history["estimate"][:, 0],
        "accelerometers": np.array([s.label for s in sensors if s.quantity == "acceleration"]),
    }


def cells(result: Arrays, name: str) -> dict:
    """Medians of the seeds, as cells of a row."""
    middle = {key: np.median(result[key], axis=0) for key in ("E", "bound", "load", "largest")}
    return {
        f"{name}error of E (%)": float(middle["E"]),
        f"{name}bound (%)": float(middle["bound"]),
        f"{name}load at node 2 (%)": float(middle["load"][0]),
        f"{name}load at node 2, largest over time (%)": float(middle["largest"][0]),
        f"{name}load at node 6 (%)": float(middle["load"][1]),
    }


@PAPER.table(5, "Five sets of sensors without noise and at 1 %, and sets of the same size placed by two criteria")
def table_5(run) -> Outcome:
    cases = list(TABLE_5)[:1] if run.quick else list(TABLE_5)
    ways = [("", 0.0), ("", 0.01), *((aim, 0.01) for aim in AIMS)]
    jobs = [(case, aim, noise) for case in cases for aim, noise in ways]
    done = dict(zip(jobs, run_jobs(run, tried, jobs), strict=True))
    rows, better = [], dict.fromkeys(AIMS, 0)
    for case in cases:
        row: dict[str, Any] = {"case": case, "sensors": len(sensors_of(case))}
        row |= cells(done[case, "", 0.0], "no noise, ") | cells(done[case, "", 0.01], "")
        for aim in AIMS:
            result = done[case, aim, 0.01]
            row |= cells(result, f"placed for {aim}, ")
            row[f"placed for {aim}"] = ", ".join(map(str, result["accelerometers"]))
            worse = row[f"placed for {aim}, load at node 2 (%)"] > row["load at node 2 (%)"]
            better[aim] += row[f"placed for {aim}, bound (%)"] < row["bound (%)"] and not worse
        rows.append(row)
    return Outcome(
        rows,
        [
            Check(f"sets placed for {aim}: bound of E and load both better", f"{n} of {len(cases)}", "all",
                  n == len(cases))
            for aim, n in better.items()
        ],
        "With noise: medians of 3 seeds. Load errors by Eq. 29 without the 10 ms on either side of the jump, and the "
        "largest over the whole time. The sensors are numbered over the free nodes; see the top of `truss.py`.",
    )  # fmt: skip


@PAPER.figure(25, "Young's modulus over the iterations with the five sets of sensors")
def figure_25(run) -> Outcome:
    ax = style.new_axes()
    results = run_jobs(run, tried, [(case, "", 0.01) for case in TABLE_5])
    for i, (case, result) in enumerate(zip(TABLE_5, results, strict=True)):
        ax.plot(result["path"] / 1e9, color=style.CYCLE[i], marker="o", ms=3, label=f"case {case}")
    ax.axhline(MODULUS / 1e9, color=style.INK, ls=":", label="true")
    ax.set(xlabel="iteration", ylabel="E [GPa]")
    ax.legend(ncols=3)
    return Outcome(figure=ax.figure, note="JointLoads, 1 % noise; the updates as published: study truss-as-published.")
