"""An OpenSees model as a numerical substructure: vibrid's coordinator moves it, and it answers with its force.

    python substructure.py pier.py 2 1 8090

serves the model of pier.py (N, m, s), moved at node 2 in its degree of freedom 1, to one test on port 8090. The
coordinator has `device = {kind = "remote", port = 8090}` for it.
"""

import runpy
import sys

import numpy as np

from vibrid import VibridError
from vibrid.hybrid import DeviceServer, Listener, Substructure


class OpenSeesModel(Substructure):
    """The static force of an OpenSees model whose node is moved: one step of displacement control for each trial.

    OpenSees cannot take a step back, so a step of the test has one trial: use an explicit integrator (`MKRAlpha`,
    `KRAlpha`, `CentralDifference`).
    """

    count = 1
    needs_limits = keeps_position = False

    def __init__(self, ops, node: int, direction: int, probe: float = 1e-7) -> None:
        """
        Args:
            ops: the module openseespy.opensees, with the model built, and its permanent loads applied and held.
            node, direction: what is moved; direction 1 is x.
            probe: m, the small displacement that measures the initial stiffness before the test.
        """
        self.ops, self.node, self.direction, self.stopped = ops, node, direction, None
        ops.timeSeries("Linear", 990001)
        ops.pattern("Plain", 990001, 990001)
        size = len(ops.nodeDisp(node))
        ops.load(node, *(float(d + 1 == direction) for d in range(size)))  # 1 N: the load factor is the force
        ops.wipeAnalysis()
        ops.constraints("Plain")
        ops.numberer("RCM")
        ops.system("UmfPack")
        ops.test("NormDispIncr", 1e-12, 100)
        ops.algorithm("Newton")
        self.begin, self.moved = ops.nodeDisp(node, direction), False
        held = self._move(0.0)
        self._stiffness = (self._move(probe) - held) / probe
        self._move(0.0)

    def _move(self, to: float) -> float:
        """N, the force at a displacement in m from the beginning."""
        way = self.begin + to - self.ops.nodeDisp(self.node, self.direction)
        if way:
            self.ops.integrator("DisplacementControl", self.node, self.direction, way)
            self.ops.analysis("Static", "-noWarnings")
            if self.ops.analyze(1) != 0:
                raise VibridError(f"OpenSees finds no equilibrium at a displacement of {to:g} m.")
        return self.ops.getTime()

    def trial(self, displacement, velocity, acceleration, time):
        to = float(displacement[0])
        if self.moved and self.begin + to != self.ops.nodeDisp(self.node, self.direction):
            raise VibridError("OpenSees cannot take a step back: use an explicit integrator, with one trial a step.")
        self.moved = True
        return np.array([self._move(to)])

    def commit(self) -> None:
        self.moved = False

    def stiffness(self):
        return np.array([[self._stiffness]])

    def stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason


if __name__ == "__main__":
    from vibrid.bridge.live import load_bundled

    load_bundled()  # libraries that the wheel of OpenSeesPy for Linux brings
    script, node, direction, port = sys.argv[1], *map(int, sys.argv[2:5])
    runpy.run_path(script)  # builds the model; the script is code
    import openseespy.opensees

    model = OpenSeesModel(openseespy.opensees, node, direction)
    server = DeviceServer(lambda: model, Listener(port=port), unlimited=True)
    print(f"OpenSees waits on port {server.port}; initial stiffness {model.stiffness()[0, 0]:.4g} N/m", flush=True)
    server.serve()
