"""PIDynNet: networks for the response and the hidden states, trained on readings and on the equations at once.

T. Liu, H. Meidani, Physics-informed neural networks for system identification of structural systems with a multiphysics
damping model (2023).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.errors import InputError, Refusal, unknown_name
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude, covariance_of, settings_of
from vibrid.identification.method import METHODS, Method
from vibrid.identification.methods.pidynnet.task import Task, WindowLayout, begin_at, make_task, sizes_of
from vibrid.identification.methods.pidynnet.training import NetworkDescent, Seeds, TrainedTask, anneal
from vibrid.identification.methods.pidynnet.tuning import Tuned, tune
from vibrid.identification.methods.pidynnet.windows import NETWORKS
from vibrid.identification.methods.trajectory import polished
from vibrid.identification.methods.weak_collocation import WeakCollocation
from vibrid.identification.problem import Problem
from vibrid.identification.weak.equations import check_rates
from vibrid.identification.weak.start import shortest_period
from vibrid.networks import Checkpoint, fingerprint
from vibrid.records.record import Record

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification

SOFTNESS = (0.3, 0.1, 0.03, 0.01, 0.003)
_FEATURES_A_PERIOD = 6  # periods of the quickest feature in the shortest period of the structure
_FEWEST_A_PERIOD = 2  # the same, where readings are few
_FEATURES_A_READING = (
    0.4  # features (two to a frequency) for one reading of a degree of freedom: else they follow noise
)
_WINDOW = 0.9  # s
_RETIRED = (
    "faithful", "iterations", "pretraining", "batch", "pool", "rate", "weights", "constraint", "check", "patience",
    "tolerance", "width", "layers", "ground_input",
)  # fmt: skip


@METHODS.register("pidynnet")
class PIDynNet(Method):
    """Physics-informed networks for the response and for the hidden states, with the unknowns trained beside them.

    The default is the most accurate network we can train: one network a window of time, blended where windows
    overlap, each a linear skip path over damped Fourier features beside a small network; outputs are the absolute
    displacement of the first floor, the drifts and the hidden states, time is the only input, and the ground motion
    enters analytically. Equations count integrated over short intervals (weak form) and are tightened stage by stage;
    readings count by their noise. It starts from a regression and trains with L-BFGS in 64-bit numbers, preconditioned
    by the Gauss–Newton matrix of skip weights and unknowns, whose Schur complement is the uncertainty.

    Arguments
        network: "mlp", "recurrent" (long short-term memory) or "convolution": the network beside the skip path.
        hidden: widths of its layers; () leaves the skip path alone.
        seeds: initialisations trained side by side; the result is their mean.
        window: length of a window in s; 0.9 by default.
        bandwidth: highest frequency of the features in Hz; six a shortest period of the structure by default, fewer
            where a record has few samples in it.
        softness: residual allowed in the equations in each stage, as a share of their size; falling.
        steps: L-BFGS steps after each factorisation.
        polish: start a trajectory fit from the result, for a model that is believed to be right.
        checkpoint: file of the state of training, which resumes from it after Ctrl-C or a kill; removed at the end.
    """

    network: str = eqx.field(static=True, default="mlp")
    hidden: tuple[int, ...] = eqx.field(static=True, default=(16, 16), converter=tuple)
    seeds: int = eqx.field(static=True, default=1)
    window: float | None = eqx.field(static=True, default=None)
    bandwidth: float | None = eqx.field(static=True, default=None)
    softness: tuple[float, ...] = eqx.field(static=True, default=SOFTNESS, converter=tuple)
    steps: int = eqx.field(static=True, default=6)
    polish: bool = eqx.field(static=True, default=False)
    checkpoint: str | None = eqx.field(static=True, default=None)

    abilities: ClassVar[frozenset[str]] = frozenset({"partial sensors", "latent states", "missing samples", "priors"})
    independent_of: ClassVar[frozenset[str]] = frozenset({"substeps", "integrator"})  # no time stepping

    retired: ClassVar[dict[str, str]] = {
        name: f"PIDynNet has no '{name}': the paper's recipe and its settings are the method 'pidynnet-as-published' "
        "(vibrid.papers.pidynnet.as_published.PIDynNetAsPublished)."
        for name in _RETIRED
    }

    def __check_init__(self) -> None:
        if self.network not in NETWORKS:
            raise unknown_name("network", self.network, NETWORKS)
        if self.seeds < 1 or self.steps < 1:
            raise InputError("PIDynNet needs one initialisation and one step or more.")
        if not self.softness or min(self.softness) <= 0 or list(self.softness) != sorted(self.softness, reverse=True):
            raise InputError(f"The softness must fall from stage to stage and stay positive, not {self.softness}.")

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        check_rates(problem)
        start, notes = WeakCollocation().begin(problem, progress)
        layout = self.layout(problem, start.free)
        piece = start.pieces[0]
        task = make_task(problem, piece.ground, layout, piece.readings, start.noise)
        motion = piece.motion(task.grid.time)
        task, skip = begin_at(task, sizes_of(task, start.free, motion), motion)
        seeds = Seeds(self.descent(task, skip))
        x = np.asarray(_begin(seeds, jnp.asarray(skip), jnp.asarray(start.free), self.seeds, jax.random.key(key)))
        given, size = problem.given_deviations(), problem.signal_size()
        keep = self._keep(problem, key)
        trained = anneal(seeds, x, task, self.softness, self.steps, given, size, progress, keep)
        fit = self._result(problem, seeds, trained, tuple(notes), key, started)
        if keep and not trained.cut_short:
            keep.remove()
        if not self.polish or trained.cut_short:
            return fit
        return polished(self, fit, problem, key, progress, started).replace(history=fit.history)

    def layout(self, problem: Problem, free: Array) -> WindowLayout:
        """Windows and features for a structure with unknowns at φ."""
        bandwidth = self.bandwidth or self._bandwidth(problem, free)
        return WindowLayout(self.window or _WINDOW, bandwidth)

    def _bandwidth(self, problem: Problem, free) -> float:
        """Hz: as the structure needs it, and no more than the readings allow."""
        period, step = shortest_period(problem, free), problem.data[0].step
        readings = max(len(problem.sensors) / problem.experiment.initial[0].displacement.shape[0], 1.0)
        most = 0.5 * _FEATURES_A_READING * readings / step
        if most < _FEWEST_A_PERIOD / period:
            enough = period * most * step / _FEWEST_A_PERIOD
            raise Refusal(
                f"The record has {period / step:.2g} samples in the structure's shortest period ({period:.3g} s): "
                f"networks would follow its noise. Give samples at most {enough:.3g} s apart, or read velocity and "
                "acceleration as well; or choose a bandwidth in Hz."
            )
        return min(_FEATURES_A_PERIOD / period, most)

    def descent(self, task: Task, skip: np.ndarray, fixed: bool = False) -> NetworkDescent:
        """How one initialisation is trained."""
        widths = (task.windows.inputs.shape[-1], *self.hidden, skip.shape[-1]) if self.hidden else ()
        unknowns = len(task.problem.unknowns)
        return NetworkDescent(skip=skip.shape, unknowns=unknowns, kind=self.network, widths=widths, fixed=fixed)

    def fine_tune(self, fit: Identification, record: Record, progress: Progress = SILENT, **keywords: Any) -> Tuned:
        """The response to another excitation by training the networks on the equations alone (Algorithm 2).

        The unknowns stay as identified and the motion at the start of the record is imposed. `fit.predict(record)`
        simulates the identified structure instead: that is quicker and more accurate, and the default.
        """
        return tune(self, fit, record, progress, **keywords)

    def _keep(self, problem: Problem, key: int) -> Checkpoint | None:
        if not self.checkpoint:
            return None
        settings = {k: v for k, v in settings_of(self).items() if k != "checkpoint"}
        data = [(d.readings, d.present, d.drive.samples) for d in problem.data]
        return Checkpoint(self.checkpoint, fingerprint(settings, key, data, problem.unknowns.start))

    def _result(self, problem: Problem, seeds: Seeds, trained: TrainedTask, notes, key: int, started: float):
        motion, frees = jax.tree.map(np.asarray, seeds.mean_motion(jnp.asarray(trained.x), trained.task))
        values = np.asarray(_physical(problem.unknowns, frees))
        traces = np.asarray(_physical(problem.unknowns, trained.trace))
        free = frees.mean(axis=0)
        covariance = covariance_of(np.asarray(trained.factor.information))
        if self.seeds > 1:
            covariance = covariance + np.cov(frees.T, bias=False).reshape(covariance.shape)
        if trained.stopped:
            notes += (
                f"The equations are met to {100 * trained.held:.2g} % of their size but not closer: the model is not "
                "quite right, or the features are too few (give a larger bandwidth).",
            )
        spread = values.std(axis=0, ddof=1) if self.seeds > 1 else 0 * values[0]
        return conclude(
            problem,
            self,
            free,
            started=started,
            covariance=covariance,
            noise=np.asarray(trained.task.noise),
            warnings=notes,
            history={
                "cost": trained.losses.mean(axis=1),
                "estimate": traces.mean(axis=1),
                "traces": traces,
                "seeds": values,
                "time": trained.task.grid.time,
                "states": motion.s,
                "response": motion.y,
            },
            convergence={
                "spread_of_seeds": dict(zip(problem.unknowns.names, map(float, spread), strict=True)),
                "equations_met_to": trained.held,
                "stages": trained.stages,
                "windows": trained.task.windows.count,
                "features": trained.task.windows.features,
            },
            seed=key,
            cut_short=trained.cut_short,
        )


@eqx.filter_jit
def _physical(unknowns, frees):
    """θ of many φ (…, p)."""
    return jnp.vectorize(unknowns.to_physical, signature="(p)->(p)")(frees)


@eqx.filter_jit
def _begin(seeds: Seeds, skip, free, count: int, key):
    """(count, …): every initialisation before training; they differ in their networks."""
    return jax.vmap(lambda k: seeds.one.join(skip, free, seeds.one.networks(k)))(jax.random.split(key, count))
