"""What the items about networks as published say of their own numbers, and the picture at the head of the page."""

import json

import matplotlib.pyplot as plt
import numpy as np

from vibrid.papers import Run
from vibrid.papers.ocpnn.closed_loop import published_order
from vibrid.papers.ocpnn.companion import CASES, UNFIT
from vibrid.papers.ocpnn.open_loop import delay_verdict
from vibrid.papers.ocpnn.same_tests import searched
from vibrid.papers.ocpnn.summary import summary, values


def loops(**errors) -> list[dict]:
    names = {"data": "data-driven, as published", "law": "physics-based, as published", "filter": "CUKF"}
    return [
        {"model": names[key], "capacity, kN": kn, "NRMSE, %": e} for key, e in errors.items() for kn in ("paper", 13.0)
    ]


def test_the_order_of_the_networks_as_published():
    assert published_order(loops(data=1.0, law=2.0)) == []
    (check,) = published_order(loops(data=1.0, law=2.0, filter=3.0))
    assert check.measured.startswith("reproduces: data-driven, as published 1.00 %")
    (check,) = published_order(loops(data=2.5, law=2.0, filter=3.0))
    assert check.measured.startswith("does not, because the order is another")


def test_a_delay_that_harms_and_one_that_does_not():
    assert delay_verdict({"filter": [4.0, 4.5, 5.0]}).startswith("reproduces: filter 4.00 % without a delay, 5.00 %")
    assert delay_verdict({"a": [4.0, 5.0], "b": [2.0, 2.01]}).startswith(
        "does not, because the delay raises the error of a "
    )
    assert delay_verdict({"a": [4.0, 4.0], "b": [2.0, 2.01]}).startswith("does not, because the delay hardly matters")


def test_a_grid_of_settings_says_whether_the_printed_ones_are_the_best():
    printed, other = (0.1, 10, 0.99, (48, 48)), (0.0, 5, 0.9, (48,))
    made = lambda *errors: {  # noqa: E731
        choice: {"error": np.array(e), "seconds": np.array(1.0)}
        for choice, e in zip((printed, other), errors, strict=True)
    }
    outcome = searched(made(3.1, 3.0), printed, 30)
    assert outcome.checks[0].measured == "reproduces: no choice is much better (of 2 choices, 30 epochs each)"
    assert [row["joined"] for row in outcome.rows] == ["(48,)", "(48, 48)"]
    outcome = searched(made(4.0, 3.0), printed, 30)
    assert outcome.checks[0].measured.startswith("does not, because another choice is better: 3.00 % (dropout 0.0,")
    assert "the printed settings 4.00 %" in outcome.checks[1].measured


def test_the_cases_in_which_the_tested_device_says_little():
    alike = [name for name in CASES if name not in UNFIT]
    assert [CASES[name].likeness for name in alike][-2:] == [0.9, 0.65]
    assert all(p.likeness == 0 or p.motion < 1 or max(p.late) > 0 for p in (CASES[name] for name in UNFIT))


def test_the_picture_is_drawn_from_what_is_in_the_folder(tmp_path):
    row = {"model": "data-driven", "motions": "validation", "NRMSE, %": "1.94 ± 0.5", "R²": "-0.2 ± 0.06"}
    facts = {"command": "vibrid reproduce ocpnn --table 3 --data FOLDER", "rows": [row | {"seed": "0"}], "checks": []}
    (tmp_path / "table-3.json").write_text(json.dumps(facts), encoding="utf-8")
    run = Run()
    run.folder = tmp_path
    outcome = summary(run)
    assert outcome.rows == [
        {"model": "data-driven", "whose": "ours", "initial weights": 1, "NRMSE, %": 1.94, "R²": -0.2}
    ]
    assert len(outcome.figure.axes) == 3
    plt.close(outcome.figure)
    assert values([row, {"R²": ""}], "R²") == [-0.2]
