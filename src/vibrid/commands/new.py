"""`vibrid new`: a working file to start a plugin from."""

from __future__ import annotations

import keyword
import re
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json
from vibrid.core.version import __version__


class PluginKind(StrEnum):
    """Kinds of plugin; each has a template."""

    law = "law"
    method = "method"
    reader = "reader"
    device = "device"
    structure = "structure"
    integrator = "integrator"


REGISTERED_AS = {"reader": "format", "device": "specimen"}
"""Name of a kind in its registry, where it differs."""
TEMPLATES = files("vibrid.commands") / "templates"

KindArgument = Annotated[PluginKind, typer.Argument(help="Kind of plugin.", show_default=False)]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name to register, e.g. wearing-spring.", show_default=False)]
Folder = Annotated[Path, typer.Option("--folder", help="Folder for the file.")]


def new(kind: KindArgument, name: Name, folder: Folder = Path(), as_json: Json = False) -> None:
    """Write a working file NAME.py for a law, method, reader, device, structure or integrator of your own.

    It has the equation, the class, an example and a check; an existing file is never overwritten.

    Example: vibrid new law wearing-spring
    """
    from vibrid.commands.delivery import quiet_stdout
    from vibrid.commands.output import print_json
    from vibrid.core.errors import FileProblem
    from vibrid.core.files import write_text

    words = _words(name)
    path = folder / f"{'_'.join(words)}.py"
    if path.exists():
        raise FileProblem(path, "it exists already and is not overwritten; choose another name.")
    with quiet_stdout(as_json):
        _refuse_taken(kind, words)
    write_text(path, text_of(kind, words))
    if as_json:
        print_json({"files": [path], "next": f"vibrid plugins check {path}"})
        return
    typer.echo(f"wrote {path}")
    typer.echo(f"Continue with: vibrid plugins check {path}")


def text_of(kind: str, words: list[str]) -> str:
    """The template of a kind, with the plugin's name and the versions of vibrid that it needs: this minor one."""
    text = (TEMPLATES / f"{kind}.py").read_text(encoding="utf-8")
    title = "".join(word.capitalize() for word in words)
    for old, separator in (("template-name", "-"), ("template_name", "_"), ("TEMPLATE-NAME", "-")):
        spelt = separator.join(words)
        text = text.replace(old, spelt.upper() if old.isupper() else spelt)
    major, minor, *_ = __version__.split(".")
    versions = f">={major}.{minor},<{major}.{int(minor) + 1}"
    return text.replace("TemplateName", title).replace("template-versions", versions)


def _words(name: str) -> list[str]:
    from vibrid.core.errors import InputError
    from vibrid.core.file_names import windows_reserves

    words = re.split(r"[-_]", name.lower().removesuffix(".py"))
    spelt = all(re.fullmatch(r"[a-z0-9]+", word) for word in words) and words[0][0].isalpha() and len(name) <= 60
    if not spelt or windows_reserves("_".join(words)):
        raise InputError(f"'{name}' is not a name for a plugin; write words of letters, such as wearing-spring.")
    return words


def _refuse_taken(kind: str, words: list[str]) -> None:
    """A name that is registered, or that would hide a module from programs in the same folder, is refused."""
    from importlib.util import find_spec

    import vibrid.hybrid
    import vibrid.identification  # noqa: F401
    from vibrid.core.errors import InputError
    from vibrid.core.registry import Registry

    name, module = "-".join(words), "_".join(words)
    registry = Registry.every[REGISTERED_AS.get(kind, kind)]
    if name in registry.reserved or name in registry:
        raise InputError(f"A {kind} called '{name}' exists already (of {registry.origin(name)}); choose another name.")
    if keyword.iskeyword(module) or find_spec(module) is not None:
        raise InputError(
            f"{module}.py would hide the module '{module}' from programs in its folder; choose another name."
        )
