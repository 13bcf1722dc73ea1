"""`vibrid hybrid evaluate`: how well a device model predicts tests that were not used to train it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json, TableFile

Model = Annotated[Path, typer.Argument(metavar="MODEL.npz", help="A trained model.", show_default=False)]
Tests = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Tests of the device.", show_default=False)]
CompanionFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--companion", help="Record of the tested device for each file, in the same order.", show_default=False
    ),
]
Capacity = Annotated[
    list[str],
    typer.Option(help="Friction force of the device, e.g. '18 kN'; twice for each direction.", show_default=False),
]
Loop = Annotated[bool, typer.Option("--loop", help="Move it through cycles and rest too: is it fit for a closed loop?")]
Figure = Annotated[Path | None, typer.Option(help="Draw force over displacement and time.", show_default=False)]


def evaluate(
    model: Model, tests: Tests, capacity: Capacity, companion: CompanionFiles = None, loop: Loop = False,
    figure: Figure = None, csv: TableFile = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Predict the force of device tests and compare it with the measured force; the error of zero force is shown too.

    The model is told the force before the test; the NRMSE without that is shown beside, for a hybrid test does not know
    it.

    With --loop the model is also moved through cycles over a grid of amplitudes, frequencies and offsets, beyond its
    training too, and left at rest: a model that gives energy or creeps at rest is not fit for a closed loop.

    Example: vibrid hybrid evaluate damper.npz test.h5 --companion first-storey.h5 --capacity '18 kN'
    """
    from dataclasses import asdict

    import numpy as np

    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery, quiet_stdout
    from vibrid.core.errors import InputError
    from vibrid.hybrid.learned.conduct import conduct
    from vibrid.hybrid.learned.files import load_model
    from vibrid.hybrid.learned.from_records import device_test
    from vibrid.hybrid.learned.recipes import forces
    from vibrid.project.quantities import in_si
    from vibrid.records.force_scores import force_scores
    from vibrid.records.readers import read_record
    from vibrid.report.device_plots import plot_device_tests
    from vibrid.report.save import save_figure

    output.check_ending(figure, (".png", ".pdf", ".svg"))
    output.check_table_file(csv)
    if len(capacity) > 2:
        raise InputError(f"A device has one capacity, or one for each direction, not {len(capacity)}.")
    saved, capacities = load_model(model), [in_si(given, "N") for given in capacity]
    uses_measurements, companion = bool(saved.model.companion_sizes), companion or []
    if uses_measurements and len(companion) != len(tests):
        raise InputError(
            f"This model uses measurements of a tested device: give --companion for each of the {len(tests)} files."
        )
    others = [read_record(path) for path in companion] if uses_measurements else [None] * len(tests)
    device_tests = [
        device_test(read_record(path), other, capacities, saved.model.rate, name=path.name)
        for path, other in zip(tests, others, strict=True)
    ]
    with quiet_stdout(as_json):
        predicted, untold = (forces(saved.model, device_tests, told) for told in (True, False))
        manners = conduct(saved.model, capacities[0] if len(capacities) == 1 else capacities) if loop else None
    rows = []
    for test, force, other in zip(device_tests, predicted, untold, strict=True):
        zero, loose = (force_scores(f, test.force, test.v).nrmse for f in (np.zeros_like(test.force), other))
        scores = asdict(force_scores(force, test.force, test.v))
        rows.append({"test": test.name, **scores, "untold": loose, "zero": zero})
    with Delivery(quiet=as_json) as deliver:
        result: dict = {"model": str(model), "tests": rows}
        if manners is not None:
            result["loop"] = {
                "fit": manners.is_fit,
                "reasons": manners.reasons,
                "cycles": list(map(asdict, manners.cycles)),
            }
        deliver.answer(lambda: output.print_json(result) if as_json else _show(model, rows))
        if manners is not None and not as_json:
            deliver.answer(lambda: typer.echo(f"In a loop: {manners}"))
        output.deliver_table(deliver, csv, rows)
        deliver.file(figure, lambda: save_figure(plot_device_tests(device_tests, predicted, saved.model.rate), figure))


def _show(model: Path, rows: list[dict]) -> None:
    """The scores as a table."""
    from vibrid.commands import output

    headings = ["test", "NRMSE, %", "strong part, %", "MAE, kN", "R²", "TRAC", "energy", "peak",
                "first force unknown, %", "zero force, %"]  # fmt: skip
    factors = {"nrmse": 100, "strong": 100, "mae": 1e-3, "untold": 100, "zero": 100}
    table = [[r["test"], *(f"{factors.get(k, 1) * v:.4g}" for k, v in r.items() if k != "test")] for r in rows]
    output.print_table(f"{model.name}: predicted and measured force", headings, table, right=headings[1:])
