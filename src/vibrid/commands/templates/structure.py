"""template-name: a tower of equal parts, each a mass on a spring.

    M = diag(m), K = k · tridiag(−1, 2, −1) with k at the top

Places are "0" (the lowest) to "N−1", and "top". Try it with `vibrid plugins check template_name.py`:

    plugins = ["template_name.py"]
    [structure]
    kind = "template-name"
    pieces = 10
    mass = "2 t"
    stiffness = "30 MN/m"
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vibrid.extend import (
    STRUCTURES,
    Attachment,
    Damping,
    InputError,
    Parameter,
    Structure,
    as_attachments,
    as_damping,
    parameter,
)

requires_vibrid = "template-versions"


@STRUCTURES.register("template-name")
class TemplateName(Structure):
    """A chain of equal masses and springs that stands on the ground.

    Arguments
        mass: kg, of each part.
        stiffness: N/m, of each part.
        pieces: how many.
        damping: None, `Rayleigh`, `Modal`, or a matrix.
        attachments: laws between places, or between one and the ground.
    """

    mass: Parameter = parameter("mass of a part m", "kg", positive=True)
    stiffness: Parameter = parameter("stiffness of a part k", "N/m", positive=True)
    pieces: int = eqx.field(static=True, default=3)
    damping: Damping | None = eqx.field(converter=as_damping, default=None)
    attachments: tuple[Attachment, ...] = eqx.field(converter=as_attachments, default=())

    def __check_init__(self):
        if self.pieces < 1:
            raise InputError(f"A tower has at least one part, not {self.pieces}.")

    def matrices(self):
        n = self.pieces
        chain = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        chain[-1, -1] = 1.0
        return self.mass * jnp.ones(n), self.stiffness * jnp.asarray(chain)

    def row(self, place):
        names = {str(i): i for i in range(self.pieces)} | {"top": self.pieces - 1}
        if str(place) not in names:
            raise InputError(f"'{place}' is not a place here; they are 0 to {self.pieces - 1}, and top.")
        return np.eye(self.pieces)[names[str(place)]]

    def ground(self, direction=""):
        self.ground_axis(direction)
        return np.ones(self.pieces)


def examples():
    """A structure, and the name of a place on it."""
    return {"template-name": (TemplateName(mass=2.0, stiffness=300.0, pieces=4), "top")}


def check():
    """The closed form: ω₁ = 2 √(k/m) sin(π/(2 (2 N + 1)))."""
    mass, stiffness = (np.asarray(m) for m in TemplateName(2.0, 300.0, 4).matrices())
    computed = np.sqrt(np.linalg.eigvalsh(stiffness / mass[0])[0])
    expected = 2.0 * np.sqrt(150.0) * np.sin(np.pi / 18.0)
    assert abs(computed / expected - 1.0) < 1e-12, f"the first frequency is {computed} rad/s, not {expected}."
