"""Results of a benchmark: a JSON file, and its section in `benchmarks/README.md`."""

import json
import re
from datetime import date
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def save(name: str, title: str, command: str, machine: str, rows: list[dict]) -> None:
    """Write a benchmark's rows (what, measured, target, met, note, details) and update its section of the page.

    A row measured on another machine than the last names it (`machine`).
    """
    (FOLDER / "results").mkdir(exist_ok=True)
    table = {"title": title, "command": command, "machine": machine, "date": date.today().isoformat(), "rows": rows}
    (FOLDER / "results" / f"{name}.json").write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    section = markdown(table)
    print(section)
    page = FOLDER / "README.md"
    text = page.read_text() if page.exists() else "# Benchmarks\n"
    block = f"<!-- {name} -->\n{section}\n<!-- end of {name} -->\n"
    pattern = re.compile(rf"<!-- {re.escape(name)} -->.*?<!-- end of {re.escape(name)} -->\n", re.S)
    page.write_text(pattern.sub(lambda _: block, text) if pattern.search(text) else f"{text}\n{block}")


def markdown(table: dict) -> str:
    """The section of one benchmark."""
    marks = {True: "met", False: "**missed**", None: ""}
    lines = [f"## {table['title']}", "", f"`{table['command']}` on {table['machine']}, {table['date']}.", ""]
    lines += ["| what | measured | target | | note |", "|---|---|---|---|---|"]
    for row in table["rows"]:
        note, machine = row.get("note", ""), row.get("machine", table["machine"])
        note += "" if machine == table["machine"] else f"{note and '; '}on {machine}"
        cells = (row["what"], row["measured"], row["target"], marks[row["met"]], note)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
