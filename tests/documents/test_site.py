"""The site of the documentation: pages are read and run as documented, nothing is left out, wrong links are found."""

import ast
import dataclasses
import json
import re
import shutil
import subprocess
import sys

import contents
import gallery
import links
import notebooks
import pytest
import reference
from pages import DOCS, ROOT, blocks_to_run, is_long, is_run, parts
from running import Failed, run_pages
from stage import Stage

import vibrid as vb
from vibrid import extend
from vibrid.core.precision import cache_folder

PAGE = """# A page

<!-- set up
a = 1
-->

```python
print(a)
```

```
what it printed once
```

<!-- not run: another program -->
```python
import nothing
```

```matlab
disp(1)
```

```toml title="b.toml"
c = 2
```

```sh
cat b.toml
```
"""


def test_a_page_is_read_as_documented():
    kinds = [(p.kind, p.language, p.reason) for p in parts(PAGE) if p.kind != "text"]
    assert kinds == [
        ("hidden", "python", ""),
        ("run", "python", ""),
        ("output", "", ""),
        ("shown", "python", "another program"),
        ("shown", "matlab", "a block of another program"),
        ("file", "toml", ""),
        ("run", "sh", ""),
    ]
    assert [p.line for p in parts(PAGE) if p.kind == "run"] == [7, 28]


def test_blocks_are_run_in_one_namespace_and_a_failure_names_page_and_line(tmp_path):
    def run(text):
        blocks = [dataclasses.asdict(p) for p in parts(text) if p.kind in ("run", "hidden", "file")]
        job = tmp_path / "job.json"
        job.write_text(json.dumps([{"name": "page.md", "folder": str(tmp_path / "work"), "blocks": blocks}]))
        cells = ROOT / "docs" / "site" / "cells.py"
        return subprocess.run([sys.executable, str(cells), str(job)], capture_output=True, text=True)

    assert run(PAGE).returncode == 0
    done = json.loads((tmp_path / "done.json").read_text())
    assert [r.get("printed") for r in done["results"]] == ["", "1\n", None, "c = 2\n"]
    for wrong, said in (("print(a)", "page.md, line 7: Traceback"), ("cat b.toml", "page.md, line 28: `false` ended")):
        failed = run(PAGE.replace(wrong, "1 / 0" if wrong == "print(a)" else "false"))
        assert failed.returncode == 1 and failed.stderr.startswith(said)


def test_a_page_that_fails_stops_the_build_and_one_that_ran_is_kept(tmp_path, monkeypatch):
    import running

    monkeypatch.setattr(running, "BUILD", tmp_path)
    good, bad = parts("```python\nprint(3)\n```"), parts("\n```python\nraise ValueError('no')\n```")
    assert run_pages({"good.md": good}, 1, tell=str)["good.md"]["results"][0]["printed"] == "3\n"
    told = []
    run_pages({"good.md": good}, 1, tell=told.append)
    assert told == []  # nothing was run again
    with pytest.raises(Failed, match=r"bad\.md, line 2"):
        run_pages({"bad.md": bad}, 1, tell=str)
    killed = parts("```python\nimport os\n\nos._exit(3)\n```")
    with pytest.raises(Failed, match=r"killed\.md: the process that ran it ended with 3"):
        run_pages({"killed.md": killed}, 1, tell=str)


def test_every_page_has_one_place_in_the_menu():
    menu = json.dumps(contents.navigation({}, []))
    for path in DOCS.rglob("*.md"):
        name = path.relative_to(DOCS).as_posix()
        assert menu.count(f'"{name}"') == 1, f"{name} is not once in docs/site/contents.py"
    for part, folder in (
        (contents.TUTORIALS, "tutorials"),
        (contents.HOW_TO, "how-to"),
        (contents.COMING_FROM, "coming-from"),
    ):
        index = (DOCS / folder / "index.md").read_text(encoding="utf-8")
        assert [p for p in part if f"]({p}.md)" not in index] == []


