"""template-name: a friction damper with a spring in parallel, as a device in a hybrid test.

    F = k x + f tanh(v / v0),    E ← E + F v dt

x: displacement in m, v: velocity in m/s. E, the energy put into it so far, is recorded as a signal.

Try it with `vibrid plugins check template_name.py`, and use it in a hybrid test:

    plugins = ["template_name.py"]
    [[hybrid.modelled]]
    at = 0
    device = {kind = "template-name", friction = "20 kN"}
"""

import jax.numpy as jnp

from vibrid.extend import SPECIMENS, LoopDevice, Parameter, Reading, parameter

requires_vibrid = "template-versions"


@SPECIMENS.register("template-name")
class TemplateName(LoopDevice):
    """`F = k x + f tanh(v/v0)`; its signal is the energy put into it, in J."""

    friction: Parameter = parameter("friction force f", "N", positive=True)
    velocity: Parameter = parameter("velocity at which it slips v0", "m/s", positive=True, default=0.005)
    stiffness: Parameter = parameter("stiffness of the spring k", "N/m", positive=True, default=0.0)

    signal_names = ("energy",)
    signal_units = ("J",)

    def start(self):
        return jnp.zeros(())

    def trial(self, state, motion, companion, dt):
        force = self.stiffness * motion.e + self.friction * jnp.tanh(motion.w / self.velocity)
        energy = state + force * motion.w * dt
        return Reading(force, energy[None]), energy

    def initial_stiffness(self):
        return self.stiffness

    def initial_damping(self):
        return self.friction / self.velocity


def examples():
    """A device, and the displacement in m to test it with."""
    return {"template-name": (TemplateName(friction=20e3), 0.01)}
