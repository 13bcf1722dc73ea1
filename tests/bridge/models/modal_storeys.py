"""Three yielding storeys (kN, m, s) with one damping ratio for all modes at rest."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 1, "-ndf", 1)
for floor in range(4):
    ops.node(floor, 0.0)
ops.fix(0, 1)
for floor, mass in ((1, 30.0), (2, 28.0), (3, 20.0)):
    ops.mass(floor, mass)
    ops.uniaxialMaterial("Steel01", floor, 120.0 - 20.0 * floor, 2.0e4, 0.05)
    ops.element("zeroLength", floor, floor - 1, floor, "-mat", floor, "-dir", 1)
ops.eigen("-fullGenLapack", 3)
ops.modalDamping(0.03)
