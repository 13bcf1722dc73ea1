"""template-name: Gauss–Newton on the misfit of all sensors.

    φ ← φ + argmin_d |r(φ) + J(φ) d|²

r: misfit (measured − predicted)/σ of all records, J: its Jacobian, φ: the unknowns in the space that methods work in.
The weights σ are the sizes of the signals first, then what the fit leaves over.

Try it with `vibrid plugins check template_name.py`, and use it:

    plugins = ["template_name.py"]       # in the project file
    vibrid identify project.toml test.csv --method template-name --trust
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.extend import METHODS, SILENT, InputError, Method, conclude, predictions_at, residual_deviations

requires_vibrid = ">=0.1,<0.2"


@METHODS.register("template-name")
class TemplateName(Method):
    """Gauss–Newton: few steps, a good first guess.

    Arguments
        iterations: most steps of each of the two rounds.
        tolerance: a step this small in φ ends a round.
    """

    iterations: int = 20
    tolerance: float = 1e-8

    abilities = frozenset({"partial sensors", "latent states", "several records", "missing samples", "priors"})

    def __check_init__(self):
        if self.iterations < 1:
            raise InputError(f"At least one iteration is needed, not {self.iterations}.")

    def solve(self, problem, key=0, progress=SILENT):
        started = time.perf_counter()
        residuals = jax.jit(problem.residuals)
        jacobian = jax.jit(jax.jacfwd(problem.residuals))
        free, costs = np.asarray(problem.start), []
        weights = problem.signal_size()
        for stage in ("first", "second"):
            progress.stage(f"{stage} round", self.iterations)
            for i in range(self.iterations):
                r, slope = (np.asarray(f(jnp.asarray(free), weights)) for f in (residuals, jacobian))
                step = np.linalg.lstsq(slope, -r, rcond=None)[0]
                free = free + step
                costs.append(0.5 * float(r @ r))
                progress.update(i + 1)
                if np.max(np.abs(step)) < self.tolerance:
                    break
            weights = residual_deviations(problem, predictions_at(problem, free))
        slope = np.asarray(jacobian(jnp.asarray(free), weights))
        covariance = np.linalg.pinv(slope.T @ slope)
        history = {"cost": np.array(costs)}
        return conclude(problem, self, free, started=started, covariance=covariance, history=history, seed=key)


def examples():
    """A method, and the relative error that is taken for an answer at 1 % noise."""
    return {"template-name": (TemplateName(), 0.03)}


def check():
    """Settings that cannot be used are refused with a sentence."""
    try:
        TemplateName(iterations=0)
    except InputError:
        return
    raise AssertionError("iterations = 0 was accepted.")
