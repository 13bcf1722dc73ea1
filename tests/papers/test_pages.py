"""The page of a paper: its verdicts take their numbers from the results, its pictures are small and embedded."""

import io
import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from vibrid.core.errors import InputError
from vibrid.papers import PAPERS, Check, Claim, Outcome, Paper, load_paper
from vibrid.papers.pages import EARLIER, Made, facts_of
from vibrid.papers.verdict import NOT_MADE, WITHHELD, Results, verdict_table
from vibrid.report.save import LARGEST_PICTURE, small_png

COMMITTED = Path(__file__).parents[2] / "results"


def small_paper() -> Paper:
    paper = Paper("toy", "A toy.")
    paper.figure(1, "Nothing much")(lambda run: None)
    rows = [{"": "EI_1", "error (%)": 0.03456}, {"": "EI_2", "error (%)": 12.0}]
    (item,) = paper.items
    paper.outcome = Outcome(rows, [Check("load error, worst", "0.25 %")], figure=plt.figure(figsize=(3, 2)))
    paper.facts = facts_of(paper, item, paper.outcome, 1.0, False)
    return paper


def test_the_picture_and_the_verdicts_stand_at_the_top_with_numbers_from_the_files(tmp_path):
    paper = small_paper()
    claim = Claim(
        "Table 1: 0.2 %",
        "does not, because it diverges",
        published="{figure-1|EI_1|error (%)|.2g} %, {figure-1|#1|error (%)} %",
        ours="{figure-1|check: load error|measured}",
    )
    unmade = Claim("Table 9", "reproduces", published="{figure-1|EI_1|error (%)} %", ours="{table-9|EI_1|error (%)} %")
    paper.judge([claim, unmade], head="figure-1")
    Made(paper, tmp_path, paper.facts, paper.outcome.figure).write()
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    row = "| Table 1: 0.2 % | 0.035 %, 12 % | 0.25 % | – | – | does not, because it diverges |"
    assert row in page.splitlines()
    assert f"| Table 9 | 0.0346 % | {NOT_MADE} % | – | – | {WITHHELD} table-9 are made |" in page.splitlines()
    assert page.count("![figure-1](figure-1.png)") == 1
    assert page.index("![figure-1]") < page.index(row) < page.index("## Figure 1")


def test_a_result_of_another_command_has_no_numbers_in_the_verdicts(tmp_path):
    paper = small_paper()
    paper.judge([Claim("Table 1", "reproduces", published="{figure-1|EI_1|error (%)} %")])
    withheld = f"{WITHHELD} `{paper.facts['command']}` are made"
    for command, cells in (
        (paper.facts["command"], "| 0.0346 % | – | – | – | reproduces |"),
        (f"{paper.facts['command']} --quick", f"| {NOT_MADE} % | – | – | – | {withheld} |"),
    ):
        Made(paper, tmp_path, paper.facts | {"command": command}).write()
        page = (tmp_path / "README.md").read_text(encoding="utf-8")
        assert f"| Table 1 {cells}" in page and (EARLIER in page) == command.endswith("--quick")


def test_a_row_is_named_by_several_columns(tmp_path):
    rows = [{"model": "a", "of": n, "error (%)": value} for n, value in ((1, 0.5), (2, 0.25))]
    (tmp_path / "table-3.json").write_text(json.dumps({"rows": rows, "checks": []}), encoding="utf-8")
    assert Results(tmp_path).fill("{table-3|a & of=2|error (%)}, {table-3|a|error (%)}") == "0.25, 0.5"
    assert Results(tmp_path).value("table-3", "a & of=3", "error (%)") is None


def test_an_unknown_verdict_is_refused():
    with pytest.raises(InputError, match="begins with one of: reproduces"):
        Claim("Table 1", "not yet run")


def test_a_verdict_may_come_from_an_item_that_judges_its_numbers(tmp_path):
    paper = small_paper()
    judged = Check("verdict", "does not, because 3 of 50 end elsewhere")
    facts = facts_of(paper, paper.items[0], Outcome(checks=[judged, Check("error", "0.2 %")]), 1.0, False)
    (tmp_path / "figure-1.json").write_text(json.dumps(facts), encoding="utf-8")
    cells = Claim("Figure 14", "{figure-1|check: verdict|measured}").cells(Results(tmp_path))
    assert cells[-1] == "does not, because 3 of 50 end elsewhere"
    with pytest.raises(InputError, match=r"no verdict: '0\.2 %'"):
        Claim("Figure 14", "{figure-1|check: error|measured}").cells(Results(tmp_path))


def test_a_dense_picture_is_made_small():
    fig, ax = plt.subplots(figsize=(9, 6))
    ax.imshow(np.random.default_rng(0).random((400, 600, 3)))
    picture = small_png(fig)
    plt.close(fig)
    from PIL import Image

    assert len(picture) <= LARGEST_PICTURE and Image.open(io.BytesIO(picture)).mode == "P"


@pytest.mark.parametrize("name", list(PAPERS))
def test_committed_pages(name):
    """The page shows the verdicts as the committed results give them, and every picture of it is there and small."""
    paper, folder = load_paper(name), COMMITTED / name
    page = (folder / "README.md").read_text(encoding="utf-8")
    for line in verdict_table(paper.claims, paper.results(folder)):
        assert line in page
    assert not paper.head or (folder / f"{paper.head}.png").exists()
    for label in re.findall(r"!\[.*?\]\((.*?)\.png\)", page):
        assert (folder / f"{label}.png").stat().st_size <= LARGEST_PICTURE
        assert json.loads((folder / f"{label}.json").read_text(encoding="utf-8"))["item"] == label
