"""OpenSees across loopback: live where OpenSeesPy can be imported, from its stored results elsewhere."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import opensees_wire as model
import pytest
from opensees_import import load_opensees
from wire_helpers import serving

from vibrid.hybrid import DeviceSubstructure, LawDevice

STORED = Path(__file__).with_name("opensees_wire_results.json")
CASES = [(device, protocol) for device in model.DEVICES for protocol in ("tcp", "udp")]


def floors(structure, x):
    """Displacements of both floors."""
    return x @ np.array([structure.row("2.x"), structure.row("4.x")]).T


@pytest.mark.parametrize(("device", "protocol"), CASES)
def test_stored_results_of_opensees_equal_one_process(device, protocol, one_process):
    """Every tenth step of OpenSees' frame with a vibrid device behind a wire, to 1e-9."""
    if not STORED.exists():
        pytest.skip("the results of OpenSees are not stored here")
    structure, x, _ = one_process(device)
    theirs = np.array(json.loads(STORED.read_text())["histories"][f"{device} {protocol}"])
    ours = floors(structure, x)[::10]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.opensees
@pytest.mark.parametrize(("device", "protocol"), CASES)
def test_opensees_drives_a_vibrid_device(device, protocol, one_process):
    """OpenSees in a process of its own, because it waits for ever when something goes wrong."""
    try:
        load_opensees()
    except ImportError as problem:
        pytest.skip(str(problem))
    structure, x, _ = one_process(device)
    held = DeviceSubstructure(LawDevice(structure.attachments[0].law), model.STEP)
    with serving(held, protocol, damping="apart", idle=30.0) as served:
        command = [sys.executable, str(Path(model.__file__)), protocol, str(served.port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        ending = served.end()
    said = next(line for line in done.stdout.splitlines() if line.startswith('{"displacement"'))
    theirs = np.array(json.loads(said)["displacement"])
    np.testing.assert_allclose(floors(structure, x), theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())
    assert ending.well and model.STEPS <= ending.steps <= model.STEPS + 1, "one may be committed before the first step"
