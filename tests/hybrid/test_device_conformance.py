"""The package's own devices keep the promises that plugins are held to."""

import pytest

import vibrid as vb
from vibrid.conformance.device import CHECKS, DeviceExample

EXAMPLES = {
    "law": DeviceExample(vb.LawDevice(vb.BoucWen(40e3, beta=60.0, gamma=40.0)), 0.02),
    "semi-active": DeviceExample(
        vb.hybrid.SemiActive(
            vb.laws.Commanded(vb.NonlinearViscous(3e3, 0.4), ["coefficient"], [[0.5, 0.2]], lag=0.01),
            vb.hybrid.OnOff(2.0),
        )
    ),
    "banded-friction-damper": DeviceExample(vb.BandedFrictionDamper(), 0.01),
}
PAIRS = CHECKS.pairs(EXAMPLES)


@pytest.mark.parametrize(("check", "name"), PAIRS, ids=[f"{check.name}-{name}" for check, name in PAIRS])
def test_device_keeps_its_promise(check, name):
    check(EXAMPLES[name])
