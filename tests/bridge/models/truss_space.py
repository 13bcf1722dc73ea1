"""A tower of bars in space (kip, in, s); its bars do not follow the stiffness part of rayleigh."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 3, "-ndf", 3)
levels, side, rise = 3, (120.0, 90.0, 60.0), 150.0
ops.uniaxialMaterial("Elastic", 1, 29000.0)
tag = 0
for k in range(levels):
    s = side[k] / 2
    for j, (x, y) in enumerate(((-s, -s), (s, -s), (s, s), (-s, s))):
        ops.node(10 * k + j, x, y, k * rise)
        if k == 0:
            ops.fix(j, 1, 1, 1)
        else:
            ops.mass(10 * k + j, 0.02, 0.02, 0.03)
for k in range(1, levels):
    for j in range(4):
        after = (j + 1) % 4
        for a, b in (
            (10 * (k - 1) + j, 10 * k + j),
            (10 * (k - 1) + j, 10 * k + after),
            (10 * (k - 1) + after, 10 * k + j),
            (10 * k + j, 10 * k + after),
        ):
            tag += 1
            ops.element("Truss", tag, a, b, 3.0 + 0.1 * j, 1, "-rho", 2.2e-6, "-cMass", 1)
    ops.element("Truss", 1000 + k, 10 * k, 10 * k + 2, 2.0, 1, "-rho", 2.2e-6, "-cMass", 1)
ops.rayleigh(0.5, 0.0, 0.0, 1e-3)
