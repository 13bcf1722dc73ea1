"""The structures that `vibrid init` can describe from a few answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vibrid.commands.asking import answer, positive_number, quantity, whole_number
from vibrid.commands.init_text import Shape, as_text, text_list
from vibrid.commands.trust import at_terminal
from vibrid.core.errors import InputError, unknown_name

EXAMPLES = {
    "frame": "examples/frame.toml",
    "fiber-frame": "examples/fiber-frame.toml",
    "truss": "examples/truss.toml",
    "matrices": "examples/matrices.toml",
    "device": "examples/device.toml",
    "column-test": "examples/column-test.toml",
}
"""Kinds that need more than a few answers, and a project file to begin with."""


@dataclass(frozen=True)
class Given:
    """What the options say about the structure; None where they are silent."""

    storeys: int | None = None
    mass: str | None = None
    stiffness: str | None = None
    frequency: float | None = None
    damping: float = 0.02
    length: str | None = None
    elements: int = 10


def shape_of(kind: str | None, given: Given) -> Shape:
    """The structure of a kind, asking for what the options do not say."""
    if kind is None and not at_terminal():
        kind = "beam" if given.length is not None else "shear-building"
    chosen = answer(kind, "--structure", f"Kind of structure ({', '.join(SHAPES)})", "shear-building", _known)
    foreign = [name for name in _FOREIGN[chosen] if getattr(given, name) is not None]
    if foreign:
        raise InputError(f"--{foreign[0]} does not belong to a {chosen}.")
    return SHAPES[chosen](given)


def _known(kind: str) -> str:
    if kind in EXAMPLES:
        raise InputError(f"A project for a {kind} needs its geometry; begin with a copy of {EXAMPLES[kind]}.")
    if kind not in SHAPES:
        raise unknown_name("kind of structure", kind, [*SHAPES, *EXAMPLES])
    return kind


def _building(given: Given) -> Shape:
    count = answer(given.storeys, "--storeys", "Number of storeys", None, whole_number("number of storeys", 1, 200))
    words = "Mass of a floor, with its unit, as 20 t (or of each, by commas)"
    masses = answer(given.mass, "--mass", words, None, lambda text: _each(text, "--mass", "kg", count))
    return Shape(
        [
            'kind = "shear-building"',
            f"masses = {text_list(masses)}  # of the floors, lowest first",
            _damping(given),
            *_storeys(_storey_guess(given, masses, count)),
        ],
        'floors are numbered from 0, the lowest; the top is "roof"',
        '"storeys[*].stiffness"  # [*]: of every storey',
        f"0 to {count - 1}, roof",
        lambda text: _floor(text, count),
        "roof",
    )


def _each(text: str, option: str, unit: str, count: int) -> list[str]:
    """One text with a number and a unit for every floor, checked."""
    parts = [quantity(option, unit)(part.strip()) for part in text.split(",")]
    if len(parts) not in (1, count):
        raise InputError(f"{option} has {len(parts)} values for {count} storeys; give one, or one for each.")
    return parts * count if len(parts) == 1 else parts


def _storey_guess(given: Given, masses: list[str], count: int) -> list[str]:
    """First guesses of the stiffnesses, from the caller or from the first frequency of equal storeys."""
    from vibrid.project.quantities import in_si

    if given.stiffness is not None:
        return _each(given.stiffness, "--stiffness", "N/m", count)
    hertz = _first_frequency(given, "the stiffness of a storey", f"{10 / count:.3g}")
    mean = sum(in_si(mass, "kg") for mass in masses) / count
    lowest = 2 * math.sin(math.pi / (2 * (2 * count + 1)))  # of n equal storeys: ω₁ = lowest √(k/m)
    return [_readable(mean * (2 * math.pi * hertz / lowest) ** 2)] * count


def _first_frequency(given: Given, other: str, usual: str | None) -> float:
    words = f"First natural frequency in Hz, roughly (or {other} with --stiffness)"
    return answer(given.frequency, "--frequency", words, usual, positive_number("first natural frequency in Hz"))


def _readable(stiffness: float) -> str:
    """A stiffness in N/m with three digits, in a unit in which it is no large number; results have the same unit."""
    factor, unit = next(((f, u) for f, u in ((1e6, "MN/m"), (1e3, "kN/m")) if stiffness >= f), (1.0, "N/m"))
    return f"{stiffness / factor:.3g} {unit}"


def _storeys(stiffnesses: Sequence[str]) -> list[str]:
    comment = "  # first guess; other laws are in docs/laws.md"
    if len(set(stiffnesses)) == 1:
        count = f"count = {len(stiffnesses)}, "
        return [f'storeys = {{law = "linear", {count}stiffness = {as_text(stiffnesses[0])}}}{comment}']
    lines = ["storeys = [" + comment]
    return [*lines, *(f'  {{law = "linear", stiffness = {as_text(k)}}},' for k in stiffnesses), "]"]


def _floor(text: str, count: int) -> str:
    place = text.strip().lower()
    if place != "roof" and not (place.isdigit() and int(place) < count):
        raise InputError(f"--sensor: places are floors 0 to {count - 1} and roof, not '{place}'.")
    return place


def _beam(given: Given) -> Shape:
    """A cantilever of one section: a mast, a chimney, a tower; EI is to be found."""
    from vibrid.project.quantities import in_si

    words = "Length of the cantilever, with its unit, as 12 m"
    length = in_si(answer(given.length, "--length", words, None, quantity("--length", "m")), "m")
    words = "Mass per length, with its unit, as 300 kg/m"
    mass = in_si(answer(given.mass, "--mass", words, None, quantity("--mass", "kg/m")), "kg/m")
    count = whole_number("number of elements", 1, 200)(str(given.elements))
    if given.stiffness is not None:
        bending = in_si(quantity("--stiffness", "N*m^2")(given.stiffness), "N*m^2")
    else:
        hertz = _first_frequency(given, "the bending stiffness EI", None)
        bending = mass * length**4 * (2 * math.pi * hertz / 1.8751041**2) ** 2
    nodes = ", ".join(f"{length * node / count:.6g}" for node in range(count + 1))
    return Shape(
        [
            'kind = "beam"',
            f"positions = [{nodes}]  # m, nodes along the axis",
            "area = 1.0       # m^2: with 1, `density` is the mass per length",
            f"density = {mass:.6g}  # kg/m",
            "inertia = 1.0    # m^4: with 1, `modulus` is the bending stiffness EI",
            f"modulus = {bending:.3g}  # N m^2: first guess; a list of one for each element is possible",
            'supports = {0 = "fixed"}',
            "axial = false    # nodes move sideways only",
            _damping(given),
        ],
        'nodes are numbered from 0, the support; the last is "tip"; "x=2.5" is 2.5 m from the support',
        '"modulus"  # EI, see above',
        f"1 to {count}, tip, or x=2.5 for 2.5 m from the support",
        lambda text: _along(text, count, length),
        "tip",
    )


def _along(text: str, count: int, length: float) -> str:
    place = text.strip().lower().replace(" ", "")
    if place == "tip" or (place.isdigit() and 1 <= int(place) <= count):
        return place
    try:
        inside = place.startswith("x=") and 0 < float(place[2:]) <= length
    except ValueError:
        inside = False
    if not inside:
        raise InputError(
            f"--sensor: places are nodes 1 to {count}, tip, and x=… up to {length:g} m from the support, not '{place}'."
        )
    return place


def _damping(given: Given) -> str:
    return f'damping = {{kind = "modal", ratios = {given.damping:g}}}  # of every mode: a first guess'


SHAPES: dict[str, Callable[[Given], Shape]] = {"shear-building": _building, "beam": _beam}
_FOREIGN = {"shear-building": ("length",), "beam": ("storeys",)}
