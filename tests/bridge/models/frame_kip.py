"""A three-storey, two-bay frame (kip, in, s): elastic force-based members, gravity, floors of equal motion."""
# ruff: noqa: F403, F405

from openseespy.opensees import *

wipe()
model("basic", "-ndm", 2, "-ndf", 3)
for floor in range(4):
    for line in range(3):
        node(10 * floor + line + 1, 288.0 * line, 144.0 * floor)
fixY(0.0, 1, 1, 1)
geomTransf("Linear", 1)
section("Elastic", 1, 29000.0, 24.1, 1890.0)
section("Elastic", 2, 29000.0, 16.2, 1350.0)
beamIntegration("Lobatto", 1, 1, 5)
beamIntegration("Legendre", 2, 2, 3)
tag = 0
for floor in range(3):
    for line in range(3):
        tag += 1
        element("forceBeamColumn", tag, 10 * floor + line + 1, 10 * floor + line + 11, 1, 1)
for floor in range(1, 4):
    for line in range(2):
        tag += 1
        element("dispBeamColumn", tag, 10 * floor + line + 1, 10 * floor + line + 2, 1, 2)
    mass(10 * floor + 1, 0.9, 1e-6, 0.0)
    equalDOF(10 * floor + 1, 10 * floor + 2, 1)
    equalDOF(10 * floor + 1, 10 * floor + 3, 1)
timeSeries("Linear", 1)
pattern("Plain", 1, 1)
eleLoad("-ele", *range(10, 16), "-type", "-beamUniform", -0.2)
system("FullGeneral")
constraints("Transformation")
integrator("LoadControl", 0.1)
algorithm("Linear")
analysis("Static")
analyze(10)
loadConst("-time", 0.0)
wipeAnalysis()
rayleigh(0.25, 0.0, 0.0, 0.0015)
