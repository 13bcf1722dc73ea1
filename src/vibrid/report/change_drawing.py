"""A structure coloured by what changed: storeys of a shear building by how much, of others the parts that are named."""

from __future__ import annotations

import re

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from vibrid.monitor.location import Location
from vibrid.report.structure_drawing import draw_structure
from vibrid.report.style import INK, styled
from vibrid.structures.shear import ShearBuilding

_LEAST = 0.02  # share at which the colours end, where no change is larger


def plot_changed(structure, location: Location) -> Figure:
    """The structure as reports draw it; what changed is coloured by how much, and what cannot be told apart marked.

    A shear building has the most likely change of every storey as the colour of its columns (blue gained, red lost)
    with its number; others have the parts that changed in another colour.
    """
    changed = [location.names[i] for i in location.chosen]
    if not isinstance(structure, ShearBuilding):
        ax = draw_structure(structure, unknown=changed)
        assert isinstance(ax.figure, Figure)
        return ax.figure
    shares = storey_changes(location)
    with styled():
        ax = draw_structure(structure)
        most = max([_LEAST, *(abs(share) for share in shares.values())])
        colours, scale = colormaps["coolwarm_r"], Normalize(-most, most)
        rise = 1.0 if structure.floors <= 8 else max(8.0 / structure.floors, 0.3)
        for storey, share in shares.items():
            colour = colours(scale(share))
            for x in (0.12, 2.48):
                ax.plot([x, x], [storey * rise, (storey + 1) * rise], color=colour, linewidth=6.0, zorder=2.5)
            ax.text(2.66, (storey + 0.5) * rise, f"{100 * share:+.2g} %", va="center", ha="left", fontsize=8, color=INK)
        for storey in _storeys([location.names[i] for other in location.instead for i in other]):
            ax.text(1.3, (storey + 0.3) * rise, "or here", va="center", ha="center", fontsize=8, color=INK)
    assert isinstance(ax.figure, Figure)
    return ax.figure


def storey_changes(location: Location) -> dict[int, float]:
    """Change of the stiffness of storeys by number: of those that explain the change; 0 of others that are known."""
    shares = {storey: 0.0 for storey in _storeys(location.names)}
    for i, change in zip(location.chosen, location.changes, strict=True):
        for storey in _storeys([location.names[i]]):
            shares[storey] = float(change) if np.isfinite(change) else 0.0
    return shares


def _storeys(names) -> list[int]:
    """Numbers in names such as storeys[2].stiffness."""
    found = (re.match(r"(?:structure\.)?storeys\[(\d+)\]\.stiffness", name) for name in names)
    return [int(match[1]) for match in found if match]
