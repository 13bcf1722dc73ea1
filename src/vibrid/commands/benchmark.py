"""`vibrid benchmark`: public benchmarks, our score beside the published ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json, TableFile

Name = Annotated[str | None, typer.Argument(metavar="NAME", help="Short name; without it all are listed.")]
Entries = Annotated[str, typer.Option("--entry", help="Entries by name; all of them by default.", show_default=False)]
Out = Annotated[Path, typer.Option(help="Folder for the results.")]
Data = Annotated[Path | None, typer.Option(help="Folder of the benchmark's files, for entries that need them.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer seeds: to check that it runs, not for final numbers.")]
Page = Annotated[bool, typer.Option("--page", help="Only write the page again from the results in --out.")]
AsList = Annotated[bool, typer.Option("--list", help="List the benchmarks and their entries.")]


def benchmark(
    name: Name = None,
    entry: Entries = "",
    out: Out = Path("reproduced"),
    data: Data = None,
    quick: Quick = False,
    page: Page = False,
    as_list: AsList = False,
    csv: TableFile = None,
    as_json: Json = False,
) -> None:
    """Run our entries to a public benchmark and print their scores; without a name all benchmarks are listed.

    Settings are fixed in a file of the package. Every reading of a test part is written into OUT/public/reads.json, and
    the page OUT/public/README.md says how often it was read.

    Example: vibrid benchmark bouc-wen --data benchmarks --out results
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.commands.reproduce import show_item
    from vibrid.core.errors import InputError
    from vibrid.core.writable import check_folder
    from vibrid.papers.public.benchmark import BENCHMARKS, BenchmarkTrial, load_benchmark
    from vibrid.papers.public.pages import FOLDER, ledger_in, scored, write_public_page

    if page:
        write_public_page(out / FOLDER)
        written = out / FOLDER / "README.md"
        output.print_json({"files": [written]}) if as_json else typer.echo(f"{written} was written")
        return
    if name is None or as_list:
        _list([name] if name else list(BENCHMARKS), as_json)
        return
    check_folder(out)
    output.check_table_file(csv)
    entries = [e for e in entry.split(",") if e]
    if csv is not None and len(load_benchmark(name).chosen({"entry": entries})) != 1:
        raise InputError("--csv is for the rows of one entry: name it with --entry.")
    facts = []
    with Delivery(quiet=True) as deliver:
        with terminal_progress(quiet=as_json) as progress:
            trial = BenchmarkTrial(load_benchmark(name), quick, data, progress, ledger_in(out))
            for made in scored(name, entries, out, trial):
                facts.append(made.facts)
                if not as_json:
                    deliver.answer(lambda made=made: show_item(made.facts))
                output.deliver_table(deliver, csv, made.facts["rows"])
                if not deliver.work(f"'{made.facts['item']}' was not written", made.write) and not as_json:
                    deliver.answer(lambda made=made: output.print_json(made.facts))  # so that it is not lost
        if as_json:
            deliver.answer(
                lambda: output.print_json({"benchmark": name, "entries": facts, "folder": out / FOLDER / name})
            )
        else:
            deliver.answer(lambda: typer.echo(f"results are in {out / FOLDER}" if facts else "No entry was made."))


def _list(names: list[str], as_json: bool) -> None:
    from vibrid.commands.output import print_json
    from vibrid.papers.public.benchmark import load_benchmark

    found = [load_benchmark(name) for name in names]
    if as_json:
        print_json(
            [
                {
                    "benchmark": b.name,
                    "citation": b.citation,
                    "split": b.split,
                    "metric": b.metric,
                    "settings_sha256": b.settings_sha256,
                    "published": [vars(score) for score in b.published],
                    "not_run": b.not_run,
                    "entries": [{"name": i.name, "title": i.title, "needs_data": i.real_data} for i in b.items],
                }
                for b in found
            ]
        )
        return
    for b in found:
        typer.echo(f"{b.name}: {b.citation}")
        typer.echo(f"  split: {b.split}")
        typer.echo(f"  score: {b.metric}")
        for score in b.published:
            typer.echo(f"  published: {score.method} {score.value:g} ({score.reference})")
        for item in b.items:
            typer.echo(f"  --entry {item.name}  {item.title}" + ("  (needs --data)" if item.real_data else ""))
