"""Who may talk to the studio: its own page in the user's browser, and nobody else.

Another page in the same browser can send requests to any address of this machine. It cannot choose the headers `Host`,
`Origin` and `Sec-Fetch-Site`, and it does not know the token; each of them is checked.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from vibrid.core.errors import InputError

Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

SHORTEST_TOKEN = 16
"""Characters of a token that a user chooses."""

PAGE_POLICY = (
    "default-src 'self'; connect-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""A report carries its own script and style. It has no origin, reaches no address and sees nothing of the page."""

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def chosen_token(host: str, given: str | None) -> str:
    """The token of a server: the user's, or a random one, which is enough on this machine only."""
    local = is_loopback(host)
    if given is not None and len(given) < SHORTEST_TOKEN:
        raise InputError(f"A token needs at least {SHORTEST_TOKEN} characters; yours has {len(given)}.")
    if given is not None and not (given.isascii() and given.isalnum()):
        raise InputError("A token has letters and digits only: it is part of an address.")
    if given is None and not local:
        raise InputError(
            f"--host {host} lets other machines reach the studio: choose a token of your own with --token, "
            f"{SHORTEST_TOKEN} letters and digits or more."
        )
    return given or secrets.token_hex(24)


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only; one that stands for all addresses is refused."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False  # the name of a machine
    if address.is_unspecified:
        raise InputError(f"--host {host} stands for all addresses; give the one under which the page is opened.")
    return address.is_loopback


def allowed_hosts(host: str, port: int) -> frozenset[str]:
    """The values of `Host` that the studio answers."""
    names = ["127.0.0.1", "localhost", "[::1]"] if is_loopback(host) else [f"[{host}]" if ":" in host else host]
    return frozenset(f"{name}:{port}" for name in names)


class Guard:
    """Refuses requests that are not the page's own, and adds the headers that keep the page to itself.

    Arguments
        app: what is guarded.
        hosts: see `allowed_hosts`.
        token: needed for everything under /api, as `Authorization: Bearer`.

    A WebSocket is asked for its token by the app, in its first message, since browsers cannot send it as a header.
    """

    def __init__(self, app: App, hosts: frozenset[str], token: str):
        self.app, self.hosts, self._token = app, hosts, token.encode()

    async def __call__(self, scope: Message, receive, send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refused = self.refusal(scope)
        if refused is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refused[1][:120]})
        else:
            await _answer(_with_headers(send), *refused)

    def refusal(self, scope: Message) -> tuple[int, str] | None:
        """Status and sentence for a request that is refused; None for one that is not."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts, origins, sites = (headers.get(name, []) for name in ("host", "origin", "sec-fetch-site"))
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 421, "This is not the address of the studio; open the one that it printed."
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return 403, "Another page may not use the studio."
        if any(site not in ("same-origin", "none") for site in sites):
            return 403, "Another page may not use the studio; open the address that it printed."
        if scope["type"] == "websocket":
            return None if len(origins) == 1 else (403, "A WebSocket is opened by the page of the studio only.")
        path = scope["path"]
        if path.startswith("/api/"):
            given = headers.get("authorization", [])
            if len(given) != 1 or not self.is_token(given[0].removeprefix("Bearer ")):
                return 401, "The token is missing or wrong; open the whole address that the studio printed."
        elif scope["method"] not in ("GET", "HEAD"):
            return 405, "Files of the page can only be read."
        return None

    def is_token(self, given: object) -> bool:
        """Whether it is the token; takes as long for a wrong one."""
        return isinstance(given, str) and secrets.compare_digest(given.encode(errors="replace"), self._token)


def _with_headers(send):
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            added = {**_HEADERS, "content-security-policy": PAGE_POLICY}
            more = [(k.encode(), v.encode()) for k, v in added.items() if k.encode() not in own]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sending


async def _answer(send, status: int, sentence: str) -> None:
    body = sentence.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
