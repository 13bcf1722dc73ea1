"""A learned model in a project file: a file that is read when the test is made."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx

from vibrid.core.parameters import Parameter, parameter
from vibrid.hybrid.device import SPECIMENS, LoopDevice
from vibrid.hybrid.learned.files import load_model
from vibrid.hybrid.learned.in_loop import NetworkDevice


@SPECIMENS.register("network")
class NetworkFile(LoopDevice):
    """A trained model in a file, until it is read.

    Arguments
        file: made by `vibrid hybrid train`.
        capacity: N, friction force that the pretension is set for.
        backwards: N, for the other direction where it differs.
        rate: Hz, commands of the test.
        first_force: N, before the test, where it is known: from it the model knows where it stands in its play.
    """

    file: str = eqx.field(static=True)
    capacity: Parameter = parameter("friction force that the pretension is set for", "N", positive=True)
    backwards: Parameter = parameter("friction force of the other direction", "N", positive=True, default=0.0)
    rate: float = eqx.field(static=True, default=1024.0)
    first_force: Parameter = parameter("force before the test", "N", default=0.0)

    def read(self, folder) -> NetworkDevice:
        """The model in the file, which is named relative to a folder."""
        saved = load_model(Path(folder) / self.file)
        both = self.capacity, self.backwards if self.backwards > 0 else self.capacity
        return saved.device(self.rate, *both, first_force=self.first_force)