def test_every_block_and_command_is_run_or_says_why_not():
    command = re.compile(r"^(?:vibrid|python|pip|make) ", re.MULTILINE)
    for path in DOCS.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        run = is_run(path, text)
        indented = re.search(r"^ +```(?:python|sh)\b", text, re.MULTILINE)
        assert not indented, f"{path.relative_to(DOCS)}: a block in a list is not run; blocks begin at the margin"
        for part in parts(text):
            where = f"{path.relative_to(DOCS)}, line {part.line}"
            if part.kind == "run":
                assert run, f"{where}: the page has no line <!-- run -->, and the block does not say why it is not run"
            elif part.kind == "shown" and not part.reason:
                assert part.language not in ("python", "sh"), where
                assert part.language or not command.search(part.text), f"{where}: commands stand in a block `sh`"


def test_a_mark_counts_on_a_line_of_its_own_only():
    page = DOCS / "page.md"
    assert is_run(page, "# A\n\n<!-- run -->\n") and not is_run(page, "write `<!-- run -->` there")
    assert is_long("<!-- long -->\n") and not is_long("| `<!-- long -->` | left out |")


def test_what_is_set_up_is_folded_and_stands_before_its_block(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\n<!-- set up\na = 1\n-->\n\n```python\nprint(a)\n```\n", encoding="utf-8")
    stage = Stage(tmp_path / "pages")
    given = {"results": [{}, {"printed": "1\n"}], "folder": tmp_path, "seconds": 0.1, "processor": 0.1}
    made = stage._with_output(page.read_text(encoding="utf-8"), "page.md", given)
    folded, shown = made.index("<summary>Before this block</summary>"), made.index("print(a)")
    assert folded < made.index("a = 1") < made.index("</details>") < shown < made.index('<div class="vb-output">')


def test_blocks_that_are_run_are_python():
    pages = {p: blocks_to_run(p) for p in DOCS.rglob("*.md")}
    assert sum(bool(blocks) for blocks in pages.values()) >= 48
    for path, blocks in pages.items():
        for block in blocks:
            if block.language == "python" and block.kind != "file":
                ast.parse(block.text, f"{path.name}, line {block.line}")


def test_the_reference_has_every_registered_name(tmp_path):
    stage = Stage(tmp_path / "pages")
    menu = reference.write(stage, {})
    text = {name: (tmp_path / "pages" / name).read_text(encoding="utf-8") for name in menu.values()}
    kinds = {"laws": extend.LAWS, "structures": extend.STRUCTURES, "methods": extend.METHODS, "readers": extend.READERS,
             "integrators": extend.INTEGRATORS, "devices": extend.SPECIMENS, "damping": extend.DAMPINGS}  # fmt: skip
    for page, registry in kinds.items():
        missing = [name for name in registry if f"\n## {name}\n" not in text[f"reference/{page}.md"]]
        assert missing == [], page
    assert "\n## vibrid identify\n" in text["reference/commands.md"]
    assert "| `stiffness` | initial stiffness k | N/m | not negative |" in text["reference/laws.md"]
    assert "- no: " in text["reference/methods.md"]
    assert set(reference.law_table()) >= set(vb.laws.LAWS)
    examples = {name for name in reference.LAW_EXAMPLES.read_text().split('"')}
    assert [name for name in vb.laws.LAWS if name not in examples] == []  # each has a loop to be drawn


def test_the_gallery_is_of_short_files_that_save_one_picture():
    scripts = gallery.scripts()
    assert len(scripts) >= 24
    for path in scripts:
        code = path.read_text(encoding="utf-8")
        title, _, caption = ast.get_docstring(ast.parse(code)).partition("\n\n")
        assert title and caption, path.name
        assert code.count(".savefig(") == 1 and code.rstrip().splitlines()[-1].strip().count(".savefig("), path.name
        lines = [line for line in code.split('"""', 2)[2].splitlines() if line.strip() and "import" not in line]
        assert len(lines) <= 32, f"{path.name} has {len(lines)} lines"


def test_notebooks_are_stored_without_output_and_all_run(tmp_path, monkeypatch):
    import nbformat
    import running

    assert [p.stem for p in notebooks.files()] == sorted(contents.NOTEBOOKS) and len(contents.NOTEBOOKS) == 6
    for path in notebooks.files():
        nbformat.validate(nbformat.read(path, as_version=4))
        assert not any(c.get("outputs") or c.get("execution_count") for c in notebooks.cells(path)), path.name
    monkeypatch.setattr(running, "BUILD", tmp_path)
    monkeypatch.setenv(
        "VIBRID_CACHE", str(cache_folder() or "off")
    )  # programs that other tests compiled are theirs too
    given = run_pages(notebooks.jobs(), 1, tell=str)  # one process runs all six
    rich = {
        name: [kind for r in done["results"] for kind in ("html", "png") if kind in r] for name, done in given.items()
    }
    assert len(given) == 6 and all("html" in shown for shown in rich.values()), rich
    assert "png" in rich["notebooks/records.ipynb"] and "png" in rich["notebooks/loads.ipynb"]


def test_wrong_links_and_other_hosts_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#one">b</a><a href="b.html#two">b</a><a href="c.html">c</a>'
    )
    (tmp_path / "b.html").write_text(
        '<h1 id="one">B</h1><script src="https://example.org/x.js"></script><img src="no.png">'
    )
    assert links.problems(tmp_path) == [
        "a.html links to b.html#two; there is no such heading",
        "a.html links to c.html, which does not exist",
        "b.html asks another host for https://example.org/x.js",
        "b.html shows no.png, which does not exist",
    ]


