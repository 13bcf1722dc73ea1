"""The rooms of the package: each imports only rooms above it; the numerical ones need no front-end package."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOMS = (
    "core", "records", "laws", "structures", "simulation", "networks", "identification", "hybrid",
    "conformance", "extend", "report", "papers", "project", "front",
)  # fmt: skip
FRONT = ("commands", "cli", "__main__")
NUMERICAL = ROOMS[: ROOMS.index("identification") + 1]
PACKAGE = Path(__file__).resolve().parents[1] / "src" / "vibrid"


def modules() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def room_of(module: str) -> str | None:
    """The room of a dotted name inside the package; None for the package itself and for other packages."""
    parts = module.split(".")
    if parts[0] != "vibrid" or len(parts) == 1:
        return None
    return "front" if parts[1] in FRONT else parts[1]


def imports(tree: ast.AST, package: str, inside: bool = False):
    """(module, is it inside a function, line) of every import below a node."""
    for node in ast.iter_child_nodes(tree):
        deeper = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.Import):
            yield from ((alias.name, inside, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: package.count(".") + 2 - node.level]
                base = ".".join([*above, *filter(None, [base])])
            yield (base, inside, node.lineno)
            yield from ((f"{base}.{alias.name}", inside, node.lineno) for alias in node.names if base == "vibrid")
        else:
            yield from imports(node, package, deeper)


def broken_rules(source: str, room: str, package: str, where: str) -> list[str]:
    """A sentence for every import that a module of `room` may not make."""
    order = {name: i for i, name in enumerate(ROOMS)}
    found = []
    for module, inside, line in imports(ast.parse(source), package):
        target = room_of(module)
        if target not in order or order[target] <= order[room] or (target == "report" and inside):
            continue
        found.append(f"{where}:{line}: '{room}' may not import '{module}'")
    return found


def test_every_module_lives_in_a_known_room():
    top = {p.name.removesuffix(".py") for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert top - {"__init__"} <= {*ROOMS, *FRONT}


def test_rooms_import_only_rooms_above_them():
    found = []
    for path in modules():
        dotted = "vibrid." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        room = room_of(dotted)
        found += broken_rules(path.read_text(), room, dotted.rpartition(".")[0], str(path.relative_to(PACKAGE)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        ("from vibrid.core.errors import InputError", True),
        ("from vibrid.identification import identify", False),
        ("import vibrid.report", False),
        ("def plot():\n    from vibrid.report import plots", True),
        ("class A:\n    def plot(self):\n        from vibrid.report import plots", True),
        ("class A:\n    from vibrid.report import plots", False),
        ("def f():\n    from vibrid.hybrid import clock", False),
        ("from vibrid import project", False),
        ("from ..cli import main", False),
        ("if True:\n    from vibrid.papers import tables", False),
    ],
)
def test_the_rule_catches_what_it_should(source, allowed):
    assert (not broken_rules(source, "simulation", "vibrid.simulation", "x.py")) == allowed


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_numerical_rooms_import_without_the_front_end():
    """NumPy, SciPy, JAX, Equinox (and optax, h5py, pint) are enough from `core` to `identification`."""
    present = [room for room in NUMERICAL if (PACKAGE / room).exists()]
    loaded = loaded_after("import vibrid\n" + "\n".join(f"import vibrid.{room}" for room in present))
    assert not loaded & {"matplotlib", "typer", "rich", "pydantic", "optuna", "blackjax", "pysindy"}


def test_importing_the_package_is_light():
    """`vibrid --help` need not wait for JAX."""
    assert not loaded_after("import vibrid") & {"jax", "scipy", "matplotlib", "typer", "rich", "pydantic"}


def test_slow_rooms_of_scipy_wait_until_they_are_used():
    """They are slow to load. `import scipy` and `scipy.signal.butter(…)`: SciPy loads a room at its first use."""
    slow = {f"scipy.{room}" for room in ("signal", "stats", "optimize", "integrate", "interpolate")}
    assert not loaded_after("import vibrid.project, vibrid.hybrid") & slow


# -- one safe way to write a file ----------------------------------------------------------------------------------

WRITERS = {
    "write_text", "write_bytes", "savez", "savez_compressed", "savetxt", "savefig", "tofile", "to_csv", "savemat",
    "mkdir", "makedirs", "symlink_to", "hardlink_to", "touch", "copy2", "copyfile", "copytree", "make_archive",
    "mkstemp", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "FileHandler",
}  # fmt: skip
OF_MODULES = {
    **dict.fromkeys(("replace", "rename", "link", "symlink"), ("os",)),
    **dict.fromkeys(("copy", "move"), ("shutil",)),
    **dict.fromkeys(("dump",), ("json", "pickle")),
    **dict.fromkeys(("save",), ("np", "numpy")),
}
"""Names that mean something else unless they are called on these modules."""
OURS = {"write_text", "write_bytes"}
"""Functions of `core.files`, called without an owner."""
MAY_WRITE = {
    "core/files.py": "the safe way itself",
    "commands/delivery.py: open": "/dev/null, for a standard output whose reader has left",
    "commands/hybrid_serve.py: FileHandler": "the log of a server: a line at a time, for as long as it runs",
    "commands/imports.py: TemporaryFile": "what a process that may crash has said; it has no name and goes by itself",
    "commands/imports.py: TemporaryDirectory": "a trial of the C compiler; it goes with its folder",
    "conformance/reader.py: TemporaryDirectory": "samples of a format, for readers that want a file; they go with it",
    "networks/export/compiled.py: TemporaryDirectory": "a C file for the compiler, which goes with its folder",
    "report/embed.py: savefig": "to memory, for a page",
    "report/save.py: savefig": "to memory, before the safe way",
}
"""Places that write by themselves, and why."""


def writing_calls(source: str):
    """(name, line) of every call that opens a file for writing, makes a folder, or moves a file."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        owner = getattr(function.value, "id", "") if isinstance(function, ast.Attribute) else None
        if name in ("open", "File", "ZipFile", "Dataset", "fdopen", "memmap"):
            given = node.args[:1] if name == "open" and owner is not None else node.args[1:]
            given += [k.value for k in node.keywords if k.arg == "mode"]
            modes = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if owner == "os" or any(set(m) <= set("rwax+bt") and set(m) & set("wax+") for m in modes):
                yield name, node.lineno
        elif owner in OF_MODULES.get(name, ()) or (name in WRITERS and not (owner is None and name in OURS)):
            yield name, node.lineno


