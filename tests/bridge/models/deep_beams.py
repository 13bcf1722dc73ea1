"""A portal of stocky members that deform in shear, its beam with a hinge at one end (N, m, s)."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
for tag, x, y in ((1, 0.0, 0.0), (2, 4.0, 0.0), (3, 0.0, 3.0), (4, 4.0, 3.0)):
    ops.node(tag, x, y)
ops.fix(1, 1, 1, 1)
ops.fix(2, 1, 1, 1)
ops.mass(3, 8000.0, 8000.0, 0.0)
ops.mass(4, 8000.0, 8000.0, 0.0)
ops.geomTransf("Linear", 1)
ops.element("ElasticTimoshenkoBeam", 1, 1, 3, 3.0e10, 1.25e10, 0.36, 0.0108, 0.3, 1)
ops.element("ElasticTimoshenkoBeam", 2, 2, 4, 3.0e10, 1.25e10, 0.36, 0.0108, 0.3, 1)
ops.element("elasticBeamColumn", 3, 3, 4, 0.2, 3.0e10, 0.006, 1, "-release", 2)
ops.rayleigh(0.5, 0.0, 0.0, 5e-4)
