"""The record of a test on a server: one row per commit."""

from __future__ import annotations

from vibrid.hybrid.substructure import Substructure
from vibrid.records.record import Channel


def channels_of(specimen: Substructure) -> list[Channel]:
    """Imposed displacements and velocities, forces, and the signals of the device."""
    places = [str(i + 1) for i in range(specimen.count)]
    channels = [Channel(f"displacement_{p}", "imposed_displacement", location=p) for p in places]
    channels += [Channel(f"velocity_{p}", "imposed_velocity", location=p) for p in places]
    channels += [Channel(f"force_{p}", "element_force", location=p) for p in places]
    return channels + [Channel(name) for name in specimen.signal_names]
