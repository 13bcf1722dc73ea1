"""Low-cycle fatigue: damage against a rainflow count of the whole path, and the life at one amplitude."""

import dataclasses
import json
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import opensees_fatigue
import pytest

import vibrid as vb
from vibrid.conformance.law import walk
from vibrid.laws.fatigue import CAPACITY, life
from vibrid.records.cycles import LoadCycle

LAW = vb.laws.GiuffreMenegottoPintoFatigue(40.0, 2.0, fatigue_deformation=0.6, fatigue_exponent=0.5)
PLAIN = vb.laws.GiuffreMenegottoPinto(40.0, 2.0)


def rainflow(path: np.ndarray) -> list[tuple[float, float]]:
    """(range, number) of the cycles of a whole path: four points, and what is left over as half cycles."""
    turns = [
        path[0],
        *(b for a, b, c in zip(path, path[1:], path[2:], strict=False) if (b - a) * (c - b) < 0),
        path[-1],
    ]
    found, i = [], 0
    while i + 3 < len(turns):
        one, two, three, four = turns[i : i + 4]
        if abs(three - two) <= min(abs(two - one), abs(four - three)):
            found.append((abs(three - two), 1.0))
            del turns[i + 1 : i + 3]
            i = max(i - 2, 0)
        else:
            i += 1
    return found + [(abs(b - a), 0.5) for a, b in pairwise(turns)]


def walked(law, stops, points=1):
    e = np.interp(np.arange((len(stops) - 1) * points + 1) / points, np.arange(len(stops)), stops)
    forces, states = walk(law, jnp.asarray(e), jnp.zeros(e.shape), 1.0)
    return e, np.asarray(forces), states


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("points", [1, 7])
def test_damage_is_that_of_a_rainflow_count(seed, points):
    random = np.random.default_rng(seed)
    stops = np.append(0.0, 0.1 * random.standard_normal(60) * np.hanning(62)[1:-1])
    e, _, states = walked(LAW, stops, points)
    expected = sum(number * (0.5 * span / 0.6) ** 2.0 for span, number in rainflow(e))
    assert float(jax.vmap(LAW.damage)(states)[-1]) == pytest.approx(expected, rel=1e-9)


def test_cycles_of_one_amplitude_break_it_after_its_life():
    amplitude = 0.06
    life = (amplitude / 0.6) ** (-1.0 / 0.5)  # 100 cycles
    stops = np.append(0.0, np.tile([amplitude, -amplitude], 110))
    e, forces, states = walked(LAW, stops, 4)
    damage = np.asarray(jax.vmap(LAW.damage)(states))
    assert np.all(np.diff(damage) >= -1e-15)
    broken = int(np.argmax(damage >= 1.0))
    assert broken / 8 == pytest.approx(life, abs=0.5)  # eight samples a cycle
    unbroken = np.asarray(walk(PLAIN, jnp.asarray(e), jnp.zeros(e.shape), 1.0)[0])
    early = damage <= 0.9
    np.testing.assert_allclose(forces[early], unbroken[early])
    assert not forces[broken:].any()
    falling = (damage > 0.9) & (damage < 1.0)
    np.testing.assert_allclose(forces[falling], (unbroken * (1 - damage) / 0.1)[falling], rtol=1e-9)


@pytest.mark.parametrize("e0", ["0.6", "0.8", "1.0", "1.2"])
def test_opensees_breaks_within_five_half_cycles_after(e0):
    """Its E0 is a range, and it counts ranges that are still open in part."""
    theirs = json.loads(Path(__file__).with_name("opensees_fatigue.json").read_text())[e0]
    law = vb.laws.GiuffreMenegottoPintoFatigue(40.0, 2.0, fatigue_deformation=0.5 * float(e0), fatigue_exponent=0.5)
    e = jnp.asarray(opensees_fatigue.path())
    damage = np.append(0.0, jax.vmap(law.damage)(walk(law, e, jnp.zeros(e.shape), 1.0)[1]))
    ours = int(np.argmax(damage >= 1.0))
    assert 0 <= theirs - ours <= 5 * opensees_fatigue.POINTS


def test_a_path_with_too_many_open_cycles_is_told():
    stops = np.append(0.0, 0.2 * 0.97 ** np.arange(40) * (-1.0) ** np.arange(40))
    _, _, states = walked(LAW, stops)
    told = np.asarray(jax.vmap(LAW.overflowed)(states))
    assert told[-1] and not told[: CAPACITY - 4].any()


def test_a_first_guess_from_the_cycle_in_which_it_broke():
    """Two cycles at each of six amplitudes, the force gone for both turns of the last one, for the second, for none."""
    sizes, power = np.repeat(0.01 * 1.4 ** np.arange(6), 2), 2.0
    cycles = [LoadCycle(a, -a, 1e5, -1e5, 1e5 / a, 0.0, 0, 0) for a in sizes]
    before, last = np.sum(sizes[:-1] ** power), sizes[-1] ** power
    for slope, share in ((0.0, 0.25), (0.5e5 / sizes[-1], 0.75)):
        broken = [*cycles[:-1], dataclasses.replace(cycles[-1], stiffness=slope)]
        assert life(broken, power) == pytest.approx(np.sqrt(before + share * last))
        trailing = LoadCycle(0.005, -0.005, 2e4, -2e4, 4e6, 0.0, 0, 0)  # a small cycle has a small force: nothing broke
        assert life([*cycles[:4], trailing, *broken[4:]], power) == pytest.approx(
            np.sqrt(before + share * last + 0.005**power)
        )
    assert life(cycles, power) == pytest.approx(np.sqrt(2.0 * (before + last)))
