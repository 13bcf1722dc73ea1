"""A wall of plane elements (N, m, s), which no structure of vibrid has: 1 m wide, 3 m high, masses at its top."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 2)
ops.nDMaterial("ElasticIsotropic", 1, 3.0e10, 0.2)
wide, high, size = 2, 6, 0.5
for j in range(high + 1):
    for i in range(wide + 1):
        ops.node(1 + i + j * (wide + 1), i * size, j * size)
for i in range(wide + 1):
    ops.fix(1 + i, 1, 1)
for j in range(high):
    for i in range(wide):
        a = 1 + i + j * (wide + 1)
        ops.element("quad", 1 + i + j * wide, a, a + 1, a + wide + 2, a + wide + 1, 0.2, "PlaneStress", 1)
for i in range(wide + 1):
    ops.mass(1 + i + high * (wide + 1), 4.0e5, 4.0e5)
ops.rayleigh(0.2, 0.0, 2e-3, 0.0)
