"""A studio beside a test that runs in a terminal: it shows the test, and its stop button works like Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from vibrid.core.errors import InputError, require
from vibrid.core.interrupts import stop_requested

_PROGRAM = "import sys; from vibrid.studio.serving import serve_watching; serve_watching(sys.argv[1])"


@contextlib.contextmanager
def shown_in_browser(kind: str, project: Path, written: Path | None, wanted: bool) -> Iterator[None]:
    """Serve a page on which a test can be watched while the block runs.

    Arguments
        kind: "hybrid" or "online".
        written: the folder, or the file, in which the test keeps its rows: they are what is shown.
        wanted: whether to do anything at all.

    The server is a process of its own and reads what the test records; the test does nothing for it.
    """
    if not wanted:
        yield
        return
    if written is None:
        raise InputError("--watch shows what is recorded: give --out too.")
    for module in ("starlette", "uvicorn", "websockets", "tomlkit"):
        require(module, "studio", "--watch")
    from vibrid.studio.jobs import Jobs
    from vibrid.studio.workspace import Workspace

    workspace = Workspace(written if written.suffix != ".csv" else written.parent)
    jobs = Jobs(workspace)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell: the stop button needs it
        signal.signal(signal.SIGINT, stop_requested)
    with jobs.adopted(kind, project, written):
        server = subprocess.Popen(  # its input ends with this process, and it with its input
            [sys.executable, "-c", _PROGRAM, str(workspace.folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            line = server.stdout.readline() if server.stdout is not None else b""
            if not line:
                raise InputError("The page for --watch could not be served; run `vibrid doctor`.")
            print(f"Watch at {json.loads(line)['address']}", file=sys.stderr, flush=True)
            yield
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(0.5)  # the page gets the last rows
            server.terminate()
            server.communicate()
    jobs.close()
