"""`from_opensees`: the structure that an OpenSees script describes."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from vibrid.bridge.scripts import SECONDS, record_script
from vibrid.core.arguments import checked
from vibrid.core.errors import InputError

_IGNORED = "or say that it may be ignored (p_delta='ignore', --p-delta ignore)"

if TYPE_CHECKING:
    from vibrid.bridge.comparison import Compared
    from vibrid.structures import Structure


@dataclass(frozen=True, eq=False)
class Imported:
    """A structure from a script, and all that should be known about how it came about.

    Fields
        structure: in SI units.
        native: whether every part has a counterpart with parameters; otherwise the structure is matrices of numbers.
        became: what elements and nodes of the script became: {"element 3": "modulus[2]"}.
        notes: what was frozen, ignored, or answered without an analysis.
        compared: masses, stiffness, damping and periods of the script and of the structure.
    """

    structure: Structure
    native: bool
    became: dict[str, str]
    notes: tuple[str, ...]
    compared: tuple[Compared, ...]

    def __repr__(self) -> str:
        kind = "native" if self.native else "condensed to matrices"
        lines = [f"{type(self.structure).__name__} ({kind})"]
        lines += [f"{r.what:<28} {r.script:12.6g} {r.structure:12.6g} {r.unit:<6} {r.gap:.0e}" for r in self.compared]
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])


@checked
def from_opensees(
    path: str | PathLike[str],
    units: str,
    *,
    condense: bool = False,
    p_delta: str = "refuse",
    model: int | None = None,
    seconds: float = SECONDS,
    allow_writing: bool = False,
    opensees: str = "auto",
    tangent: str | None = None,
) -> Imported:
    """The structure that an OpenSees script (.py or .tcl) describes. The script is code, and it is run.

    It runs in a process of its own against a stand-in for OpenSees that writes its commands down; OpenSees itself is
    not needed. Where OpenSeesPy runs, the commands are passed on to it, and mass, stiffness and damping compared. The
    structure is native where every part has a counterpart in vibrid; a linear model that has none is condensed to
    matrices. Masses, stiffness, damping and periods are assembled from the commands separately and compared before the
    structure is returned.

    Arguments
        path: the script.
        units: of force, length and time in the script, as "kN, m, s".
        condense: make matrices in any case; springs between places with mass stay laws, other nonlinear parts keep
            their first slope and are listed in the notes.
        p_delta: PDelta is taken over in plane frames. "refuse" it elsewhere, and large displacements, or "ignore" both:
            all transformations become linear.
        model: which of several models of one script, from 1; models are separated by `wipe`.
        seconds: after which a script is stopped.
        allow_writing: whether the script may write files and start programs.
        opensees: "auto" compares with OpenSees where it can be imported; "need" refuses where it cannot; "off" never.
        tangent: matrices as OpenSees itself makes them, which needs OpenSeesPy: "rest", before any load, or "loaded",
            under the loads that the script analyses and holds. Elements and materials may be any of OpenSees.

    Example
        >>> imported = from_opensees("portal.py", units="N, m, s")
        >>> modes(imported.structure)
    """
    from vibrid.bridge.assembly import assemble_model
    from vibrid.bridge.comparison import compare_with_script, implausible
    from vibrid.bridge.condensed import condense as condensed
    from vibrid.bridge.condensed import frozen_parts
    from vibrid.bridge.hinges import differences
    from vibrid.bridge.native import NoCounterpart
    from vibrid.bridge.opensees_beside import compare_with_opensees
    from vibrid.bridge.reader import describe_commands, models_of
    from vibrid.bridge.tangent import tangent_matrices
    from vibrid.bridge.translation import translate
    from vibrid.bridge.units import parse_units

    if opensees not in ("auto", "need", "off"):
        raise InputError(f"opensees is 'auto', 'need' or 'off', not '{opensees}'.")
    if tangent not in (None, "rest", "loaded"):
        raise InputError(f"tangent is 'rest' or 'loaded', not '{tangent}'.")
    if tangent and opensees == "off":
        raise InputError("The matrices of tangent come from OpenSees, so opensees cannot be 'off'.")
    if p_delta not in ("refuse", "ignore"):
        raise InputError(f"p_delta is 'refuse' or 'ignore', not '{p_delta}'.")
    parsed = parse_units(units)
    models = models_of(record_script(path, seconds, allow_writing))
    if not models:
        raise InputError(f"{path}: the script makes no model: it has no nodes.")
    if model is None and len(models) > 1:
        raise InputError(f"{path}: the script makes {len(models)} models, with wipe between them; say which (model=1).")
    if model is not None and not 1 <= model <= len(models):
        raise InputError(f"{path}: there is no model {model}; the script makes {len(models)}.")
    recording, folder = models[(model or 1) - 1], Path(path).resolve().parent
    script = describe_commands(recording, foreign=tangent is not None)
    if tangent:
        made, compared = tangent_matrices(recording, script, folder, parsed, tangent, seconds)
        said = [*script.notes, *made.notes, *implausible(compared, made.structure, script, parsed)]
        return Imported(made.structure, False, {}, tuple(said), tuple(compared))
    notes = []
    if p_delta == "ignore":
        notes = [f"{t.title} is taken as Linear" for t in script.curved]
        script.straighten()
    curved = script.curved
    large = [t for t in curved if t.kind != "PDelta"]
    if large:
        raise InputError(
            f"{large[0].title} has large displacements, which are not computed here; use PDelta or Linear, {_IGNORED}."
        )
    if curved and condense:
        raise InputError(f"{curved[0].title} has P-Δ, which matrices have not; use Linear, {_IGNORED}.")
    assembled = assemble_model(script)
    assembled.condensed()  # refuses what neither mass nor stiffness holds
    notes += compare_with_opensees(recording, script, assembled, folder, seconds, opensees)
    native = not condense
    if native:
        try:
            made = translate(script, assembled, parsed)
        except NoCounterpart as reason:
            if curved:
                raise InputError(
                    f"{reason} It must be native, as {curved[0].title} has P-Δ; use Linear, {_IGNORED}."
                ) from None
            frozen = frozen_parts(script, assembled)
            if frozen:
                raise InputError(
                    f"{reason} The model is not linear either ({frozen[0].partition(' keeps')[0]}), so it becomes "
                    "matrices only if you allow its first slopes (condense=True, --condense)."
                ) from None
            native = False
            made = condensed(script, assembled, parsed)
            notes.append(f"condensed to matrices: {str(reason).rstrip('.')}")
    else:
        made = condensed(script, assembled, parsed)
    compared = compare_with_script(made.structure, script, assembled, parsed, made.places)
    answered = () if not frozen_parts(script, assembled) and not curved else tuple(
        f"{text}; where parts are nonlinear OpenSees answers from the state at that line" for text in _answers(script)
    )  # fmt: skip
    notes += [note for note in script.notes if "eigen was answered" not in note] + list(answered) + made.notes
    twice = [
        e.definition
        for e in script.elements.values()
        if e.definition.kind == "elasticBeamColumn" and getattr(e, "mass", 0.0)
    ]
    if twice:
        notes.append(
            f"{twice[0].title} has a mass, whose inertia OpenSees 3.7.1 applies twice under UniformExcitation; here it "
            "acts once"
        )
    notes += differences(script) if made.structure.laws() else []
    notes += _loads(script, parsed, made.structure) + implausible(compared, made.structure, script, parsed)
    return Imported(made.structure, native, made.became, tuple(notes), tuple(compared))


def _answers(script) -> list[str]:
    return [note for note in script.notes if "eigen was answered" in note]


def _loads(script, units, structure) -> list[str]:
    """What became of loads that are no part of the structure."""
    said = []
    held = {load.pattern for load in script.permanent}
    for tag, pattern in script.patterns.items():
        own = [load for load in script.loads if load.pattern == tag]
        if own and tag not in held:
            said.append(
                f"{pattern.where}: the {len(own)} loads of pattern {tag} are no permanent ones; give them as a record"
            )
    if script.permanent and not getattr(structure, "is_loaded", False):
        total = sum(load.values[1] for load in script.permanent if not load.along and len(load.values) > 1)
        said.append(
            f"{len(script.permanent)} permanent loads (vertical sum at nodes {total * units.force:.6g} N) do not "
            "change a linear structure: displacements count from the state under them"
        )
    return said
