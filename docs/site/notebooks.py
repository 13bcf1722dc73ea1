"""The notebooks: run like pages, shown as pages, and offered as files that hold what they gave.

A notebook of docs/notebooks is stored without output. Its cells are run in order by `cells.py`, which shows the
value of the last line of a cell as a notebook does.
"""

from __future__ import annotations

import json
from pathlib import Path

from pages import DOCS, Part
from stage import output

FOLDER = DOCS / "notebooks"


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def jobs() -> dict[str, list[Part]]:
    return {
        _job(p): [Part("cell", _text(c), i, "python") for i, c in enumerate(cells(p)) if _is_code(c)] for p in files()
    }


def write(stage, given: dict) -> None:
    """A page and a file for each notebook."""
    for path in files():
        done = given.get(_job(path))
        results = iter(done["results"]) if done else None
        made, stored = [], json.loads(path.read_text(encoding="utf-8"))
        for cell in stored["cells"]:
            if not _is_code(cell):
                made.append(_text(cell))
                continue
            made.append(f"```python\n{_text(cell).strip()}\n```")
            if results is not None:
                result = next(results)
                made.append(_shown(result))
                cell["outputs"] = _outputs(result)
        name = f"notebooks/{path.name}"
        stage.write(name, json.dumps(stored, indent=1))
        link = f'<p class="vb-file"><a href="{path.name}" download>{path.name}</a></p>'
        made.insert(1, link)
        if done:
            made.append(f'<p class="vb-time">The cells took {done["processor"]:.0f} s of processor time.</p>')
        stage.write(f"notebooks/{path.stem}.md", "\n\n".join(m for m in made if m) + "\n")


def _job(path: Path) -> str:
    return f"notebooks/{path.name}"


def _is_code(cell: dict) -> bool:
    return cell["cell_type"] == "code"


def _text(cell: dict) -> str:
    return "".join(cell["source"])


def _shown(result: dict) -> str:
    shown = [output(result.get("printed", "") + result.get("value", ""))]
    if "html" in result:
        shown.append(f'<div class="vb-cell">{_one_line(result["html"])}</div>')
    if "png" in result:
        shown.append(f'<img alt="figure" src="data:image/png;base64,{result["png"]}">')
    return "\n\n".join(s for s in shown if s)


def _one_line(html: str) -> str:
    """Blank lines would end the passage of HTML for Markdown."""
    return "\n".join(line.strip() for line in html.splitlines() if line.strip())


def _outputs(result: dict) -> list[dict]:
    """What a notebook file keeps of a cell."""
    made = []
    if result.get("printed"):
        made.append({"output_type": "stream", "name": "stdout", "text": result["printed"]})
    data = {"text/html": result.get("html"), "image/png": result.get("png"), "text/plain": result.get("value")}
    data = {k: v for k, v in data.items() if v}
    if data:
        data.setdefault("text/plain", "")
        made.append({"output_type": "execute_result", "metadata": {}, "data": data, "execution_count": None})
    return made
