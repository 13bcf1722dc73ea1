"""Written by vibrid; units are N, m, s."""

import sys

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 1, "-ndf", 1)
# floors, from the ground up
ops.node(0, 0.0)
ops.node(1, 0.0)
ops.node(2, 0.0)
ops.node(3, 0.0)
ops.node(4, 0.0)
ops.fix(0, 1)
ops.mass(1, 20000.0)
ops.mass(2, 20000.0)
ops.mass(3, 20000.0)
ops.mass(4, 20000.0)
# storeys
ops.uniaxialMaterial("IMKPeakOriented", 1, 19000000.0, 0.02, 0.2, 220.0, 70000.0, 1.3, 0.2, 0.02, 0.2, 220.0, 70000.0, 1.3, 0.2, 1000000000000.0, 1000000000000.0, 1000000000000.0, 1000000000000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
ops.element("zeroLength", 1, 0, 1, "-mat", 1, "-dir", 1, "-doRayleigh", 1)
ops.uniaxialMaterial("IMKPinching", 2, 22000000.0, 0.02, 0.2, 220.0, 60000.0, 1.3, 0.2, 0.02, 0.2, 220.0, 60000.0, 1.3, 0.2, 1000000000000.0, 1000000000000.0, 1000000000000.0, 1000000000000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.4, 0.5)
ops.element("zeroLength", 2, 1, 2, "-mat", 2, "-dir", 1, "-doRayleigh", 1)
ops.uniaxialMaterial("IMKPeakOriented", 3, 18000000.0, 0.02, 0.2, 220.0, 50000.0, 1.3, 0.2, 0.02, 0.2, 220.0, 50000.0, 1.3, 0.2, 1000000000000.0, 1000000000000.0, 1000000000000.0, 1000000000000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
ops.element("zeroLength", 3, 2, 3, "-mat", 3, "-dir", 1, "-doRayleigh", 1)
ops.uniaxialMaterial("IMKPinching", 4, 21000000.0, 0.02, 0.2, 220.0, 30000.0, 1.3, 0.2, 0.02, 0.2, 220.0, 30000.0, 1.3, 0.2, 1000000000000.0, 1000000000000.0, 1000000000000.0, 1000000000000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.4, 0.5)
ops.element("zeroLength", 4, 3, 4, "-mat", 4, "-dir", 1, "-doRayleigh", 1)
# damping: of the mass and of the stiffness at rest
ops.rayleigh(0.2, 0.0, 0.0, 0.0)

# python turning_back.py motion.txt 0.01 [motion_y.txt]: ground acceleration in m/s2, one number a line, and its step.
# displacement.txt: time, then degrees of freedom 1 of every node below, in m and rad, one line a step.
if len(sys.argv) > 2:
    nodes = [1, 2, 3, 4]
    step = float(sys.argv[2])
    for direction, path in enumerate((sys.argv[1], *sys.argv[3:]), 1):
        with open(path) as file:
            motion = [float(line) for line in file if line.strip()]
        ops.timeSeries("Path", 9000 + direction, "-dt", step, "-values", *motion)
        ops.pattern("UniformExcitation", 9000 + direction, direction, "-accel", 9000 + direction)
    ops.recorder(
        "Node", "-file", "displacement.txt", "-precision", 16, "-time", "-node", *nodes, "-dof", 1, "disp"
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
