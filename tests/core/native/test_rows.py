"""Steps on long arrays: loops over rows give what XLA gives, and do not grow with the length of the arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_native import LENGTH, ONE, OPERATIONS, SPECIAL, TWO, natively, same

import vibrid as vb
from vibrid.core.native import compiled, machine
from vibrid.core.native.row_loop import RowProgram
from vibrid.core.native.rows import LEAST_ROW

pytestmark = [
    pytest.mark.compat,
    pytest.mark.skipif(bool(machine.unavailable()), reason=machine.unavailable() or "-"),
]
SIZES = [LEAST_ROW, LEAST_ROW + 1, 37]


@pytest.fixture(autouse=True)
def by_rows(monkeypatch):
    """Everything that can be of rows is; tells what was made."""
    made = []
    program = compiled._program
    monkeypatch.setattr(compiled, "_LONG", 0)
    monkeypatch.setattr(compiled, "_program", lambda *a: made.append(program(*a)) or made[-1])
    yield made
    assert made and all(isinstance(own, RowProgram) for own in made)


def table(size: int, columns: int = 1) -> np.ndarray:
    """(LENGTH, columns, size): special numbers in all combinations, and others."""
    rng = np.random.default_rng(size)
    return rng.choice([*SPECIAL, *rng.normal(size=8)], size=(LENGTH, columns, size))


def test_every_operation_of_a_row():
    def every(x):
        return jax.lax.scan(lambda c, row: (c, [own(row[0]) for own in ONE.values()]), 0.0, x)[1]

    x = table(LEAST_ROW + 1)
    same(natively(every, x), jax.jit(every)(x))


@pytest.mark.parametrize("one", [False, True], ids=["two rows", "a row and a number"])
def test_every_operation_of_two(one):
    def every(x):
        return jax.lax.scan(lambda c, row: (c, [own(row[0], row[1, 0] if one else row[1]) for own in TWO.values()]), 0.0, x)

    x = table(LEAST_ROW + 3, 2)
    same(natively(every, x), jax.jit(every)(x), 2e-14)


SHIFTS = [
    lambda a: jnp.pad(a[:-1], (1, 0)), lambda a: jnp.pad(a[1:], (0, 1), constant_values=0.5), lambda a: jnp.diff(a, prepend=0.0),
    lambda a: jnp.roll(a, 3), lambda a: a[0] + a, lambda a: jnp.concatenate([a[2:], a[:2]]), lambda a: a.at[3].set(a[-1]),
    lambda a: jnp.where(a > 0, a, -a), lambda a: jnp.full_like(a, a[2]), lambda a: a.reshape(1, -1)[0] * jnp.arange(a.size),
]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=12),
    st.sampled_from(SIZES),
)
def test_random_programs(lines, size):
    """Operations on rows and shifts of them, one after another; both carried rows and rows of every step."""

    def step(carry, row):
        values = [*carry, row[0], row[0, 1] * row[1]]
        for number, a, b in lines:
            first, second = values[-1 - a % len(values)], values[b % len(values)]
            made = OPERATIONS[number](first, second) if number < 10 else SHIFTS[number - 10](first)
            values.append(made)
        return (jnp.tanh(values[-1]), jnp.tanh(values[-2])), (values[-3], values[-1])

    rows = np.random.default_rng(5).normal(size=(LENGTH, 2, size))
    start = (np.linspace(0.1, 1.0, size), np.full(size, 0.2))
    call = lambda start, rows: jax.lax.scan(step, start, rows)  # noqa: E731
    same(natively(call, start, rows), jax.jit(call)(start, rows), 1e-11)


def test_truths_whole_numbers_and_short_arrays_beside_rows():
    def step(carry, row):
        past, count, rows, short, number = carry
        now = (row > 0.3) | past
        jump = jnp.where(now & ~past, row, 0.0)
        short = jnp.tanh(short + rows[:2] + number)
        return (now, count + now, jnp.pad(jump[:-2], (2, 0)) + 0.5 * rows, short, number + 0.1 * rows[-1]), (now, short)

    def call(start, rows):
        return jax.lax.scan(step, start, rows, reverse=True)

    size = 21
    start = (np.zeros(size, bool), np.zeros(size, int), np.zeros(size), np.ones(2), np.array(0.1))
    rows = np.random.default_rng(1).normal(size=(LENGTH, size)) - 2.0
    same(natively(call, start, rows), jax.jit(call)(start, rows), 1e-13)


def test_what_does_not_change_is_computed_once():
    """A result that is the same in every step, carried rows that stay, and constants that come from arguments."""

    def call(a, rows):
        def step(carry, row):
            x, still = carry
            fixed = jnp.sqrt(jnp.abs(a)) + jnp.pad(a[1:], (0, 1))
            return (0.5 * x + fixed * row, still), (fixed, x, jnp.zeros(a.shape))

        return jax.lax.scan(step, (a, 2.0 * a), rows)

    a, rows = np.linspace(-1.0, 3.0, 19), np.random.default_rng(2).normal(size=(LENGTH, 1))
    same(natively(call, a, rows), jax.jit(call)(a, rows), 1e-13)


def test_a_batch_is_one_run_after_another():
    def motion(shared, own):
        step = lambda c, x: ((0.9 * c[0] + jnp.sin(shared * c[1]) * x, c[1] + own * c[0]), c[0])  # noqa: E731
        return jax.lax.scan(step, (jnp.ones(12) * own, jnp.zeros(12)), jnp.linspace(0.0, 1.0, LENGTH))

    shared, own = np.linspace(0.5, 1.5, 12), np.linspace(0.1, 2.0, 5)
    leaves, tree = jax.tree.flatten((shared, own))
    made = compiled._batched(motion, leaves, [True] * len(leaves), tree)((shared, own))
    same(made, jax.vmap(lambda o: motion(shared, o))(own), 1e-13)


@pytest.mark.parametrize("integrator", [vb.RungeKutta4(), vb.Newmark()], ids=lambda own: type(own).__name__)
def test_a_building_of_many_storeys(integrator, monkeypatch, by_rows):
    """The same motion, by a program that is as long for 60 storeys as for 30."""
    lines = []
    for storeys in (30, 60):
        law = vb.BoucWen(stiffness=4e3, beta=3.0, gamma=2.0, post_yield_ratio=0.1)
        building = vb.ShearBuilding(masses=np.full(storeys, 1.0), storeys=[law] * storeys, damping=vb.Viscous(4.0))
        quake = vb.synthetic_motion(key=1, duration=2.0, rate=100.0, pga=4.0)
        quick = vb.simulate(building, quake, integrator=integrator)
        lines.append(by_rows[-1].operations())
        with monkeypatch.context() as m:
            m.setattr(compiled, "why_not", lambda: "switched off")
            slow = vb.simulate(building, quake, integrator=integrator)
        assert np.ptp(slow.displacement) > 1e-3
        np.testing.assert_allclose(quick.displacement, slow.displacement, atol=1e-12 * np.ptp(slow.displacement))
        np.testing.assert_allclose(quick.acceleration, slow.acceleration, atol=1e-10 * np.ptp(slow.acceleration))
    assert lines[0] == lines[1]
