"""A braced storey pair (kN, m, s) whose truss braces yield, which no structure of vibrid has: condensed."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
bay, height = 5.0, 3.2
for i in range(3):
    ops.node(2 * i + 1, 0.0, i * height)
    ops.node(2 * i + 2, bay, i * height)
ops.fix(1, 1, 1, 1)
ops.fix(2, 1, 1, 1)
for tag in (3, 4, 5, 6):
    ops.mass(tag, 15.0, 15.0, 0.4)
ops.geomTransf("Linear", 1)
ops.uniaxialMaterial("Steel01", 2, 2.4e5, 2.0e8, 0.01)
for i in range(2):
    for j in (1, 2):
        ops.element("elasticBeamColumn", 10 * i + j, 2 * i + j, 2 * i + j + 2, 0.01, 2.0e8, 1.2e-4, 1)
    ops.element("elasticBeamColumn", 10 * i + 3, 2 * i + 3, 2 * i + 4, 0.01, 2.0e8, 2.0e-4, 1)
    ops.element("truss", 10 * i + 4, 2 * i + 1, 2 * i + 4, 2.0e-4, 2, "-doRayleigh", 1)
ops.rayleigh(0.3, 0.0, 6e-4, 0.0)
