"""`vibrid doctor`: what is installed, what it runs on, and what is missing."""

from __future__ import annotations

import platform
import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from vibrid.core.version import __version__


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False) -> None:
    """Show which versions, computing devices and extras are installed, and where compiled programs are kept.

    Example: vibrid doctor
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import quiet_stdout

    with quiet_stdout():  # drivers of accelerators print too
        found = examine()
    if as_json:
        output.print_json(found)
        return
    output.print_table("Versions", ["package", "version"], [[k, v] for k, v in found["versions"].items()])
    output.print_table("Devices", ["device", "platform"], [[d["name"], d["platform"]] for d in found["devices"]])
    extras = [[name, e["state"], e["get"]] for name, e in found["extras"].items()]
    output.print_table("Extras", ["extra", "state", "to get it"], extras)
    compiler = found["c_compiler"]
    works = f"{compiler['path']} works" if not compiler["problem"] else compiler["problem"]
    typer.echo(f"C compiler: {works}")
    loops = found["time_loops"]
    typer.echo(f"Time loops: by XLA; {loops['problem']}" if loops["problem"] else "Time loops: machine code by LLVM")
    live = found["opensees"]
    state = f"cannot be imported: {live['problem']}" if live["problem"] else "works"
    absent = "OpenSeesPy: not installed; `vibrid import opensees` does not need it"
    typer.echo(f"OpenSeesPy {live['version']} {state}" if live["version"] else absent)
    typer.echo(f"Tcl for OpenSees scripts: {found['tcl'] or 'none in this Python; install tkinter (python3-tk)'}")
    for problem in found["problems"]:
        typer.echo(problem)
    cache = found["cache"]
    size = f"{cache['files']} files, {cache['bytes'] / 1e6:.1f} MB"
    typer.echo("Compile cache: off" if cache["folder"] is None else f"Compile cache: {cache['folder']}, {size}")


def examine() -> dict:
    """The content of `vibrid doctor` as plain data."""
    import jax

    from vibrid.commands.imports import compiler_problem
    from vibrid.core import native
    from vibrid.core.precision import cache_folder

    needed, extras = _requirements()
    versions = {"python": platform.python_version(), "vibrid": __version__}
    versions |= {name: _version(name) or "missing" for name in needed}
    broken = _broken([*needed, *(p for packages in extras.values() for p in packages), "openseespy"])
    folder = cache_folder()
    files = [f for f in folder.rglob("*") if f.is_file()] if folder is not None and folder.is_dir() else []
    compiler, problem = compiler_problem()
    return {
        "system": platform.platform(),
        "versions": versions,
        "precision": "64-bit" if jax.dtypes.canonicalize_dtype(float).itemsize == 8 else "32-bit",
        "devices": _devices(),
        "extras": {name: _extra(name, packages, broken) for name, packages in extras.items()},
        "time_loops": {"native": not native.why_not(), "problem": native.why_not()},
        "c_compiler": {"path": compiler, "problem": problem},
        "opensees": {"version": _version("openseespy"), "problem": broken.get("openseespy", "")},
        "tcl": _tcl(),
        "problems": [f"{name} is installed and cannot be imported: {why}." for name, why in broken.items()],
        "cache": {"folder": None if folder is None else str(folder), "files": len(files), "bytes": _size(files)},
    }


def _devices() -> list[dict]:
    """The devices that JAX computes on; the problem where it finds none."""
    import jax

    try:
        return [{"name": str(d), "platform": str(d.platform)} for d in jax.devices()]
    except RuntimeError as problem:  # JAX_PLATFORMS names something that is not there
        return [{"name": f"none ({problem})".splitlines()[0], "platform": ""}]


def _tcl() -> str | None:
    """The version of Python's own Tcl interpreter; None where it has none."""
    try:
        import tkinter
    except ImportError:
        return None
    return str(tkinter.Tcl().eval("info patchlevel"))


def _broken(packages: list[str]) -> dict[str, str]:
    """Packages that are installed and cannot be imported, and why."""
    from vibrid.commands.imports import module_of, problems_of

    modules = {name: module_of(name) for name in dict.fromkeys(packages) if _version(name) is not None}
    problems = problems_of(list(modules.values()))
    return {name: problems[module] for name, module in modules.items() if problems[module]}


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Packages that vibrid needs, and those of each extra, from its metadata."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in _lines():
        name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if extra is None:
            needed.append(name)
        elif name != "vibrid":
            extras.setdefault(extra[1], []).append(name)
    return needed, extras


def _lines() -> list[str]:
    """Requirements as the metadata of an installation write them, or of the folder that vibrid runs from."""
    try:
        return metadata.requires("vibrid") or []
    except metadata.PackageNotFoundError:
        project = Path(__file__).parents[3] / "pyproject.toml"
        if not project.is_file():
            return []
        table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        extras = table.get("optional-dependencies", {}).items()
        return [*table["dependencies"], *(f"{line}; extra == '{name}'" for name, lines in extras for line in lines)]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _extra(name: str, packages: list[str], broken: dict[str, str]) -> dict:
    missing = [p for p in packages if _version(p) is None]
    bad = {p: broken[p] for p in packages if p in broken}
    words = [f"missing {', '.join(missing)}"] if missing else []
    words += [f"{p} cannot be imported: {why}" for p, why in bad.items()]
    state = "; ".join(words) or "complete"
    get = f"pip install 'vibrid[{name}]'" if missing else ""
    return {"state": state, "missing": missing, "broken": bad, "get": get}


def _size(files: list[Path]) -> int:
    total = 0
    for file in files:
        try:
            total += file.stat().st_size
        except OSError:  # another process may tidy the cache meanwhile
            continue
    return total
