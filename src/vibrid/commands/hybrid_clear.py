"""`vibrid hybrid clear`: clear the safety stop of a device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json

SpecimenFile = Annotated[Path, typer.Argument(metavar="SPECIMEN.toml", help="The device.", show_default=False)]
By = Annotated[str, typer.Option(help="Name of the person who inspected the device.", show_default=False)]


def clear(specimen: SpecimenFile, by: By, as_json: Json = False) -> None:
    """Clear the safety stop of a device, after it was inspected and brought back to zero.

    The name is kept beside the device and in the record of its next test. A running server notices it.

    Example: vibrid hybrid clear damper.toml --by "Jane Doe"
    """
    from vibrid.commands.output import print_json
    from vibrid.core.errors import missing_file
    from vibrid.hybrid.latch import StopLatch
    from vibrid.project.specimen import stops_file

    if not specimen.exists():
        raise missing_file(specimen)
    cleared = StopLatch(stops_file(specimen)).clear(by)
    if as_json:
        print_json({"specimen": specimen, "cleared": f"{cleared}", "by": by})
    else:
        typer.echo(f"the device was {cleared}")
