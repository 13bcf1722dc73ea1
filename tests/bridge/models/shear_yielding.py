"""Four storeys (kN, m, s) that yield: Steel01 and elastic-perfectly-plastic springs, with dashpots."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
for i in range(5):
    ops.node(i + 1, 0.0, 0.0)
ops.fix(1, 1, 1, 1)
for i in range(1, 5):
    ops.fix(i + 1, 0, 1, 1)
    ops.mass(i + 1, 30.0, 0.0, 0.0)
    k = (5e4, 4.5e4, 4e4, 3e4)[i - 1]
    if i < 3:
        ops.uniaxialMaterial("Steel01", i, 0.008 * k, k, 0.05)
    else:
        ops.uniaxialMaterial("ElasticPP", i, k, 0.008)
    ops.uniaxialMaterial("Elastic", 10 + i, 0.0, 120.0)
    ops.element("zeroLength", i, i, i + 1, "-mat", i, 10 + i, "-dir", 1, 1)
