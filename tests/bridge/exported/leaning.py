"""Written by vibrid; units are N, m, s."""

import sys

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
ops.node(1, 0.0, 0.0)
ops.node(2, 0.0, 3.5)
ops.node(3, 0.0, 6.5)
ops.fix(1, 1, 1, 1)
# masses
ops.mass(2, 3000.0, 3000.0, 50.0)
ops.mass(3, 2000.0, 2000.0, 50.0)
# section steel
ops.uniaxialMaterial("Steel01", 1, 300000000.0, 200000000000.0, 0.02)
ops.section("Fiber", 1)
ops.fiber(-0.1, 0.0, 0.002, 1)
ops.fiber(-0.03, 0.0, 0.001, 1)
ops.fiber(0.03, 0.0, 0.001, 1)
ops.fiber(0.1, 0.0, 0.002, 1)
# members
ops.geomTransf("Linear", 1)
ops.beamIntegration("Lobatto", 1, 1, 4)
ops.element("forceBeamColumn", 1, 1, 2, 1, 1, "-iter", 100, 1e-12)
ops.geomTransf("Linear", 2)
ops.beamIntegration("Legendre", 2, 1, 3)
ops.element("dispBeamColumn", 2, 2, 3, 2, 2)
# leaning column 0: 250000 N over 3.5 m
ops.node(200000, 0.0, 0.0)
ops.fix(200000, 1, 1, 1)
ops.uniaxialMaterial("Elastic", 2, -71428.57142857143)
ops.element("zeroLength", 3, 200000, 2, "-mat", 2, "-dir", 1, "-doRayleigh", 1)
# leaning column 1: 100000 N over 3 m
ops.uniaxialMaterial("Elastic", 3, -33333.333333333336)
ops.element("zeroLength", 4, 2, 3, "-mat", 3, "-dir", 1, "-doRayleigh", 1)
# damping: of the mass and of the stiffness at rest
ops.rayleigh(0.2, 0.0, 0.0005, 0.0)
# permanent loads, applied and held
ops.timeSeries("Linear", 1)
ops.pattern("Plain", 1, 1)
ops.load(3, -0.0, -50000.0, -0.0)
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

# python leaning.py motion.txt 0.01 [motion_y.txt]: ground acceleration in m/s2, one number a line, and its step.
# displacement.txt: time, then degrees of freedom 1, 2 of every node below, in m and rad, one line a step.
if len(sys.argv) > 2:
    nodes = [2, 3]
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
