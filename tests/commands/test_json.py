"""`--json` on every command: valid JSON on standard output and nothing else."""

import csv
import json
import socket

import pytest
from every_command import COMMANDS
from test_online_command import folder, online  # noqa: F401

from vibrid.commands.options import with_json_file
from vibrid.papers import PAPERS, Outcome, Paper
from vibrid.papers.forecast import forecast, speed, spoken
from vibrid.papers.pages import machine, reproduce
from vibrid.records.streams import sources
from vibrid.records.streams.packets import pack


def test_every_command_has_the_option():
    without = [words for words, c in COMMANDS.items() if not any("--json" in p.opts for p in c.params)]
    assert not without and len(COMMANDS) > 25


@pytest.fixture
def told(vibrid, tmp_path, monkeypatch):
    """Runs a command in an empty folder and gives its JSON."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        made = vibrid(*words, "--json")
        assert made.exit_code == 0, made.stderr
        return json.loads(made.stdout)

    return run


def test_a_table_of_channels_as_csv(vibrid, told, tmp_path):
    vibrid("motions", "synthesise", "-o", "motion.csv", "--duration", 5)
    (found,) = told("record", "info", "motion.csv", "--csv", "t.csv")
    (row,) = csv.DictReader((tmp_path / "t.csv").open(encoding="utf-8"))
    assert (row["record"], row["name"]) == (found["name"], found["channels"][0]["name"])
    assert (
        float(row["intensity_pga"]) == found["channels"][0]["intensity"]["pga"]
        and int(row["samples"]) == found["samples"]
    )


def test_commands_that_only_write_files(told, tmp_path):
    found = told("motions", "synthesise", "-o", "motion.csv", "--count", 2, "--duration", 5)
    assert [row["seed"] for row in found["motions"]] == [0, 1] and all((tmp_path / f).exists() for f in found["files"])
    found = told("record", "convert", "motion_001.csv", "-o", "motion.h5", "--rate", 50)
    assert found["files"] == ["motion.h5"] and found["records"][0]["step"] == 0.02
    assert told("record", "plot", "motion.h5", "-o", "motion.png")["files"] == ["motion.png"]
    assert told("schema", "--out", "schema.json")["files"] == ["schema.json"] and "$defs" in told("schema")
    assert told("new", "law", "my-wearing-spring")["files"] == ["my_wearing_spring.py"]
    assert {p.name for p in tmp_path.iterdir()} >= {"motion.png", "schema.json", "my_wearing_spring.py"}


def test_the_list_of_papers(told):
    papers = {paper["paper"]: paper for paper in told("reproduce")}
    assert {"joint", "siva"} <= set(papers) and papers["joint"]["items"][0]["name"] == "2"


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["p.toml", "--json"], ["p.toml", "--json", "-"]),
        (["--json", "p.toml", "d.csv"], ["--json", "-", "p.toml", "d.csv"]),
        (["p.toml", "--json", "a.json"], ["p.toml", "--json", "a.json"]),
        (["p.toml", "--json", "-"], ["p.toml", "--json", "-"]),
    ],
)
def test_identify_prints_or_writes(given, made):
    assert with_json_file(given) == made


# -- reproduce -------------------------------------------------------------------------------------------------------


@pytest.fixture
def toy():
    paper = Paper("toy", "A toy.")
    paper.table(1, "Threes")(lambda run: Outcome([{"case": "a", "three": 3.0}, {"case": "b", "three": 3.14159}]))
    paper.table(2, "More")(lambda run: Outcome([{"case": "c"}], note="A note."))
    PAPERS.register("toy")(paper)
    yield paper
    PAPERS.forget("toy")


def test_a_table_is_printed_and_written(toy, vibrid, told, tmp_path):
    text = vibrid("reproduce", "toy", "--table", "1", "--csv", "t.csv").stdout.splitlines()
    assert any("case" in line and "three" in line for line in text) and any("3.142" in line for line in text)
    assert list(csv.DictReader((tmp_path / "t.csv").open()))[1] == {"case": "b", "three": "3.14159"}
    found = told("reproduce", "toy")
    assert [item["item"] for item in found["items"]] == ["table-1", "table-2"]
    refused = vibrid("reproduce", "toy", "--csv", "t.csv")
    assert refused.exit_code == 1 and "name it, as in --table 2" in refused.stderr


def test_a_time_is_forecast_from_what_was_measured_or_not_at_all(toy, tmp_path):
    item, made = toy.items[0], tmp_path / "toy"
    assert forecast(item, made, machine()) is None
    reproduce("toy", out=tmp_path)
    file = made / "table-1.json"
    facts = json.loads(file.read_text())
    assert facts["cold"] and facts["speed"] == pytest.approx(speed(), rel=0.01)
    for changes, expected in [
        ({"seconds": 40.0, "speed": 2 * speed()}, 80.0),
        ({"seconds": 40.0, "speed": 0.5 * speed()}, 20.0),
        ({"seconds": 40.0, "cold": False}, None),
        ({"seconds": 40.0, "machine": "another"}, None),
        ({"seconds": 40.0, "command": "vibrid reproduce toy --table 1 --quick"}, None),
    ]:
        file.write_text(json.dumps(facts | changes))
        assert forecast(item, made, machine()) == (expected if expected is None else pytest.approx(expected))
    assert spoken(644.0) == "about 11 min"


# -- online ----------------------------------------------------------------------------------------------------------


def test_online_as_json(folder):  # noqa: F811
    done = online(folder / "p.toml", "--from", folder / "test.csv", "--json")
    found = json.loads(done.stdout)
    assert found["samples"] == 301 and found["parameters"][0]["estimate"] == pytest.approx(4.0, abs=0.1)
    assert found["parameters"][0]["unit"] == "N/m" and found["lost"] == 0


def test_the_first_packet_is_waited_for_as_long_as_asked(monkeypatch):
    """The sender begins later than the time without a packet that ends a run."""
    monkeypatch.setattr(sources, "WAITING_EVERY", 0.05)
    mouth, port, reports = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), [], []

    def waiting(seconds):
        reports.append(seconds)
        if len(reports) == 3:
            mouth.sendto(pack(0, 0.0, [1.0]), ("127.0.0.1", port[0]))

    with mouth:
        packets = sources.udp("127.0.0.1", 0, 1, 0.1, print, port.append, wait=60.0, waiting=waiting)
        assert next(packets).values[0] == 1.0 and reports[-1] > 0.1
        with pytest.raises(sources.Silence):
            next(packets)


def test_waiting_is_told_and_refused_where_it_means_nothing(folder):  # noqa: F811
    words = [folder / "p.toml", "--from", "udp://127.0.0.1:0", "--rate", 25]
    done = online(*words, "--wait", 0.1)
    assert "waiting up to 0.1 s for the first sample" in done.stderr and "No sample arrived" in done.stdout
    assert "--wait is for udp" in online(folder / "p.toml", "--from", "-", "--rate", 25, "--wait", 3).output
    assert "positive number of seconds" in online(*words, "--wait", 0).output
