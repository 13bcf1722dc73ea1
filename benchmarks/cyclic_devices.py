"""Which law meets a real device? Cyclic tests of a friction damper and of a magnetorheological one.

    python benchmarks/cyclic_devices.py --data FOLDER

FOLDER holds `brfd/ds*__*.npz` (banded rotary friction device) and `mr_damper/ensaio*.mat` (see `semi_active.py`). Every
law is fitted from the data alone, as `vibrid cyclic` does; the best is that with the least error in every fourth cycle,
whose forces were hidden. Two tests of each set-up are fitted together, their first 20 s.
"""

import argparse
import platform
import time
from pathlib import Path

import numpy as np
from semi_active import SERIES
from semi_active import read as read_magnetorheological
from table import save

import vibrid as vb
from vibrid.identification import as_cyclic_test, compare_cyclic
from vibrid.papers.ocpnn.real_tests import RATE, read_tests

FRICTION = {
    "friction damper, 25 lb": ["ds1__0.5Hz25lbtension", "ds1__1Hz25lbtension"],
    "friction damper, 30 lb": ["ds2__0.5Hz30lbtension1amplitude", "ds2__0.5Hz30lbtension1.5amplitude"],
}
LAWS = ["backlash", "friction-gap", "lugre", "bouc-wen", "giuffre-menegotto-pinto"]
SECONDS, EVERY = 20, 8


def friction(folder: Path, name: str) -> vb.Record:
    """One test at an eighth of its rate, from its first sample."""
    data = next(test.data for test in read_tests(folder / "brfd") if test.name == name)
    used = data[: int(SECONDS * RATE) : EVERY]
    columns = np.stack([used[:, 1] - used[0, 1], used[:, 2]], axis=1)
    channels = [vb.Channel("x", "imposed_displacement"), vb.Channel("force", "element_force")]
    return vb.Record(columns, channels, step=EVERY / RATE, name=name)


def set_ups(folder: Path) -> dict[str, list[vb.Record]]:
    found = {what: [friction(folder, name) for name in names] for what, names in FRICTION.items()}
    for volts, names in SERIES.items():
        if volts in (0.0, 3.212):
            tests = [read_magnetorheological(folder, name, volts) for name in names[:2]]
            found[f"magnetorheological damper, {volts:g} V"] = [as_cyclic_test(test) for test in tests]
    return found


def run(what: str, tests: list[vb.Record]) -> dict:
    began = time.perf_counter()
    compared = compare_cyclic(tests, LAWS, checks="none")
    scores = [(one.name, 100 * one.held_out, 100 * one.calibration.nrmse) for one in compared.fits]
    listed = ", ".join(f"{name} {hidden:.2g} ({whole:.2g})" for name, hidden, whole in scores)
    if compared.refused:
        listed += f"; not fitted: {', '.join(compared.refused)}"
    best = compared.best
    values = ", ".join(f"{row['name']} {row['estimate']:.3g}" for row in best.calibration.table())
    return {
        "what": what,
        "measured": f"{best.name}, {100 * best.held_out:.2g} %",
        "target": "",
        "met": None,
        "note": f"NRMSE of hidden cycles (of all), %: {listed}. {best.name}: {values}",
        "details": {
            "seconds": time.perf_counter() - began,
            "tests": [test.name for test in tests],
            "refused": compared.refused,
        },
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    title, command = "Cyclic tests of real devices", "python benchmarks/cyclic_devices.py --data FOLDER"
    rows = []
    for what, tests in set_ups(options.data).items():
        rows.append(run(what, tests))
        save("cyclic_devices", title, command, f"2 shared cores, {platform.machine()}", rows)
