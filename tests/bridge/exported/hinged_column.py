"""Written by vibrid; units are N, m, s."""

import sys

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
ops.node(1, 0.0, 0.0)
ops.node(2, 0.0, 0.0)
ops.node(3, 0.0, 3.5)
ops.fix(1, 1, 1, 1)
# masses
ops.mass(2, 0.0, 0.0, 20.0)
ops.mass(3, 9000.0, 9000.0, 50.0)
# elements
ops.geomTransf("Linear", 1)
ops.element("elasticBeamColumn", 1, 2, 3, 0.008, 210000000000.0, 6e-05, 1)
ops.uniaxialMaterial("IMKPeakOriented", 1, 40000000.0, 0.03, 0.3, 329.99999999999994, 160000.0, 1.5, 0.2, 0.03, 0.3, 329.99999999999994, 160000.0, 1.5, 0.2, 1000000000000.0, 1000000000000.0, 1000000000000.0, 1000000000000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
ops.element("zeroLength", 2, 1, 2, "-mat", 1, "-dir", 6)
ops.equalDOF(1, 2, 1, 2)
# damping: of the mass and of the stiffness at rest
ops.rayleigh(0.2, 0.0, 0.0005, 0.0)

# python hinged_column.py motion.txt 0.01 [motion_y.txt]: ground acceleration in m/s2, one number a line, and its step.
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
