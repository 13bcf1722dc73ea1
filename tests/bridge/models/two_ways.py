"""A mass on springs in two directions, joined to a second one (N, mm, s)."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 2)
for tag in (1, 2, 3):
    ops.node(tag, 0.0, 0.0)
ops.fix(1, 1, 1)
ops.mass(2, 3.0, 3.0)
ops.mass(3, 1.5, 1.5)
ops.uniaxialMaterial("Elastic", 1, 900.0)
ops.uniaxialMaterial("Elastic", 2, 1400.0)
ops.uniaxialMaterial("Steel01", 3, 4000.0, 700.0, 0.02)
ops.element("zeroLength", 1, 1, 2, "-mat", 1, 2, "-dir", 1, 2)
ops.element("zeroLength", 2, 2, 3, "-mat", 3, 1, "-dir", 1, 2)
ops.element("zeroLength", 3, 1, 3, "-mat", 1, "-dir", 2)
ops.rayleigh(0.8, 0.0, 0.0, 0.0)
