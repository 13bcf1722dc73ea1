"""What a server keeps of a test: a row a commit."""

from __future__ import annotations

from vibrid.hybrid.substructure import Substructure
from vibrid.records.record import Channel


def channels_of(specimen: Substructure) -> list[Channel]:
    """Imposed displacements and velocities, forces, and the signals of the device."""
    places = [str(i + 1) for i in range(specimen.count)]
    made = [Channel(f"displacement_{p}", "imposed_displacement", location=p) for p in places]
    made += [Channel(f"velocity_{p}", "imposed_velocity", location=p) for p in places]
    made += [Channel(f"force_{p}", "element_force", location=p) for p in places]
    return made + [Channel(name) for name in specimen.signal_names]
