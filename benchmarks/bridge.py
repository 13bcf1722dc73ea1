"""Models of OpenSees in and out: how far imported models, exported scripts and their way back are from OpenSees itself.

    python benchmarks/bridge.py                       # all parts: models, condensed, exported, returns, hinges
    python benchmarks/bridge.py --part models

Models, scripts and motions are those of `tests/bridge`. Where OpenSeesPy runs, OpenSees computes them again; elsewhere
its stored answers are taken, and what needs it alive is left out. Motions differ by the share of the largest that is
watched, at the same step.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from scipy.linalg import eigh

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"
sys.path[:0] = [str(HERE.parent / "src"), str(TESTS), str(TESTS / "bridge"), str(HERE)]

import bridge_hinges  # noqa: E402
import exported  # noqa: E402
import exported_structures  # noqa: E402
import opensees_references as references  # noqa: E402
import table  # noqa: E402
from beside import CRACKED  # noqa: E402
from exported_motion import LOOSE, gaps_of  # noqa: E402
from fresh import answer_of  # noqa: E402
from opensees_import import load_opensees  # noqa: E402

import vibrid as vb  # noqa: E402
from vibrid.bridge import opensees_beside  # noqa: E402
from vibrid.bridge.reader import models_of  # noqa: E402
from vibrid.bridge.scripts import record_script  # noqa: E402

PARTS = ("models", "condensed", "exported", "returns", "hinges")
EXACT, AIM, CONDENSED, P_DELTA = 1e-8, 1e-4, 1e-6, 1e-4
HIGHEST = 1e3
"""Frequencies over the first one: above, rounding of ω² by the smallest masses comes near 1e-8."""

LINEAR = {
    "portal.py", "frame_kip.py", "braced.py", "braced_partly.py", "truss_plane.py", "truss_space.py",
    "shear_linear.py", "tuned_mass.py", "consistent.py", "portal.tcl", "arch.tcl", "modal_damping.py",
    "modal_storeys.py",
}  # fmt: skip
"""Native models without a yielding part."""


def live():
    """OpenSeesPy, or None."""
    try:
        return load_opensees()
    except ImportError:
        return None


def theirs(ops, name: str, share: float = 1.0, finer: int = 1) -> dict:
    """What OpenSees answers, again or as it is stored."""
    if ops is None:
        stored = json.loads(references.REFERENCES.read_text())
        return stored[name if share == 1.0 else f"{name}, small"]
    return answer_of("opensees_references", name, share, finer)


def moved(structure, name: str, share: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The watched displacement in m, and the base shear in N or nothing, at every fifth sample."""
    _, _, (node, direction), refine = (references.CASES | references.ELSEWHERE)[name]
    waves = [references.motion(), *([references.motion_across()] if name in references.TWO_COMPONENTS else [])]
    channels = [
        vb.Channel(f"g{axis}", "ground_acceleration", direction=axis) for axis, _ in zip("xy", waves, strict=False)
    ]
    ground = vb.Record(share * np.stack(waves, axis=1), channels, step=references.STEP)
    response = vb.simulate(structure, ground, integrator=vb.Newmark(), substeps=refine)
    place = f"{node}.{'xyz'[direction - 1]}"
    if isinstance(structure, vb.ShearBuilding):
        place = "roof"
    if isinstance(structure, vb.RigidFloorBuilding):
        place = "roof@4.6,4.3.x"  # node 200 of plan_yielding.py
    stands = name in references.STANDS_ON and isinstance(structure, vb.FiberFrame)
    shear = vb.simulation.base_shear(response)[::5] if stands else np.zeros(0)
    return (response.displacement @ structure.row(place))[::5], shear


def gap(ours: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(ours - wanted).max() / np.abs(wanted).max())


def squares(mass, stiffness) -> np.ndarray:
    """ω², 1/s²: also where some degrees of freedom have no mass."""
    inverse = eigh(np.asarray(mass), np.asarray(stiffness), eigvals_only=True)[::-1]
    return 1.0 / inverse[inverse > 1e-14 * inverse[0]]


def frequencies(ops, name: str, structure, answered: dict) -> float | None:
    """The largest difference of a frequency before any load, relative to it, up to `HIGHEST` times the first one."""
    ours = squares(*structure.model(()).initial_matrices()[::2])
    wanted = np.array(answered["eigenvalues"])
    if ops is not None:
        (recording,) = models_of(record_script(references.MODELS / name))
        found = opensees_beside.ask_opensees(recording, references.MODELS, 60.0)
        if isinstance(found, str):
            raise RuntimeError(f"{name}: {found}")
        wanted = squares(found.mass, found.stiffness)
    elif name in CRACKED:
        return None
    count = min(len(ours), len(wanted), 6, int(np.sum(wanted < HIGHEST**2 * wanted[0])))
    return float(np.abs(np.sqrt(ours[:count] / wanted[:count]) - 1.0).max())


