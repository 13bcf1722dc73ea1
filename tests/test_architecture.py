"""The rooms of the package: each imports only rooms above it; the numerical ones need no front-end package."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOMS = (
    "core", "records", "laws", "structures", "simulation", "modal", "networks", "identification", "hybrid", "studies",
    "monitor", "conformance", "extend", "report", "papers", "project", "bridge", "front",
)  # fmt: skip
FRONT = ("commands", "studio", "cli", "moved_names", "__main__")
NUMERICAL = ROOMS[: ROOMS.index("identification") + 1]
PACKAGE = Path(__file__).resolve().parents[1] / "src" / "vibrid"


def modules() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def dotted_name(path: Path) -> str:
    """The name by which a file of the package is imported; a package's own is that of its folder."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def room_of(module: str) -> str | None:
    """The room of a dotted name inside the package; None for the package itself and for other packages."""
    parts = module.split(".")
    if parts[0] != "vibrid" or len(parts) == 1:
        return None
    return "front" if parts[1] in FRONT else parts[1]


def imports(tree: ast.AST, package: str):
    """(name, line) of all that is imported below a node, in functions too; not what is for type checkers alone.

    `from a import b` is `a.b`, whether `b` is a module or a thing in `a`.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from imports(ast.Module([other], []), package)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: package.count(".") + 2 - node.level]
                base = ".".join([*above, *filter(None, [base])])
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)
        else:
            yield from imports(node, package)


def names_in_text(tree: ast.AST):
    """(module, line) of every text that is the name of a module of the package, as `import_module` takes it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.fullmatch(r"(vibrid(\.\w+)+)(:\w+)?", node.value)
            if found:
                yield found[1], node.lineno


def broken_rules(source: str, room: str, package: str, where: str) -> list[str]:
    """A sentence for every module that a module of `room` may not import or name."""
    order = {name: i for i, name in enumerate(ROOMS)}
    tree = ast.parse(source)
    found = {}
    for module, line in (*imports(tree, package), *names_in_text(tree)):
        target = room_of(module)
        if target in order and order[target] > order[room]:
            found.setdefault((line, target), f"{where}:{line}: '{room}' may not import '{module}'")
    return list(found.values())


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
        ("def plot():\n    from vibrid.report import plots", False),
        ("class A:\n    from vibrid.report import plots", False),
        ("def f():\n    from vibrid.hybrid import clock", False),
        ("from vibrid import project", False),
        ("from ..cli import main", False),
        ("if True:\n    from vibrid.papers import tables", False),
        ("if TYPE_CHECKING:\n    from vibrid.papers import tables", True),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    from vibrid.papers import tables", False),
        ("import_module('vibrid.report.html')", False),
        ("import_module('vibrid.report.html:write')", False),
        ("import_module('vibrid.laws.linear')", True),
        ("'What vibrid.report does is its own business.'", True),
    ],
)
def test_the_rule_catches_what_it_should(source, allowed):
    assert (not broken_rules(source, "simulation", "vibrid.simulation", "x.py")) == allowed


# -- no circles ----------------------------------------------------------------------------------------------------


def imported_by(sources: dict[str, tuple[str, str]]) -> dict[str, set[str]]:
    """For each module (name: package, source) the other modules that it imports, in functions too.

    Python also runs the `__init__.py` of every package on the way to a module; that is no wish of whoever imports it
    and does not count.
    """
    graph = {}
    for name, (package, source) in sources.items():
        found = {module_of(imported, sources) for imported, _ in imports(ast.parse(source), package)}
        graph[name] = found - {name, None}
    return graph


