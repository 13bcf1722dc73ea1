"""A cantilever pier (N, m, s) of five elements with consistent mass and a heavy, eccentric deck on a rigid arm."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
for i in range(6):
    ops.node(i + 1, 0.0, 2.0 * i)
ops.node(20, 1.2, 10.8)
ops.fix(1, 1, 1, 1)
ops.mass(20, 4e4, 4e4, 6e4)
ops.geomTransf("Linear", 1)
ops.section("Elastic", 1, 3.0e10, 1.13, 0.1017)
ops.beamIntegration("Legendre", 1, 1, 3)
for i in range(1, 6):
    ops.element("dispBeamColumn", i, i, i + 1, 1, 1, "-cMass", "-mass", 2800.0)
ops.rigidLink("beam", 6, 20)
ops.rayleigh(0.05, 0.0, 6e-4, 0.0)
