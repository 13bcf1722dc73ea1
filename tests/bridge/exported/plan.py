"""Written by vibrid; units are N, m, s."""

import sys

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 3, "-ndf", 6)
# points of the ground and the floors, above each other, in one plane: springs have no length
ops.node(1, 0.0, 0.0, 0.0)
ops.fix(1, 1, 1, 1, 1, 1, 1)
ops.node(2, 0.0, 8.0, 0.0)
ops.fix(2, 1, 1, 1, 1, 1, 1)
ops.node(3, 10.0, 2.0, 0.0)
ops.fix(3, 1, 1, 1, 1, 1, 1)
ops.node(4, 5.0, 8.0, 0.0)
ops.fix(4, 1, 1, 1, 1, 1, 1)
ops.node(11, 0.0, 0.0, 0.0)
ops.fix(11, 0, 0, 1, 1, 1, 0)
ops.node(12, 0.0, 8.0, 0.0)
ops.fix(12, 0, 0, 1, 1, 1, 0)
ops.node(13, 10.0, 2.0, 0.0)
ops.fix(13, 0, 0, 1, 1, 1, 0)
ops.node(14, 5.0, 8.0, 0.0)
ops.fix(14, 0, 0, 1, 1, 1, 0)
ops.node(21, 0.0, 0.0, 0.0)
ops.fix(21, 0, 0, 1, 1, 1, 0)
ops.node(22, 0.0, 8.0, 0.0)
ops.fix(22, 0, 0, 1, 1, 1, 0)
ops.node(23, 10.0, 2.0, 0.0)
ops.fix(23, 0, 0, 1, 1, 1, 0)
ops.node(24, 5.0, 8.0, 0.0)
ops.fix(24, 0, 0, 1, 1, 1, 0)
# centres of mass and rigid floors
ops.node(10, 5.4, 3.9, 0.0)
ops.fix(10, 0, 0, 1, 1, 1, 0)
ops.mass(10, 30000.0, 30000.0, 0.0, 0.0, 0.0, 400000.0)
ops.rigidDiaphragm(3, 10, 11, 12, 13, 14)
ops.node(20, 4.6, 3.9, 0.0)
ops.fix(20, 0, 0, 1, 1, 1, 0)
ops.mass(20, 24000.0, 24000.0, 0.0, 0.0, 0.0, 400000.0)
ops.rigidDiaphragm(3, 20, 21, 22, 23, 24)
# frame lines
ops.uniaxialMaterial("Steel01", 1, 96000.0, 16000000.0, 0.05)
ops.element("zeroLength", 1, 1, 11, "-mat", 1, "-dir", 1, "-doRayleigh", 1)
ops.uniaxialMaterial("Steel01", 2, 96000.0, 16000000.0, 0.05)
ops.element("zeroLength", 2, 11, 21, "-mat", 2, "-dir", 1, "-doRayleigh", 1)
ops.uniaxialMaterial("Steel01", 3, 96000.0, 16000000.0, 0.05)
ops.element("zeroLength", 3, 2, 12, "-mat", 3, "-dir", 1, "-doRayleigh", 1)
ops.uniaxialMaterial("Steel01", 4, 96000.0, 16000000.0, 0.05)
ops.element("zeroLength", 4, 2, 12, "-mat", 4, "-dir", 2, "-doRayleigh", 1)
ops.uniaxialMaterial("Elastic", 5, 12000000.0)
ops.element("zeroLength", 5, 12, 22, "-mat", 5, "-dir", 2, "-doRayleigh", 1)
ops.uniaxialMaterial("Steel01", 6, 96000.0, 16000000.0, 0.05)
ops.element("zeroLength", 6, 3, 13, "-mat", 6, "-dir", 2, "-doRayleigh", 1)
ops.uniaxialMaterial("Steel01", 7, 96000.0, 16000000.0, 0.05)
ops.element("zeroLength", 7, 13, 23, "-mat", 7, "-dir", 2, "-doRayleigh", 1)
ops.uniaxialMaterial("Elastic", 8, 8000000.0)
ops.element("zeroLength", 8, 3, 13, "-mat", 8, "-dir", 1, "-orient", -0.6427876096865394, 0.766044443118978, 0.0, -0.766044443118978, -0.6427876096865394, 0.0, "-doRayleigh", 1)
ops.uniaxialMaterial("Steel01", 9, 96000.0, 16000000.0, 0.05)
ops.element("zeroLength", 9, 13, 23, "-mat", 9, "-dir", 1, "-orient", -0.6427876096865394, 0.766044443118978, 0.0, -0.766044443118978, -0.6427876096865394, 0.0, "-doRayleigh", 1)
ops.uniaxialMaterial("Viscous", 10, 30000.0, 1.0)
ops.element("zeroLength", 10, 14, 24, "-mat", 10, "-dir", 1)
ops.uniaxialMaterial("Elastic", 11, 2000000.0)
ops.element("zeroLength", 11, 1, 21, "-mat", 11, "-dir", 6)
# damping: of the mass and of the stiffness at rest
ops.rayleigh(0.3, 0.0, 0.001, 0.0)

# python plan.py motion.txt 0.01 [motion_y.txt]: ground acceleration in m/s2, one number a line, and its step.
# displacement.txt: time, then degrees of freedom 1, 2, 6 of every node below, in m and rad, one line a step.
if len(sys.argv) > 2:
    nodes = [11, 12, 13, 14, 21, 22, 23, 24, 10, 20]
    step = float(sys.argv[2])
    for direction, path in enumerate((sys.argv[1], *sys.argv[3:]), 1):
        with open(path) as file:
            motion = [float(line) for line in file if line.strip()]
        ops.timeSeries("Path", 9000 + direction, "-dt", step, "-values", *motion)
        ops.pattern("UniformExcitation", 9000 + direction, direction, "-accel", 9000 + direction)
    ops.recorder(
        "Node", "-file", "displacement.txt", "-precision", 16, "-time", "-node", *nodes, "-dof", 1, 2, 6, "disp"
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
