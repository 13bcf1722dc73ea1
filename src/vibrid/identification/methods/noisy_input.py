"""NoisyInputFit: maximum likelihood when the measured excitation has noise too."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import numpy as np

from vibrid.core.errors import Refusal
from vibrid.core.findings import KNOWN, Finding
from vibrid.core.progress import SILENT
from vibrid.identification.augmented import check_steps
from vibrid.identification.conclude import conclude
from vibrid.identification.input_noise import input_size, most_likely
from vibrid.identification.method import METHODS, NEEDS, Method
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.identification.problem import Problem

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification


@METHODS.register("noisy-input")
class NoisyInputFit(Method):
    """Maximum likelihood with noise of the readings and of the measured excitation, both of unknown size.

    It begins with a `TrajectoryFit`. The noise of the excitation goes through the structure into all readings; a Kalman
    filter around the predicted motion makes it independent again (`identification/input_noise.py`). It takes longer
    than the `TrajectoryFit`.

    Arguments
        iterations: largest number of steps of the descent.
    """

    iterations: int = eqx.field(static=True, default=40)

    abilities: ClassVar[frozenset[str]] = frozenset(NEEDS) - {"unknown loads", "unknown noise", "sensor delay"}

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        if not all(d.drive.samples.shape[1] for d in problem.data) or len({d.loads for d in problem.data}) > 1:
            raise Refusal("Noise of the excitation needs an excitation, with the same channels in every record.")
        check_steps(problem)
        problem = problem.boxed()
        first = TrajectoryFit().solve(problem, key, progress)
        if first.cut_short:
            return first
        progress.stage("noise of the excitation (compiling)", self.iterations)
        movable = problem.unknowns.box().side(first.free) == 0
        found = most_likely(problem, first.free, movable, self.iterations, progress)
        size = input_size(problem)
        shares = ", ".join(f"{100 * value:.2g} %" for value in found.inputs / size)
        said = f"The measured excitation has noise ({shares} of it), counted in the estimates."
        checks = (Finding("input noise", KNOWN, said, "", 0.0, {"share": float(np.max(found.inputs / size))}),)
        return conclude(
            problem,
            self,
            found.free,
            started=started,
            covariance=found.covariance,
            noise=found.readings,
            information=found.information,
            innovations=found.innovations,
            convergence=found.descent.certificate(problem.unknowns.names) | {"input_noise": found.inputs.tolist()},
            checks=checks if found.is_there else (),
            seed=key,
            cut_short=found.descent.cut_short,
        )
