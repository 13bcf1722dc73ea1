"""A structure as it is drawn

A building with a damper between two floors, its sensors, and what is unknown."""

import vibrid as vb
from vibrid.report.structure_drawing import draw_structure

damper = vb.Attachment(vb.NonlinearViscous(3e4, 0.5), at=1, to=0)
building = vb.ShearBuilding(
    [20e3] * 3, [vb.BoucWen(20e6, 60.0, 60.0)] * 3, damping=vb.Viscous(80e3), attachments=[damper]
)
sensors = vb.Sensors(absolute_acceleration=[0, 2], displacement=[1])
draw_structure(building, sensors=sensors, unknown=["storeys[0].stiffness"]).figure.savefig("building.png")
