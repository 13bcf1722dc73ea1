"""Draws docs/figures/opensees.png: the test of the portal, the model of the script, and the identified one.

python examples/opensees/picture.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import vibrid as vb

FOLDER = Path(__file__).resolve().parent
IDENTIFIED = {"modulus[0]": 1.78475e11, "modulus[1]": 1.78475e11, "damping.mass": 0.60414}  # of docs/opensees.md

test = vb.read_record(FOLDER / "portal_test.csv")
script = vb.from_opensees(FOLDER / "portal.py", units="N, m, s").structure
figure, axes = plt.subplots(figsize=(7.0, 2.6), layout="constrained")
axes.plot(test.time, test["A3"], "k", lw=1.2, label="test")
for label, structure, line in (("script", script, "C1--"), ("identified", script.replace(IDENTIFIED), "C0:")):
    response = vb.simulate(structure, test.select(["table"]))
    measured = response.measure(vb.Sensors(absolute_acceleration=["3.x"]))
    axes.plot(test.time, measured[measured.names[-1]], line, lw=1.2, label=label)
axes.set(xlim=(3, 8), xlabel="time in s", ylabel="acceleration of node 3 in m/s²")
axes.legend(loc="upper left", ncols=3, frameon=False)
figure.savefig(FOLDER.parents[1] / "docs" / "figures" / "opensees.png", dpi=130)
