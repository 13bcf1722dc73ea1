"""A braced frame (kN, m, s): columns and beams with truss braces, all elements damped."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
E, bay, height = 2.0e8, 6.0, 3.5
for i in range(3):
    ops.node(2 * i + 1, 0.0, i * height)
    ops.node(2 * i + 2, bay, i * height)
ops.fix(1, 1, 1, 0)
ops.fix(2, 1, 1, 0)
for tag in (3, 4, 5, 6):
    ops.mass(tag, 20.0, 20.0, 0.5)
ops.geomTransf("Linear", 7)
ops.uniaxialMaterial("Elastic", 4, E)
number = 0
for i in range(2):
    for j in (1, 2):
        number += 1
        ops.element("elasticBeamColumn", number, 2 * i + j, 2 * i + j + 2, 0.012, E, 1.5e-4, 7)
    number += 1
    ops.element("elasticBeamColumn", number, 2 * i + 3, 2 * i + 4, 0.01, E, 2.5e-4, 7)
    ops.element("truss", 100 + i, 2 * i + 1, 2 * i + 4, 2.5e-3, 4, "-doRayleigh", 1)
ops.rayleigh(0.4, 0.0, 8e-4, 0.0)
