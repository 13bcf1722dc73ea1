"""A law with a command, fitted to tests of a real magnetorheological damper at four voltages.

    python benchmarks/semi_active.py --data FOLDER [--every 1]

FOLDER holds `mr_damper/ensaio*.mat` (UTFPR Labcontrol; position taken as mm, force as N; first 15 s). The voltages of
the series follow from the table of stiffness over voltage in the laboratory's `Ensaios.ods`. Every third test of a
series is left out; one law is fitted to the others together, or to every n-th of them with `--every n`, which is
quicker.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import scipy
from table import save

import vibrid as vb

SERIES = {
    0.0: [f"ensaio{i}.1" for i in range(1, 11)],
    0.8712: [f"ensaio{i}.2.2" for i in range(1, 11)],
    1.98: [f"ensaio.B.{i}" for i in (1, 3, 5, 6, 7, 8, 9, 10)],
    3.212: [f"ensaio.A.{i}" for i in range(1, 11)],
}
SAMPLES = 1501
LIMIT = 4.0  # %
LAW = vb.laws.Commanded(
    vb.Parallel([vb.Backlash(40.0, 40.0, 1e-5, 1.5e-4, 2.0, 1.2, stiffness=900.0), vb.NonlinearViscous(214.0, 0.42)]),
    ["laws[0].slip_positive", "laws[0].slip_negative", "laws[0].take_up", "laws[1].coefficient"],
    [[1.8, -0.4], [3.0, -0.3], [0.5, 0.2], [1.3, 0.55]],
)
INNER = ("slip_positive", "slip_negative", "play", "take_up", "release", "exponent", "stiffness")
UNKNOWN = [
    *(f"base.laws[0].{name}" for name in INNER), "base.laws[1].coefficient", "base.laws[1].exponent",
    *(f"gains[{i}][{j}]" for i in range(4) for j in range(2)),
]  # fmt: skip


def read(folder: Path, name: str, volts: float) -> vb.Record:
    """One test: position from its first sample, force, and the constant command."""
    content = scipy.io.loadmat(folder / "mr_damper" / f"{name}.mat")
    t, x, force = (np.ravel(content[key]).astype(float)[:SAMPLES] for key in ("Tout", "dist", "forc"))
    columns = np.stack([1e-3 * (x - x[0]), force, np.full(len(x), volts)], axis=1)
    quantities = {"x": "imposed_displacement", "force": "element_force", "command": "command"}
    return vb.Record(columns, [vb.Channel(*pair) for pair in quantities.items()], step=float(t[1] - t[0]), name=name)


def main(folder: Path, every: int) -> None:
    began = time.perf_counter()
    kept, left_out = [], []
    for volts, names in SERIES.items():
        for i, name in enumerate(names):
            (left_out if i % 3 == 1 else kept).append(read(folder, name, volts))
    settings = {"offset": True, "by_test": True, "corner": 20.0, "starts": 1, "checks": "none"}
    made = vb.calibrate(kept[::every], LAW, UNKNOWN, left_out=left_out, **settings)
    print(made)
    rows = []
    everything = [name for names in SERIES.values() for name in names]
    for what, names in [*((f"at {volts:g} V", names) for volts, names in SERIES.items()), ("all", everything)]:
        fitted, out = ([100 * t.scores.nrmse for t in made.trials if t.fitted == use and t.record.name in names]
                       for use in (True, False))  # fmt: skip
        whole = what == "all"
        rows.append(
            {
                "what": f"NRMSE on {len(out)} tests left out, {what}",
                "measured": f"{np.mean(out):.2f} %",
                "target": f"{LIMIT:g} %" if whole else "",
                "met": bool(np.mean(out) <= LIMIT) if whole else None,
                "note": f"worst {max(out):.2f} %; {len(fitted)} tests fitted, {np.mean(fitted):.2f} %",
            }
        )
    print(*rows, sep="\n")
    if every == 1:
        minutes = (time.perf_counter() - began) / 60
        command = "python benchmarks/semi_active.py --data FOLDER"
        save(
            "semi_active",
            f"One law of a semi-active damper, {minutes:.0f} minutes",
            command,
            "2 shared CPU cores",
            rows,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1)
    asked = parser.parse_args()
    main(asked.data, asked.every)
