"""Mode shapes

Shapes of a seven-storey building, the first four, each scaled to 1."""

import vibrid as vb

tower = vb.ShearBuilding([20e3] * 6 + [15e3], [vb.Linear(30e6 - 2e6 * i) for i in range(7)])
shapes = vb.modes(tower, 4)
shapes.plot().savefig("modes.png")
