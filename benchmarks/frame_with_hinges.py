"""A plane frame of 2000 degrees of freedom with 200 bilinear hinges at the ends of its beams, also for OpenSees."""

from __future__ import annotations

import itertools
import time

import numpy as np

import vibrid as vb
from vibrid.structures import Attachment, Frame2D, Tie

MODULUS, AREA, INERTIA, DENSITY = 2e11, 0.02, 4e-4, 40_000.0
HINGE, YIELD, HARDENING = 2e8, 1.5e-3, 0.03
MASS_FACTOR, STIFFNESS_FACTOR = 0.2, 5e-4


class FrameWithHinges:
    """20 storeys, 5 bays; columns of three elements, beams in four up to the eighth floor, else three."""

    def __init__(self, storeys: int = 20, bays: int = 5, finer: int = 8):
        self.points: list[tuple[float, float]] = []
        self.elements: list[tuple[int, int]] = []
        self.hinges: list[tuple[int, int]] = []  # joint of the columns, end of the beam
        self.storey: list[int] = []  # of each element, from 0
        joint = {(i, j): self._node(6.0 * i, 3.5 * j) for j in range(storeys + 1) for i in range(bays + 1)}
        self.held = [joint[i, 0] for i in range(bays + 1)]
        self.roof = f"{joint[0, storeys]}.x"
        self.floors = [f"{joint[0, j]}.x" for j in range(1, storeys + 1)]
        for j in range(1, storeys + 1):
            for i in range(bays + 1):
                self._member(joint[i, j - 1], joint[i, j], 3)
            for i in range(bays):
                ends = [self._node(6.0 * k, 3.5 * j) for k in (i, i + 1)]
                self.hinges += [(joint[i, j], ends[0]), (joint[i + 1, j], ends[1])]
                self._member(*ends, 4 if j <= finer else 3)
            self.storey += [j - 1] * (len(self.elements) - len(self.storey))

    def _node(self, x: float, y: float) -> int:
        self.points.append((x, y))
        return len(self.points) - 1

    def _member(self, first: int, last: int, count: int) -> None:
        a, b = np.array(self.points[first]), np.array(self.points[last])
        between = [a + (b - a) * k / count for k in range(1, count)]
        inner = [self._node(float(x), float(y)) for x, y in between]
        chain = [first, *inner, last]
        self.elements += list(itertools.pairwise(chain))

    def structure(self, shares: np.ndarray | float = 1.0) -> Frame2D:
        """The frame with Young's modulus times `shares`, one number or one for each element."""
        law = vb.Bilinear(stiffness=HINGE, yield_deformation=YIELD, post_yield_ratio=HARDENING)
        return Frame2D(
            nodes=self.points, elements=self.elements, modulus=MODULUS * shares, area=AREA, inertia=INERTIA,
            density=DENSITY,
            supports={node: "fixed" for node in self.held}, mass_model="lumped",
            ties=[Tie(end, joint, ("x", "y")) for joint, end in self.hinges],
            attachments=[Attachment(law, at=f"{end}.rotation", to=f"{joint}.rotation") for joint, end in self.hinges],
            damping=vb.Rayleigh(mass=MASS_FACTOR, stiffness=STIFFNESS_FACTOR),
        )  # fmt: skip

    def by_opensees(self, ops, ground: np.ndarray, step: float) -> tuple[np.ndarray, float]:
        """Displacement of the roof at the samples by Newmark's method, and the processor time of the steps."""
        ops.wipe()
        ops.model("basic", "-ndm", 2, "-ndf", 3)
        for i, (x, y) in enumerate(self.points):
            ops.node(i, x, y)
        mass = np.zeros((len(self.points), 3))
        for first, last in self.elements:
            length = float(np.linalg.norm(np.subtract(self.points[last], self.points[first])))
            own = DENSITY * AREA * length
            mass[[first, last]] += own / 2, own / 2, own * length**2 / 78
        for i, own in enumerate(mass.tolist()):
            ops.mass(i, *own)
        for node in self.held:
            ops.fix(node, 1, 1, 1)
        ops.geomTransf("Linear", 1)
        for i, (first, last) in enumerate(self.elements):
            ops.element("elasticBeamColumn", i, first, last, AREA, MODULUS, INERTIA, 1)
        ops.uniaxialMaterial("Steel01", 1, HINGE * YIELD, HINGE, HARDENING)
        for i, (joint, end) in enumerate(self.hinges):
            ops.equalDOF(joint, end, 1, 2)
            ops.element("zeroLength", len(self.elements) + i, joint, end, "-mat", 1, "-dir", 6)
        ops.rayleigh(MASS_FACTOR, 0.0, STIFFNESS_FACTOR, 0.0)
        ops.timeSeries("Path", 1, "-dt", step, "-values", *map(float, ground))
        ops.pattern("UniformExcitation", 1, 1, "-accel", 1)
        ops.constraints("Transformation")
        ops.numberer("RCM")
        ops.system("UmfPack")
        ops.test("NormUnbalance", 1e-5, 50)
        ops.algorithm("Newton")
        ops.integrator("Newmark", 0.5, 0.25)
        ops.analysis("Transient")
        roof, seconds = [0.0], 0.0
        node = int(self.roof.removesuffix(".x"))
        for _ in ground[1:]:
            begin = time.process_time()
            if ops.analyze(1, step):
                raise RuntimeError("OpenSees found no equilibrium.")
            seconds += time.process_time() - begin
            roof.append(ops.nodeDisp(node, 1))
        ops.wipe()
        return np.array(roof), seconds
