"""Numbers that are cheap to compute again: the virtual specimen, the building, the motions and the real tests."""

from __future__ import annotations

import numpy as np

from vibrid.papers.ocpnn.characterisation import CAPACITY, error_of, lugre, sine_test
from vibrid.papers.ocpnn.companion import CASES, pairs_of_case
from vibrid.papers.ocpnn.paper import PAPER
from vibrid.papers.ocpnn.real_tests import EVERY, read_tests
from vibrid.papers.ocpnn.suite import VALIDATION, real_suite
from vibrid.papers.paper import Run
from vibrid.papers.two_storey import two_storey_building
from vibrid.structures.modes import modes

Numbers = dict[str, tuple[float, float]]
MEASURED = {"figure-6", "study-real-device", "study-semi-active"}
"""Items about measured records; all others are about virtual specimens."""
COMPANION = {"study-companion", "study-companion-unfit"}


def specimen_and_building(run: Run) -> Numbers:
    """The law of Table 1 on the virtual specimen under a sine, and the first period of the building."""
    period = float(modes(two_storey_building(), 1).periods[0])
    return {
        "table-1|check: NRMSE of the paper's coefficients|measured": (error_of(lugre(), sine_test(CAPACITY)), 1e-3),
        "table-2|1|period, s (ours)": (period, 1e-6),
    }


def pairs_of_devices(run: Run) -> Numbers:
    """Eight pairs of unlike devices."""
    force = np.concatenate([test.force for test in pairs_of_case(run, list(CASES)[1], 8, 11)])
    return run.once(specimen_and_building) | {
        "rms force of eight devices [N]": (float(np.sqrt(np.mean(force**2))), 1e-4)
    }


def scaled_motions(run: Run) -> Numbers:
    """The factor of one motion."""
    name = list(VALIDATION)[-1]
    return {f"figure-6|{name}|factor": (real_suite(run).validation[name].factor, 1e-6)}


def no_force(run: Run) -> Numbers:
    """The error of no force at all on the real tests, which depends on their reading alone."""
    forces = [test.data[::EVERY, 2] for test in read_tests(run.real("brfd"))]
    error = np.mean([100 * np.sqrt(np.mean(force**2)) / np.ptp(force) for force in forces])
    return {"study-real-device|all (52) & model=zero force|NRMSE, %": (float(error), 1e-6)}


def register() -> None:
    """To be called when all items are there."""
    labels = {item.label for item in PAPER.items}
    PAPER.canary(*sorted(labels - MEASURED - COMPANION), of_rows=True)(specimen_and_building)
    PAPER.canary(*sorted(COMPANION))(pairs_of_devices)
    PAPER.canary("figure-6", of_rows=True)(scaled_motions)
    PAPER.canary(*sorted(MEASURED - {"figure-6"}), of_rows=True)(no_force)
