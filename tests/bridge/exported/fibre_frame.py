"""Written by vibrid; units are N, m, s."""

import sys

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
ops.node(1, 0.0, 0.0)
ops.node(2, 6.0, 0.0)
ops.node(11, 0.0, 4.5)
ops.node(12, 6.0, 4.5)
ops.node(21, 0.0, 8.5)
ops.node(22, 6.0, 8.5)
ops.fix(1, 1, 1, 1)
ops.fix(2, 1, 1, 1)
# masses
ops.mass(11, 45000.0, 45000.0, 500.0)
ops.mass(12, 40000.0, 40000.0, 500.0)
ops.mass(21, 30000.0, 30000.0, 500.0)
ops.mass(22, 30000.0, 30000.0, 500.0)
# section 1
ops.uniaxialMaterial("Concrete01", 1, -36000000.0, -0.004, -28000000.0, -0.016)
ops.uniaxialMaterial("Concrete01", 2, -30000000.0, -0.002, -0.0, -0.006)
ops.uniaxialMaterial("Steel02", 3, 460000000.0, 200000000000.0, 0.01, 18.0, 0.925, 0.15)
ops.section("Fiber", 1)
ops.fiber(-0.18333333333333335, 0.0, 0.013333333333333334, 1)
ops.fiber(-0.15, 0.0, 0.013333333333333334, 1)
ops.fiber(-0.11666666666666668, 0.0, 0.013333333333333334, 1)
ops.fiber(-0.08333333333333333, 0.0, 0.013333333333333334, 1)
ops.fiber(-0.05000000000000002, 0.0, 0.013333333333333334, 1)
ops.fiber(-0.016666666666666663, 0.0, 0.013333333333333334, 1)
ops.fiber(0.016666666666666663, 0.0, 0.013333333333333334, 1)
ops.fiber(0.04999999999999999, 0.0, 0.013333333333333334, 1)
ops.fiber(0.08333333333333337, 0.0, 0.013333333333333334, 1)
ops.fiber(0.1166666666666667, 0.0, 0.013333333333333334, 1)
ops.fiber(0.15000000000000002, 0.0, 0.013333333333333334, 1)
ops.fiber(0.18333333333333335, 0.0, 0.013333333333333334, 1)
ops.fiber(-0.2375, 0.0, 0.012499999999999997, 2)
ops.fiber(-0.21250000000000002, 0.0, 0.012499999999999997, 2)
ops.fiber(0.21250000000000002, 0.0, 0.012499999999999997, 2)
ops.fiber(0.2375, 0.0, 0.012499999999999997, 2)
ops.fiber(0.18, 0.0, 0.0024, 3)
ops.fiber(-0.18, 0.0, 0.0024, 3)
# section element 4
ops.uniaxialMaterial("Elastic", 4, 25000000000.0)
ops.section("Fiber", 2)
ops.fiber(-0.10954451150103323, 0.0, 0.125, 4)
ops.fiber(0.10954451150103323, 0.0, 0.125, 4)
# section element 5
ops.uniaxialMaterial("Elastic", 5, 28000000000.0)
ops.section("Fiber", 3)
ops.fiber(-0.17320508075688773, 0.0, 0.12, 5)
ops.fiber(0.17320508075688773, 0.0, 0.12, 5)
# section element 6
ops.uniaxialMaterial("Elastic", 6, 28000000000.0)
ops.section("Fiber", 4)
ops.fiber(-0.17320508075688773, 0.0, 0.12, 6)
ops.fiber(0.17320508075688773, 0.0, 0.12, 6)
# members
ops.geomTransf("PDelta", 1, "-jntOffset", 0.0, 0.0, -0.0, -0.3)
ops.beamIntegration("Lobatto", 1, 1, 5)
ops.element("forceBeamColumn", 1, 1, 11, 1, 1, "-iter", 100, 1e-12)
ops.geomTransf("PDelta", 2, "-jntOffset", 0.0, 0.0, -0.0, -0.3)
ops.beamIntegration("Lobatto", 2, 1, 5)
ops.element("forceBeamColumn", 2, 2, 12, 2, 2, "-iter", 100, 1e-12)
ops.geomTransf("PDelta", 3)
ops.beamIntegration("HingeRadau", 3, 1, 0.25, 1, 0.25, 1)
ops.element("forceBeamColumn", 3, 11, 21, 3, 3, "-iter", 100, 1e-12)
ops.geomTransf("PDelta", 4)
ops.element("elasticBeamColumn", 4, 12, 22, 0.25, 25000000000.0, 0.003, 4)
ops.geomTransf("Linear", 5)
ops.element("elasticBeamColumn", 5, 11, 12, 0.24, 28000000000.0, 0.0072, 5)
ops.geomTransf("Linear", 6)
ops.element("elasticBeamColumn", 6, 21, 22, 0.24, 28000000000.0, 0.0072, 6)
# damping: of the mass and of the stiffness at rest
ops.rayleigh(0.3, 0.0, 0.001, 0.0)
# permanent loads, applied and held
ops.timeSeries("Linear", 1)
ops.pattern("Plain", 1, 1)
ops.load(11, -0.0, -700000.0, -0.0)
ops.load(12, -0.0, -500000.0, -0.0)
ops.load(21, -0.0, -500000.0, -0.0)
ops.load(22, -0.0, -400000.0, -0.0)
ops.eleLoad("-ele", 5, "-type", "-beamUniform", -20000.0)
ops.constraints("Transformation")
ops.numberer("RCM")
ops.system("UmfPack")
ops.test("NormDispIncr", 1e-10, 100)
ops.algorithm("Newton")
ops.integrator("LoadControl", 0.1)
ops.analysis("Static")
ops.analyze(10)
ops.loadConst("-time", 0.0)
ops.wipeAnalysis()

# python fibre_frame.py motion.txt 0.01 [motion_y.txt]: ground acceleration in m/s2, one number a line, and its step.
# displacement.txt: time, then degrees of freedom 1, 2 of every node below, in m and rad, one line a step.
if len(sys.argv) > 2:
    nodes = [11, 12, 21, 22]
    step = float(sys.argv[2])
    for direction, path in enumerate((sys.argv[1], *sys.argv[3:]), 1):
        with open(path) as file:
            motion = [float(line) for line in file if line.strip()]
        ops.timeSeries("Path", 9000 + direction, "-dt", step, "-values", *motion)
        ops.pattern("UniformExcitation", 9000 + direction, direction, "-accel", 9000 + direction)
    ops.recorder(
        "Node", "-file", "displacement.txt", "-precision", 16, "-time", "-node", *nodes, "-dof", 1, 2, "disp"
    )
    ops.constraints("Transformation")
    ops.numberer("RCM")
    ops.system("FullGeneral")
    ops.test("NormDispIncr", 1e-10, 50)
    ops.algorithm("Newton")
    ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")
    for i in range(len(motion) - 1):
        failed = ops.analyze(1, step)
        for algorithm in ("NewtonLineSearch", "KrylovNewton"):  # dashpots with a power of the velocity need them
            if failed:
                ops.algorithm(algorithm)
                failed = ops.analyze(1, step)
                ops.algorithm("Newton")
        if failed:
            sys.exit(f"OpenSees found no equilibrium at {(i + 1) * step:g} s; use a smaller step.")
    ops.wipe()
