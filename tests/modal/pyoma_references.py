"""Writes pyoma_references.json: modes that pyOMA-2 finds in the ambient vibration of `examples/ambient_vibration.py`.

python tests/modal/pyoma_references.py          # with pyOMA_2 installed
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from ambient_vibration import accelerations, chain

CASE = {"masses": [2.0, 2.0, 2.0, 2.0, 1.5], "stiffnesses": [2500.0, 2400.0, 2200.0, 2000.0, 1800.0], "ratio": 0.02}
DATA = {"seed": 11, "seconds": 900.0, "rate": 40.0}
BLOCK_ROWS, ORDER = 20, 14


def data():
    return accelerations(*chain(**CASE), **DATA)


def main():
    from pyoma2.algorithms import EFDD, SSI
    from pyoma2.setup import SingleSetup

    setup = SingleSetup(data(), fs=DATA["rate"])
    ssi = SSI(name="ssi", method="cov", br=BLOCK_ROWS, ordmax=ORDER, calc_unc=True, nb=100)
    efdd = EFDD(name="efdd", nxseg=2048)
    setup.add_algorithms(ssi, efdd)
    setup.run_all()
    found = ssi.result
    column = -1
    f, z, df, dz = (
        np.asarray(a)[:, column] for a in (found.Fn_poles, found.Xi_poles, found.Fn_poles_std, found.Xi_poles_std)
    )
    shapes = np.asarray(found.Phi_poles)[:, column, :]
    kept = np.isfinite(f) & (z > 0) & (z < 0.1)
    order = np.argsort(f[kept])
    setup.mpe("efdd", sel_freq=list(np.sort(f[kept])), DF1=0.3, DF2=1.0)
    answer = {
        "pyOMA_2": version("pyOMA_2"),
        "order": ORDER,
        "block_rows": BLOCK_ROWS,
        "frequencies": f[kept][order].tolist(),
        "ratios": z[kept][order].tolist(),
        "frequency_deviations": df[kept][order].tolist(),
        "ratio_deviations": dz[kept][order].tolist(),
        "shapes_real": shapes[kept][order].real.T.tolist(),
        "shapes_imag": shapes[kept][order].imag.T.tolist(),
        "efdd_frequencies": np.asarray(efdd.result.Fn).tolist(),
        "efdd_ratios": np.asarray(efdd.result.Xi).tolist(),
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
    print(answer)


if __name__ == "__main__":
    main()
