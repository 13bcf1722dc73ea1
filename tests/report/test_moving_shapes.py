"""Measured shapes that move on a structure: its elements by the expanded shape, the measured places as they are."""

import re

import numpy as np
import pytest

import vibrid as vb
from vibrid.modal import measured_modes
from vibrid.report.modal_motion import moving_shapes

FRAME = vb.Frame2D(
    nodes=[(0, 0), (0, 3), (4, 3), (4, 0)],
    elements=[(0, 1), (1, 2), (2, 3)],
    modulus=200e9, area=5e-3, inertia=2e-5, density=7850.0,
    supports={0: "fixed", 3: "fixed"},
)  # fmt: skip


def ends(page, tag, name):
    """(pictures · marks, 2): values of an attribute at both ends of the motion."""
    found = re.findall(rf"<{tag} .*?</{tag}>", page)
    return np.array(
        [re.search(rf'attributeName="{name}" values="([^;]+);([^;]+);', one).groups() for one in found], float
    )


def test_a_frame_sways_where_there_is_no_sensor():
    """Sensors on one corner: the whole beam moves with it, the supports stay, and only the sensors have dots."""
    computed = vb.modes(FRAME)
    shape = np.stack([computed.at("1.x")[:1], computed.at("1.y")[:1]])
    found = measured_modes(computed.frequencies[:1], shape / shape[0], ["1.x", "1.y"])
    page = str(moving_shapes(found, computed))
    assert page.count("<line") == 3 and page.count("<circle") == 2
    left, right = (ends(page, "line", name) for name in ("x1", "x2"))
    moved_left, moved_right = np.ptp(left, axis=1), np.ptp(right, axis=1)
    assert moved_left[0] == 0.0 == moved_right[2]  # the supports
    assert moved_right[0] == moved_left[1] == pytest.approx(36.0, abs=0.2)  # twice the reach of a picture
    assert moved_right[1] == moved_left[2] == pytest.approx(36.0, abs=0.3)
    along, across = ends(page, "circle", "cx")
    assert np.ptp(along) == pytest.approx(36.0, abs=0.2) and np.ptp(across) == 0.0
