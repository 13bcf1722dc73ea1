"""Large batches: shared among cores, simplified, observed by sensors only."""

import os
import sys

import jax
import numpy as np
from problems import CUBIC, motion

import vibrid as vb
from vibrid.simulation.simulate import _shared_among_cores

FRAME = vb.ShearBuilding(masses=[1.0, 1.0], storeys=[vb.BoucWen(40.0, 3.0, 2.0)] * 2, damping=vb.Viscous(0.5))


def test_a_batch_shared_among_cores_is_in_order(monkeypatch):
    """Nineteen runs on three threads, the last part filled up: every run in its place."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setattr(sys.modules[_shared_among_cores.__module__], "_RUNS_PER_CORE", 6)
    sizes = []

    def job(batch):
        values, shared = batch
        sizes.append(len(values["k"]))
        return values["k"] * shared

    k = np.arange(19.0)
    np.testing.assert_array_equal(_shared_among_cores(job, ({"k": k}, 2.0), (True, False), 19), 2 * k)
    assert sizes == [7, 7, 7]


def test_a_large_batch_equals_single_runs():
    stiffness = np.linspace(30.0, 60.0, 33)
    record = motion(256, 129)
    readings = vb.simulation.Readings(CUBIC.sensor_arrays(CUBIC.model(), vb.Sensors(displacement=["roof"])))
    roof = vb.simulate_many(CUBIC, record, {"storeys[1].stiffness": stiffness}, observe=readings)
    assert roof.shape == (33, 129, 1)
    for i in (0, 16, 17, 32):
        alone = vb.simulate(CUBIC.replace({"storeys[1].stiffness": stiffness[i]}), record)
        np.testing.assert_allclose(roof[i, :, 0], alone.displacement[:, -1], atol=1e-12)


def test_a_batch_over_an_exponent_is_not_simplified_away():
    """Exponents that change from run to run stay free, although each is a whole number in the building given."""
    record, exponents = motion(256, 129), np.array([1.0, 1.5, 2.0])
    x = vb.simulate_many(FRAME, record, {"storeys[*].exponent": np.repeat(exponents[:, None], 2, axis=1)})[0]
    for one, n in zip(x, exponents, strict=True):
        alone = vb.simulate(FRAME.replace({"storeys[*].exponent": n}), record).displacement
        np.testing.assert_allclose(one, alone, atol=1e-11)


def test_memory_does_not_grow_with_the_stages():
    """What XLA plans beside inputs and outputs grows by the inputs of a step, whatever the method."""
    observe = vb.simulation.Readings(CUBIC.sensor_arrays(CUBIC.model(), vb.Sensors(displacement=["roof"])))

    def planned(integrator, samples):
        driven = vb.simulation.excitation.drive(np.zeros((samples, 1)))
        run = jax.jit(lambda b, d: vb.simulation.run(b.model(), integrator, d, 0.01, observe))
        return run.lower(CUBIC, driven).compile().memory_analysis().temp_size_in_bytes

    for integrator in (vb.RungeKutta4(), vb.CentralDifference()):
        growth = (planned(integrator, 1501) - planned(integrator, 501)) / 1000
        assert growth <= 48, "three numbers of 8 bytes a step for the inputs, and their copies"
