"""A one-storey building in space (kN, m, s): four columns, beams, a rigid floor with an eccentric mass."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 3, "-ndf", 6)
corners = ((0.0, 0.0), (6.0, 0.0), (6.0, 5.0), (0.0, 5.0))
for i, (x, y) in enumerate(corners, 1):
    ops.node(i, x, y, 0.0)
    ops.node(10 + i, x, y, 3.5)
    ops.fix(i, 1, 1, 1, 1, 1, 1)
ops.node(100, 3.4, 2.2, 3.5)
ops.fix(100, 0, 0, 1, 1, 1, 0)
ops.mass(100, 60.0, 60.0, 0.0, 0.0, 0.0, 320.0)
ops.geomTransf("Linear", 1, 0.0, 1.0, 0.0)
ops.geomTransf("Linear", 2, 0.0, 0.0, 1.0)
for i in range(1, 5):
    ops.element("elasticBeamColumn", i, i, 10 + i, 0.16, 3.0e7, 1.25e7, 3.6e-3, 2.1e-3, 2.5e-3, 1)
    ops.element("elasticBeamColumn", 10 + i, 10 + i, 11 + i % 4, 0.15, 3.0e7, 1.25e7, 2.8e-3, 1.1e-3, 3.1e-3, 2)
ops.rigidDiaphragm(3, 100, 11, 12, 13, 14)
ops.rayleigh(0.3, 0.0, 0.0, 1e-3)
