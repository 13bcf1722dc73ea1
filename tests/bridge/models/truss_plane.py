"""A plane truss bridge (N, m, s) with the mass of its bars and of its deck."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 2)
panels, panel, height = 4, 4.0, 3.0
for i in range(panels + 1):
    ops.node(i + 1, i * panel, 0.0)
for i in range(1, panels):
    ops.node(10 + i, i * panel, height)
ops.fix(1, 1, 1)
ops.fix(panels + 1, 0, 1)
ops.uniaxialMaterial("Elastic", 1, 2.05e11)
pairs = [(i, i + 1) for i in range(1, panels + 1)] + [(10 + i, 11 + i) for i in range(1, panels - 1)]
pairs += [(10 + i, i + 1) for i in range(1, panels)] + [(1, 11), (panels + 1, 10 + panels - 1), (11, 3), (13, 3)]
for tag, (a, b) in enumerate(pairs, 1):
    area = 4e-3 if tag % 3 else 6e-3
    ops.element("truss", tag, a, b, area, 1, "-rho", 7850.0 * area, "-doRayleigh", 1)
for i in range(2, panels + 1):
    ops.mass(i, 2000.0, 2000.0)
ops.rayleigh(0.2, 0.0, 3e-4, 0.0)