def test_files_are_written_in_one_way():
    """`core.files` keeps the old file and leaves nothing half-written; whoever writes by itself is named with why."""
    found, used = [], set()
    for path in modules():
        where = path.relative_to(PACKAGE).as_posix()
        for name, line in writing_calls(path.read_text()):
            key = where if where in MAY_WRITE else f"{where}: {name}"
            used.add(key)
            if key not in MAY_WRITE:
                found.append(f"src/vibrid/{where}:{line}: {name} writes past vibrid.core.files")
    assert not found, "\n".join(found)
    assert used == set(MAY_WRITE), "an exception that nobody uses"


@pytest.mark.parametrize(
    ("source", "caught"),
    [
        ("open('a', 'w')", True),
        ("open('a', mode='ab')", True),
        ("open('a')", False),
        ("open('a', 'rb')", False),
        ("path.open('x')", True),
        ("h5py.File(path, 'w')", True),
        ("h5py.File(path, 'r')", False),
        ("path.write_text('x')", True),
        ("write_text(path, 'x')", False),
        ("np.savez(path, a=a)", True),
        ("figure.savefig(path)", True),
        ("folder.mkdir(parents=True)", True),
        ("os.replace(a, b)", True),
        ("dataclasses.replace(a, b=1)", False),
        ("shutil.copy(a, b)", True),
        ("array.copy()", False),
        ("os.open(path, flags)", True),
    ],
)
def test_the_rule_of_writing_catches_what_it_should(source, caught):
    assert bool(list(writing_calls(source))) == caught
