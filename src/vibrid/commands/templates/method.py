"""template-name: Levenberg–Marquardt least squares on the residuals of all sensors.

    (JᵀJ + λ diag(JᵀJ)) d = −Jᵀr,    φ ← φ + d where that lowers |r|²

r: residuals (measured − predicted)/σ of all records, J: their Jacobian, φ: the unknowns in the space of the methods.
The weights σ are first the sizes of the signals, then the standard deviations of the residuals.

Try it with `vibrid plugins check template_name.py`, and use it:

    plugins = ["template_name.py"]       # in the project file
    vibrid identify project.toml test.csv --method template-name --trust
"""

import time

import jax
import numpy as np

from vibrid.extend import METHODS, SILENT, InputError, Method, conclude, predictions_at, residual_deviations

requires_vibrid = "template-versions"


@METHODS.register("template-name")
class TemplateName(Method):
    """Damped least squares.

    Arguments
        iterations: most steps of each of the two rounds.
        tolerance: a step this small in φ ends a round.
    """

    iterations: int = 30
    tolerance: float = 1e-8

    abilities = frozenset({"partial sensors", "latent states", "several records", "missing samples", "priors"})

    def __check_init__(self):
        if self.iterations < 1:
            raise InputError(f"At least one iteration is needed, not {self.iterations}.")

    def solve(self, problem, key=0, progress=SILENT):
        started = time.perf_counter()
        residuals = jax.jit(lambda free, weights: problem.residuals(free, weights))
        jacobian = jax.jit(jax.jacfwd(lambda free, weights: problem.residuals(free, weights)))
        free, weights, costs = np.asarray(problem.start), problem.signal_size(), []
        for stage in ("first", "second"):
            progress.stage(f"{stage} round", self.iterations)
            r, damping = np.asarray(residuals(free, weights)), 1e-3
            for i in range(self.iterations):
                slope = np.asarray(jacobian(free, weights))
                normal = slope.T @ slope
                step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), -slope.T @ r)
                trial = np.asarray(residuals(free + step, weights))
                if trial @ trial < r @ r:
                    free, r, damping = free + step, trial, 0.1 * damping
                else:
                    damping = 10.0 * damping
                costs.append(0.5 * float(r @ r))
                progress.update(i + 1)
                if np.max(np.abs(step)) < self.tolerance:
                    break
            weights = residual_deviations(problem, predictions_at(problem, free))
        slope = np.asarray(jacobian(free, weights))
        covariance = np.linalg.pinv(slope.T @ slope)
        history = {"cost": np.array(costs)}
        return conclude(problem, self, free, started=started, covariance=covariance, history=history, seed=key)


def examples():
    """A method, and the largest relative error of its estimates that is accepted at 1 % noise."""
    return {"template-name": (TemplateName(), 0.03)}


def check():
    """Invalid settings are refused with a message."""
    try:
        TemplateName(iterations=0)
    except InputError:
        return
    raise AssertionError("iterations = 0 was accepted.")
