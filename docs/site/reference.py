"""The reference: pages made from registries, docstrings, declared parameters and commands.

Nothing is written by hand here: a law, method, reader or command that is added appears with the next build. The
loops of the laws are drawn by `loops.py` from the examples that the conformance tests use.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import docstrings
from pages import DOCS, ROOT, Part
from running import Failed

LAW_EXAMPLES = ROOT / "tests" / "laws" / "examples.py"
JOB = "reference"


def jobs() -> dict[str, list[Part]]:
    """Drawing the pictures is one page to run."""
    here = Path(__file__).resolve().parent
    code = (here / "loops.py").read_text(encoding="utf-8")
    read = f"LAW_EXAMPLES, EXAMPLES = {str(LAW_EXAMPLES)!r}, 'examples/'  # {_hash(LAW_EXAMPLES)}\n"
    return {JOB: [Part("run", read + code, 1, "python")]}


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def write(stage, given: dict) -> dict[str, str]:
    """Write all pages; gives {title: page} for the menu. Without pictures where they were not drawn."""
    from vibrid import extend

    pictures = given.get(JOB, {}).get("folder")
    drawn = {p.stem: p for p in Path(pictures).glob("*.png")} if pictures else {}
    for path in drawn.values():
        stage._copy(path, f"reference/pictures/{path.name}")
    pages = {
        "Laws": ("laws", "".join(laws(drawn))),
        "Structures": ("structures", "".join(structures(extend.STRUCTURES, drawn))),
        "Damping": ("damping", "".join(plain(extend.DAMPINGS))),
        "Integrators": ("integrators", "".join(integrators())),
        "Methods": ("methods", "".join(methods())),
        "Readers": ("readers", "".join(readers())),
        "Devices": ("devices", "".join(plain(extend.SPECIMENS))),
        "Actuators": ("actuators", "".join(plain(extend.DYNAMICS)) + "".join(plain(extend.COMPENSATORS))),
        "Distributions": ("distributions", "".join(plain(extend.DISTRIBUTIONS))),
        "Commands": ("commands", "".join(commands())),
        "Python names": ("python", "".join(python_names())),
    }
    intro = ["# Reference", "", "Made from the package itself, by name. `help(…)` shows the same in Python.", ""]
    for title, (name, text) in pages.items():
        stage.write(f"reference/{name}.md", f"# {title}\n\n{text}")
        count = len(re.findall(r"^## ", text, re.MULTILINE))
        intro.append(f"- [{title}]({name}.md): {count} entries")
    stage.write("reference/index.md", "\n".join(intro) + "\n")
    return {"Contents": "reference/index.md"} | {t: f"reference/{name}.md" for t, (name, _) in pages.items()}


# -- one page each ---------------------------------------------------------------------------------------------------


def _entry(name: str, cls: type, *, shown: str = "", skip: tuple[str, ...] = ()) -> str:
    public = f"{cls.__module__.split('.')[0]}.{cls.__name__}"
    made = [f"\n## {name}\n", shown, docstrings.body(cls.__doc__, without=skip)]
    made.append("\n".join(docstrings.parameter_rows(cls)))
    call = docstrings.signature(cls)
    made.append(f"```python\n{cls.__name__}{call}\n```" if call else f"`{public}`")
    return "\n\n".join(m for m in made if m) + "\n"


def laws(drawn: dict[str, Path]) -> Iterator[str]:
    """Every law: equation and use from the table of docs/laws.md, parameters from their declarations, its loop."""
    from vibrid.extend import LAWS

    table = law_table()
    for name, cls in LAWS.items():
        if name not in table:
            raise Failed(f"The law '{name}' is not in the table of docs/laws.md.")
        equation, _, use = table[name]
        picture = (
            f"![Loop of {name}: force over deformation](pictures/law-{name}.png)\n\n" if f"law-{name}" in drawn else ""
        )
        shown = (
            f"{picture}**Equation**: {equation}\n\n**Use**: {use}\n\n**Abilities**: {'; '.join(law_abilities(cls))}."
        )
        yield _entry(name, cls, shown=shown, skip=("Parameters",))


def law_table() -> dict[str, list[str]]:
    """{name: [equation, parameters, use]} of the table in docs/laws.md."""
    found: dict[str, list[str]] = {}
    for line in (DOCS / "laws.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip("|"))]
            if len(cells) != 4:  # another table
                continue
            for name in re.findall(r"`([\w-]+)`", cells[0]):
                found[name] = [re.sub(r"\]\((\w)", r"](../\1", c) for c in cells[1:]]
    return found


CORNERS = {"none": "none", "turns": "where the motion turns", "within": "also between turns"}


def law_abilities(cls: type) -> list[str]:
    """What a law is for integrators and methods, from its class."""
    from vibrid.laws import RateLaw, StaticLaw
    from vibrid.laws.material import Material

    if issubclass(cls, StaticLaw):
        kind = "no state: every integrator and every method"
    elif issubclass(cls, RateLaw):
        kind = "a state with a rate: every integrator" + (" that is implicit (stiff)" if cls.is_stiff else "")
    else:
        kind = "a path law: Newmark, central difference and the α methods, not Runge–Kutta"
    words = [kind, "gradients with respect to all parameters"]
    if not cls.is_averageable:
        words.append("not for Kalman filters (its memory cannot be averaged)")
    words.append(f"[corners](../laws.md#laws-with-corners): {CORNERS.get(cls.corners, 'those of its base')}")
    if issubclass(cls, Material):
        words.append("stress over strain, for fibres of a section")
    return words


def structures(registry, drawn: dict[str, Path]) -> Iterator[str]:
    for name, cls in registry.items():
        there = f"structure-{name}"
        picture = f"![A {name}](pictures/{there}.png)" if there in drawn else ""
        yield _entry(name, cls, shown=picture, skip=("Parameters",))


def integrators() -> Iterator[str]:
    from vibrid.extend import INTEGRATORS

    table = (DOCS / "simulation.md").read_text(encoding="utf-8")
    for name, cls in INTEGRATORS.items():
        row = re.search(rf"^\| `{cls.__name__}\(.*$", table, re.MULTILINE)
        cells = [c.strip() for c in row[0].strip("|").split("|")] if row else []
        words = (
            f"**Order** (linear / nonlinear / changing damping): {cells[1]}. **Stable**: {cells[2]}." if cells else ""
        )
        yield _entry(name, cls, shown=words)


def theory() -> dict[str, str]:
    """{class: heading} of the sections of docs/theory.md that are named after methods."""
    headings = re.findall(r"^### (`.+)$", (DOCS / "theory.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {name: heading for heading in headings for name in re.findall(r"`(\w+)`", heading)}


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def methods() -> Iterator[str]:
    """Every method with its theory, and what it can and cannot solve."""
    from vibrid.extend import METHODS, NEEDS

    explained = theory()
    for name, cls in METHODS.items():
        can = [f"- yes: {why}" for need, why in NEEDS.items() if need in cls.abilities]
        cannot = [f"- no: {why}" for need, why in NEEDS.items() if need not in cls.abilities]
        runs = "sample by sample too" if cls.online else "on whole records"
        certain = "with uncertainty" if cls.uncertainty else "without uncertainty"
        shown = f"Runs {runs}; answers {certain}."
        kin = next((c.__name__ for c in cls.__mro__ if c.__name__ in explained), None)
        if kin:
            shown += f" [What it minimises or follows, with references](../theory.md#{_anchor(explained[kin])})."
        elif not cls.__module__.startswith("vibrid.papers."):
            raise Failed(f"The method '{name}' has no section in docs/theory.md.")
        yield _entry(name, cls, shown=shown) + "\n**It solves problems where**\n\n" + "\n".join(can + cannot) + "\n"


def readers() -> Iterator[str]:
    from vibrid.extend import READERS

    table = (DOCS / "records.md").read_text(encoding="utf-8")
    for name, cls in READERS.items():
        row = re.search(
            rf"^\| {re.escape(name)}(?: archive)? \| (.*?) \| ?(.*?) ?\|$", table, re.MULTILINE | re.IGNORECASE
        )
        shown = f"**Read**: {row[1]}." + (f"\n\n**Not in the file**: {row[2]}." if row[2] else "") if row else ""
        shown = re.sub(r"\]\(#", "](../records.md#", shown)
        yield f"\n## {name}\n\n{docstrings.body(cls.__doc__)}\n\n{shown}\n"


def plain(registry) -> Iterator[str]:
    for name, cls in registry.items():
        yield _entry(name, cls, skip=("Parameters",))


def python_names() -> Iterator[str]:
    """The names of `import vibrid as vb`."""
    import vibrid

    for name in sorted(vibrid.__all__, key=str.lower):
        thing = getattr(vibrid, name)
        call = docstrings.signature(thing)
        yield f"\n## vb.{name}\n\n```python\nvb.{name}{call}\n```\n\n{docstrings.body(thing.__doc__)}\n"


def commands() -> Iterator[str]:
    """Every command with its arguments and options, as `--help` has them."""
    from vibrid.commands.by_name import COMMANDS, loaded

    for name in sorted(COMMANDS):
        yield from _command(f"vibrid {name}", loaded(name))


def _command(name: str, command) -> Iterator[str]:
    inner = getattr(command, "commands", None)
    if inner:
        for word in sorted(inner):
            if not inner[word].hidden:
                yield from _command(f"{name} {word}", inner[word])
        return
    rows = []
    for option in command.params:
        if getattr(option, "hidden", False) or option.name == "help":
            continue
        named = option.opts[0].startswith("-")
        words = ", ".join([*option.opts, *option.secondary_opts]) if named else option.metavar or option.name
        meaning = docstrings.plain(" ".join((option.help or "").split()).replace("|", "\\|"))
        default = (
            f"`{option.default}`"
            if isinstance(option.default, str | int | float | Path) and option.default not in (False, "")
            else ""
        )
        rows.append(f"| `{words}` | {meaning}{' (required)' if option.required else ''} | {default} |")
    table = "\n".join(["| argument or option | meaning | default |", "|---|---|---|", *rows]) if rows else ""
    text, _, example = (command.help or "").replace("\b", "").partition("Example: ")
    example = f"```text\n{example.strip()}\n```" if example.strip() else ""
    yield f"\n## {name}\n\n{docstrings.body(text)}\n\n{example}\n\n{table}\n"
