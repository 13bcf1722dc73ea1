"""template-name: Heun's method, the explicit trapezoidal rule of order 2.

    y* = y₀ + dt f(y₀, u₀),    y₁ = y₀ + dt/2 (f(y₀, u₀) + f(y*, u₁))

y: displacements, velocities and states of laws; f: their rates. Try it with `vibrid plugins check template_name.py`:

    plugins = ["template_name.py"]
    [simulation]
    integrator = "template-name"
"""

import jax

from vibrid.extend import INTEGRATORS, Integrator, State

requires_vibrid = "template-versions"


@INTEGRATORS.register("template-name")
class TemplateName(Integrator):
    """Heun's method: two evaluations a step, order 2."""

    needs_rates = True

    def step(self, model, constants, state, u, dt):
        def moved(by, slope):
            return jax.tree.map(lambda y, k: y + by * k, (state.x, state.v, state.s), slope)

        first = (state.v, state.a, model.rates(state.x, state.v, state.s))
        x, v, s = moved(dt, first)
        second = (v, model.acceleration(x, v, s, u.end), model.rates(x, v, s))
        x, v, s = moved(0.5 * dt, jax.tree.map(lambda a, b: a + b, first, second))
        return State(x, v, model.acceleration(x, v, s, u.end), s)


def examples():
    """An integrator, and its order."""
    return {"template-name": (TemplateName(), 2)}
