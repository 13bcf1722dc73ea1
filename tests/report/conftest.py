"""One small fit, its validation and its report, made once for all tests of this folder."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.report.html import write_report

HOSTILE = 'storm <script>alert("x")</script> & co'


def building(stiffness, beta):
    return vb.ShearBuilding(
        masses=[1.0] * 3,
        storeys=[vb.BoucWen(stiffness=k, beta=beta, gamma=8.0) for k in stiffness],
        damping=vb.Thermostat(initial=1.5, rate=10.0),
    )


def measured(key: int, name: str) -> vb.Record:
    sensors = vb.Sensors(
        [vb.Sensor("acceleration", i) for i in range(3)]
        + [vb.Sensor("displacement", 0), vb.Sensor("displacement", "roof", name='roof "A" <b>')]
    )
    motion = vb.synthetic_motion(key=key, duration=12.0, rate=50.0, pga=6.0, name=name)
    return vb.simulate(building((50.0, 45.0, 40.0), 8.0), motion).measure(sensors, noise=0.05, key=key)


@pytest.fixture(scope="session")
def record():
    return measured(0, HOSTILE)


@pytest.fixture(scope="session")
def fit(record):
    unknown = ["storeys[*].stiffness", vb.Unknown("storeys[*].beta", tied=True)]
    return vb.identify(building((40.0, 40.0, 40.0), 6.0), record, unknown, hold_out=0.2)


@pytest.fixture(scope="session")
def filtered(fit):
    """The same answer as a filter would give it: a history over time with deviations."""
    steps = fit.problem.data[0].samples
    path = fit.estimate + np.linspace(1, 0, steps)[:, None] ** 4 * fit.estimate * 0.2
    spread = fit.deviation * (1 + 50 * np.linspace(1, 0, steps)[:, None] ** 4)
    samples = np.random.default_rng(0).multivariate_normal(fit.estimate, fit.covariance, 500)
    return fit.replace(history={"estimate": path, "deviation": spread}, samples=samples, seconds=2 * fit.seconds)


@pytest.fixture(scope="session")
def validation(fit):
    return fit.validate(measured(3, "another motion"))


@pytest.fixture(scope="session")
def comparison(fit, filtered):
    truth = np.array([50.0, 45.0, 40.0, 8.0])
    return vb.identification.Comparison(
        {"TrajectoryFit": fit, "filter": filtered}, {"LeastSquares": "not <all> measured"}, truth
    )


@pytest.fixture(scope="session")
def report(fit, validation, comparison, record, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(fit, path, validation=validation, comparison=comparison)
    return path
