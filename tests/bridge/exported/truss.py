"""Written by vibrid; units are N, m, s."""

import sys

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 3, "-ndf", 3)
ops.node(1, 0.0, 0.0, 0.0)
ops.node(2, 3.0, 0.0, 0.0)
ops.node(3, 0.0, 3.0, 0.0)
ops.node(4, 1.0, 1.0, 4.0)
ops.fix(1, 1, 1, 1)
ops.fix(2, 1, 1, 1)
ops.fix(3, 1, 1, 1)
# masses
ops.mass(4, 800.0, 800.0, 800.0)
# bars
ops.uniaxialMaterial("Elastic", 1, 70000000000.0)
ops.element("truss", 1, 1, 4, 0.0001, 1, "-rho", 0.27, "-cMass", 0, "-doRayleigh", 1)
ops.uniaxialMaterial("Elastic", 2, 60000000000.0)
ops.element("truss", 2, 2, 4, 0.0001, 2, "-rho", 0.27, "-cMass", 0, "-doRayleigh", 1)
ops.uniaxialMaterial("Elastic", 3, 70000000000.0)
ops.element("truss", 3, 3, 4, 0.0001, 3, "-rho", 0.27, "-cMass", 0, "-doRayleigh", 1)
# damping: of the mass and of the stiffness at rest
ops.rayleigh(0.3, 0.0, 0.0001, 0.0)

# python truss.py motion.txt 0.01 [motion_y.txt]: ground acceleration in m/s2, one number a line, and its step.
# displacement.txt: time, then degrees of freedom 1, 2, 3 of every node below, in m and rad, one line a step.
if len(sys.argv) > 2:
    nodes = [4]
    step = float(sys.argv[2])
    for direction, path in enumerate((sys.argv[1], *sys.argv[3:]), 1):
        with open(path) as file:
            motion = [float(line) for line in file if line.strip()]
        ops.timeSeries("Path", 9000 + direction, "-dt", step, "-values", *motion)
        ops.pattern("UniformExcitation", 9000 + direction, direction, "-accel", 9000 + direction)
    ops.recorder(
        "Node", "-file", "displacement.txt", "-precision", 16, "-time", "-node", *nodes, "-dof", 1, 2, 3, "disp"
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
