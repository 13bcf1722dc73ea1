"""The method of Bitro, Batou & Ouyang as published, under the name `joint-as-published`."""

from __future__ import annotations

import time
from typing import ClassVar

import equinox as eqx
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude
from vibrid.identification.known_frequencies import KnownFrequencies
from vibrid.identification.loads.checks import refuse_unanswerable
from vibrid.identification.loads.find import describe_loads
from vibrid.identification.loads.regularisation import choose_weights
from vibrid.identification.loads.solution import put_loads
from vibrid.identification.method import METHODS, Method
from vibrid.identification.methods.joint import Projection
from vibrid.identification.problem import Problem
from vibrid.papers.joint.alternating import alternate


@METHODS.register("joint-as-published")
class JointAsPublished(Method):
    """The paper's alternating updates of parameters and loads (see `alternating.py`), until its stopping rule holds.

    One complete record of a linear structure; no uncertainty. `JointLoads` needs about a hundredth of the iterations.

    Arguments
        start_load: initial value of every load at every sample, N.
        share: λ of Eq. 26, between 0 and 1; not printed.
        tolerance: ε of Eq. 27; not printed.
        iterations: the largest number.
    """

    start_load: float = eqx.field(static=True, default=100.0)
    share: float = eqx.field(static=True, default=0.5)
    tolerance: float = eqx.field(static=True, default=1e-6)
    iterations: int = eqx.field(static=True, default=2000)

    abilities: ClassVar[frozenset[str]] = frozenset({"partial sensors", "latent states", "unknown loads"})
    uncertainty: ClassVar[bool] = False

    def __check_init__(self):
        if not 0.0 <= self.share <= 1.0:
            raise InputError(f"λ of Eq. 26 (share) lies between 0 and 1, not at {self.share:g}.")
        if self.start_load == 0.0:
            raise InputError("The updates need an initial load other than zero: it is the unit of the loads.")

    def solve(self, problem: Problem, key=0, progress=SILENT):
        if not problem.unknown_loads or not len(problem.unknowns):
            raise InputError("The paper's updates find parameters and loads together; name both among the unknowns.")
        started = time.perf_counter()
        warnings = refuse_unanswerable(problem)
        progress.stage("alternating updates", self.iterations)
        data = problem.data[0]
        run = alternate(
            problem,
            np.full((data.samples, len(problem.unknown_loads)), self.start_load),
            share=self.share,
            tolerance=self.tolerance,
            iterations=self.iterations,
            progress=progress,
        )
        free = problem.unknowns.to_free(run.theta)
        weights = choose_weights(problem, free, "size", "evidence").weights
        bound = Projection(problem, weights.loosened(30.0), "size", KnownFrequencies.of((), 0))
        return conclude(
            put_loads(problem, 0, run.loads),
            self,
            free,
            started=started,
            noise=weights.noise,
            information=bound.one(free)[2],
            warnings=warnings,
            history={"cost": run.costs, "estimate": run.thetas, "loads": run.kept},
            convergence={"converged": run.converged, "iterations": len(run.costs)},
            seed=key,
            cut_short=run.cut_short,
            loads=(describe_loads(problem, 0, run.loads, np.full_like(run.loads, np.nan), weights),),
        )
