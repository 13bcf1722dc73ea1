"""`vibrid hybrid export`: a trained model as C, ONNX or FMU, for a real-time target or another simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json

Model = Annotated[Path, typer.Argument(metavar="MODEL.npz", help="A trained model.", show_default=False)]
Out = Annotated[Path, typer.Argument(metavar="OUT.c|OUT.onnx|OUT.fmu", help="The file to write.", show_default=False)]
Prefix = Annotated[str, typer.Option(help="Prefix of every name in a C file.")]


def export(model: Model, out: Out, prefix: Prefix = "device", as_json: Json = False) -> None:
    """Write a trained model as one C file with its header, as an ONNX graph or as an FMU; it runs without vibrid.

    One step takes displacement, velocity, the capacities of both directions and the measured signals of the tested
    device, and gives the force and flags: which inputs were not finite or beyond their limits. The state is explicit;
    no memory is allocated. Compile C with `-O3 -march=native`, never with -ffast-math. An FMU (FMI 2.0, co-simulation)
    holds the C and, where there is a C compiler, a library for this machine.

    Example: vibrid hybrid export damper.npz damper.c
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import quiet_stdout
    from vibrid.hybrid.learned.deploy import write_model

    output.check_ending(out, (".c", ".onnx", ".fmu"))
    from vibrid.hybrid.learned.files import load_model

    with quiet_stdout(as_json):
        written = write_model(load_model(model), out, prefix)
    if as_json:
        output.print_json({"model": model, "files": written.files, "library_for": written.library_for})
        return
    for file in written.files:
        typer.echo(f"wrote {file}")
    if out.suffix == ".fmu":
        library = f"a library for {written.library_for}" if written.library_for else "no library: no C compiler here"
        typer.echo(f"It holds C sources and {library}.")
