"""Canaries: a result is checked by numbers that are cheap to recompute; a changed number is reported."""

import json

import pytest
from typer.testing import CliRunner

from vibrid.cli import app
from vibrid.papers import PAPERS, Outcome, Paper, Run, load_paper
from vibrid.papers.freshness import check_results
from vibrid.papers.pages import reproduce, section


@pytest.fixture
def toy():
    paper = Paper("toy", "A toy.")

    def slow(run):
        return 3.0

    paper.table(1, "Three")(lambda run: Outcome([{"three": run.once(slow)}]))
    paper.table(2, "Three again")(lambda run: Outcome([{"three": run.once(slow)}]))
    paper.canary("table-1")(lambda run: {"two": (2.0, 1e-6)})
    PAPERS.register("toy")(paper)
    yield paper
    PAPERS.forget("toy")


def test_a_changed_number_is_named(toy, tmp_path):
    reproduce("toy", out=tmp_path)
    folder = tmp_path / "toy"
    assert [(r.label, r.checked, r.broken) for r in check_results(toy, folder, Run())] == [
        ("table-1", 1, ()), ("table-2", 0, ()),
    ]  # fmt: skip
    said = CliRunner().invoke(app, ["reproduce", "toy", "--check", "--out", str(tmp_path)])
    assert said.exit_code == 0 and "1 of 2 results checked by canaries, 0 of them no longer hold" in said.output
    toy.canary("table-1")(lambda run: {"two": (2.00001, 1e-6)})
    said = CliRunner().invoke(app, ["reproduce", "toy", "--check", "--out", str(tmp_path)])
    assert said.exit_code == 1 and "toy table-1 no longer holds: two was 2 and is 2.00001" in said.output
    toy.canary("table-1")(lambda run: {})
    assert check_results(toy, folder, Run())[0].broken == ("two is not computed any more",)


def test_an_option_that_is_given_several_times_asks_for_all_its_names(toy, tmp_path):
    """The last alone was made before."""
    toy.study("b", "B")(lambda run: Outcome([{"one": 1.0}]))
    toy.study("a", "A")(lambda run: Outcome([{"one": 1.0}]))
    words = ["reproduce", "toy", "--study", "b", "--study", "a, b", "--table", "2", "--table", "1..2"]
    said = CliRunner().invoke(app, [*words, "--out", str(tmp_path), "--json"])
    assert said.exit_code == 0
    items = [item["item"] for item in json.loads(said.stdout)["items"]]
    assert items == ["table-2", "table-1", "study-b", "study-a"]
    said = CliRunner().invoke(app, ["reproduce", "toy", "--study", "a", "--study", "c", "--out", str(tmp_path)])
    assert said.exit_code != 0 and "'c'" in said.output


def test_a_number_of_the_result_is_a_canary_itself(toy, tmp_path):
    reproduce("toy", out=tmp_path)
    folder = tmp_path / "toy"
    file = folder / "table-2.json"
    toy.canary("table-2")(lambda run: {"3.0|three": (3.0, 1e-6)})
    assert [(r.label, r.checked, r.broken) for r in check_results(toy, folder, Run())][1] == ("table-2", 1, ())
    toy.canary("table-2")(lambda run: {"3.0|three": (3.1, 1e-6), "4.0|three": (4.0, 1e-6)})
    assert check_results(toy, folder, Run())[1].broken == (
        "3.0|three was 3 and is 3.1", "4.0|three is not in the result",
    )  # fmt: skip
    facts = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(facts | {"command": "vibrid reproduce toy --table 2 --quick"}), encoding="utf-8")
    said = CliRunner().invoke(app, ["reproduce", "toy", "--check", "--out", str(tmp_path)])
    assert said.exit_code == 1 and "toy table-2 no longer holds: it was made by" in said.output


def test_a_number_of_another_result_and_of_a_text_is_a_canary(toy, tmp_path):
    reproduce("toy", out=tmp_path)
    folder = tmp_path / "toy"
    file = folder / "table-1.json"
    facts = json.loads(file.read_text(encoding="utf-8"))
    facts["checks"] = [{"what": "error of all", "measured": "7.13 % (worst of two)", "target": "", "met": None}]
    file.write_text(json.dumps(facts), encoding="utf-8")
    toy.canary("table-2")(
        lambda run: {"table-1|check: error|measured": (7.131, 1e-3), "table-1|3.0|three": (3.0, 1e-6)}
    )
    assert [(r.label, r.checked, r.broken) for r in check_results(toy, folder, Run())][1] == ("table-2", 2, ())
    toy.canary("table-2")(lambda run: {"table-1|check: error|measured": (7.2, 1e-3), "table-9|a|b": (1.0, 1e-6)})
    result = check_results(toy, folder, Run())[1]
    toy.canary("table-2", of_rows=True)(lambda run: 1 / 0)
    reproduce("toy", {"table": ["2"]}, tmp_path)  # a canary that is compared with rows is not needed to make them
    assert result.checked == 1  # of a result that is not in the folder nothing can be said
    assert result.broken == ("table-1|check: error|measured was 7.13 and is 7.2",)


@pytest.mark.parametrize("name", list(PAPERS))
def test_every_item_has_a_canary(name):
    paper = load_paper(name)
    assert [item.label for item in paper.items if item.label not in paper.canaries] == []


def test_a_folder_without_results_is_refused(toy, tmp_path):
    said = CliRunner().invoke(app, ["reproduce", "toy", "--check", "--out", str(tmp_path)])
    assert said.exit_code != 0 and "There are no results" in f"{said.output}{said.exception}"


def test_a_time_that_rests_on_an_earlier_item_is_not_given(toy, tmp_path):
    first, second = reproduce("toy", out=tmp_path)
    assert first["cold"] and not second["cold"]
    assert "no time of its own" in section(second, [])[2] and "no time of its own" not in section(first, [])[2]
    stored = json.loads((tmp_path / "toy" / "table-1.json").read_text())
    assert stored["versions"].keys() >= {"vibrid", "python", "jax", "numpy"} and stored["canaries"]["two"]["value"] == 2
