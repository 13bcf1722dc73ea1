"""SIVA: a generator of parameters, trained by misfit and by an adversary that judges on unseen records.

C. López, J. E. Herzlieb, K. J. Moore, System identification via validation and adaptation for model updating applied to
a nonlinear cantilever beam (2025); C. López, K. J. Moore, arXiv:2506.20799.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError, unknown_name
from vibrid.core.progress import SILENT
from vibrid.identification.acceleration import AccelerationMap, Measured, acceleration_map, compared, measure
from vibrid.identification.conclude import conclude
from vibrid.identification.method import METHODS, SETTINGS, Method
from vibrid.identification.methods.siva.adversary import ADVERSARIES, AdversaryEpoch, Samples, ValueMap, Values
from vibrid.identification.methods.siva.answer import Held, Normal, converged_at, held_by, near_equilibrium, without
from vibrid.identification.methods.siva.unexplained import missing_physics, not_identifiable
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.identification.problem import Problem
from vibrid.networks import train

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification

_LAST_PART = 0.3  # of a single record, kept for validation


@METHODS.register("siva")
class SIVA(Method):
    """A generator network turns noise into parameters; their accelerations must match the training records and
    deceive a discriminator on the validation records.

    Needs displacement, velocity and acceleration of every degree of freedom. Law states are integrated over the
    measured motion, so nothing is simulated while it learns. Where the unknowns only multiply forces, `LeastSquares`
    finds the same minimum at once; SIVA adds validation while it learns, and works for any law.

    The result is the mean of `samples` draws from the trained generator (the paper's approach I); its spread, and that
    over epochs after convergence (approach II), are in `fit.convergence`. They show how far training has come, not
    the information in the data, so ± 2σ of the result comes from the misfit itself: the covariance of its minimum, from
    its residuals, widened by the remaining distance to that minimum.

    Arguments
        epochs: passes over the training samples.
        batch: time samples in a step; fewer where there are not eight batches.
        seeds: networks trained side by side from different initial weights; the result is that with the least misfit on
            the validation records.
        gamma: weight γ of the misfit beside the adversary. Both start at size one, but the adversary stays there: with
            γ = 1 it outweighs a misfit of noise, and noise in computed accelerations biases the result (by
            3 % in k3 of the beam at 1 % noise; at γ = 100 still by 1 %).
        rate, last_rate: Adam's learning rate, falling over half a cosine.
        adversary: "standard" (the paper's), "wasserstein" (critic with gradient penalty: stabler, slower) or "none"
            (the misfit alone, for comparison).
        validation: numbers of the records kept for validation; by default all but the first, or the last 30 % of a
            single record.
        smooth: whether to make measured states consistent before use; by default when noise exceeds 0.1 %.
        noise_dimension: length of the noise vector z.
        draws: parameter sets in a step where law states must be integrated.
        samples: draws of the trained generator.
        select: so many draws are simulated; the result is the best of them, in place of the mean.
        prune: set terms that cannot be distinguished from zero to zero, and move the others to the least misfit;
            better for prediction beyond the data. `fit.convergence["pruned"]` holds this result in any case.
        polish: start `TrajectoryFit` from the result.
    """

    epochs: int = eqx.field(static=True, default=300)
    batch: int = eqx.field(static=True, default=500)
    seeds: int = eqx.field(static=True, default=1)
    gamma: float = eqx.field(static=True, default=1000.0)
    rate: float = eqx.field(static=True, default=4e-3)
    last_rate: float = eqx.field(static=True, default=1e-5)
    adversary: str = eqx.field(static=True, default="standard")
    validation: tuple[int, ...] | None = eqx.field(
        static=True, default=None, converter=lambda v: None if v is None else tuple(v)
    )
    smooth: bool | None = eqx.field(static=True, default=None)
    noise_dimension: int = eqx.field(static=True, default=10)
    draws: int = eqx.field(static=True, default=4)
    samples: int = eqx.field(static=True, default=1000)
    select: int = eqx.field(static=True, default=0)
    prune: bool = eqx.field(static=True, default=False)
    polish: bool = eqx.field(static=True, default=False)

    abilities: ClassVar[frozenset[str]] = frozenset(
        {"latent states", "path laws", "several records", "different loads"}
    )
    independent_of: ClassVar[frozenset[str]] = frozenset(SETTINGS)  # it uses values at the samples alone
    retired: ClassVar[dict[str, str]] = {
        "faithful": "SIVA has no 'faithful': the paper's recipe is the method 'siva-as-published' "
        "(vibrid.papers.siva.as_published.SIVAAsPublished)."
    }

    def __check_init__(self) -> None:
        if self.adversary not in ADVERSARIES:
            raise unknown_name("adversary", self.adversary, ADVERSARIES)
        for name in ("epochs", "batch", "seeds", "noise_dimension", "draws", "samples"):
            if getattr(self, name) < 1:
                raise InputError(f"SIVA's '{name}' must be 1 or more, not {getattr(self, name)}.")
        if not 0 < self.last_rate <= self.rate or self.gamma <= 0:
            raise InputError("SIVA needs gamma > 0 and learning rates with 0 < last_rate <= rate.")

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        measured = measure(problem, self.smooth)
        columns, modes = compared(problem, measured)
        table = acceleration_map(problem, measured, columns, validation_records(problem, self.validation), self.draws)
        trained, values, seconds = self._train(problem, table, key, progress)
        drawn = draws(trained.state.generator, values, key, (self.samples, self.noise_dimension))
        misfits, chosen = judged(drawn, table)
        losses, means, spreads = (np.asarray(h)[:, chosen] for h in trained.history)
        first = converged_at(losses)
        generated, averaged = Normal.fit(drawn[chosen]), Normal.fit(means[(first or len(means) // 2) :])
        estimate, notes = generated.mean, []
        if self.select:
            estimate = self._best(problem, drawn[chosen], progress)
        held = held_by(table.training, estimate)
        covariance = held.covariance + np.outer(held.distance, held.distance)
        share, missing = missing_physics(problem, measured, columns, estimate, _noise_share(columns, problem, measured))
        notes += self._notes(measured, losses, first, generated, held, modes) + missing
        deviation = np.sqrt(np.diag(covariance) + generated.deviation**2)
        vague, uncertain = not_identifiable(problem, measured, estimate, deviation)
        notes += [] if missing else uncertain
        pruned = without(estimate, vague, held.normal)
        if self.prune:
            estimate = pruned
        free = problem.unknowns.to_free(estimate)
        slope = np.asarray(problem.unknowns.slope(jnp.asarray(free)))
        names = problem.unknowns.names
        rest = {
            "history": {
                "estimate": means,
                "spread": spreads,
                "losses": losses,
                "generator": drawn[chosen],
                "seeds": drawn.mean(axis=1),
            },
            "convergence": {
                "converged": first is not None,
                "near_ln4": near_equilibrium(losses) if self.adversary == "standard" else None,
                "converged_at_epoch": first,
                "training_seconds": seconds[0],
                "training_processor_seconds": seconds[1],
                "approach_1": generated.table(names),
                "approach_2": averaged.table(names),
                "pruned": dict(zip(names, map(float, pruned), strict=True)),
                "left_undone": dict(zip(names, map(float, held.distance), strict=True)),
                "unexplained": share,
                "noise_level": measured.level,
                "smoothed": measured.smoothed,
                "modes_compared": modes,
                "validation_misfit_of_seeds": [float(m) for m in misfits],
                "linear_in_unknowns": table.linear,
            },
            "seed": key,
            "cut_short": trained.cut_short,
        }
        if self.polish:
            return self._polished(problem, estimate, key, progress, tuple(notes), started, rest)
        return conclude(
            problem, self, free, started=started, covariance=covariance / np.outer(slope, slope),
            warnings=tuple(notes), **rest,
        )  # fmt: skip

    # -- the steps ---------------------------------------------------------------------------------------------------

    def _train(self, problem: Problem, table: AccelerationMap, key: int, progress):
        """Train all seeds. Returns the trained networks, the map to values, and seconds: elapsed, of the processor."""
        count = table.training.real.shape[0]
        batch = min(self.batch, max(count // 8, 32))
        epoch = AdversaryEpoch(
            batch=batch,
            noise_dimension=self.noise_dimension,
            gamma=self.gamma,
            adversary=self.adversary,
            rate=self.rate,
            last_rate=self.last_rate,
            steps=max(count // batch, 1) * self.epochs,
        )
        values = Values.of(problem.unknowns, table.sizes)
        begun, second = begin_players(epoch, values, table.training.real.shape[1], self.seeds, jax.random.key(key))
        progress.stage("training (compiling)", self.epochs)
        began, busy = time.perf_counter(), time.process_time()
        samples = Samples(table.training, table.validation, values)
        if table.linear:
            samples = samples._replace(training=single(table.training), validation=single(table.validation))
        trained = train(epoch, begun, second, self.epochs, data=samples, progress=progress, note=losses_note)
        return trained, values, (time.perf_counter() - began, time.process_time() - busy)

    def _best(self, problem: Problem, drawn: np.ndarray, progress) -> np.ndarray:
        """The draw whose simulated response is nearest to the readings of all records, weighed by their size."""
        progress.stage(f"simulating {self.select} draws", self.select)
        tried = drawn[np.linspace(0, len(drawn) - 1, min(self.select, len(drawn))).astype(int)]
        free = jnp.asarray(np.stack([problem.unknowns.to_free(d) for d in tried]))
        cost = np.asarray(_simulated_misfit(problem, free, jnp.asarray(problem.signal_size())))
        if not np.isfinite(cost).any():
            raise InputError("No draw of the generator can be simulated; give more substeps or another integrator.")
        return tried[int(np.nanargmin(cost))]

    def _polished(self, problem, estimate, key, progress, notes, started, rest):
        """`TrajectoryFit` from this estimate, on the same records; its result, with SIVA's history."""
        u = problem.unknowns
        begun = dataclasses.replace(
            u,
            start=jnp.asarray(u.to_physical(jnp.asarray(u.to_free(estimate)))),
            scale=jnp.where(u._is("linear"), jnp.maximum(jnp.abs(jnp.asarray(estimate)), 1e-12), u.scale),
        )
        fit = TrajectoryFit(segments=1).solve(dataclasses.replace(problem, unknowns=begun), key, progress)
        return fit.replace(
            method=f"{type(self).__name__} and TrajectoryFit",
            history=rest["history"],
            convergence=rest["convergence"] | {"polish": fit.convergence},
            warnings=notes + fit.warnings,
            seconds=time.perf_counter() - started,
            cut_short=rest["cut_short"] or fit.cut_short,
        )

    def _notes(self, measured: Measured, losses, first, generated: Normal, held: Held, modes) -> list[str]:
        notes = []
        if first is None:
            notes.append("The misfit was still falling when training ended: give more epochs, or seeds.")
        elif self.adversary == "standard" and not near_equilibrium(losses):
            notes.append(
                "The discriminator still distinguishes measured from computed accelerations (its loss is "
                f"{losses[-1, 0]:.2f}, not ln 4 = 1.39): they differ by noise in the measured states, or the model "
                "lacks something."
            )
        if modes is not None:
            how = "made consistent and " if measured.smoothed else ""
            notes.append(
                f"Noise is {100 * measured.level:.2g} % of the measured states: they were {how}compared in the "
                f"{modes} lowest-noise modes of the structure."
            )
        narrow = generated.deviation < 0.5 * held.deviation
        wide = generated.deviation > 2 * held.deviation
        if narrow.any() or wide.any():
            ratio = generated.deviation / np.maximum(held.deviation, 1e-300)
            notes.append(
                "The generator's spread is not a posterior: its deviation is "
                f"{_range(ratio)} times that of the misfit itself; ± 2σ here is the latter."
            )
        return notes


def validation_records(problem: Problem, chosen: tuple[int, ...] | None):
    """The records kept for validation, or the share of a single record."""
    count = len(problem.data)
    if count == 1:
        return _LAST_PART
    chosen = tuple(range(1, count)) if chosen is None else chosen
    if not chosen or not set(chosen) < set(range(count)):
        raise InputError(
            f"SIVA(validation={chosen}) must name some of the records 0 to {count - 1} and leave one for training."
        )
    return chosen


@eqx.filter_jit
def begin_players(epoch: AdversaryEpoch, values: ValueMap, channels: int, seeds: int, key):
    """The players of every seed before training, and the key of the training."""
    first, second = jax.random.split(key)
    return jax.vmap(lambda k: epoch.players(k, channels, values))(jax.random.split(first, seeds)), second


def draws(generators, values: ValueMap, key: int, shape: tuple[int, int]) -> np.ndarray:
    """(seeds, count, p): values that trained generators make of noise of a shape (count, noise dimension)."""
    return np.asarray(_drawn(generators, values, jax.random.key(key), shape))


@eqx.filter_jit
def _drawn(generators, values: ValueMap, key, shape: tuple[int, int]):
    noise = jax.random.normal(jax.random.fold_in(key, 1), shape, jnp.float32)
    return jax.vmap(lambda generator: values(generator(noise)))(generators)


def judged(drawn: np.ndarray, table: AccelerationMap) -> tuple[np.ndarray, int]:
    """(seeds,) misfit of each mean on the validation samples, and the seed with the least."""
    validation = table.validation
    misfits = [np.mean((np.asarray(validation.real) - validation.at(d.mean(axis=0))) ** 2) for d in drawn]
    return np.asarray(misfits), int(np.nanargmin(misfits)) if np.isfinite(misfits).any() else 0


def _range(ratio: np.ndarray) -> str:
    low, high = float(ratio.min()), float(ratio.max())
    return f"{low:.2g}" if high < 1.5 * low else f"{low:.2g} to {high:.2g}"


def _noise_share(columns: np.ndarray, problem: Problem, measured: Measured) -> float:
    """rms of noise over signal in compared accelerations: that of the readings, and that from the states."""
    model = problem.experiment.structure.model(problem.data[0].loads)
    mass, damping, stiffness = (np.asarray(part) for part in model.initial_matrices())
    inverse = np.linalg.inv(mass)
    parts = [np.diag(measured.acceleration_noise)]
    parts += [inverse @ stiffness * measured.noise[0], inverse @ damping * measured.noise[1]]
    power = sum(((columns.T @ part) ** 2).sum(axis=1) for part in parts)
    signal = np.concatenate([np.asarray(m[2]) for m in measured.motions]) @ columns
    return float(np.sqrt(np.mean(power) / np.mean(signal**2)))


def single(tree: Any):
    """Tables in 32-bit numbers: networks learn from them no worse, in half the time."""
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32), tree)


def losses_note(recorded) -> str:
    losses = recorded[0][-1].mean(axis=0)
    return f"L_D {losses[0]:.3f}, L_adv {losses[1]:.3f}, MSE {losses[2]:.2g}"


@eqx.filter_jit
def _simulated_misfit(problem, free, sizes):
    return jax.lax.map(lambda phi: jnp.mean(problem.residuals(phi, sizes) ** 2), free)
