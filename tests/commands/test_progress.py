"""What people see while they wait."""

import io
import re
import sys

from rich.console import Console

from vibrid.commands.progress import LiveProgress, PlainProgress, terminal_progress
from vibrid.core.progress import SILENT


def test_plain_lines_where_nobody_watches():
    stream = io.StringIO()
    progress = PlainProgress(stream, every=0.0)
    progress.stage("fitting (compiling)", 60)
    progress.update(3, "misfit 2.1")
    progress.stage("drawing")
    progress.update(1)
    assert stream.getvalue().splitlines() == [
        "fitting (compiling) ...",
        "fitting (compiling): 3 of 60, misfit 2.1",
        "drawing ...",
        "drawing: 1",
    ]
    quiet = io.StringIO()
    patient = PlainProgress(quiet, every=100.0)
    patient.stage("fitting", 60)
    patient.update(1)
    assert quiet.getvalue() == "fitting ...\n", "updates are not more frequent than asked"


def test_a_live_line_with_time_left():
    stream = io.StringIO()
    progress = LiveProgress(Console(file=stream, force_terminal=True, width=120))
    with progress.bars:
        progress.stage("compiling", 10)
        progress.update(4, "misfit 7")
        progress.bars.refresh()
        assert "compiling" in stream.getvalue() and "misfit 7" in stream.getvalue() and "left" in stream.getvalue()
        progress.stage("drawing")
        assert progress.bars.tasks[0].finished, "a stage that ends early counts as done"
        progress.finish()
    assert progress.bars.finished


def test_silence_on_request():
    with terminal_progress(quiet=True) as progress:
        assert progress is SILENT


def test_text_on_standard_error_stands_above_the_live_line(monkeypatch):
    stream = io.StringIO()
    progress = LiveProgress(Console(file=stream, force_terminal=True, width=60))
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with progress.bars:
        progress.stage("fitting", 10)
        print("First answer, before its checks:\n  storeys[0].stiffness: 60.1 ± 0.2 N/m", file=sys.stderr, flush=True)
        progress.stage("checking the result")
        progress.finish()
    lines = [re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", line).strip() for line in re.split(r"[\r\n]+", stream.getvalue())]
    assert "First answer, before its checks:" in lines and "storeys[0].stiffness: 60.1 ± 0.2 N/m" in lines
    assert sum("checking the result" in line for line in lines) >= 1
