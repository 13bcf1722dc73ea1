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
from vibrid.papers.pages import Made, facts_of
from vibrid.papers.verdict import NOT_MADE, Results
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


def test_verdicts_stand_at_the_top_with_numbers_from_the_files(tmp_path):
    paper = small_paper()
    claim = Claim(
        "Table 1: 0.2 %",
        "does not, because it diverges",
        published="{figure-1|EI_1|error (%)|.2g} %, {figure-1|1|error (%)} %",
        ours="{figure-1|check: load error|measured}",
        alternative="{table-9|EI_1|error (%)}",
    )
    paper.judge([claim], head="figure-1")
    Made(paper, tmp_path, paper.facts, paper.outcome.figure).write()
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    row = f"| Table 1: 0.2 % | 0.035 %, 12 % | 0.25 % | {NOT_MADE} | – | does not, because it diverges |"
    assert row in page.splitlines()
    assert page.count("![figure-1](figure-1.png)") == 1
    assert page.index(row) < page.index("![figure-1]") < page.index("## Figure 1")


def test_an_unknown_verdict_is_refused():
    with pytest.raises(InputError, match="begins with one of: reproduces"):
        Claim("Table 1", "not yet run")


def test_a_dense_picture_is_made_small():
    fig, ax = plt.subplots(figsize=(9, 6))
    ax.imshow(np.random.default_rng(0).random((400, 600, 3)))
    picture = small_png(fig)
    plt.close(fig)
    from PIL import Image

    assert len(picture) <= LARGEST_PICTURE and Image.open(io.BytesIO(picture)).mode == "P"


@pytest.mark.parametrize("name", list(PAPERS))
def test_committed_pages(name):
    """Every number of a verdict is in the committed results, and every picture that a page shows is there and small."""
    paper, folder = load_paper(name), COMMITTED / name
    results = Results(folder)
    for claim in paper.claims:
        claim.cells(results)
    assert results.missing == []
    assert not paper.head or (folder / f"{paper.head}.png").exists()
    for label in re.findall(r"!\[.*?\]\((.*?)\.png\)", (folder / "README.md").read_text(encoding="utf-8")):
        assert (folder / f"{label}.png").stat().st_size <= LARGEST_PICTURE
        assert json.loads((folder / f"{label}.json").read_text(encoding="utf-8"))["item"] == label
