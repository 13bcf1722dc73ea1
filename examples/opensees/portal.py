"""A steel portal frame, as it stands in OpenSees (N, m, s). docs/opensees.md identifies it from a test."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
ops.node(1, 0.0, 0.0)
ops.node(2, 5.0, 0.0)
ops.node(3, 0.0, 3.0)
ops.node(4, 5.0, 3.0)
ops.fix(1, 1, 1, 1)
ops.fix(2, 1, 1, 1)
for node in (3, 4):
    ops.mass(node, 5000.0, 5000.0, 0.0)

E = 2.1e11
ops.geomTransf("Linear", 1)
ops.element("elasticBeamColumn", 1, 1, 3, 4e-3, E, 2e-5, 1)  # columns
ops.element("elasticBeamColumn", 2, 2, 4, 4e-3, E, 2e-5, 1)
ops.element("elasticBeamColumn", 3, 3, 4, 4e-3, E, 6e-5, 1)  # beam

w1, w2 = (value**0.5 for value in ops.eigen("-fullGenLapack", 2))
ratio = 0.02
ops.rayleigh(2 * ratio * w1 * w2 / (w1 + w2), 0.0, 2 * ratio / (w1 + w2), 0.0)
