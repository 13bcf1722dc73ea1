"""A chain of three masses (N, m, s) with springs and dashpots in parallel, and mass-proportional damping."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 1, "-ndf", 1)
for i in range(4):
    ops.node(i, 0.0)
ops.fix(0, 1)
for i, (mass, stiffness, damping) in enumerate(((2e4, 9e6, 3e4), (1.5e4, 7e6, 2e4), (1e4, 5e6, 1.5e4)), 1):
    ops.mass(i, mass)
    ops.uniaxialMaterial("Elastic", 10 + i, stiffness)
    ops.uniaxialMaterial("Viscous", 20 + i, damping, 1.0)
    ops.uniaxialMaterial("Parallel", 30 + i, 10 + i, 20 + i)
    ops.element("zeroLength", i, i - 1, i, "-mat", 30 + i, "-dir", 1)
ops.rayleigh(0.1, 0.0, 0.0, 0.0)