def test_pages_that_the_search_does_not_find_are_named(tmp_path):
    for name in ("a.html", "b.html", "404.html", "b-files/report.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<h1>A</h1>")
    assert links.unsearchable(tmp_path) == ["search.json does not exist: the search finds nothing"]
    (tmp_path / "search.json").write_text(json.dumps({"items": [{"location": "a.html#one"}]}))
    assert links.unsearchable(tmp_path) == ["b.html is not found by the search"]


def test_links_of_a_page_lead_to_where_their_targets_stand(tmp_path):
    stage = Stage(tmp_path / "pages")
    page = DOCS / "tutorials" / "first-fit.md"
    text = "[`laws`](../laws.md#three-kinds) and [an example](../../examples/frame.toml)\n- one\n"
    turned = stage.turned(text, page, "tutorials/first-fit.md")
    assert (
        turned == "[`laws`](../laws.md#three-kinds) and [an example](../repository/examples/frame.toml.md)\n\n- one\n"
    )
    assert "```toml" in (tmp_path / "pages" / "repository" / "examples" / "frame.toml.md").read_text()
    with pytest.raises(Failed, match="does not exist"):
        stage.turned("[x](nowhere.md)", page, "tutorials/first-fit.md")


def test_the_citation_has_the_version_and_the_readme_is_short():
    assert f"\nversion: {vb.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.browser
def test_the_search_worker_of_a_page_from_the_disk_gets_copies(tmp_path):
    """As that of a server: what the worker does to a message does not reach the page."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium on the PATH")
    shutil.copyfile(ROOT / "docs" / "site" / "file-worker.js", tmp_path / "file-worker.js")
    (tmp_path / "worker.js").write_text("onmessage = (e) => { e.data.words += '!'; postMessage(e.data); };")
    (tmp_path / "page.html").write_text(
        '<body><script src="file-worker.js"></script><script>const worker = new Worker("worker.js");'
        'const asked = { words: "damping" };'
        "worker.onmessage = (e) => { document.body.append(`asked ${asked.words}, got ${e.data.words}`); };"
        "worker.postMessage(asked);</script></body>"
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom"]
    call = [chromium, *options, (tmp_path / "page.html").as_uri()]
    shown = subprocess.run(call, capture_output=True, text=True, timeout=120).stdout
    assert "asked damping, got damping!" in shown
