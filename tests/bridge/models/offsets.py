"""A portal whose joints are rigid over half the depth of its members (kN, m, s)."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
for tag, x, y in ((1, 0.0, 0.0), (2, 5.0, 0.0), (3, 0.0, 3.0), (4, 5.0, 3.0)):
    ops.node(tag, x, y)
ops.fix(1, 1, 1, 1)
ops.fix(2, 1, 1, 1)
ops.mass(3, 12.0, 12.0, 0.0)
ops.mass(4, 12.0, 12.0, 0.0)
ops.geomTransf("Linear", 1, "-jntOffset", 0.0, 0.0, 0.0, -0.25)
ops.geomTransf("Linear", 2, "-jntOffset", 0.2, 0.0, -0.2, 0.0)
ops.element("elasticBeamColumn", 1, 1, 3, 0.16, 3.0e7, 2.1e-3, 1)
ops.element("elasticBeamColumn", 2, 2, 4, 0.16, 3.0e7, 2.1e-3, 1)
ops.element("elasticBeamColumn", 3, 3, 4, 0.15, 3.0e7, 3.1e-3, 2)
ops.rayleigh(0.2, 0.0, 0.0, 8e-4)