def module_of(imported: str, known) -> str | None:
    """The known module that a dotted name is, or is a thing of."""
    return next((m for m in (imported, imported.rpartition(".")[0]) if m in known), None)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other (strongly connected components of more than one; R. Tarjan, 1972)."""
    number, lowest, waiting, found = {}, {}, [], []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        waiting.append(module)
        for other in sorted(graph[module]):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in waiting:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            place = waiting.index(module)
            group = waiting[place:]
            del waiting[place:]
            if len(group) > 1:
                found.append(sorted(group))

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return found


def test_no_module_imports_itself_by_way_of_others():
    sources = {}
    for path in (*modules(), PACKAGE / "__init__.py"):
        name = dotted_name(path)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        sources[name] = package, path.read_text()
    graph = imported_by(sources)
    assert len(graph) > 300 and sum(map(len, graph.values())) > 1000
    found = [
        f"{module} imports {', '.join(sorted(graph[module] & set(group)))}"
        for group in circles(graph)
        for module in group
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"a": "import b", "b": "import c", "c": ""}, []),
        ({"a": "import b", "b": "def f():\n    from a import x"}, [["a", "b"]]),
        ({"a": "import b", "b": "import c", "c": "import a", "d": "import a"}, [["a", "b", "c"]]),
        ({"a": "import b", "b": "if TYPE_CHECKING:\n    import a"}, []),
        ({"p": "from p.a import x", "p.a": "from p import b", "p.b": ""}, []),
        ({"p": "from p.a import x", "p.a": "from p import y"}, [["p", "p.a"]]),
        ({"p": "from p.a import x", "p.a": "from . import b", "p.b": "from .a import x"}, [["p.a", "p.b"]]),
        ({"p": "from p.a import x", "p.a": "import p.b\nfrom p import y", "p.b": ""}, [["p", "p.a"]]),
        ({"a": "import b", "b": "import a", "c": "import d", "d": "import c"}, [["a", "b"], ["c", "d"]]),
    ],
)
def test_the_search_for_circles_finds_what_it_should(sources, expected):
    packages = {name: (name if name == "p" else name.rpartition(".")[0], text) for name, text in sources.items()}
    assert sorted(circles(imported_by(packages))) == expected


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_numerical_rooms_import_without_the_front_end():
    """NumPy, SciPy, JAX, Equinox (and optax, h5py) are enough from `core` to `identification`."""
    present = [room for room in NUMERICAL if (PACKAGE / room).exists()]
    loaded = loaded_after("import vibrid\n" + "\n".join(f"import vibrid.{room}" for room in present))
    assert not loaded & {"matplotlib", "typer", "rich", "pydantic", "optuna", "blackjax", "pysindy", "openpyxl"}


def test_importing_the_package_is_light():
    """`vibrid --help` need not wait for JAX."""
    assert not loaded_after("import vibrid") & {"jax", "scipy", "matplotlib", "typer", "rich", "pydantic"}


def test_a_project_waits_for_what_only_some_commands_need():
    """A project file may name any law or method, so their rooms are there; figures, papers and searches are not.

    The rooms of hybrid tests and studies are there for files with such a table, networks for methods that have one.

    Parts of SciPy that are slow to load are named `scipy.signal.butter(…)` after `import scipy`, which loads them then.
    """
    slow = {f"scipy.{room}" for room in ("signal", "stats", "optimize", "integrate", "interpolate")}
    assert rooms_in(loaded_after("import vibrid.project")) == {
        "core", "records", "laws", "structures", "simulation", "modal", "identification", "project", "report",
    }  # fmt: skip
    loaded = loaded_after("import vibrid.project, vibrid.hybrid, vibrid.studies")
    assert not loaded & (
        slow | {"matplotlib", "rich", "optuna", "blackjax", "pysindy", "onnx", "xarray", "zarr", "dask"}
    )
    assert rooms_in(loaded) == {"core", "records", "laws", "structures", "simulation", "modal", "networks",
                                "identification", "hybrid", "studies", "project", "report"}  # fmt: skip
    assert {m for m in loaded if m.startswith("vibrid.report.")} == {"vibrid.report.attached"}


def rooms_in(loaded: set[str]) -> set[str]:
    return {room_of(module) for module in loaded if room_of(module)}


def test_a_command_imports_only_what_it_needs(tmp_path):
    """`--help` needs no room but the front, a look at a record only records: no JAX, no figures."""
    (tmp_path / "a.csv").write_text("time [s],ground [m/s^2]\n0,0\n0.01,1\n0.02,2\n0.03,1\n")
    lines = f"""
import contextlib, io, json, sys
from vibrid.cli import app
after = []
for command in (["--help"], ["record", "info", {str(tmp_path / "a.csv")!r}]):
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        app(command, standalone_mode=False)
    after.append([shown.getvalue(), sorted(sys.modules)])
print(json.dumps(after))
"""
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    (text, loaded), (told, more) = json.loads(done.stdout.splitlines()[-1])
    assert "Usage" in text and rooms_in(loaded) == {"core", "report", "front"}
    assert not {"numpy", "jax", "scipy", "matplotlib", "pydantic", "pint", "h5py"} & set(loaded)
    assert "m/s^2" in told and rooms_in(more) == {"core", "records", "report", "papers", "front"}  # papers: its names
    assert not {"jax", "equinox", "matplotlib", "h5py", "scipy.signal"} & set(more)
    assert {m for m in more if m.startswith("vibrid.report.")} == {"vibrid.report.attached"}


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
    "bridge/child.py: fdopen": "standard output, kept for the record while the script's own words go elsewhere",
    "bridge/replay.py: fdopen": "standard output, kept for the answer while the words of OpenSees go elsewhere",
    "core/writable.py: mkdir": "an empty folder that is removed at once: whether anything can be written there",
    "commands/delivery.py: open": "/dev/null, for a standard output whose reader has left",
    "commands/hybrid_serve.py: FileHandler": "the log of a server: a line at a time, for as long as it runs",
    "commands/imports.py: TemporaryFile": "what a process that may crash has said; it has no name and goes by itself",
    "commands/imports.py: TemporaryDirectory": "a trial of the C compiler; it goes with its folder",
    "conformance/reader.py: TemporaryDirectory": "samples of a format, for readers that want a file; they go with it",
    "networks/export/compiled.py: TemporaryDirectory": "a C file for the compiler, which goes with its folder",
    "networks/export/fmu.py: TemporaryDirectory": "C files for the compiler, which go with their folder",
    "networks/export/fmu.py: ZipFile": "to memory, before the safe way",
    "records/journal.py: open": "the last rows of a running test, in memory that outlives a kill",
    "studies/store.py: open": "the lock of a study, which holds nothing: one process at a time writes its arrays",
    "studio/jobs.py: open": "the words of a job while it runs, and its lock, which holds nothing",
    "studio/calculating.py: fdopen": "standard output, kept for the answers while the words of libraries go elsewhere",
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
