"""`vibrid reproduce`: published tables and figures reproduced, the paper's numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PaperName = Annotated[str | None, typer.Argument(metavar="PAPER", help="Short name; without it all are listed.")]
Tables = Annotated[str, typer.Option("--table", help="Tables by number: 2, or 1,3..5.", show_default=False)]
Figures = Annotated[str, typer.Option("--figure", help="Figures by number: 3..14,16.", show_default=False)]
Studies = Annotated[str, typer.Option("--study", help="Studies beyond the paper, by name.", show_default=False)]
Parts = Annotated[str, typer.Option("--part", help="Parts of a paper, by name.", show_default=False)]
Out = Annotated[Path, typer.Option(help="Folder for the results.")]
Data = Annotated[Path | None, typer.Option(help="Folder of real records, for items that need them.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer seeds: to check that it runs, not for final numbers.")]
Page = Annotated[bool, typer.Option("--page", help="Only write the page again from the results in --out.")]
CheckOnly = Annotated[
    bool, typer.Option("--check", help="Recompute the canaries of the results in --out; exit code 1 if any changed.")
]
AsList = Annotated[bool, typer.Option("--list", help="List what can be reproduced.")]


def reproduce(
    paper: PaperName = None,
    table: Tables = "",
    figure: Figures = "",
    study: Studies = "",
    part: Parts = "",
    out: Out = Path("reproduced"),
    data: Data = None,
    quick: Quick = False,
    page: Page = False,
    check: CheckOnly = False,
    as_list: AsList = False,
) -> None:
    """Reproduce tables, figures and studies of a paper; all of them when none is named.

    Results are written one by one (JSON, PNG and a page), so Ctrl-C keeps those that are done.

    Example: vibrid reproduce joint --table 2 --figure 3..7
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.loops import compile_whole_loops
    from vibrid.core.writable import check_folder
    from vibrid.papers.pages import made_again, write_page
    from vibrid.papers.paper import PAPERS, Run, load_paper

    if check:
        _check([paper] if paper else list(PAPERS), out, data)
        return
    if paper is None or as_list:
        for name in [paper] if paper else PAPERS:
            known = load_paper(name)
            typer.echo(f"{name}: {known.citation}")
            for item in known.items:
                of = f"  (part {item.part})" if item.part else ""
                real = "  (real data)" if item.real_data else ""
                typer.echo(f"  --{item.kind} {item.name}  {item.title}{of}{real}")
        return
    if page:
        write_page(load_paper(paper), out / paper)
        typer.echo(f"{out / paper / 'README.md'} was written")
        return
    check_folder(out)
    wanted = {"table": numbers(table), "figure": numbers(figure), "study": study.split(","), "part": part.split(",")}
    wanted = {kind: [name for name in names if name] for kind, names in wanted.items()}
    if load_paper(paper).whole_loops:
        compile_whole_loops()
    count = 0
    with terminal_progress() as progress, Delivery(quiet=True) as deliver:
        for made in made_again(paper, wanted, out, Run(quick, data, progress)):
            count += 1
            deliver.answer(lambda made=made: _show(made.facts))
            if not deliver.work(f"'{made.facts['item']}' was not written", made.write):
                deliver.answer(lambda made=made: output.print_json(made.facts))  # so that it is not lost
        deliver.answer(lambda: typer.echo(f"results are in {out / paper}" if count else "Nothing was reproduced."))


def _check(names: list[str], out: Path, data: Path | None) -> None:
    """Report the results that no longer hold, and end with exit code 1 when there are any."""
    from vibrid.core.errors import InputError
    from vibrid.papers.freshness import check_results
    from vibrid.papers.paper import Run, load_paper

    found = [(name, result) for name in names for result in check_results(load_paper(name), out / name, Run(data=data))]
    if not found:
        raise InputError(f"There are no results in '{out}': name their folder with --out, e.g. --out results.")
    for name, result in found:
        for broken in result.broken:
            typer.echo(f"{name} {result.label} no longer holds: {broken}")
    stale = sum(bool(result.broken) for _, result in found)
    checked = sum(result.checked > 0 for _, result in found)
    typer.echo(f"{checked} of {len(found)} results checked by canaries, {stale} of them no longer hold.")
    if stale:
        raise typer.Exit(1)


def _show(made: dict) -> None:
    """The checks of an item, and their results."""
    from vibrid.papers.pages import MARKS

    typer.echo(f"{made['item']}: {made['title']} ({made['seconds']:g} s)")
    for check in made["checks"]:
        target = f" (target {check['target']})" if check["target"] else ""
        typer.echo(f"  {check['what']}: {check['measured']}{target} {MARKS[check['met']].strip('*')}".rstrip())


def numbers(text: str) -> list[str]:
    """`3..5,8` as ["3", "4", "5", "8"]."""
    from vibrid.core.errors import InputError

    listed = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        first, _, last = part.partition("..")
        if not first.isdigit() or (last and not last.isdigit()):
            raise InputError(f"'{part}' is not a number or a range of numbers such as 3..14.")
        listed += [str(n) for n in range(int(first), int(last or first) + 1)]
    return listed
