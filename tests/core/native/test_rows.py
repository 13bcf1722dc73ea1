"""Steps on long arrays: loops over rows give what XLA gives, and do not grow with the length of the arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_native import BITS, LENGTH, ONE, OPERATIONS, SPECIAL, TWO, natively, same

import vibrid as vb
from vibrid.core.linalg import solve
from vibrid.core.native import compiled, machine
from vibrid.core.native.row_loop import RowProgram
from vibrid.core.native.rows import LEAST_ROW

pytestmark = [
    pytest.mark.compat,
    pytest.mark.skipif(bool(machine.unavailable()), reason=machine.unavailable() or "-"),
]
hidden_steps = pytest.mark.skipif(
    jax.__version_info__ >= (0, 12), reason="JAX 0.12 hides a solved step (call_hi_primitive): it stays with XLA"
)
SIZES = [LEAST_ROW, LEAST_ROW + 1, 37]


@pytest.fixture(autouse=True)
def by_rows(monkeypatch):
    """Everything that can be of rows is; tells what was made."""
    made = []
    program = compiled._program
    monkeypatch.setattr(compiled, "_LONG", 0)
    monkeypatch.setattr(compiled, "LEAST", 10)
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
    same(natively(every, x), jax.jit(every)(x), 2e-14)  # cube roots of large numbers by XLA of JAX 0.12 err by 1.3e-14


@pytest.mark.parametrize("one", [False, True], ids=["two rows", "a row and a number"])
def test_every_operation_of_two(one):
    def every(x):
        return jax.lax.scan(
            lambda c, row: (c, [own(row[0], row[1, 0] if one else row[1]) for own in TWO.values()]), 0.0, x
        )

    x = table(LEAST_ROW + 3, 2)
    same(natively(every, x), jax.jit(every)(x), 2e-14)


SHIFTS = [
    lambda a: jnp.pad(a[:-1], (1, 0)), lambda a: jnp.pad(a[1:], (0, 1), constant_values=0.5),
    lambda a: jnp.diff(a, prepend=0.0), lambda a: jnp.roll(a, 3), lambda a: a[0] + a,
    lambda a: jnp.concatenate([a[2:], a[:2]]), lambda a: a.at[3].set(a[-1]), lambda a: jnp.where(a > 0, a, -a),
    lambda a: jnp.full_like(a, a[2]), lambda a: a.reshape(1, -1)[0] * jnp.arange(a.size),
]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=12),
    st.sampled_from(SIZES),
)
def test_random_programs(lines, size):
    """Operations on rows and shifts of them, one after another; both carried rows and rows of every step.

    Few steps: a recursion of any operations may magnify a rounding in every one.
    """

    def step(carry, row):
        values = [*carry, row[0], row[0, 1] * row[1]]
        for number, a, b in lines:
            first, second = values[-1 - a % len(values)], values[b % len(values)]
            made = OPERATIONS[number](first, second) if number < 10 else SHIFTS[number - 10](first)
            values.append(made)
        return (jnp.tanh(values[-1]), jnp.tanh(values[-2])), (values[-3], values[-1])

    rows = np.random.default_rng(5).normal(size=(10, 2, size))
    start = (np.linspace(0.1, 1.0, size), np.full(size, 0.2))
    call = lambda start, rows: jax.lax.scan(step, start, rows)  # noqa: E731
    same(natively(call, start, rows), jax.jit(call)(start, rows), 1e-11, least=1.0)


def test_bits_of_rows_of_whole_numbers_without_a_sign():
    def every(x):
        return jax.lax.scan(lambda c, row: (c * np.uint64(5) + row[0], [f(*row) for f in BITS.values()]), x[0, 0], x)

    x = np.random.default_rng(0).integers(0, 2**64 - 1, (LENGTH, 2, 11), np.uint64, endpoint=True)
    for a, b in zip(jax.tree.leaves(natively(every, x)), jax.tree.leaves(jax.jit(every)(x)), strict=True):
        np.testing.assert_array_equal(a, np.asarray(b))


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
    same(natively(call, a, rows), jax.jit(call)(a, rows), 1e-11)


def test_sums_products_and_places():
    """What is more than one loop over elements: also with lengths that are no whole number of vectors."""
    for size in SIZES:
        rng = np.random.default_rng(size)
        matrix, rows = rng.normal(size=(size, size)) / size, rng.normal(size=(LENGTH, size))
        places = rng.integers(0, size, size=3 * size)

        def step(c, row, matrix=matrix, places=places):
            turned = (0.3 * matrix) @ c + jnp.outer(row, c) @ row / 100.0 + matrix.T @ row
            sums = (
                c.max(),
                row.min(),
                (c * row).sum(),
                (row > 1.5).any(),
                (row > -2.5).all(),
                c @ row,
                jnp.stack([row[:3], c[:3], row[2:5]]).sum(0),
            )
            added = c.at[places].add(0.1 * jnp.concatenate([row] * 3)) + jnp.take(row, places)[::3]
            return 0.5 * jnp.tanh(added + turned), (sums, jnp.take(c, places), row.reshape(1, -1)[:, ::-1])

        call = lambda rows, step=step: jax.lax.scan(step, jnp.zeros(rows.shape[1]), rows)  # noqa: E731
        same(natively(call, rows), jax.jit(call)(rows), 1e-12)


def test_largest_and_smallest_of_special_numbers():
    x = table(LEAST_ROW + 2)[:, 0]
    call = lambda x: jax.lax.scan(lambda c, row: (c, (row.max(), row.min(), row.sum())), 0.0, x)  # noqa: E731
    same(natively(call, x), jax.jit(call)(x), 1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_equations_with_pivots(size):
    def call(matrix, rows):
        step = lambda c, row: (0.1 * solve(matrix + jnp.diag(row), row - c), c)  # noqa: E731
        return jax.lax.scan(step, jnp.zeros(size), rows)

    rng = np.random.default_rng(size)
    matrix = rng.normal(size=(size, size)) + 4.0 * np.roll(np.eye(size), 1, axis=0)  # large numbers beside the diagonal
    rows = rng.normal(size=(LENGTH, size))
    same(natively(call, matrix, rows), jax.jit(call)(matrix, rows), 1e-10)


def test_iterations_on_rows():
    """Rows and numbers that change in a while loop; one loop in another; what does not change stands outside."""

    def step(carry, row):
        def inner(v):
            return jax.lax.while_loop(lambda u: u[0] < 3, lambda u: (u[0] + 1, jnp.sin(u[1]) + row[0]), (0, v))[1]

        def body(v):
            count, x, total, seen = v
            x = 0.7 * x - 0.05 * jnp.roll(x, 1) + 0.01 * inner(x) * jnp.sqrt(jnp.abs(row))
            return count + 1, x, total + x.max(), seen | (x > 0.5)

        start = (0, carry + row, 0.0, row > 3.0)
        count, x, total, seen = jax.lax.while_loop(lambda v: (v[0] < 20) & (jnp.abs(v[1]).max() > 0.3), body, start)
        return 0.5 * x + jnp.where(seen, row, 0.1), (count, x, total)

    rows = np.random.default_rng(4).normal(size=(LENGTH, 13))
    call = lambda rows: jax.lax.scan(step, jnp.zeros(13), rows)  # noqa: E731
    same(natively(call, rows), jax.jit(call)(rows), 1e-11)


def test_a_batch_is_one_run_after_another():
    def motion(shared, own):
        step = lambda c, x: ((0.9 * c[0] + jnp.sin(shared * c[1]) * x, c[1] + own * c[0]), c[0])  # noqa: E731
        return jax.lax.scan(step, (jnp.ones(12) * own, jnp.zeros(12)), jnp.linspace(0.0, 1.0, LENGTH))

    shared, own = np.linspace(0.5, 1.5, 12), np.linspace(0.1, 2.0, 5)
    leaves, tree = jax.tree.flatten((shared, own))
    made = compiled._compiled(compiled._batched, motion, leaves, [True] * len(leaves), tree, None)((shared, own))
    same(made, jax.vmap(lambda o: motion(shared, o))(own), 1e-13)


@pytest.mark.parametrize(
    ("integrator", "rate", "counts"),
    [
        (vb.RungeKutta4(), 100.0, (41, 52)),
        pytest.param(vb.Newmark(), 100.0, (41, 52), marks=hidden_steps),
        pytest.param(vb.Newmark(), 12.0, (42, 53), marks=hidden_steps),
    ],
    ids=["Runge-Kutta", "Newmark", "Newmark, large steps"],
)
def test_buildings_of_many_storeys(integrator, rate, counts, monkeypatch, by_rows):
    """The same motion, by a program that is as long for 52 storeys as for 41; large steps need full Newton steps."""
    lines = []
    for storeys in counts:
        law = vb.BoucWen(stiffness=4e3, beta=3.0, gamma=2.0, post_yield_ratio=0.1)
        building = vb.ShearBuilding(masses=np.full(storeys, 1.0), storeys=[law] * storeys, damping=vb.Viscous(4.0))
        quake = vb.synthetic_motion(key=1, duration=150 / rate, rate=rate, pga=4.0)
        quick = vb.simulate(building, quake, integrator=integrator)
        lines.append(by_rows[-1].operations())
    monkeypatch.setattr(compiled, "why_not", lambda: "switched off")
    slow = vb.simulate(building, quake, integrator=integrator)
    assert np.ptp(slow.displacement) > 1e-3
    np.testing.assert_allclose(quick.displacement, slow.displacement, atol=1e-11 * np.ptp(slow.displacement))
    np.testing.assert_allclose(quick.acceleration, slow.acceleration, atol=1e-9 * np.ptp(slow.acceleration))
    assert lines[0] == lines[1]
