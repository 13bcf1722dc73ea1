"""SIVA as published: the recipe of the paper without our changes, as a method of its own."""

from __future__ import annotations

import time
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT
from vibrid.identification.acceleration import AccelerationMap, acceleration_map, measure
from vibrid.identification.conclude import conclude, settings_of
from vibrid.identification.method import METHODS, SETTINGS, Method
from vibrid.identification.methods.siva.adversary import AdversaryEpoch, Samples, scientific
from vibrid.identification.methods.siva.answer import Normal, converged_at, near_equilibrium
from vibrid.identification.methods.siva.siva import (
    begin_players,
    draws,
    judged,
    losses_note,
    single,
    validation_records,
)
from vibrid.identification.problem import Problem
from vibrid.networks import Checkpoint, Dense, Trained, fingerprint, train

_BLOCK = 50  # epochs in one compiled program, after which a checkpoint is written


class PublishedValues(eqx.Module):
    """Values `a · 10^b` without a scale or bounds; the generator starts from its random weights."""

    count: int = eqx.field(static=True)

    def __call__(self, outputs):
        return scientific(outputs)

    def begin(self, generator: Dense) -> Dense:
        return generator


@METHODS.register("siva-as-published")
class SIVAAsPublished(Method):
    """SIVA as printed in its paper: `a · 10^b` without a scale, raw accelerations, γ = 1, Adam at 1e-4 throughout.

    Two settings are ours, because the paper does not state them: z has ten entries, and numbers have 32 bits (PyTorch's
    default). The estimate is the paper's approach I, the mean of `samples` draws; approach II is in `fit.convergence`.
    ± 2σ is the spread of the draws, as in the paper, not the uncertainty that the data leave. Use `SIVA` for results.

    Arguments
        epochs: passes over the training samples; the paper takes 1000.
        batch: time samples in a step.
        seeds: networks trained side by side from different initial weights; the one with the least misfit on the
            validation records gives the estimate.
        gamma: weight γ of the misfit.
        rate: Adam's learning rate.
        adversary: "standard", or "none" for the misfit alone.
        validation: numbers of the records kept for validation; by default all but the first.
        noise_dimension: length of the noise vector z.
        samples: draws of the trained generator.
        checkpoint: file of the state of training; the same call resumes from it, also with more epochs.
    """

    epochs: int = eqx.field(static=True, default=1000)
    batch: int = eqx.field(static=True, default=500)
    seeds: int = eqx.field(static=True, default=1)
    gamma: float = eqx.field(static=True, default=1.0)
    rate: float = eqx.field(static=True, default=1e-4)
    adversary: str = eqx.field(static=True, default="standard")
    validation: tuple[int, ...] | None = eqx.field(
        static=True, default=None, converter=lambda v: None if v is None else tuple(v)
    )
    noise_dimension: int = eqx.field(static=True, default=10)
    samples: int = eqx.field(static=True, default=1000)
    checkpoint: str | None = eqx.field(static=True, default=None)

    abilities: ClassVar[frozenset[str]] = frozenset(
        {"latent states", "path laws", "several records", "different loads"}
    )
    independent_of: ClassVar[frozenset[str]] = frozenset(SETTINGS)  # it uses values at the samples alone

    def __check_init__(self):
        for name in ("epochs", "batch", "seeds", "noise_dimension", "samples"):
            if getattr(self, name) < 1:
                raise InputError(f"SIVAAsPublished's '{name}' must be 1 or more, not {getattr(self, name)}.")

    def solve(self, problem: Problem, key=0, progress=SILENT):
        started = time.perf_counter()
        places = np.eye(problem.experiment.structure.model(problem.data[0].loads).size)
        table = acceleration_map(problem, measure(problem, False), places, validation_records(problem, self.validation))
        values = PublishedValues(len(problem.unknowns))
        trained, first_values, seconds = self._train(problem, table, values, key, progress)
        drawn = draws(trained.state.generator, values, key, (self.samples, self.noise_dimension))
        misfits, chosen = judged(drawn, table)
        losses, means, spreads = (np.asarray(history) for history in trained.history)
        settled = converged_at(losses[:, chosen])
        first = Normal.fit(drawn[chosen])
        second = Normal.fit(means[settled or len(means) // 2 :, chosen])
        free = problem.unknowns.to_free(first.mean)
        slope = np.asarray(problem.unknowns.slope(jnp.asarray(free)))
        names = problem.unknowns.names
        return conclude(
            problem,
            self,
            free,
            started=started,
            covariance=np.diag((np.maximum(first.deviation, 1e-12 * np.abs(first.mean)) / slope) ** 2),
            warnings=(
                "± 2σ is the spread of the generator, as in the paper, not the uncertainty that the data leave.",
            ),
            history={
                "estimate": means[:, chosen],
                "spread": spreads[:, chosen],
                "losses": losses[:, chosen],
                "generator": drawn[chosen],
                "seeds": drawn.mean(axis=1),
                "estimates_of_seeds": means,
                "losses_of_seeds": losses,
                "first_values_of_seeds": first_values,
            },
            convergence={
                "converged": settled is not None,
                "near_ln4": near_equilibrium(losses[:, chosen]),
                "converged_at_epoch": settled,
                "training_seconds": seconds[0],
                "training_processor_seconds": seconds[1],
                "approach_1": first.table(names),
                "approach_2": second.table(names),
                "validation_misfit_of_seeds": [float(m) for m in misfits],
            },
            seed=key,
            cut_short=trained.cut_short,
        )

    def _train(self, problem: Problem, table: AccelerationMap, values: PublishedValues, key: int, progress):
        """Train all seeds. Returns the training, the (seeds, p) values before it, and seconds: clock, processor."""
        count, channels = table.training.real.shape
        epoch = AdversaryEpoch(
            batch=min(self.batch, count),
            noise_dimension=self.noise_dimension,
            gamma=self.gamma,
            adversary=self.adversary,
            rate=self.rate,
            last_rate=self.rate,
            steps=0,  # the rate is constant
        )
        players, training_key = begin_players(epoch, values, channels, self.seeds, jax.random.key(key))
        before = draws(players.generator, values, key, (self.samples, self.noise_dimension)).mean(axis=1)
        samples = Samples(table.training, table.validation, values)
        if table.linear:
            samples = samples._replace(training=single(table.training), validation=single(table.validation))
        progress.stage("training (compiling)", self.epochs)
        began, busy = time.perf_counter(), time.process_time()
        kept = self._kept(problem, key)
        trained: Trained = train(
            epoch, players, training_key, self.epochs, block=_BLOCK, data=samples, progress=progress, note=losses_note,
            checkpoint=kept,
        )  # fmt: skip
        return trained, before, (time.perf_counter() - began, time.process_time() - busy)

    def _kept(self, problem: Problem, key: int) -> Checkpoint | None:
        """The checkpoint; it does not depend on the number of epochs, so that a training can be continued."""
        if not self.checkpoint:
            return None
        settings = {k: v for k, v in settings_of(self).items() if k not in ("checkpoint", "epochs", "samples")}
        data = [(d.readings, d.present, d.drive.samples) for d in problem.data]
        return Checkpoint(self.checkpoint, fingerprint(settings, key, data, problem.unknowns.start))
