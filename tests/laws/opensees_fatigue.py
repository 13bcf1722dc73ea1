"""Where steel breaks by `Fatigue` of OpenSees along a random path: run where OpenSeesPy 3.7.1.2 is.

    python tests/laws/opensees_fatigue.py > tests/laws/opensees_fatigue.json

The path turns 80 times, ten samples from turn to turn; for each E0 the first sample without force.
"""

import itertools
import json
import random

TURNS, POINTS = 80, 10


def path() -> list[float]:
    generator = random.Random(3)
    stops = [0.0, *(generator.gauss(0.0, 0.12) for _ in range(TURNS))]
    pairs = itertools.pairwise(stops)
    return [0.0, *(a + (b - a) * (i + 1) / POINTS for a, b in pairs for i in range(POINTS))]


def breaks(ops, e0: float) -> int:
    ops.wipe()
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    ops.uniaxialMaterial("Steel02", 2, 2.0, 40.0, 0.01, 18.0, 0.925, 0.15)
    ops.uniaxialMaterial("Fatigue", 1, 2, "-E0", e0, "-m", -0.5)
    ops.testUniaxialMaterial(1)
    forces = []
    for strain in path():
        ops.setStrain(strain)
        forces.append(ops.getStress())
    gone = [abs(f) < 1e-6 for f in forces]
    last = max((i for i, is_gone in enumerate(gone) if not is_gone), default=0)
    return last + 1


if __name__ == "__main__":
    import openseespy.opensees as ops

    print(json.dumps({e0: breaks(ops, float(e0)) for e0 in ("0.6", "0.8", "1.0", "1.2")}))
