"""`vibrid hybrid pairs`: virtual pairs of devices, to train a network that listens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json
from vibrid.commands.trust import Trust, consent

SpecimenFile = Annotated[Path, typer.Argument(metavar="SPECIMEN.toml", help="The ordinary device.", show_default=False)]
Out = Annotated[Path, typer.Option(help="New folder for the tests and training.toml.", show_default=False)]
Capacity = Annotated[str, typer.Option(help="Friction force that the pretension is set for.", show_default=False)]
Vary = Annotated[
    list[str],
    typer.Option(
        metavar="PATH[,PATH]=SPREAD",
        help="A parameter that differs from device to device, 0.2 for 20 %; may be repeated.",
        show_default=False,
    ),
]
Likeness = Annotated[float, typer.Option(min=0.0, max=1.0, help="Correlation of the two devices of a pair.")]
Count = Annotated[int, typer.Option(min=1, max=5000, help="Pairs.")]
Largest = Annotated[str, typer.Option(help="Largest deformation.")]
Seconds = Annotated[float, typer.Option(min=1.0, help="Length of every test.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


def pairs(
    specimen: SpecimenFile, out: Out, capacity: Capacity, vary: Vary, likeness: Likeness = 0.9, count: Count = 1000,
    largest: Largest = "30 mm", seconds: Seconds = 20.0, seed: Seed = 0, trust: Trust = False, as_json: Json = False,
) -> None:  # fmt: skip
    """Make virtual pairs of devices, to train a network that uses measurements of a tested device.

    A network that was trained on one device cannot learn what the measurements of another one mean. Each pair is drawn
    about the device of a specimen file: one is tested, the other modelled, in two storeys of a building under a
    synthetic earthquake. A tenth of the pairs is for validation. Train with: vibrid hybrid train OUT/training.toml.

    Example: vibrid hybrid pairs damper.toml --out pairs --capacity "18 kN" --vary strength=0.2 --vary gap=0.2
    """
    from vibrid.commands import output
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.errors import InputError
    from vibrid.core.files import make_folder, write_text
    from vibrid.hybrid.listening import virtual_pairs
    from vibrid.project.quantities import in_si
    from vibrid.project.specimen import load_specimen

    spreads: dict[str, float] = {}
    for text in vary:
        path, _, spread = text.rpartition("=")
        try:
            spreads[path.strip()] = float(spread)
        except ValueError:
            raise InputError(f"--vary {text}: write a parameter and its spread, strength=0.2.") from None
    force, reach = in_si(capacity, "N"), in_si(largest, "m")
    described = load_specimen(specimen, consent(specimen, trust))
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is not an empty folder: name a new one.")
    make_folder(out)
    tests = []
    with terminal_progress(quiet=as_json) as progress:
        progress.stage(f"moving {count} pairs", count)
        made = virtual_pairs(described.device, spreads, likeness, count, largest=reach, seconds=seconds, seed=seed)
        for i, records in enumerate(made):
            tested, modelled = (output.write_record(record, out / f"{record.name}.h5") for record in records)
            use = "validation" if i % 10 == 9 else "training"
            tests.append(
                f'[[tests]]\nfile = "{modelled.name}"\ncompanion = "{tested.name}"\ncapacity = {force:.6g}\n'
                f'use = "{use}"\ndevice = "pair {i}"\n'
            )
            progress.update(i + 1)
    head = f'title = "{count} virtual pairs of devices"\n[recipe]\nuses_companion = true\n'
    write_text(out / "training.toml", head + "".join(tests))
    if as_json:
        output.print_json({"folder": out, "pairs": count, "likeness": likeness, "file": out / "training.toml"})
    else:
        typer.echo(f"{count} pairs in {out}; train with: vibrid hybrid train {out / 'training.toml'} --out network.npz")
