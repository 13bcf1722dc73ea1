"""`vibrid hybrid train`: a network for a device, from tests of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.trust import Trust, consent

File = Annotated[Path, typer.Argument(metavar="TRAINING.toml", help="Training file.", show_default=False)]
Out = Annotated[Path, typer.Option(help="File for the trained model: .npz.")]
Anew = Annotated[bool, typer.Option("--anew", help="Discard an interrupted training and start again.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def train(
    file: File, out: Out = Path("device.npz"), anew: Anew = False, trust: Trust = False, as_json: Json = False
) -> None:
    """Train a network that stands in for a device, and keep the best of several.

    An interrupted training (Ctrl-C, a kill) is resumed by the same command. With a [closed_loop] table models are
    chosen by their errors in the closed loop, else by those on the validation tests; where there are none, every fifth
    group of tests is left out for that, and what is kept is trained beside it with all. The mean of several passive
    networks and laws with friction stand beside them: where one of those is the best, it is what is kept, and this is
    said.

    Example: vibrid hybrid train examples/device-training.toml --out damper.npz
    """
    from dataclasses import replace

    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.loops import compile_whole_loops

    compile_whole_loops()
    output.check_ending(out, (".npz",))
    trust = consent(file, trust)
    with terminal_progress(quiet=as_json) as progress:
        progress.stage(f"reading {file.name}")
        from vibrid.hybrid.characterise import characterise
        from vibrid.hybrid.learned.beside import best_first, laws_beside, mean_beside
        from vibrid.hybrid.learned.files import save_model
        from vibrid.hybrid.learned.recipes import train_models
        from vibrid.networks.checkpoint import Checkpoint, fingerprint
        from vibrid.project.training import load_training

        loaded = load_training(file, trust)
        tests = [*loaded.training, *loaded.validation]
        law, rate = loaded.law, loaded.recipe.rate
        if loaded.fit_law and law is not None:
            law = characterise(law, loaded.fit_law, loaded.training, rate, progress=progress).law
        purpose = fingerprint(repr(loaded.recipe), [t._replace(name="") for t in tests], law)
        checkpoint = Checkpoint(out.with_name(f"{out.stem}-unfinished.npz"), purpose)
        if anew:
            checkpoint.remove()
        try:
            models = train_models(
                loaded.recipe, loaded.training, loaded.validation, law=law, companion_names=loaded.companion_names,
                progress=progress, checkpoint=checkpoint, with_all=bool(loaded.left_out),
            )  # fmt: skip
        except KeyboardInterrupt:
            if checkpoint.path.exists():
                typer.echo(f"Interrupted; the same command resumes from {checkpoint.path}.", err=True)
            raise
        laws = laws_beside(
            loaded.training, loaded.validation, rate, loaded.laws, with_all=bool(loaded.left_out), progress=progress
        )
        mean = mean_beside(models, loaded.validation or loaded.training)
        models = best_first([*models, *mean, *laws])
        rows = [{"model": _name(saved), **saved.facts["scores"]} for saved in models]
        if loaded.loop is not None:
            models, rows = _chosen(models, rows, loaded.loop, progress)
    with Delivery(quiet=as_json) as deliver:
        answer = {"file": str(out), "title": loaded.title, "models": rows}
        deliver.answer(lambda: output.print_json(answer) if as_json else _show(loaded, rows))
        best = replace(models[0], facts={**models[0].facts, "devices": loaded.devices})
        deliver.file(out, lambda: save_model(out, best))
    checkpoint.remove()  # kept where the model could not be saved: the same command resumes from it


def _show(loaded, rows: list[dict]) -> None:
    """The scores of the models as a table."""
    from vibrid.commands import output

    headings = {"nrmse": "NRMSE, %", "strong": "strong part, %", "mae": "MAE, kN", "r2": "R²", "trac": "TRAC",
                "energy": "energy", "peak": "peak", "roof": "loop: watched, %", "force": "loop: force, %",
                "residual": "loop: residual, mm", "drift": "loop: drift, mm"}  # fmt: skip
    shown = [name for name in headings if name in rows[0]]
    twins = "left out for that, the kept one is trained with all"
    left_out = f"; {twins}: {', '.join(loaded.left_out)}" if loaded.left_out else ""
    factor = {"nrmse": 100, "strong": 100, "mae": 1e-3, "roof": 100, "force": 100, "residual": 1e3, "drift": 1e3}
    table = [[row["model"], *(f"{factor.get(name, 1) * row[name]:.4g}" for name in shown)] for row in rows]
    scored_on = "validation tests" if loaded.validation else "the training tests"
    headed = ["model", *(headings[n] for n in shown)]
    output.print_table(f"{loaded.title}: models, best first (on {scored_on}{left_out})", headed, table)
    if rows[0]["model"].endswith(" law"):
        typer.echo(f"No network is better than a law: the {rows[0]['model']} is kept.")


def _name(saved) -> str:
    """A model in words."""
    law = saved.facts.get("law")
    if law:
        return f"{law} law"
    network, seed = saved.facts["recipe"]["network"], saved.facts["seed"]
    return f"mean of {len(seed)} {network} networks" if isinstance(seed, list) else f"{network} network, seed {seed}"


def _chosen(models: list, rows: list[dict], loop, progress) -> tuple[list, list[dict]]:
    """Models in the order of their errors in the loop, and rows with those errors."""
    from vibrid.hybrid.learned.closed_loop import BROKEN, loop_errors, run_or_break, with_device

    progress.stage("closed loop with the reference device", len(models) + 1)
    reference = loop.test.run(loop.excitation)
    errors = []
    for i, saved in enumerate(models):
        progress.update(i + 1, "with a network instead of the device")
        capacity = loop.capacity if isinstance(loop.capacity, list) else [loop.capacity]
        device = saved.device(loop.test.rate, *capacity)
        result = run_or_break(with_device(loop.test, loop.place, device), loop.excitation)
        errors.append(BROKEN if result is None else loop_errors(result, reference, loop.place, loop.watch, loop.rest))
    order = sorted(range(len(models)), key=lambda i: errors[i].worst_of)
    more = [{"roof": e.displacement, "force": e.force, "residual": e.residual, "drift": e.drift} for e in errors]
    return [models[i] for i in order], [rows[i] | more[i] for i in order]
