"""Two rigid floors (kN, m, s), eccentric masses, yielding frames in x, in y and at an angle; all nodes in one plane."""

import math

import openseespy.opensees as ops

ops.wipe()
ops.model("basic", "-ndm", 3, "-ndf", 6)
points = ((0.0, 0.0), (0.0, 8.0), (10.0, 0.0), (10.0, 5.0))
for floor in (0, 1, 2):
    for i, (x, y) in enumerate(points, 1):
        ops.node(10 * floor + i, x, y, 0.0)
        ops.fix(10 * floor + i, *((1,) * 6 if floor == 0 else (0, 0, 1, 1, 1, 0)))
for floor, x, y, m, turn in ((1, 5.4, 3.6, 30.0, 420.0), (2, 4.6, 4.3, 24.0, 300.0)):
    ops.node(100 * floor, x, y, 0.0)
    ops.fix(100 * floor, 0, 0, 1, 1, 1, 0)
    ops.mass(100 * floor, m, m, 0.0, 0.0, 0.0, turn)
    ops.rigidDiaphragm(3, 100 * floor, *(10 * floor + i for i in range(1, 5)))
ops.uniaxialMaterial("Steel01", 1, 90.0, 1.6e4, 0.05)
ops.uniaxialMaterial("Steel01", 2, 70.0, 1.2e4, 0.05)
ops.uniaxialMaterial("Steel01", 3, 60.0, 0.8e4, 0.02)
ops.uniaxialMaterial("Elastic", 4, 0.6e4)
c, s = math.cos(math.radians(30.0)), math.sin(math.radians(30.0))
lines = ((1, 1, ()), (2, 1, ()), (1, 2, ()), (3, 2, ()), (4, 1, (c, s, 0.0, -s, c, 0.0)))
for number, (point, direction, axes) in enumerate(lines, 1):
    orient = ("-orient", *axes) if axes else ()
    first, second = (3, 4) if axes else (1, 2)
    ends = (point, 10 + point), (10 + point, 20 + point)
    ops.element("zeroLength", 10 + number, *ends[0], "-mat", first, "-dir", direction, *orient, "-doRayleigh", 1)
    if number != 4:  # this line ends below the roof
        ops.element("zeroLength", 20 + number, *ends[1], "-mat", second, "-dir", direction, *orient, "-doRayleigh", 1)
ops.element("zeroLength", 30, 11, 21, "-mat", 4, "-dir", 2, "-doRayleigh", 1)
ops.rayleigh(0.3, 0.0, 1e-3, 0.0)