def models(ops) -> list[dict]:
    """Every imported model."""
    rows, kinds = [], {"linear": [], "nonlinear": [], "condensed": []}
    for name, (units, metre, _, _) in references.CASES.items():
        found = vb.from_opensees(references.MODELS / name, units=units, opensees="off")
        kind = "condensed" if not found.native else "linear" if name in LINEAR else "nonlinear"
        answered = theirs(ops, name)
        ours, shear = moved(found.structure, name)
        apart = gap(ours, metre * np.array(answered["displacement"]))
        of_waves, note = frequencies(ops, name, found.structure, answered), [kind]
        if len(shear):
            force = vb.bridge.units.parse_units(units).force
            of_shear = gap(shear, force * np.array(answered["base_shear"]))
            note.append(f"base shear {of_shear:.1e}")
            apart = max(apart, of_shear)
        limit = {"linear": EXACT, "nonlinear": AIM, "condensed": CONDENSED}[kind]
        kinds[kind].append(apart)
        said = "" if of_waves is None else f"frequencies {of_waves:.1e}, "
        rows.append({
            "what": f"{name}: {type(found.structure).__name__}", "measured": f"{said}motion {apart:.1e}",
            "target": f"{EXACT:.0e}, {limit:.0e}{' [A]' * (kind == 'nonlinear')}",
            "met": bool((of_waves or 0.0) <= EXACT and apart <= limit), "note": "; ".join(note),
        })  # fmt: skip
    count = sum(map(len, kinds.values()))
    each = "; ".join(f"{len(gaps)} {kind}, {sum(g <= EXACT for g in gaps)} to 1e-8" for kind, gaps in kinds.items())
    rows.insert(0, {"what": "models imported", "measured": str(count), "target": "≥ 20", "met": count >= 20,
                    "note": f"{each}; {sum(n.endswith('.tcl') for n in references.CASES)} in Tcl"})  # fmt: skip
    return rows + ([smooth(ops)] if ops is not None else [])


def smooth(ops) -> dict:
    """BoucWen, whose state OpenSees moves by backward Euler: its answers at two steps, carried on to a step of zero."""
    name = "shear_smooth.py"
    coarse, fine = (np.array(theirs(ops, name, finer=finer)["displacement"]) for finer in (8, 16))
    structure = vb.from_opensees(references.MODELS / name, units="N, m, s", opensees="off").structure
    ours, _ = moved(structure, name)
    return {
        "what": f"{name}: OpenSees at steps of 1/16 and 1/32 ms, carried on to zero",
        "measured": f"motion {gap(ours, 2 * fine - coarse):.1e}", "target": f"{AIM:.0e} [A]",
        "met": gap(ours, 2 * fine - coarse) <= AIM, "note": f"at 1/32 ms itself {gap(ours, fine):.1e}",
    }  # fmt: skip


def condensed(ops) -> list[dict]:
    """Models that were made matrices, in their linear range; springs that stay laws beside them, wherever they go."""
    rows = []
    for name, share in (*references.FROZEN.items(), ("isolated.py", 1.0), ("wall.py", 1.0)):
        units, metre, _, _ = (references.CASES | references.ELSEWHERE)[name]
        way = {"tangent": "rest"} if name == "wall.py" else {"condense": True, "opensees": "off"}
        if name == "wall.py" and ops is None:
            continue
        structure = vb.from_opensees(references.MODELS / name, units=units, **way).structure
        ours, _ = moved(structure, name, share)
        apart = gap(ours, metre * np.array(theirs(ops, name, share)["displacement"]))
        frozen = "--tangent rest" if name == "wall.py" else f"{len(structure.attachments)} springs stay laws"
        rows.append({"what": f"{name}, condensed, {share:g} of the motion", "measured": f"motion {apart:.1e}",
                     "target": f"{CONDENSED:.0e}", "met": apart <= CONDENSED, "note": frozen})  # fmt: skip
    return rows + ([passed_on()] if ops is not None else [])


def passed_on() -> dict:
    """The recorded commands of every model, passed on to OpenSees: its matrices beside those assembled here."""
    gaps = {}
    for name, (units, *_) in references.CASES.items():
        notes = vb.from_opensees(references.MODELS / name, units=units, opensees="need").notes
        said = next(note for note in notes if "makes the same mass" in note)
        gaps[name] = float(said.rpartition("to ")[2])
    return {"what": "M, C and K of all models, commands passed on", "measured": f"{max(gaps.values()):.0e}",
            "target": "1e-08", "met": max(gaps.values()) <= EXACT, "note": f"{len(gaps)} models"}  # fmt: skip


