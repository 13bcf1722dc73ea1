"""`vibrid hybrid serve` and `vibrid hybrid clock`: what they refuse, and what they say."""

import json

import pytest
from typer.testing import CliRunner

from vibrid import cli


@pytest.fixture
def damper(tmp_path):
    file = tmp_path / "damper.toml"
    limits = 'displacement = "60 mm"\nvelocity = "1 m/s"\nforce = "120 kN"\nstep = "2 mm"\n'
    file.write_text(f'[device]\nkind = "law"\nlaw = {{law = "linear", stiffness = 1e6}}\n[limits]\n{limits}')
    return file


def run(*arguments):
    return CliRunner().invoke(cli.app, ["hybrid", *map(str, arguments)])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0"], "name the allowed clients"),
        (["--host", "0.0.0.0", "--allow", "everybody"], "an entry that is no address"),
        (["--protocol", "serial"], "tcp or udp"),
        (["--port", "99999"], "is not a port"),
        (["--record", "test.txt"], "should end in"),
        (["--log", "/nowhere/at/all.log"], "cannot be written"),
        (["--priority", "100"], "between 1 and 99"),
    ],
)
def test_a_server_that_should_not_start(damper, options, said):
    done = run("serve", damper, *options)
    assert done.exit_code == 1 and said in done.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[device]\nkind = "spring"\n', "there is no specimen called 'spring'"),
        ('[device]\nkind = "remote"\n', "there is no specimen called 'remote'"),
        ("[serve]\nport = 8090\n", "needs 'device'"),
        ('[device]\nkind = "law"\nlaw = {law = "viscous", damping = 1.0}\n[limits]\nforce = "3 mm"\n', "force"),
        ('[device]\nkind = "law"\nlaw = {law = "viscous", damping = 1.0}\n[serve]\nprot = 1\n', "did you mean"),
    ],
)
def test_a_specimen_file_with_a_mistake(tmp_path, text, said):
    (tmp_path / "bad.toml").write_text(text)
    done = run("serve", tmp_path / "bad.toml")
    assert done.exit_code == 1 and said in done.output and "bad.toml" in done.output


def test_the_clock_says_whether_a_rate_was_held():
    done = run("clock", "--rate", 200, "--seconds", 0.2, "--json")
    said = json.loads(done.output)
    assert said["steps"] == 40 and said["rate"] == pytest.approx(200)
    assert done.exit_code == (0 if said["held"] else 1)
    assert said["held"] == (said["misses"] == 0) and ("was held" in said["sentence"]) == said["held"]
    assert said["step"]["median"] <= said["step"]["p99"] <= said["step"]["worst"]
    assert run("clock", "--rate", 0).exit_code == 1
