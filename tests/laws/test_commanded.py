"""A law whose parameters follow a command, in a device test and against closed forms."""

import numpy as np
import pytest

import vibrid as vb

TIME = np.arange(400) / 100.0
X, W = 0.01 * np.sin(5 * TIME), 0.05 * np.cos(5 * TIME)


def damper(lag=0.0, gains=((0.8, -0.1),)):
    return vb.laws.Commanded(vb.Viscous(200.0), ["damping"], gains, lag=lag)


def imposed(law, command, name="test"):
    channels = [vb.Channel("x", "imposed_displacement"), vb.Channel("v", "imposed_velocity")]
    record = vb.Record(
        np.stack([X, W, command], axis=1), [*channels, vb.Channel("u", "command", "V")], step=0.01, name=name
    )
    response = vb.simulate(vb.Device(law), record)
    return record, response.part("device")[1]


def test_the_parameter_is_a_polynomial_of_the_command():
    command = np.linspace(0.0, 3.0, len(TIME))
    _, force = imposed(damper(), command)
    np.testing.assert_allclose(force, 200.0 * (1 + 0.8 * command - 0.1 * command**2) * W, rtol=1e-12, atol=1e-12)


def test_a_step_of_the_command_arrives_with_its_lag():
    _, force = imposed(damper(0.5), np.full(len(TIME), 2.0))
    heard = 2.0 * (1 - np.exp(-TIME / 0.5))
    np.testing.assert_allclose(force, 200.0 * (1 + 0.8 * heard - 0.1 * heard**2) * W, rtol=1e-9, atol=1e-9)


def test_it_is_calibrated_over_commands_and_tells_one_that_was_left_out():
    """Tests at constant commands, of which the weak ones have as much relative noise as the strong ones."""
    law, rng = damper(), np.random.default_rng(0)

    def test(volt):
        record, force = imposed(law, np.full(len(TIME), volt), f"{volt} V")
        noisy = 30.0 + force + 0.03 * np.ptp(force) * rng.standard_normal(len(force))
        return record.replace(
            data=np.column_stack([record.data, noisy]), channels=(*record.channels, vb.Channel("f", "element_force"))
        )

    guess = vb.laws.Commanded(vb.Viscous(100.0), ["damping"], [[0.1, 0.0]])
    made = vb.calibrate(
        [test(v) for v in (0.0, 1.0, 3.0)], guess, ["base.damping", "gains[0][0]", "gains[0][1]"],
        offset=True, by_test=True, left_out=[test(2.0)], starts=1,
    )  # fmt: skip
    assert made.fit.names == ("base.damping", "gains[0][0]", "gains[0][1]", "force offset")
    low, high = made.fit.interval(0.999).T
    truth = np.array([200.0, 0.8, -0.1, 30.0])
    assert np.all((low < truth) & (truth < high)), made
    assert [t.scores.nrmse for t in made.trials] == pytest.approx([0.03] * 4, rel=0.2)
    noise = np.array([t.scores.nrmse * np.ptp(t.record["force"]) for t in made.trials if t.fitted])
    np.testing.assert_allclose(made.fit.noise, noise, rtol=0.05)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((vb.Viscous(1.0), ["damping"], [0.1]), "needs a row for each of the 1 parameters"),
        ((vb.Viscous(1.0), ["dampng"], [[0.1]]), "dampng"),
        ((vb.laws.FloorThermostat(1.0, 1.0), ["rate"], [[0.1]]), "a law with one deformation"),
        ((vb.Polynomial([1.0, 2.0]), ["coefficients"], [[0.1]]), "is not one number"),
    ],
)
def test_what_cannot_follow_is_refused(arguments, words):
    with pytest.raises(vb.InputError, match=words):
        vb.laws.Commanded(*arguments)


def test_a_test_without_a_command_is_refused():
    record, _ = imposed(damper(), np.zeros(len(TIME)))
    with pytest.raises(vb.InputError, match="needs a channel with quantity command"):
        vb.simulate(vb.Device(damper()), record.select(["x", "v"]))
