"""OnlineMasing: one guarded descent step a sample on a shifting window (Ashrafi & Smyth 2007, eqs 5–14)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude
from vibrid.identification.method import METHODS, SETTINGS, Sample, Sequential
from vibrid.identification.online.measured import check_force, has_snapshots, measured_motion
from vibrid.identification.online.runs import run_record
from vibrid.identification.online.windows import Level, ReplayedWindow, ShiftingWindow, Snapshots
from vibrid.identification.problem import Problem

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification

_REMEMBERED_WINDOWS = 4  # how many windows the stated uncertainty looks back


def _pair(values: Iterable[float]) -> tuple[float, float]:
    """The ends of a ramp."""
    ends = tuple(values)
    if len(ends) != 2:
        raise InputError(f"A cut is two numbers (low, high), not {len(ends)}.")
    return ends[0], ends[1]


class OnlineDescent(NamedTuple):
    """The state of the descent. `values` are physical; directions and information are in units of the scales."""

    values: jax.Array  # (p,) θ̂
    window: Any  # what the window keeps
    seen: jax.Array  # samples so far
    reduction: jax.Array  # λ_θ
    direction: jax.Array  # (2, p) ε s' of the last two samples, zero where nothing moved
    information: jax.Array  # (p, p) of the last windows, per scale²
    misfit: jax.Array  # rms of the window
    key: jax.Array


class DescentTrial(NamedTuple):
    """The best of the directions tried at one sample."""

    direction: jax.Array  # (p,) s'
    lowest: jax.Array  # misfit of the window after a step that way
    limit: jax.Array  # δθ_max λ_x λ_v λ_f
    now: jax.Array  # misfit of the window before it
    learns: jax.Array  # whether a step may be taken at all


@METHODS.register("online-masing")
class OnlineMasing(Sequential):
    """Steepest descent beside random directions, one step a sample, on the misfit of a shifting window.

    The motion must be measured: a device whose deformation is imposed, or a structure with displacement and velocity at
    every degree of freedom. Distributed-element laws are re-evaluated from snapshots of their memory; other laws run
    through the window again from a carried state.

    λ_θ, the reduction of the step, is updated after the step and shrinks on rejection too, which ends closer than the
    paper's order (`masing-as-published`).

    Parameters are divided by their `scale` (|first guess| unless `Unknown(scale=…)` is given); steps are in these
    units. A step that increases the misfit is not taken.

    Arguments
        window: l, samples in the window.
        stride: n, every n-th of them is evaluated, the others in later steps.
        objective: 1, the current force (eq. 5); 2, the force at all remembered turning points (eq. 6).
        largest_step, smallest_step: δθ_max and δθ_min.
        increase, decrease: δ_i and δ_d of λ_θ.
        directions: random unit vectors tried beside the gradient.
        displacement_cut, velocity_cut, force_cut: (low, high) of the linear ramps λ_x, λ_v, λ_f; (0, 0) for none.
        passes: how often a stored record is processed; 1 as in a live run.
    """

    window: int = eqx.field(static=True, default=150)
    stride: int = eqx.field(static=True, default=3)
    objective: int = eqx.field(static=True, default=1)
    largest_step: float = eqx.field(static=True, default=0.05)
    smallest_step: float = eqx.field(static=True, default=0.005)
    increase: float = eqx.field(static=True, default=1.2)
    decrease: float = eqx.field(static=True, default=0.95)
    directions: int = eqx.field(static=True, default=3)
    displacement_cut: tuple[float, float] = eqx.field(static=True, default=(0.0, 0.0), converter=_pair)
    velocity_cut: tuple[float, float] = eqx.field(static=True, default=(0.0, 0.0), converter=_pair)
    force_cut: tuple[float, float] = eqx.field(static=True, default=(0.0, 0.0), converter=_pair)
    passes: int = eqx.field(static=True, default=1)

    abilities: ClassVar[frozenset[str]] = frozenset(
        {"partial sensors", "latent states", "path laws", "unaveraged memory", "missing samples", "several records"}
    )
    independent_of: ClassVar[frozenset[str]] = frozenset(SETTINGS)  # it uses values at the samples alone
    retired: ClassVar[dict[str, str]] = {
        "faithful": "OnlineMasing has no 'faithful': the paper's order of updates is the method 'masing-as-published' "
        "(vibrid.papers.masing.as_published.MasingAsPublished).",
    }

    def __check_init__(self) -> None:
        if not (self.window >= 2 * self.stride >= 2 and self.window % self.stride == 0):
            raise InputError(
                f"The window ({self.window} samples) must be a multiple of the stride ({self.stride}), twice at least."
            )
        if self.objective not in (1, 2):
            raise InputError(f"There are objectives 1 and 2, not {self.objective}.")
        if not 0 < self.smallest_step <= self.largest_step:
            raise InputError("Steps need 0 < smallest_step ≤ largest_step.")

    # -- sample by sample ----------------------------------------------------------------------------------------

    def frame(self, problem: Problem) -> ShiftingWindow[Any]:
        """The kind of window that suits the problem."""
        motion = measured_motion(problem, self)
        if has_snapshots(problem):
            check_force(problem, self)
            return Snapshots(motion, self.window, self.stride, self.objective)
        if self.objective == 2:
            raise InputError("Objective 2 needs the turning points of a Masing law; use objective 1 for other laws.")
        return ReplayedWindow(motion, self.window, self.stride)

    def init(self, problem: Problem, key: int = 0, *, values: Array | None = None) -> OnlineDescent:
        p = len(problem.unknowns)
        values = jnp.asarray(problem.unknowns.start if values is None else values)
        zero = jnp.zeros(())
        return OnlineDescent(
            values, self.frame(problem).start(problem), jnp.zeros((), jnp.int32), jnp.ones(()), jnp.zeros((2, p)),
            jnp.zeros((p, p)), zero, jax.random.PRNGKey(key),
        )  # fmt: skip

    def step(self, problem: Problem, state: OnlineDescent, sample: Sample) -> OnlineDescent:
        """Process one sample and, once the window is full, one step."""
        frame, u = self.frame(problem), problem.unknowns
        window = frame.push(problem, state.window, state.values, sample)
        low = jnp.where(jnp.isfinite(u.low), u.low, -jnp.inf)
        high = jnp.where(jnp.isfinite(u.high), u.high, jnp.inf)
        margin = 1e-3 * u.scale  # a positive parameter stays so, and a step can leave a bound again

        def moved(step):
            return jnp.clip(state.values + u.scale * step, low + margin, high - margin)

        def misfit(step):
            r = frame.residuals(problem, window, moved(step))
            return jnp.sum(r * r)

        still = jnp.zeros_like(state.values)
        r, jacobian = _residuals_and_slope(frame, problem, window, state.values, u.scale)
        now = jnp.sum(r * r)
        gradient = 2.0 * jacobian.T @ r
        size = jnp.linalg.norm(gradient)
        steepest = jnp.where(size > 0, -gradient / jnp.where(size > 0, size, 1.0), still)
        key, draw = jax.random.split(state.key)
        random = jax.random.normal(draw, (self.directions, len(u)))
        random = random / jnp.linalg.norm(random, axis=1, keepdims=True)
        directions = steepest + jnp.concatenate([still[None], random])
        level = frame.level(window)
        limit = self.largest_step * self._gate(level)
        tried = jax.vmap(misfit)(limit * state.reduction * directions)
        best = jnp.argmin(jnp.where(jnp.isfinite(tried), tried, jnp.inf))
        chosen, lowest = directions[best], tried[best]
        learns = (state.seen + 1 >= self.window) & (limit > 0) & jnp.isfinite(now)
        trial = DescentTrial(chosen, lowest, limit, now, learns)
        accepted, step, reduction = self._decide(state, trial, misfit)
        points = self.window // self.stride
        spread = now / jnp.maximum(points - len(u), 1)
        news = (jacobian.T @ jacobian) / (points * jnp.maximum(spread, 1e-300))
        keep = jnp.exp(-1.0 / (_REMEMBERED_WINDOWS * self.window))
        return OnlineDescent(
            values=jnp.where(accepted, moved(step), state.values),
            window=window,
            seen=state.seen + 1,
            reduction=reduction,
            direction=jnp.stack([step, state.direction[0]]),
            information=jnp.where(learns, keep * state.information + news, state.information),
            misfit=jnp.sqrt(now / points),
            key=key,
        )

    def _decide(self, state: OnlineDescent, trial: DescentTrial, misfit):
        """Whether the step is taken, the step, and the next λ_θ."""
        accepted = trial.learns & (trial.lowest <= trial.now)
        step = jnp.where(accepted, trial.limit * state.reduction * trial.direction, 0.0)
        reduction = self._reduced(state, step, ~accepted)
        return accepted, step, jnp.where(trial.learns, reduction, state.reduction)

    def _gate(self, level: Level):
        """λ_x λ_v λ_f."""
        cuts = (self.displacement_cut, self.velocity_cut, self.force_cut)
        gate = jnp.ones(())
        for value, (low, high) in zip(level, cuts, strict=True):
            gate = gate * (jnp.clip((value - low) / (high - low), 0.0, 1.0) if high > low else 1.0)
        return gate

    def _reduced(self, state: OnlineDescent, step, rejected):
        """λ_θ of eq. 14: smaller after a reversal (or a rejection), larger after two steps the same way."""
        last, before = state.direction @ step
        smaller = jnp.maximum(state.reduction * self.decrease, self.smallest_step / self.largest_step)
        larger = jnp.minimum(state.reduction * self.increase, 1.0)
        return jnp.where((last < 0) | rejected, smaller, jnp.where((last > 0) & (before > 0), larger, state.reduction))

    # -- estimate and warnings -----------------------------------------------------------------------------------

    def estimate(self, problem: Problem, state: OnlineDescent) -> tuple[jax.Array, jax.Array]:
        """θ̂ and its standard deviation, physical. The deviation is the least that the last windows allow."""
        return state.values, problem.unknowns.scale * jnp.sqrt(jnp.diag(_inverse(state.information)))

    def warnings(self, problem: Problem, state: OnlineDescent) -> list[str]:
        """Warnings: reasons not to trust the estimate."""
        notes = []
        if int(state.seen) < self.window:
            notes.append(f"Only {int(state.seen)} samples were seen; the window of {self.window} never filled.")
        elif not np.any(np.asarray(state.information)):
            notes.append("No window was strong enough to learn from: lower the cuts, or shake harder.")
        if bool(self.frame(problem).overflow(state.window)):
            notes.append("The memory of the law was full: give it a larger capacity, or filter noise from the motion.")
        return notes

    # -- a whole record ------------------------------------------------------------------------------------------

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        state, paths, bands, cut_short = self.init(problem, key), [], [], False
        progress.stage("descending sample by sample (compiling)", self.passes * len(problem.data))
        try:
            for i in range(self.passes * len(problem.data)):
                fresh = self.init(problem, key)  # every record starts at rest
                state = fresh._replace(values=state.values, information=state.information, key=state.key)
                state, (path, band) = run_record(self, problem, state, i % len(problem.data))
                paths.append(np.asarray(path))
                bands.append(np.asarray(band))
                progress.update(i + 1)
        except KeyboardInterrupt:
            cut_short = True
        u = problem.unknowns
        free = u.to_free(np.asarray(state.values))
        slope = np.asarray(u.scale) / np.asarray(u.slope(jnp.asarray(free)))
        return conclude(
            problem,
            self,
            free,
            started=started,
            covariance=np.asarray(_inverse(state.information)) * np.outer(slope, slope),
            warnings=tuple(self.warnings(problem, state)),
            history={"estimate": np.concatenate(paths), "deviation": np.concatenate(bands)} if paths else {},
            convergence={"reduction": float(state.reduction), "window_misfit": float(state.misfit)},
            seed=key,
            cut_short=cut_short,
        )


def _residuals_and_slope(frame, problem, window, values, scale):
    """Residuals as one vector, and their derivative by θ/scale."""

    def both(q):
        r = frame.residuals(problem, window, values + scale * q).reshape(-1)
        return r, r

    jacobian, r = jax.jacfwd(both, has_aux=True)(jnp.zeros_like(values))
    return r, jacobian


def _inverse(information):
    """A covariance; large (a spread of 1 scale), not infinite, where nothing is known."""
    return jnp.linalg.inv(information + jnp.eye(information.shape[0]))
