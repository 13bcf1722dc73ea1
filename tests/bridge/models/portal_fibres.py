"""A steel portal (N, m, s): displacement-based columns of fibres, an elastic beam, loads along the beam."""

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
for tag, x, y in ((1, 0.0, 0.0), (2, 0.0, 1.5), (3, 0.0, 3.0), (4, 5.0, 3.0), (5, 5.0, 1.5), (6, 5.0, 0.0)):
    ops.node(tag, x, y)
ops.fix(1, 1, 1, 1)
ops.fix(6, 1, 1, 1)
for tag in (3, 4):
    ops.mass(tag, 9000.0, 9000.0, 30.0)
for tag in (2, 5):
    ops.mass(tag, 100.0, 100.0, 5.0)
ops.uniaxialMaterial("Steel01", 1, 3.0e8, 2.0e11, 0.02)
ops.section("Fiber", 7)
ops.patch("rect", 1, 2, 1, -0.1, -0.1, -0.09, 0.1)
ops.patch("rect", 1, 8, 1, -0.09, -0.004, 0.09, 0.004)
ops.patch("rect", 1, 2, 1, 0.09, -0.1, 0.1, 0.1)
ops.geomTransf("Linear", 1)
ops.beamIntegration("Legendre", 3, 7, 3)
for tag, a, b in ((1, 1, 2), (2, 2, 3), (3, 6, 5), (4, 5, 4)):
    ops.element("dispBeamColumn", tag, a, b, 1, 3)
ops.element("elasticBeamColumn", 5, 3, 4, 8e-3, 2.0e11, 1.2e-4, 1)
ops.timeSeries("Linear", 1)
ops.pattern("Plain", 1, 1)
ops.eleLoad("-ele", 5, "-type", "-beamUniform", -2.0e4)
ops.load(3, 0.0, -3.0e4, 0.0)
ops.load(4, 0.0, -3.0e4, 0.0)
ops.constraints("Plain")
ops.numberer("Plain")
ops.system("FullGeneral")
ops.test("NormDispIncr", 1e-12, 50)
ops.algorithm("Newton")
ops.integrator("LoadControl", 0.1)
ops.analysis("Static")
ops.analyze(10)
ops.loadConst("-time", 0.0)
ops.wipeAnalysis()
ops.rayleigh(0.1, 0.0, 5e-4, 0.0)
