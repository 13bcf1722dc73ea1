"""A frame on two isolators that yield (kN, m, s); base nodes have mass in every direction."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
for tag, x, y in ((1, 0.0, 0.0), (2, 6.0, 0.0), (11, 0.0, 0.0), (12, 6.0, 0.0), (21, 0.0, 3.2), (22, 6.0, 3.2)):
    ops.node(tag, x, y)
for tag in (1, 2):
    ops.fix(tag, 1, 1, 1)
    ops.uniaxialMaterial("Steel01", tag, 40.0, 8000.0, 0.1)
    ops.uniaxialMaterial("Elastic", 10 + tag, 2.0e6)
    ops.uniaxialMaterial("Elastic", 20 + tag, 1.0e4)
    ops.element("zeroLength", tag, tag, 10 + tag, "-mat", tag, 10 + tag, 20 + tag, "-dir", 1, 2, 6)
for tag in (11, 12, 21, 22):
    ops.mass(tag, 25.0, 25.0, 4.0)
ops.geomTransf("Linear", 1)
for tag, a, b, inertia in ((31, 11, 12, 9e-4), (32, 11, 21, 4e-4), (33, 12, 22, 4e-4), (34, 21, 22, 8e-4)):
    ops.element("elasticBeamColumn", tag, a, b, 0.02, 2.1e8, inertia, 1)
ops.rayleigh(0.1, 0.0, 5e-4, 0.0)
