"""template-name: a softening spring with a dashpot in parallel.

    F = k e / sqrt(1 + (e / e0)²) + c w

e: deformation in m, w: its rate in m/s. Far beyond e0 the spring force tends to ± k e0.

Try it with `vibrid plugins check template_name.py`, and name it in a project file:

    plugins = ["template_name.py"]
    storeys = {law = "template-name", stiffness = "20 MN/m", softening = "8 mm"}
"""

import jax.numpy as jnp

from vibrid.extend import LAWS, Parameter, StaticLaw, parameter

requires_vibrid = "template-versions"


@LAWS.register("template-name")
class TemplateName(StaticLaw):
    """A softening spring with a dashpot: `F = k e / sqrt(1 + (e/e0)²) + c w`."""

    stiffness: Parameter = parameter("initial stiffness k", "N/m", positive=True)
    softening: Parameter = parameter("deformation at which it softens e0", "m", positive=True)
    damping: Parameter = parameter("dashpot c", "N s/m", positive=True, default=0.0)

    def force(self, e, w, s):
        return self.stiffness * e / jnp.sqrt(1.0 + (e / self.softening) ** 2) + self.damping * w


def examples():
    """A law, and the deformation in m at which its nonlinearity shows."""
    return {"template-name": (TemplateName(stiffness=40.0, softening=0.1, damping=0.5), 0.2)}


def check():
    """The closed form: k e0 / √2 at e = e0."""
    force = float(TemplateName(40.0, 0.1).force(jnp.asarray(0.1), jnp.asarray(0.0), ()))
    assert abs(force - 4.0 / 2**0.5) < 1e-12, f"the force at e0 is {force} N."
