"""Kalman filters for the joint state of motion and unknowns, in square-root form, offline or sample by sample."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import native
from vibrid.core.arguments import Array
from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT
from vibrid.identification import augmented
from vibrid.identification.cheaper import cheaper
from vibrid.identification.conclude import conclude
from vibrid.identification.diagnostics import autocorrelation
from vibrid.identification.method import METHODS, Sample, Sequential
from vibrid.identification.problem import Problem

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification


class Belief(NamedTuple):
    """Mean and triangular square root (P = Rᵀ R) of the joint state, and the noise that the filter assumes."""

    mean: jax.Array
    root: jax.Array
    noise: jax.Array  # (ny,) standard deviation of every sensor
    drift: jax.Array  # (nz,) standard deviation that the state gains per second^½
    innovation: jax.Array  # (ny,) last reading minus its prediction


class _Pass(NamedTuple):
    """The result of one pass through the records."""

    free: np.ndarray
    covariance: np.ndarray  # (p, p), free variables
    path: np.ndarray  # (samples, p), free variables
    deviations: np.ndarray  # (samples, p), physical
    innovation: np.ndarray  # (ny,) rms of reading − prediction, after the first third
    smallest_root: float
    innovation_size: float = 1.0  # largest rms over its expected value of a stretch, after the first third
    innovation_correlation: float = 0.0  # largest rms autocorrelation of a sensor, after the first third


class _Kalman(Sequential):
    """Base of the two filters: start, square-root update, and the run over a record.

    Arguments
        spread: standard deviation of each unknown at the start, in its free unit (0.3 is about ± 30 %). Where a prior
            is given, every pass starts at its mean, with its deviation.
        process_noise: standard deviation that the motion gains per second^½, as a share of its rms; keeps the filter
            adaptive when the model is not exact.
        parameter_drift: standard deviation that each unknown gains per second^½, in its free unit; 0 for constants.
        passes: largest number of passes through the records: each pass starts at the last estimate with the first
            spread (so that no reading is counted twice) and with noise estimated again where no sensor states it.
    """

    spread: float = eqx.field(static=True, default=0.3)
    process_noise: float = eqx.field(static=True, default=1e-4)
    parameter_drift: float = eqx.field(static=True, default=0.0)
    passes: int = eqx.field(static=True, default=3)

    abilities: ClassVar[frozenset[str]] = frozenset(
        {
            "partial sensors",
            "latent states",
            "path laws",
            "missing samples",
            "sensor gain",
            "sensor offset",
            "load offset",
            "initial state",
            "several records",
            "different loads",
            "priors",
        }
    )

    # -- sample by sample ----------------------------------------------------------------------------------------

    def init(
        self, problem: Problem, key: int = 0, *, free: Array | None = None, noise: Array | None = None, record: int = 0
    ) -> Belief:
        """The state of the filter before the first sample."""
        augmented.check_steps(problem)
        free = augmented.at_priors(problem, problem.start if free is None else free)
        noise = augmented.noise_guess(problem) if noise is None else noise
        return _first_belief(self, problem, jnp.asarray(free), jnp.asarray(noise), record)

    def step(self, problem: Problem, state: Belief, sample: Sample) -> Belief:
        """Advance to the next sample and update with its readings."""
        return self._stepped(problem, state, sample)[0]

    def _stepped(self, problem: Problem, state: Belief, sample: Sample) -> tuple[Belief, jax.Array]:
        """The state at the next sample, and how much its readings surprise (see `_updated`)."""
        root_drift = jnp.diag(state.drift * jnp.sqrt(sample.dt))
        mean, root = self._predict(problem, state.mean, state.root, sample, root_drift)
        return self._updated(problem, state._replace(mean=mean, root=root), sample)

    def estimate(self, problem: Problem, state: Belief) -> tuple[jax.Array, jax.Array]:
        """Values and standard deviations of the unknowns, physical."""
        p = len(problem.unknowns)
        free, deviation = state.mean[-p:], jnp.sqrt(jnp.sum(state.root[:, -p:] ** 2, axis=0))
        return problem.unknowns.to_physical(free), deviation * jnp.abs(problem.unknowns.slope(free))

    # -- a whole record ------------------------------------------------------------------------------------------

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        augmented.check_steps(problem)
        known = np.isfinite(problem.given_deviations()).all()
        noise = augmented.noise_guess(problem)
        last, cut_short = _before_data(self, problem, noise), False
        try:
            for number in range(self.passes):
                progress.stage(f"filtering, pass {number + 1} of at most {self.passes} (compiling)", len(problem.data))
                before, last = last, self._pass(problem, last.free, noise, progress)
                left = noise if known else np.maximum(last.innovation, 1e-4 * problem.signal_size())
                settled = np.max(np.abs(last.free - before.free) / np.sqrt(np.diag(last.covariance))) < 0.3
                if settled and np.max(np.abs(np.log(left / noise))) < 0.05:
                    break
                noise = left if number + 1 < self.passes else noise
        except KeyboardInterrupt:
            cut_short = True
        return conclude(
            problem,
            self,
            last.free,
            started=started,
            covariance=last.covariance,
            noise=noise,
            history={
                "estimate": np.asarray(jax.vmap(problem.unknowns.to_physical)(jnp.asarray(last.path))),
                "deviation": last.deviations,
            },
            convergence={
                "smallest_root": last.smallest_root,
                "innovation_size": last.innovation_size,
                "innovation_correlation": last.innovation_correlation,
            },
            seed=key,
            cut_short=cut_short,
        )

    def _pass(self, problem: Problem, free: np.ndarray, noise: np.ndarray, progress) -> _Pass:
        """One pass through all records; the estimate of the unknowns is carried from one to the next."""
        p, start, root = len(problem.unknowns), jnp.asarray(augmented.at_priors(problem, free)), None
        paths, bands, squares, counts, smallest = [], [], 0.0, 0.0, 0.0
        sizes, correlations = [1.0], [0.0]
        covariance, cheap = np.zeros((p, p)), cheaper(problem)
        for r in range(len(problem.data)):
            single = dataclasses.replace(cheap, data=(problem.data[r],))  # with the loads of this record
            belief = _first_belief(self, single, start, jnp.asarray(noise), r, root)
            belief, (path, band, innovation, surprise, present) = _filter(self, single, belief)
            start, root = belief.mean[-p:], belief.root
            paths.append(np.asarray(path))
            bands.append(np.asarray(band))
            late = slice(present.shape[0] // 3, None)  # the first third is for convergence
            squares = squares + np.sum(np.asarray(innovation**2 * present)[late], axis=0)
            counts = counts + np.sum(np.asarray(present)[late], axis=0)
            size, correlation = _consistency(np.asarray(surprise)[late], np.asarray(present)[late])
            sizes, correlations = [*sizes, size], [*correlations, correlation]
            progress.update(r + 1)
            covariance = np.asarray(root.T @ root)[-p:, -p:]
            smallest = float(jnp.min(jnp.abs(jnp.diag(root))))
        rms = np.sqrt(squares / np.maximum(counts, 1.0))
        whole = np.concatenate(paths), np.concatenate(bands)
        return _Pass(np.asarray(start), covariance, *whole, rms, smallest, max(sizes), max(correlations))

    # -- square roots --------------------------------------------------------------------------------------------

    def _predict(self, problem, mean, root, sample, root_drift):
        raise NotImplementedError

    def _predicted_readings(self, problem, mean, root, sample):
        """Deviations of the readings about their mean, and this: (nz, ny) those that go with the rows of the root, and
        (m, ny) others, which go with no change of the state."""
        raise NotImplementedError

    def _updated(self, problem, belief: Belief, sample: Sample) -> tuple[Belief, jax.Array]:
        """The square-root Joseph form: the new root is the triangle of `[R − dY Kᵀ; S Kᵀ]`, Sᵀ S = I + the part of the
        readings' variance that goes with no change of the state, readings over their noise.

        It is a product Rᵀ R for any gain K, so it stays positive definite. A missing reading has no weight. Beside it
        the innovations (ny,) as independent numbers, which are of unit size if the filter is right.
        """
        dy, others, predicted = self._predicted_readings(problem, belief.mean, belief.root, sample)
        weight = sample.present / belief.noise
        dy, others = dy * weight, others * weight
        left = others.T @ others + jnp.eye(dy.shape[1])
        inner = jnp.linalg.cholesky(dy.T @ dy + left)
        gain = jax.scipy.linalg.cho_solve((inner, True), dy.T @ belief.root)  # (ny, nz), of readings over their noise
        innovation = (sample.readings - predicted) * sample.present
        rest = jnp.linalg.cholesky(left).T @ gain
        root = jnp.linalg.qr(jnp.concatenate([belief.root - dy @ gain, rest]), mode="r")
        surprise = jax.scipy.linalg.solve_triangular(inner, innovation / belief.noise, lower=True)
        mean = belief.mean + (innovation / belief.noise) @ gain
        return belief._replace(mean=mean, root=root, innovation=innovation), surprise


@METHODS.register("ukf")
class UnscentedKalman(_Kalman):
    """The unscented filter (Julier & Uhlmann; van der Merwe's scaled points) on motion and unknowns together.

    The transformation of the unknowns keeps their signs and bounds; the square-root form keeps positive definiteness.

    Arguments
        alpha, beta, kappa: spread of the sigma points; the defaults keep every weight non-negative.
    """

    alpha: float = eqx.field(static=True, default=1.0)
    beta: float = eqx.field(static=True, default=2.0)
    kappa: float = eqx.field(static=True, default=0.0)

    def weights(self, size: int) -> tuple[float, np.ndarray, np.ndarray]:
        """Spacing of the points, weights of the mean, weights of the covariance (2 size + 1 each)."""
        lam = self.alpha**2 * (size + self.kappa) - size
        centre = lam / (size + lam)
        covariance_centre = centre + 1.0 - self.alpha**2 + self.beta
        if covariance_centre < 0:
            raise InputError(
                f"alpha = {self.alpha}, kappa = {self.kappa} give a negative covariance weight for {size} states; "
                "raise alpha towards 1 or kappa."
            )
        others = np.full(2 * size, 0.5 / (size + lam))
        return np.sqrt(size + lam), np.append(centre, others), np.append(covariance_centre, others)

    def _at_points(self, function, given, mean, root):
        """A function of the joint state at the mean (m,), and at `mean ± spacing · row` for all rows of the root, each
        (nz, m); their weighted mean (m,); and two weights in the covariance: of the first, of another.
        """
        spacing, mean_weights, weights = self.weights(mean.shape[0])
        values = native.each(_around, (function, given, spacing, mean), root)
        centre, plus, minus = values[0, 0], values[:, 1], values[:, 2]
        average = mean_weights[0] * centre + mean_weights[1] * jnp.sum(plus + minus, axis=0)
        return centre, plus, minus, average, (weights[0], weights[1])

    def _predict(self, problem, mean, root, sample, root_drift):
        centre, plus, minus, mean, (first, other) = self._at_points(_moved, (problem, sample), mean, root)
        deviations = [np.sqrt(first) * (centre - mean)[None], *(np.sqrt(other) * (z - mean) for z in (plus, minus))]
        return mean, jnp.linalg.qr(jnp.concatenate([*deviations, root_drift]), mode="r")

    def _predicted_readings(self, problem, mean, root, sample):
        """Two points `mean ± spacing · row` of equal weight w deviate by √w (±spacing · row, y± − ȳ). Turned by 45°
        these are (row, √(w/2) (y₊ − y₋)) and (0, √(w/2) (y₊ + y₋ − 2ȳ)), as 2 w spacing² = 1."""
        centre, plus, minus, y, (first, other) = self._at_points(_read, (problem, sample.inputs), mean, root)
        half = np.sqrt(0.5 * other)
        others = [np.sqrt(first) * (centre - y)[None], half * (plus + minus - 2.0 * y)]
        return half * (plus - minus), jnp.concatenate(others), y


@METHODS.register("ekf")
class ExtendedKalman(_Kalman):
    """The extended filter: the same joint state with derivatives instead of sigma points. Faster, less robust."""

    def _predict(self, problem, mean, root, sample, root_drift):
        mean, slope = native.value_and_slope(_moved, (problem, sample), mean)
        return mean, jnp.linalg.qr(jnp.concatenate([root @ slope.T, root_drift]), mode="r")

    def _predicted_readings(self, problem, mean, root, sample):
        y, slope = native.value_and_slope(_read, (problem, sample.inputs), mean)
        dy = root @ slope.T
        return dy, jnp.zeros((0, dy.shape[1])), y


def _around(shared, row):
    """(3, m): a function of the joint state at the mean and on both sides of it."""
    function, given, spacing, mean = shared
    return jnp.stack([function(given, z) for z in (mean, mean + spacing * row, mean - spacing * row)])


def _moved(given, z):
    """The joint state at the next sample."""
    problem, sample = given
    return augmented.move(problem, z, sample.before, sample.inputs, sample.dt, sample.between)


def _read(given, z):
    """The readings at a joint state."""
    problem, inputs = given
    return augmented.read(problem, z, inputs)


def _before_data(method, problem: Problem, noise: np.ndarray) -> _Pass:
    """The result before any data: the first guess with its spread."""
    free = problem.start
    deviation = np.asarray(_first_deviation(method, problem, jnp.asarray(free)))
    band = deviation * np.abs(np.asarray(problem.unknowns.slope(jnp.asarray(free))))
    return _Pass(free, np.diag(deviation**2), free[None], band[None], noise, float(deviation.min()))


@eqx.filter_jit
def _first_deviation(method, problem: Problem, free):
    """(p,): standard deviation of φ at the start."""
    prior = problem.unknowns.prior_deviation / jnp.abs(problem.unknowns.slope(free))
    return jnp.where(jnp.isfinite(prior), prior, method.spread)


@native.jit
def _first_belief(method, problem, free, noise, record, root=None) -> Belief:
    """The initial state, with the covariance that follows from that of φ.

    `root` carries the covariance of φ from one record to the next.
    """
    p = len(problem.unknowns)
    mean = augmented.first_state(problem, free, record)
    deviation = _first_deviation(method, problem, free)
    start = jnp.diag(deviation) if root is None else root[:, -p:]
    slope = jax.jacfwd(lambda q: augmented.first_state(problem, q, record))(free)
    sizes = augmented.state_sizes(problem, free, record)
    floor = jnp.concatenate([1e-6 * sizes + 1e-12, jnp.full(p, 1e-9)])
    first_root = jnp.linalg.qr(jnp.concatenate([start @ slope.T, jnp.diag(floor)]), mode="r")
    drift = jnp.concatenate([method.process_noise * sizes + 1e-12, jnp.full(p, method.parameter_drift + 1e-9)])
    return Belief(mean, first_root, noise, drift, jnp.zeros_like(noise))


_STRETCHES = 8  # of a record, in each of which innovations have their expected size


def _consistency(surprise: np.ndarray, present: np.ndarray) -> tuple[float, float]:
    """Largest rms of innovations (nt, ny) of unit size in a stretch, and largest rms autocorrelation of a sensor."""
    if len(surprise) < 20 * _STRETCHES or not np.isfinite(surprise).all():
        return 1.0, 0.0
    stretches = zip(np.array_split(surprise, _STRETCHES), np.array_split(present, _STRETCHES), strict=True)
    size = max(float(np.sqrt(np.sum(e**2) / max(m.sum(), 1.0))) for e, m in stretches)
    each = [autocorrelation(e, m) for e, m in zip(surprise.T, present.T, strict=True) if m.sum() > 20]
    return size, max(each, default=0.0)


@native.parts
def _filter(method, problem, belief: Belief):
    """Run over the record of a problem: final state, and φ, deviations, innovations, the same as independent numbers of
    unit size, and masks at every sample."""
    d = problem.data[0]
    p = len(problem.unknowns)
    belief, _ = method._updated(
        problem, belief, Sample(d.readings[0], d.present[0], d.drive.samples[0], d.drive.samples[0], d.step)
    )

    def body(belief, row):
        readings, present, before, inputs, between = row
        sample = Sample(readings, present, before, inputs, d.step, between)
        belief, surprise = method._stepped(problem, belief, sample)
        sd = jnp.sqrt(jnp.sum(belief.root[:, -p:] ** 2, axis=0))
        return belief, (
            belief.mean[-p:],
            sd * jnp.abs(problem.unknowns.slope(belief.mean[-p:])),
            belief.innovation,
            surprise,
            present,
        )

    rows = (d.readings[1:], d.present[1:], d.drive.samples[:-1], d.drive.samples[1:], d.drive.coefficients)
    return jax.lax.scan(body, belief, rows)
