"""Written by vibrid; units are N, m, s."""

import sys

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 2, "-ndf", 3)
ops.node(1, 0.0, 0.0)
ops.node(2, 0.0, 3.1)
ops.node(3, 4.0, 3.1)
ops.node(4, 4.0, 0.0)
ops.node(5, 5.0, 3.3)
ops.fix(1, 1, 1, 1)
ops.fix(4, 1, 1, 0)
# masses
ops.mass(2, 3000.0, 3000.0, 0.0)
ops.mass(3, 2000.0, 0.0, 0.0)
ops.mass(5, 500.0, 500.0, 7.0)
# elements
ops.geomTransf("Linear", 1)
ops.element("elasticBeamColumn", 1, 1, 2, 0.004, 210000000000.0, 2e-05, 1)
ops.element("elasticBeamColumn", 2, 2, 3, 0.004, 200000000000.0, 6e-05, 1)
ops.element("elasticBeamColumn", 3, 3, 4, 0.004, 210000000000.0, 2e-05, 1)
ops.uniaxialMaterial("Elastic", 1, 190000000000.0)
ops.element("truss", 4, 1, 3, 2e-05, 1, "-doRayleigh", 1)
ops.uniaxialMaterial("Steel01", 2, 6000.0, 3000000.0, 0.02)
ops.node(100000, 0.0, 3.1)
ops.fix(100000, 1, 1, 1)
ops.element("zeroLength", 5, 100000, 2, "-mat", 2, "-dir", 1)
ops.uniaxialMaterial("Viscous", 3, 5000.0, 1.0)
ops.element("zeroLength", 6, 3, 2, "-mat", 3, "-dir", 1)
ops.rigidLink("beam", 3, 5)
# damping: of the mass and of the stiffness at rest
ops.rayleigh(0.1, 0.0, 0.002, 0.0)

# python frame.py motion.txt 0.01 [motion_y.txt]: ground acceleration in m/s2, one number a line, and its step.
# displacement.txt: time, then degrees of freedom 1, 2 of every node below, in m and rad, one line a step.
if len(sys.argv) > 2:
    nodes = [2, 3, 4, 5]
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
