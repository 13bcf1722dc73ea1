"""The smallest correction of the published recipe with which its networks identify: scaling, drifts, time as input.

What differs from `pidynnet-as-published`; each can be left out alone:

    drifts       the response network gives y_1 = x_1 + x_g and the drifts; x_g is integrated exactly, not learnt
    time         the only input is time: derivatives are then those along the record
    features     Fourier features of time, damped by 1/(1 + (ω/6)²)
    scaled       outputs, readings and residuals over their size in the subperiod
    logarithms   unknowns are trained as logarithms, at a rate of their own
    warm_up      unknowns and latent network are trained first with the response network fixed
    information  a subperiod keeps the unknowns by their information in those before, not within three deviations
"""

from __future__ import annotations

import equinox as eqx
import numpy as np

from vibrid.core.errors import Refusal
from vibrid.core.progress import SILENT
from vibrid.identification.method import METHODS
from vibrid.identification.methods.pidynnet.task import drift_basis
from vibrid.identification.problem import Problem
from vibrid.networks import Checkpoint
from vibrid.papers.pidynnet.as_published import PIDynNetAsPublished, three_weights
from vibrid.papers.pidynnet.corrected_course import CorrectedTraining
from vibrid.papers.pidynnet.corrected_losses import CorrectedIteration

LONGER = 1.3  # period of the slowest feature over the subperiod: the motion is not periodic in it
QUICKEST = 60.0  # rad/s of the quickest feature


@METHODS.register("pidynnet-corrected")
class PIDynNetCorrected(PIDynNetAsPublished):
    """The published recipe with the corrections that its networks need to identify; see `vibrid.papers.pidynnet`.

    It is there to show what the recipe lacks: `PIDynNet` and `WeakCollocation` are more accurate and quicker.

    Arguments
        drifts, features, scaled, logarithms, information: whether each correction is made.
        warm_up: iterations of every subperiod with the response network fixed.
        unknown_rate: rate of the unknowns over that of the networks.
    """

    weights: tuple[float, float, float] = eqx.field(static=True, default=(1.0, 1.0, 1.0), converter=three_weights)
    constraint: float | None = eqx.field(static=True, default=None)
    ground_input: bool = eqx.field(static=True, default=False)
    transfer: bool = eqx.field(static=True, default=False)
    drifts: bool = eqx.field(static=True, default=True)
    features: bool = eqx.field(static=True, default=True)
    scaled: bool = eqx.field(static=True, default=True)
    logarithms: bool = eqx.field(static=True, default=True)
    information: bool = eqx.field(static=True, default=True)
    warm_up: int = eqx.field(static=True, default=1000)
    unknown_rate: float = eqx.field(static=True, default=5.0)

    def iteration(self, problem: Problem, **changes) -> CorrectedIteration:
        """One iteration of all initialisations."""
        slowest = 2.0 * np.pi / (LONGER * self.window)
        frequencies = tuple((slowest * np.arange(1, QUICKEST / slowest)).tolist()) if self.features else ()
        n = problem.experiment.initial[0].displacement.shape[0]
        return CorrectedIteration(
            problem, self.weights, self.batch, self.rate, self.iterations,
            ground_input=self.ground_input, mix=drift_basis(problem, 0) if self.drifts else np.eye(n),
            frequencies=frequencies, logarithms=self.logarithms,
            unknown_rate=self.unknown_rate if self.logarithms else 1.0, **changes,
        )  # fmt: skip

    def training(self, iteration: CorrectedIteration, key: int, progress=SILENT, kept: Checkpoint | None = None):
        return CorrectedTraining(self, iteration, key, progress, kept)

    def fine_tune(self, fit, record, progress=SILENT, iterations: int = 1000, imposed: bool = False):
        raise Refusal("Algorithm 2 is that of the published recipe; fit.predict(record) simulates the structure.")
