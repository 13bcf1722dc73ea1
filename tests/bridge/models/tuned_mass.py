"""A chimney (N, m, s) of six elements with a tuned mass at its top, joined by a spring and a viscous damper."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
n, height = 6, 42.0
for i in range(n + 1):
    ops.node(i, 0.0, height * i / n)
ops.fix(0, 1, 1, 1)
ops.geomTransf("Linear", 1)
ops.section("Elastic", 1, 3.1e10, 0.6, 0.35)
ops.beamIntegration("Lobatto", 1, 1, 4)
for i in range(n):
    ops.element("forceBeamColumn", i + 1, i, i + 1, 1, 1, "-mass", 1500.0)
ops.node(99, 0.0, height)
ops.fix(99, 0, 1, 1)
ops.mass(99, 900.0, 0.0, 0.0)
ops.uniaxialMaterial("Elastic", 1, 2.6e4)
ops.uniaxialMaterial("Viscous", 2, 800.0, 1.0)
ops.element("zeroLength", 50, n, 99, "-mat", 1, 2, "-dir", 1, 1)
ops.rayleigh(0.02, 0.0, 1e-3, 0.0)
