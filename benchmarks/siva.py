"""Cost of an epoch of SIVA: the paper's beam, one seed and ten in parallel, on the device that JAX uses.

    python benchmarks/siva.py [--machine "one GPU"]

Times are differences between a longer and a shorter training, so neither compilation nor simulation counts.
"""

from __future__ import annotations

import argparse

import jax
import numpy as np
from table import save

import vibrid as vb
from vibrid.papers.pages import machine
from vibrid.papers.paper import Run
from vibrid.papers.siva.beam import percent, update

SHORT, LONG = 50, 550


def epoch(seeds: int, runs: int = 3) -> tuple[float, vb.Identification]:
    """Seconds of one epoch, the median of several runs after one that compiles, and the last result."""
    run, found = Run(), []
    for _ in range(runs + 1):
        short, long = (update(run, "reduced", vb.SIVA(epochs=n, seeds=seeds)) for n in (SHORT, LONG))
        found.append((long.seconds - short.seconds) / (LONG - SHORT))
    return float(np.median(found[1:])), long


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", default=machine())
    parser.add_argument("--name", default="siva")
    chosen = parser.parse_args()
    rows = []
    for seeds in (1, 10):
        seconds, fit = epoch(seeds)
        off = percent(fit.estimate)
        rows.append(
            {
                "what": f"SIVA on the beam, {seeds} seed(s): an epoch of 8001 samples",
                "measured": f"{1e3 * seconds:.1f} ms",
                "target": "",
                "met": None,
                "note": f"{jax.default_backend()}; after {LONG} epochs k1 is {off[0]:.2g} % and k3 {off[1]:.2g} % off",
                "details": {"seconds": seconds},
            }
        )
        print(rows[-1], flush=True)
    save(chosen.name, "SIVA", "python benchmarks/siva.py", chosen.machine, rows)


if __name__ == "__main__":
    main()
