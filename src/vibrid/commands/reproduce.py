"""`vibrid reproduce`: published tables and figures reproduced, the paper's numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vibrid.commands.options import Json

PaperName = Annotated[str | None, typer.Argument(metavar="PAPER", help="Short name; without it all are listed.")]
Names = list[str] | None  # an option that may be given several times; each holds names separated by commas
Tables = Annotated[Names, typer.Option("--table", help="Tables by number: 2, or 1,3..5.", show_default=False)]
Figures = Annotated[Names, typer.Option("--figure", help="Figures by number: 3..14,16.", show_default=False)]
Studies = Annotated[Names, typer.Option("--study", help="Studies beyond the paper, by name.", show_default=False)]
Parts = Annotated[Names, typer.Option("--part", help="Parts of a paper, by name.", show_default=False)]
Out = Annotated[Path, typer.Option(help="Folder for the results.")]
Data = Annotated[Path | None, typer.Option(help="Folder of real records, for items that need them.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer seeds: to check that it runs, not for final numbers.")]
Page = Annotated[bool, typer.Option("--page", help="Only write the page again from the results in --out.")]
CheckOnly = Annotated[
    bool, typer.Option("--check", help="Recompute the canaries of the results in --out; exit code 1 if any changed.")
]
TablesFile = Annotated[
    Path | None, typer.Option("--csv", help="Write the rows of one item as CSV.", show_default=False)
]
AsList = Annotated[bool, typer.Option("--list", help="List what can be reproduced.")]


def reproduce(
    paper: PaperName = None,
    table: Tables = None,
    figure: Figures = None,
    study: Studies = None,
    part: Parts = None,
    out: Out = Path("reproduced"),
    data: Data = None,
    quick: Quick = False,
    page: Page = False,
    check: CheckOnly = False,
    as_list: AsList = False,
    csv: TablesFile = None,
    as_json: Json = False,
) -> None:
    """Reproduce tables, figures and studies of a paper; all of them when none is named.

    The rows of each item are printed. Results are written one by one (JSON, PNG and a page), so Ctrl-C keeps those that
    are done. The time of an item is forecast only where it was measured before, by the results in --out.

    Example: vibrid reproduce joint --table 2 --figure 3..7
    """
    from vibrid.commands import output
    from vibrid.commands.delivery import Delivery
    from vibrid.commands.progress import terminal_progress
    from vibrid.core.errors import InputError
    from vibrid.core.loops import compile_whole_loops
    from vibrid.core.writable import check_folder
    from vibrid.papers.pages import made_again, write_page
    from vibrid.papers.paper import PAPERS, Run, load_paper

    if check:
        _check([paper] if paper else list(PAPERS), out, data, as_json)
        return
    if paper is None or as_list:
        _list([paper] if paper else list(PAPERS), out, as_json)
        return
    if page:
        written = out / paper / "README.md"
        write_page(load_paper(paper), out / paper)
        output.print_json({"files": [written]}) if as_json else typer.echo(f"{written} was written")
        return
    check_folder(out)
    output.check_table_file(csv)
    wanted = {"table": numbers(table), "figure": numbers(figure), "study": listed(study), "part": listed(part)}
    if load_paper(paper).whole_loops:
        compile_whole_loops()
    if csv is not None and len(load_paper(paper).chosen(wanted)) != 1:
        raise InputError("--csv is for the rows of one item: name it, as in --table 2.")
    facts = []
    with Delivery(quiet=True) as deliver:
        with terminal_progress(quiet=as_json) as progress:
            for made in made_again(paper, wanted, out, Run(quick, data, progress)):
                facts.append(made.facts)
                if not as_json:
                    deliver.answer(lambda made=made: show_item(made.facts))
                output.deliver_table(deliver, csv, made.facts["rows"])
                if not deliver.work(f"'{made.facts['item']}' was not written", made.write) and not as_json:
                    deliver.answer(lambda made=made: output.print_json(made.facts))  # so that it is not lost
        if as_json:
            deliver.answer(lambda: output.print_json({"paper": paper, "items": facts, "folder": out / paper}))
        else:
            deliver.answer(lambda: typer.echo(f"results are in {out / paper}" if facts else "Nothing was reproduced."))


def _list(names: list[str], out: Path, as_json: bool) -> None:
    """What can be reproduced, and how long it takes where that is known."""
    from vibrid.commands.output import print_json
    from vibrid.papers.forecast import forecast, spoken
    from vibrid.papers.pages import machine
    from vibrid.papers.paper import load_paper

    here, papers = machine(), [load_paper(name) for name in names]
    seconds = {(p.name, i.label): forecast(i, out / p.name, here) for p in papers for i in p.items}
    if as_json:
        print_json(
            [
                {
                    "paper": paper.name,
                    "citation": paper.citation,
                    "items": [
                        {
                            "kind": i.kind,
                            "name": i.name,
                            "title": i.title,
                            "part": i.part,
                            "real_data": i.real_data,
                            "seconds_expected": seconds[paper.name, i.label],
                        }
                        for i in paper.items
                    ],
                }
                for paper in papers
            ]
        )
        return
    for paper in papers:
        typer.echo(f"{paper.name}: {paper.citation}")
        for item in paper.items:
            notes = [f"part {item.part}"] if item.part else []
            notes += ["real data"] if item.real_data else []
            expected = seconds[paper.name, item.label]
            notes += [] if expected is None else [spoken(expected)]
            typer.echo(f"  --{item.kind} {item.name}  {item.title}" + "".join(f"  ({note})" for note in notes))


def _check(names: list[str], out: Path, data: Path | None, as_json: bool) -> None:
    """Report the results that no longer hold, and end with exit code 1 when there are any.

    Papers are checked side by side: most of the time programs are compiled, each on one core.
    """
    from vibrid.commands.output import print_json
    from vibrid.core.errors import InputError
    from vibrid.papers.freshness import check_results
    from vibrid.papers.jobs import on_threads
    from vibrid.papers.paper import Run, load_paper

    def of_paper(name: str) -> list:
        return check_results(load_paper(name), out / name, Run(data=data))

    of_papers = dict(on_threads(of_paper, [(name,) for name in names], alike=False))
    found = [(name, result) for number, name in enumerate(names) for result in of_papers[number]]
    if not found:
        raise InputError(f"There are no results in '{out}': name their folder with --out, e.g. --out results.")
    stale = sum(bool(result.broken) for _, result in found)
    checked = sum(result.checked > 0 for _, result in found)
    if as_json:
        rows = [{"paper": n, "item": r.label, "checked": r.checked, "broken": list(r.broken)} for n, r in found]
        print_json({"results": rows, "checked": checked, "no_longer_hold": stale})
    else:
        for name, result in found:
            for broken in result.broken:
                typer.echo(f"{name} {result.label} no longer holds: {broken}")
        typer.echo(f"{checked} of {len(found)} results checked by canaries, {stale} of them no longer hold.")
    if stale:
        raise typer.Exit(1)


def show_item(made: dict) -> None:
    """The rows of an item as a table, its checks and their results, and its note."""
    from vibrid.commands.output import print_table
    from vibrid.papers.pages import MARKS, cell

    title = f"{made['item']}: {made['title']} ({made['seconds']:g} s)"
    if made["rows"]:
        columns = list(dict.fromkeys(key for row in made["rows"] for key in row))
        rows = [[cell(row.get(column)) for column in columns] for row in made["rows"]]
        print_table(title, columns, rows, right=columns[1:])
    else:
        typer.echo(title)
    for check in made["checks"]:
        target = f" (target {check['target']})" if check["target"] else ""
        typer.echo(f"  {check['what']}: {check['measured']}{target} {MARKS[check['met']].strip('*')}".rstrip())
    if made["note"]:
        typer.echo(made["note"])


def listed(given: list[str] | None) -> list[str]:
    """The names of an option, which may be given several times: `["a,b", "c"]` as ["a", "b", "c"]; each once."""
    names = (name.strip() for text in given or [] for name in text.split(","))
    return list(dict.fromkeys(filter(None, names)))


def numbers(given: list[str] | None) -> list[str]:
    """`["3..5", "8"]` as ["3", "4", "5", "8"]."""
    from vibrid.core.errors import InputError

    wanted = []
    for part in listed(given):
        first, _, last = part.partition("..")
        if not first.isdigit() or (last and not last.isdigit()):
            raise InputError(f"'{part}' is not a number or a range of numbers such as 3..14.")
        wanted += [str(n) for n in range(int(first), int(last or first) + 1)]
    return list(dict.fromkeys(wanted))
