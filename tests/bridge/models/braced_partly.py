"""The same braced bay as one storey (kN, m, s); its brace does not follow the stiffness-proportional damping."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
for tag, x, y in ((1, 0.0, 0.0), (2, 6.0, 0.0), (3, 0.0, 3.5), (4, 6.0, 3.5)):
    ops.node(tag, x, y)
ops.fix(1, 1, 1, 1)
ops.fix(2, 1, 1, 1)
ops.mass(3, 20.0, 20.0, 0.5)
ops.mass(4, 20.0, 20.0, 0.5)
ops.geomTransf("Linear", 1)
ops.uniaxialMaterial("Elastic", 1, 2.0e8)
ops.element("elasticBeamColumn", 1, 1, 3, 0.012, 2.0e8, 1.5e-4, 1)
ops.element("elasticBeamColumn", 2, 2, 4, 0.012, 2.0e8, 1.5e-4, 1)
ops.element("elasticBeamColumn", 3, 3, 4, 0.01, 2.0e8, 2.5e-4, 1)
ops.element("truss", 4, 1, 4, 1e-3, 1)
ops.rayleigh(0.3, 0.0, 1e-3, 0.0)
