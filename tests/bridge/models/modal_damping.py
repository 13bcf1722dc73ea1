"""A steel portal (N, m, s) with damping ratios of its two lowest modes; its joints have no rotary mass."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
for tag, x, y in ((1, 0.0, 0.0), (2, 5.0, 0.0), (3, 0.0, 3.0), (4, 5.0, 3.5)):
    ops.node(tag, x, y)
ops.fix(1, 1, 1, 1)
ops.fix(2, 1, 1, 0)
ops.mass(3, 4000.0, 4000.0, 0.0)
ops.mass(4, 3000.0, 3000.0, 0.0)
ops.geomTransf("Linear", 1)
ops.element("elasticBeamColumn", 1, 1, 3, 5e-3, 2.1e11, 2.5e-5, 1)
ops.element("elasticBeamColumn", 2, 2, 4, 5e-3, 2.1e11, 2.5e-5, 1)
ops.element("elasticBeamColumn", 3, 3, 4, 6e-3, 2.1e11, 6e-5, 1)
ops.eigen("-fullGenLapack", 2)
ops.modalDamping(0.02, 0.05)
