"""`vibrid doctor`: what is installed, what it runs on, and what is missing."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False) -> None:
    """Say which versions, devices and extras are there, and where compiled programs are kept.

    Example: vibrid doctor
    """
    from vibrid.commands import output

    found = examine()
    if as_json:
        output.print_json(found)
        return
    output.print_table("Versions", ["package", "version"], [[k, v] for k, v in found["versions"].items()])
    output.print_table("Devices", ["device", "platform"], [[d["name"], d["platform"]] for d in found["devices"]])
    extras = [[name, e["state"], e["get"]] for name, e in found["extras"].items()]
    output.print_table("Extras", ["extra", "state", "to get it"], extras)
    cache = found["cache"]
    size = f"{cache['files']} files, {cache['bytes'] / 1e6:.1f} MB"
    typer.echo("Compile cache: off" if cache["folder"] is None else f"Compile cache: {cache['folder']}, {size}")


def examine() -> dict:
    """What `vibrid doctor` knows, as plain data."""
    import jax

    from vibrid.core.precision import cache_folder

    needed, extras = _requirements()
    versions = {"python": platform.python_version(), "vibrid": metadata.version("vibrid")}
    versions |= {name: _version(name) or "missing" for name in needed}
    folder = cache_folder()
    files = [f for f in folder.rglob("*") if f.is_file()] if folder is not None and folder.is_dir() else []
    return {
        "system": platform.platform(),
        "versions": versions,
        "precision": "64-bit" if jax.config.jax_enable_x64 else "32-bit",
        "devices": [{"name": str(d), "platform": d.platform} for d in jax.devices()],
        "extras": {name: _extra(name, packages) for name, packages in extras.items()},
        "cache": {"folder": None if folder is None else str(folder), "files": len(files), "bytes": _size(files)},
    }


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Packages that vibrid needs, and those of each extra, as its own metadata say."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in metadata.requires("vibrid") or []:
        name = re.match(r"[\w.-]+", line)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if extra is None:
            needed.append(name)
        elif name != "vibrid":
            extras.setdefault(extra[1], []).append(name)
    return needed, extras


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _extra(name: str, packages: list[str]) -> dict:
    missing = [p for p in packages if _version(p) is None]
    state = "complete" if not missing else f"missing {', '.join(missing)}"
    return {"state": state, "missing": missing, "get": f"pip install 'vibrid[{name}]'" if missing else ""}


def _size(files: list[Path]) -> int:
    total = 0
    for file in files:
        try:
            total += file.stat().st_size
        except OSError:  # another process may tidy the cache meanwhile
            continue
    return total
