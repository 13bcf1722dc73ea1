"""SIVA: its parts against closed forms and least squares, and what it finds and says on problems of known truth."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from identification.small import ONE, ONE_UNKNOWN, TWO_GUESS, TWO_UNKNOWN, motion, truth, two
from vibrid.core.errors import VibridError
from vibrid.identification.acceleration import acceleration_map, accelerations, compared, measure
from vibrid.identification.methods.siva.adversary import AdversaryEpoch, Values, scientific
from vibrid.identification.methods.siva.answer import LN4, Normal, converged_at, held_by, near_equilibrium, without
from vibrid.identification.smoothing import consistent_motion, noise_levels, remaining_noise
from vibrid.networks import Dense

FULL = vb.Sensors(displacement=[0, 1], velocity=[0, 1], acceleration=[0, 1])


# -- measured states ---------------------------------------------------------------------------------------------------


def test_states_made_consistent_lose_the_noise_that_was_foretold():
    t = np.arange(0, 8, 0.005)[:, None] * [1.0, 1.7]
    speed = np.array([1.0, 1.7])
    x, v = np.sin(3 * t) * np.exp(-0.1 * t), speed * (3 * np.cos(3 * t) - 0.1 * np.sin(3 * t)) * np.exp(-0.1 * t)
    noise = (np.array([0.05, 0.02]), np.array([0.1, 0.3]))
    rng = np.random.default_rng(0)
    rough = [s + n * rng.standard_normal(s.shape) for s, n in zip((x, v), noise, strict=True)]
    for signal, n in zip(rough, noise, strict=True):
        np.testing.assert_allclose(noise_levels(signal), n, rtol=0.15)
    smooth = consistent_motion(*rough, noise, 0.005)
    for made, true, left, given in zip(smooth, (x, v), remaining_noise(noise, 0.005), noise, strict=True):
        found = np.std((made - true)[50:-50], axis=0)
        np.testing.assert_allclose(found, left, rtol=0.3)
        assert np.all(found < 1.01 * given)
    assert np.all(np.std(smooth[0] - x, axis=0) < 0.3 * noise[0])  # velocity tells which wiggles are none
    clean = consistent_motion(x, v, noise, 0.005)
    np.testing.assert_allclose(clean[0], x, atol=1e-9)


# -- the map -----------------------------------------------------------------------------------------------------------


def test_map_gives_the_accelerations_of_the_simulation_with_states_along_the_motion():
    """Bouc–Wen: z is integrated from the measured drift velocity inside the model."""
    record = truth("one").measure(vb.Sensors(displacement=[0], velocity=[0], acceleration=[0]))
    problem = vb.identification.make_problem(ONE, record, ONE_UNKNOWN)
    measured = measure(problem)
    made = accelerations(problem, jnp.asarray([40.0, 6.0, 4.0]), measured.motions[0], 0)
    real = np.asarray(measured.motions[0][2])
    assert not measured.smoothed
    assert np.sqrt(np.mean((made - real) ** 2)) < 2e-3 * real.std()  # the step is 20 ms
    table = acceleration_map(problem, measured, compared(problem, measured)[0], 0.3, draws=2)
    assert not table.linear and table.training.real.shape == (281, 1) and table.validation.real.shape == (120, 1)
    theta = np.array([30.0, 4.0, 6.0])
    batch = eqx.filter_jit(table.training.fake)(jnp.stack([theta, 2 * theta, theta]), jnp.asarray([7, 7, 200]))
    np.testing.assert_allclose(batch[[0, 2], 0], table.training.at(theta)[[7, 200], 0], rtol=1e-9)
    assert abs(batch[1, 0] - batch[0, 0]) > 0.01  # the second row of values served the second sample
    for _ in range(12):  # the way to the minimum, walked step by step, ends at the truth
        theta = theta + held_by(table.training, theta).distance
    np.testing.assert_allclose(theta, [40.0, 6.0, 4.0], rtol=0.02)


@pytest.fixture(scope="module")
def linear():
    problem = vb.identification.make_problem(TWO_GUESS, two(0.0), TWO_UNKNOWN)
    measured = measure(problem)
    columns, modes = compared(problem, measured)
    assert modes is None
    return problem, measured, columns, acceleration_map(problem, measured, columns, 0.3)


def test_tabulated_map_is_the_map(linear):
    problem, measured, columns, table = linear
    theta = jnp.asarray([70.0, 30.0, 0.1, 2.0])
    expected = np.asarray(accelerations(problem, theta, measured.motions[0], 0)) @ columns
    np.testing.assert_allclose(table.training.at(theta), expected[:281], atol=1e-9)
    batch = jnp.stack([theta, 2 * theta])
    np.testing.assert_allclose(table.training.fake(batch, jnp.asarray([5, 9]))[0], expected[5], atol=1e-9)
    assert table.linear


def test_distance_and_deviation_are_those_of_least_squares(linear):
    """From any point the way to the misfit's minimum is the least-squares answer; with white residuals the sandwich is
    the textbook covariance."""
    *_, table = linear
    samples = table.training
    rng = np.random.default_rng(0)
    real = np.asarray(samples.real) + 0.05 * rng.standard_normal(samples.real.shape)
    noisy = type(samples)(jnp.asarray(real), samples.offset, samples.slope)
    a, b = np.asarray(samples.slope).reshape(-1, 4), (real - np.asarray(samples.offset)).reshape(-1)
    best = np.linalg.lstsq(a, b, rcond=None)[0]
    at = np.array([50.0, 45.0, 0.5, 0.5])
    held = held_by(noisy, at)
    np.testing.assert_allclose(at + held.distance, best, rtol=1e-6)
    textbook = np.sqrt(np.diag(np.linalg.inv(a.T @ a)) * np.var(b - a @ best))
    np.testing.assert_allclose(held.deviation, textbook, rtol=0.35)


def test_modes_are_compared_where_noise_in_the_shape_would_be_multiplied_by_stiffness():
    """A stiff upper storey: noise in the measured drift makes more acceleration there than the motion has."""
    stiff = vb.ShearBuilding(masses=[1.0, 0.8], storeys=[vb.Linear(60.0, 0.9), vb.Linear(4e4, 20.0)])
    record = vb.simulate(stiff, motion(), integrator=vb.Newmark(), substeps=4).measure(FULL, noise=0.01)
    problem = vb.identification.make_problem(stiff, record, ["storeys[0].stiffness"], integrator=vb.Newmark())
    measured = measure(problem)
    columns, modes = compared(problem, measured)
    assert measured.smoothed and modes == 1 and columns.shape == (2, 1)
    assert measured.level == pytest.approx(0.01, rel=0.2)
    assert columns[0, 0] / columns[1, 0] == pytest.approx(1.0 / 0.8, rel=0.05)  # both floors move together
    held = held_by(acceleration_map(problem, measured, columns, 0.3).training, np.array([60.0]))
    assert abs(held.distance[0]) < 4 * held.deviation[0] and held.deviation[0] < 0.02 * 60


# -- networks and losses ----------------------------------------------------------------------------------------------


def epoch(adversary="standard") -> AdversaryEpoch:
    return AdversaryEpoch(50, 10, 100.0, adversary, 1e-3, 1e-5, 100)


def test_losses_of_a_discriminator_that_can_only_guess():
    """D = 0.5 everywhere: L_D = ln 4, L_adv = ln 4 / 2 (Eq. 4)."""
    silent = Dense((jnp.ones((2, 4)), jnp.zeros((4, 1))), (jnp.ones(4), jnp.zeros(1)))
    x = jnp.ones((6, 2))
    assert float(epoch()._discriminator_loss(silent, x, 2 * x, jax.random.key(0))) == pytest.approx(LN4)
    assert float(epoch()._adversarial_loss(silent, x)) == pytest.approx(LN4 / 2)


def test_loss_of_a_linear_critic():
    """f(x) = w·x: E f(fake) − E f(real) + 10 (‖w‖ − 1)²."""
    critic = Dense((jnp.asarray([[3.0], [4.0]]),), (jnp.zeros(1),))
    real, fake = jnp.ones((5, 2)), jnp.zeros((5, 2))
    loss = epoch("wasserstein")._discriminator_loss(critic, real, fake, jax.random.key(0))
    assert float(loss) == pytest.approx(-7.0 + 10 * 16.0)
    assert float(epoch("wasserstein")._adversarial_loss(critic, real)) == pytest.approx(-7.0)


def test_without_an_adversary_the_misfit_is_the_whole_loss():
    """A discriminator that would tell real from computed at once changes nothing."""
    sharp = Dense((jnp.asarray([[3.0], [4.0]]),), (jnp.zeros(1),))
    x = jnp.ones((6, 2))
    assert float(epoch("none")._discriminator_loss(sharp, x, 0 * x, jax.random.key(0))) == 0.0
    assert float(epoch("none")._adversarial_loss(sharp, x)) == 0.0


def test_values_are_a_times_ten_to_the_b_and_respect_bounds():
    unknown = [
        vb.Unknown("storeys[0].stiffness", bounds=(10.0, 80.0)),
        "storeys[1].stiffness",
        vb.Unknown("initial[0].displacement[0]", scale=0.1),
    ]
    u = vb.identification.make_problem(TWO_GUESS, two(0.0), unknown).unknowns
    sizes = jnp.asarray([1.0, 1.0, 0.25])
    out = jnp.asarray([3.0, 0.5, 2.0, 2.0, -1.0, -2.0])  # a, then b
    bounded = Values.of(u, sizes)
    scaled = bounded(out)
    np.testing.assert_allclose(scientific(out), [300.0, 0.05, 0.02], rtol=1e-6)
    np.testing.assert_allclose(scaled, [80.0, 50.0 * np.exp(0.05), 0.25 * 0.02], rtol=1e-6)
    np.testing.assert_allclose(bounded(bounded.start()), u.start, rtol=1e-9)
    players = jax.eval_shape(lambda key: epoch().players(key, 2, bounded), jax.random.key(0))
    assert [w.shape for w in players.generator.weights] == [(10, 64), (64, 32), (32, 16), (16, 6)]
    assert [w.shape for w in players.discriminator.weights] == [(2, 64), (64, 32), (32, 1)]


def test_convergence_is_seen_where_it_is():
    e = np.arange(400)
    settled = np.stack([LN4 - 0.5 * np.exp(-e / 20), LN4 / 2 + np.exp(-e / 20), 1e-5 + np.exp(-e / 10)], axis=1)
    first = converged_at(settled)
    assert 60 < first < 150 and near_equilibrium(settled)
    falling = np.stack([np.full(400, LN4), np.full(400, LN4 / 2), np.exp(-e / 40)], axis=1)
    assert converged_at(falling) is None
    lost = settled - [0.3, 0.0, 0.0]
    assert converged_at(lost) is not None and not near_equilibrium(lost)
    normal = Normal.fit(np.random.default_rng(0).normal([1.0, -2.0], [0.1, 3.0], (4000, 2)))
    np.testing.assert_allclose(normal.interval, [[0.804, 1.196], [-7.88, 3.88]], atol=0.25)


# -- the whole ---------------------------------------------------------------------------------------------------------

SPRING = [30.0, 0.0, 3e3, 0.0]
CARRIER = vb.ShearBuilding(
    masses=[1.0, 0.8],
    storeys=[vb.Linear(60.0, 0.9), vb.Linear(40.0, 0.7)],
    attachments=[vb.Attachment(vb.Polynomial(SPRING), at="1")],
)
BLIND = CARRIER.replace({"attachments[0].law.coefficients": np.zeros(4)})


def shaken(structure) -> list[vb.Record]:
    return [vb.simulate(structure, motion(k)).measure(FULL) for k in (0, 1)]


@pytest.fixture(scope="module")
def updated():
    method = vb.SIVA(epochs=120, seeds=2)
    return vb.identify(BLIND, shaken(CARRIER), ["attachments[0].law.coefficients"], method)


def test_finds_the_terms_that_are_there_and_doubts_the_others(updated):
    k = updated.estimate
    np.testing.assert_allclose(k[[0, 2]], [30.0, 3e3], rtol=0.01)
    words = [w for w in updated.warnings if "not identifiable" in w and "could contribute at most" in w]
    assert {w.split("'")[1][-3:] for w in words} == {"[1]", "[3]"}
    c = updated.convergence
    assert c["converged"] and c["near_ln4"] and c["unexplained"] < 0.01 and c["linear_in_unknowns"]
    assert len(c["validation_misfit_of_seeds"]) == 2 and updated.history["seeds"].shape == (2, 4)
    assert updated.history["generator"].shape == (1000, 4) and updated.history["losses"].shape == (120, 3)
    first = c["approach_1"]["attachments[0].law.coefficients[0]"]
    assert first["mean"] == pytest.approx(k[0]) and first["interval_95"][0] < k[0] < first["interval_95"][1]


def test_pruned_answer_keeps_what_is_there_and_survives_a_file(updated, tmp_path):
    pruned = list(updated.convergence["pruned"].values())
    assert pruned[1] == pruned[3] == 0.0
    np.testing.assert_allclose([pruned[0], pruned[2]], [30.0, 3e3], rtol=0.003)
    updated.save(tmp_path / "fit.h5")
    again = vb.load_identification(tmp_path / "fit.h5")
    assert again.convergence == updated.convergence and again.method == "SIVA"
    np.testing.assert_array_equal(again.history["generator"], updated.history["generator"])


def test_pruning_is_least_squares_without_the_dropped_columns():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4)), rng.standard_normal(50)
    whole = np.linalg.lstsq(a, b, rcond=None)[0]
    dropped = np.array([False, True, False, True])
    made = without(whole, dropped, a.T @ a)
    np.testing.assert_allclose(made[~dropped], np.linalg.lstsq(a[:, ~dropped], b, rcond=None)[0], rtol=1e-6)
    assert np.all(made[dropped] == 0)


def test_polish_hands_over_to_the_trajectory_fit():
    fit = vb.identify(TWO_GUESS, two(0.01), TWO_UNKNOWN, vb.SIVA(epochs=100, polish=True))
    other = vb.identify(TWO_GUESS, two(0.01), TWO_UNKNOWN)
    np.testing.assert_allclose(fit.estimate, other.estimate, rtol=1e-4)
    assert fit.method == "SIVA and TrajectoryFit" and fit.convergence["polish"]["converged"]


def test_says_when_physics_is_missing(updated):
    """A damper at the sprung floor that the model does not know."""
    damped = vb.Attachment(vb.Parallel([vb.Polynomial(SPRING), vb.Linear(0.0, 0.8)]), at="1")
    data = shaken(vb.ShearBuilding(CARRIER.masses, CARRIER.storeys, attachments=[damped]))
    fit = vb.identify(BLIND, data, ["attachments[0].law.coefficients"], vb.SIVA(epochs=120, seeds=2))
    (words,) = [w for w in fit.warnings if "no explanation" in w]
    assert "follows its rate of deformation" in words and fit.convergence["unexplained"] > 0.01
    assert not any("no explanation" in w for w in updated.warnings)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: vb.SIVA(adversary="wasserstien"), "did you mean 'wasserstein'"),
        (lambda: vb.SIVA(faithful=True), "the method 'siva-as-published'"),
        (lambda: vb.SIVA(epochs=0), "'epochs' must be 1 or more"),
        (lambda: vb.SIVA(rate=1e-4, last_rate=1e-3), "last_rate <= rate"),
        (
            lambda: vb.identify(TWO_GUESS, [two(), two(key=1)], TWO_UNKNOWN, vb.SIVA(validation=[0, 1])),
            "leave one for training",
        ),
    ],
)
def test_refusals_are_sentences(make, words):
    with pytest.raises(VibridError, match=words):
        make()