def scripts(ops) -> list[dict]:
    """Scripts as they are written, run in OpenSees: every recorded motion."""
    stored, rows = json.loads(exported.RESULTS.read_text()), []
    for name, make in exported_structures.STRUCTURES.items():
        answered = stored[name]
        if ops is not None:
            answered = answer_of("exported", name)
        of_waves, apart = gaps_of(make(), name, answered)
        limit = LOOSE.get(name, EXACT)
        said = "" if of_waves is None else f"frequencies {of_waves:.1e}, "
        rows.append({"what": f"exported/{name}", "measured": f"{said}motion {apart:.1e}", "target": f"{limit:.0e}",
                     "met": bool((of_waves or 0.0) <= EXACT and apart <= limit), "note": ""})  # fmt: skip
    return rows


def returns(ops) -> list[dict]:
    """Structures written and read again: the numbers of both."""
    same, others, most, count, by_matrices, not_read = [], [], 0.0, 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name, make in exported_structures.STRUCTURES.items():
            first = make()
            for ending in ("py", "tcl"):
                path = vb.to_opensees(first, Path(folder) / f"x.{ending}")
                try:
                    second = vb.from_opensees(path, units="N, m, s", opensees="off").structure
                except vb.InputError as reason:
                    not_read.append(f"{name[:-3]}.{ending}: {reason}")
                    continue
                pairs, whole = numbers_of(first, second)
                by_matrices += not whole
                apart = max(difference(a, b) for a, b in pairs)
                most, count = max(most, apart), count + 1
                (same if apart == 0.0 else others).append(f"{name[:-3]}.{ending}")
    note = f"{len(same)} of {count} to the last bit"
    note += f"; the others: {', '.join(others)}" if others else ""
    note += f"; {by_matrices} are described otherwise and compared by M, C, K and laws" if by_matrices else ""
    note += f"; refused in a sentence: {' '.join(not_read)}" if not_read else ""
    return [{"what": "written and read again: numbers of the structure", "measured": f"{most:.1e}",
             "target": "exact (a bit: 2e-16)", "met": most <= 4.5e-16, "note": note}]  # fmt: skip


def numbers_of(first, second) -> tuple[list[tuple], bool]:
    """Pairs of numbers of two structures, and whether they are all; else M, C, K, and numbers of the laws by size."""
    ours, theirs = jax.tree.leaves(first), jax.tree.leaves(second)
    if jax.tree.structure(first) == jax.tree.structure(second) or (
        len(ours) == len(theirs) and [np.shape(a) for a in ours] == [np.shape(b) for b in theirs]
    ):
        return list(zip(ours, theirs, strict=True)), True
    pairs = list(zip(*(s.model(()).initial_matrices() for s in (first, second)), strict=True))
    ours, theirs = (np.sort([float(x) for x in jax.tree.leaves(s.laws()) if np.ndim(x) == 0]) for s in (first, second))
    return pairs + ([(ours, theirs)] if len(ours) == len(theirs) else []), False


def difference(first, second) -> float:
    """Of two arrays, relative to each number; of a matrix, to its largest."""
    a, b = (np.asarray(jax.numpy.asarray(v), float) for v in (first, second))
    if a.shape != b.shape:
        a, b = np.broadcast_arrays(a, b)
    unequal = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    size = np.abs(a).max() if a.ndim == 2 else np.abs(a)
    return float((np.abs(a - b) / size)[unequal].max()) if unequal.any() else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, help="one part alone; results of the others stay")
    parser.add_argument("--buildings", type=int, default=30, help="of hinges, drawn")
    given = parser.parse_args()
    ops, rows = live(), []
    runs = {"models": models, "condensed": condensed, "exported": scripts, "returns": returns,
            "hinges": lambda ops: bridge_hinges.rows(ops, given.buildings)}  # fmt: skip
    for part in PARTS if given.part is None else (given.part,):
        with contextlib.redirect_stdout(sys.stderr):
            made = [row | {"part": part} for row in runs[part](ops)]
        rows += made
        for row in made:
            print(row["what"], "|", row["measured"], "|", row["target"], "|", row["met"], "|", row["note"], flush=True)
    known = HERE / "results" / "bridge.json"
    if given.part is not None and known.exists():
        rows += [row for row in json.loads(known.read_text())["rows"] if row["part"] != given.part]
    rows.sort(key=lambda row: PARTS.index(row["part"]))
    machine = f"{platform.machine()}, {'OpenSeesPy ' + ops.version() if ops else 'stored answers of OpenSees'}"
    table.save("bridge", "Models of OpenSees, in and out", "python benchmarks/bridge.py", machine, rows)


if __name__ == "__main__":
    main()
