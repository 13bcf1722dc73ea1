"""Starting the studio: its address, its token, and the page in the browser."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
import webbrowser
from pathlib import Path

from vibrid.core.errors import InputError, require
from vibrid.studio.guard import allowed_hosts, chosen_token, is_loopback

WARNING = (
    "Other machines can reach the studio at this address. Whoever has the token can read and change the workspace and "
    "start jobs; the connection is not encrypted. Use it in a network that you trust."
)
_LAST_WORDS = 1.5  # s in which a page learns that a test has ended


def serve(
    folder: Path,
    host: str,
    port: int,
    token: str | None = None,
    *,
    at_once: int = 1,
    open_page: bool = False,
    as_json: bool = False,
    watch_only: bool = False,
) -> None:
    """Serve a workspace until Ctrl-C.

    Arguments
        host: the address to listen on; one that other machines reach needs a `token`.
        port: 0 takes a free one.
        as_json: announce the address on standard output as a line of JSON.
        watch_only: for a test that runs already; no process that computes is started.
    """
    for module in ("starlette", "uvicorn", "websockets", "tomlkit"):
        require(module, "studio", "The studio")
    import uvicorn

    from vibrid.studio.server import Settings, make_app
    from vibrid.studio.workspace import Workspace

    secret = chosen_token(host, token)
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/#token={secret}"

    def announce() -> None:
        _signals_wait(False)
        if as_json:
            print(json.dumps({"address": address, "workspace": str(folder)}), flush=True)
        else:
            print(f"The studio works in '{folder}'. Open {address}\nCtrl-C ends it; jobs go on.", flush=True)
        if not is_loopback(host):
            print(WARNING, file=sys.stderr, flush=True)
        if open_page:
            threading.Thread(target=_open, args=(address,), daemon=True).start()

    hosts = allowed_hosts(host, port)
    app = make_app(Settings(Workspace(folder), secret, hosts, at_once, watch_only, announce=announce))
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, ws="websockets-sansio", ws_max_size=4 * 1024 * 1024,
        server_header=False, timeout_graceful_shutdown=2, limit_concurrency=200,
    )  # fmt: skip
    with listening, contextlib.suppress(KeyboardInterrupt):
        _signals_wait(True)  # until the server can answer them: in between they would end it with a traceback
        try:
            asyncio.run(uvicorn.Server(settings).serve(sockets=[listening]))
        finally:
            _signals_wait(False)


def _signals_wait(wanted: bool) -> None:
    """Let requests to stop wait, or come; on Windows they always come."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK if wanted else signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})


def serve_watching(folder: str) -> None:
    """Serve a folder in which a test runs, for a page that only watches: nothing is computed beside the test.

    It ends with the process that holds the other end of its standard input, however that ends.
    """
    threading.Thread(target=_end_with_input, daemon=True).start()
    serve(Path(folder), "127.0.0.1", 0, as_json=True, watch_only=True)


def _end_with_input() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    time.sleep(_LAST_WORDS)
    os.kill(os.getpid(), signal.SIGTERM)


def _open(address: str) -> None:
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(address)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(100)
    except OSError as problem:
        listening.close()
        reason = problem.strerror or str(problem)
        raise InputError(
            f"The studio cannot listen on {host}, port {port} ({reason}); choose another with --port (0: a free one)."
        ) from None
    return listening
