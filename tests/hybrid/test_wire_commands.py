"""`vibrid hybrid serve` and `vibrid hybrid clock`: what they refuse, and what they say."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid import cli
from vibrid.commands.limits import limits_from
from vibrid.hybrid import RemoteSubstructure, SafetyLimits, StopLatch, WireProblem


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


LAW = '[device]\nkind = "law"\nlaw = {law = "linear", stiffness = 1e6}\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAW, "no limit of displacement, velocity, force, step"),
        (LAW + '[limits]\ndisplacement = "60 mm"\nvelocity = "1 m/s"\nforce = "9 kN"\n', "no limit of step"),
        (LAW + "[limits]\ndisplacement = 60\n", 'write the unit of this number, such as "60 m"'),
        (LAW + '[limits]\ndisplacement = "60 m"\n', "which no tested device reaches"),
        (LAW + '[limits]\ndisplacement = "60 mm"\nstep = "200 mm"\n', "one of the two has a wrong unit"),
        (LAW + '[serve]\nwhen_silent = "drop"\n', "'drop' is not one of the names"),
    ],
)
def test_a_device_without_sound_limits_is_not_served(tmp_path, text, said):
    (tmp_path / "damper.toml").write_text(text)
    done = run("serve", tmp_path / "damper.toml", "--port", 0)
    assert done.exit_code == 1 and said in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("force", 'written --limit "force=90 kN"'),
        ("forse=90 kN", "did you mean 'force'"),
        ("force=90", "--limit force: write the unit of this number"),
        ("force=90 mm", "--limit force: 'mm' measures"),
        ("displacement=90 m", "which no tested device reaches"),
    ],
)
def test_a_wrong_limit_on_the_command_line(damper, option, said):
    done = run("serve", damper, "--port", 0, "--limit", option)
    assert done.exit_code == 1 and said in " ".join(done.output.split())


def test_limits_of_the_command_line():
    assert limits_from(["force=90 kN", " step = 2 mm"]) == SafetyLimits(force=90e3, step=2e-3)
    assert limits_from(None) == SafetyLimits()
    with pytest.raises(vb.InputError, match="given twice"):
        limits_from(["step=2 mm", "step=3 mm"])


def test_a_record_that_cannot_be_written_is_refused_before_a_client_connects(damper, tmp_path):
    done = run("serve", damper, "--port", 0, "--record", tmp_path / "nowhere" / "test.h5")
    assert done.exit_code == 1 and "cannot be written" in done.output and "serving" not in done.output
    damper.write_text(damper.read_text() + '[record]\nfile = "nowhere/test.h5"\n')
    done = run("serve", damper, "--port", 0)
    assert done.exit_code == 1 and "cannot be written" in done.output
    assert sorted(p.name for p in tmp_path.iterdir()) == ["damper.toml"], "nothing is left behind"


def test_a_stopped_device_is_served_again_when_someone_has_cleared_it(damper):
    stops = damper.with_suffix(".stops.json")
    StopLatch(stops).set("force is 2e5 N")
    done = run("serve", damper, "--port", 0)
    assert done.exit_code == 1 and "force is 2e5 N" in done.output and "vibrid hybrid clear" in done.output
    assert run("clear", damper).exit_code != 0, "without a name"
    assert run("clear", damper, "--by", "17").exit_code == 1
    done = run("clear", damper, "--by", "Jane Doe")
    assert done.exit_code == 0 and "cleared by Jane Doe" in done.output
    done = run("clear", damper, "--by", "Jane Doe")
    assert done.exit_code == 1 and "no stop to clear" in done.output
    assert StopLatch(stops).standing is None
    assert run("clear", damper.with_name("other.toml"), "--by", "Jane Doe").exit_code == 1


def test_keep_does_not_serve_a_stopped_device_until_it_is_cleared(damper, tmp_path):
    """The whole program: a test that is stopped, a client that is refused, a name, and a test that is served."""
    source = str(Path(vb.__file__).resolve().parents[1])
    places = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": places, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "vibrid.cli", "hybrid", "serve", str(damper), "--port", "0", "--keep"]
    command += ["--record", str(tmp_path / "test.h5")]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        client = RemoteSubstructure("127.0.0.1", port, timeout=120.0)
        with pytest.raises(WireProblem, match="a step beyond its limit"):
            client.trial(np.array([0.01]), np.zeros(1), np.zeros(1), 0.1)
        assert "stopped: the client commanded a motion that is refused" in server.stdout.readline()
        with pytest.raises(WireProblem, match="nobody has cleared the stop"):
            RemoteSubstructure("127.0.0.1", port, timeout=120.0)
        assert run("clear", damper, "--by", "Jane Doe").exit_code == 0
        client = _connect(port)
        assert client.trial(np.array([0.001]), np.zeros(1), np.zeros(1), 0.1)[0] == 1e3
        client.commit()
        client.stop("done")
        assert "the client ended the test; 1 steps" in server.stdout.readline()
    finally:
        server.kill()
        server.communicate(timeout=60)
    assert list(vb.read_record(tmp_path / "test.h5")["stop"]) == [11]
    assert "cleared by Jane Doe" in " ".join(vb.read_record(tmp_path / "test-2.h5").history)


def _connect(port):
    until = time.monotonic() + 60.0
    while True:
        try:
            return RemoteSubstructure("127.0.0.1", port, timeout=120.0)
        except WireProblem:
            if time.monotonic() > until:
                raise


def test_the_clock_says_whether_a_rate_was_held():
    done = run("clock", "--rate", 200, "--seconds", 0.2, "--json")
    said = json.loads(done.output)
    assert said["steps"] == 40 and said["rate"] == pytest.approx(200)
    assert done.exit_code == (0 if said["held"] else 1)
    assert said["held"] == (said["misses"] == 0) and ("was held" in said["sentence"]) == said["held"]
    assert said["step"]["median"] <= said["step"]["p99"] <= said["step"]["worst"]
    assert run("clock", "--rate", 0).exit_code == 1
