"""Training with histories from the loop: the deformations and measurements of hybrid tests with a network.

Recorded pairs come from a building with LuGre dampers; in the loop the errors of a network change the deformation. So
every training motion is run once with the trained network in the second storey, the resulting deformation is imposed on
the specimen afterwards, and the training is repeated with these tests and the pairs. A laboratory can do the same with
its own device.
"""

from __future__ import annotations

from vibrid.hybrid.learned.closed_loop import run_or_break
from vibrid.hybrid.learned.files import SavedModel
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.papers.ocpnn.hybrid_tests import Case, cases, hybrid_test
from vibrid.papers.ocpnn.models import EVERY, RATE, data, kept_networks, networks, recipe_of, training_tests
from vibrid.papers.ocpnn.pairs import Pair, pair_in_the_loop
from vibrid.papers.ocpnn.paper import side_by_side
from vibrid.papers.paper import Run


def met(case: Case, device) -> Pair | None:
    """The inputs of a model in a test, and the specimen under the same motion afterwards; None if the test diverged."""
    result = run_or_break(hybrid_test(case, device), case.record)
    if result is None:
        return None
    return pair_in_the_loop(f"{case.motion}, in the loop", case.capacity, case.key, result)


def histories(run: Run) -> list[Pair]:
    """The training motions with the network that is best on recorded tests."""
    best, training_cases = run.once(networks, "real", "data-driven")[0], cases(run, "training")
    run.progress.stage("training motions with the network in the loop", len(training_cases))
    pairs = side_by_side(met, [(case, best.device(RATE, case.capacity)) for case in training_cases], run.progress)
    return [pair for pair in pairs if pair is not None]


def loop_trained(run: Run) -> list[SavedModel]:
    """The data-driven network trained on pairs and on histories from the loop, the best on recorded tests first."""

    def tests() -> list[DeviceTest]:
        return training_tests(run.once(data, "real").training) + [p.test(EVERY) for p in run.once(histories)]

    return kept_networks(run, "real", recipe_of(run, "data-driven"), tests, words=("with histories from the loop",))
