"""Two storeys (N, m, s) with Bouc–Wen hysteresis."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 1, "-ndf", 1)
for i in range(3):
    ops.node(i, 0.0)
ops.fix(0, 1)
for i in (1, 2):
    ops.mass(i, 2e4)
    ops.uniaxialMaterial("BoucWen", i, 0.1, 1.2e7, 1.0, 60.0, 60.0, 1.0, 0.0, 0.0, 0.0)
    ops.element("zeroLength", i, i - 1, i, "-mat", i, "-dir", 1)
ops.rayleigh(0.2, 0.0, 0.0, 0.0)
