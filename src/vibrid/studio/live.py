"""What happens while a page is open: one WebSocket for jobs, running tests, and simulations while a slider moves."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket, WebSocketDisconnect

from vibrid.core.errors import VibridError
from vibrid.studio.jobs import Jobs

_WATCH = 0.05  # s between two looks at a running test
_MOST_WAITING = 200  # messages for one page


class Live:
    """The pages that listen.

    Arguments
        jobs: their list is told whenever it is new.
        simulate: answers a simulation that a page asks for.
        came: called when a page is there.
    """

    def __init__(
        self, jobs: Jobs, simulate: Callable[[dict[str, Any]], Awaitable[Any]], came: Callable[[], None] = lambda: None
    ):
        self.jobs, self._simulation, self._came = jobs, simulate, came
        self._pages: set[asyncio.Queue[str]] = set()
        self._said = ""

    def tell_jobs(self) -> None:
        """Tell all pages about the jobs, where anything is new."""
        said = json.dumps({"jobs": self.jobs.all()})
        if said != self._said:
            self._said = said
            for page in self._pages:
                _offer(page, said)

    async def serve(self, socket: WebSocket) -> None:
        """One page, until it is closed.

        The first message is the token. Then the page sends {"simulate": …, "id"} or {"watch": number or null}; it is
        sent {"jobs"}, {"simulated", "id"}, {"problem", "id"} and {"live"}, which it answers by {"drawn"} once it has
        drawn it: the next look at the test waits for that, so that a page that is slow is never behind.
        """
        await socket.accept()
        try:
            first = await asyncio.wait_for(socket.receive_json(), 10.0)
        except (TimeoutError, ValueError, KeyError, WebSocketDisconnect):
            first = {}
        if not isinstance(first, dict) or not socket.app.state.guard.is_token(first.get("token")):
            with contextlib.suppress(RuntimeError):
                await socket.close(1008, "The token is missing or wrong.")
            return
        self._came()
        page: asyncio.Queue[str] = asyncio.Queue(_MOST_WAITING)
        self._pages.add(page)
        page.put_nowait(json.dumps({"jobs": self.jobs.all()}))
        sending = asyncio.create_task(_send(socket, page))
        watching: asyncio.Task[None] | None = None
        drawn = asyncio.Event()
        try:
            while True:
                message = await socket.receive_json()
                if not isinstance(message, dict):
                    continue
                if "watch" in message:
                    if watching is not None:
                        watching.cancel()
                    number, drawn = message["watch"], asyncio.Event()
                    watching = asyncio.create_task(self._watch(page, number, drawn)) if type(number) is int else None
                elif "drawn" in message:
                    drawn.set()
                elif "simulate" in message and isinstance(message["simulate"], dict):
                    await self._simulate(page, message)
        except (WebSocketDisconnect, ValueError, KeyError, RuntimeError):
            pass
        finally:
            self._pages.discard(page)
            for task in (sending, watching):
                if task is not None:
                    task.cancel()

    async def _simulate(self, page: asyncio.Queue[str], message: dict[str, Any]) -> None:
        number = message.get("id")
        try:
            answer = await self._simulation(message["simulate"])
            _offer(page, json.dumps({"simulated": answer, "id": number}))
        except VibridError as problem:
            _offer(page, json.dumps({"problem": str(problem), "id": number}))

    async def _watch(self, page: asyncio.Queue[str], number: int, drawn: asyncio.Event) -> None:
        """Send what is new of a running test, until it ends; a page that is slow gets more at a time, thinned alike."""
        view = await run_in_threadpool(_view, self.jobs, number)
        while True:
            try:
                said = await run_in_threadpool(view.news)
            except VibridError:  # there is no such job
                return
            if said is not None:
                _offer(page, json.dumps({"live": said}))
                if said.get("ended"):
                    return
                await drawn.wait()
                drawn.clear()
            await asyncio.sleep(_WATCH)


def _view(jobs: Jobs, number: int):
    from vibrid.studio.watching import JobView  # NumPy and the records, which the first page does not need

    return JobView(jobs, number)


async def _send(socket: WebSocket, page: asyncio.Queue[str]) -> None:
    while True:
        await socket.send_text(await page.get())


def _offer(page: asyncio.Queue[str], said: str) -> None:
    """Queue a message; where a page does not keep up, the oldest goes."""
    if page.full():
        page.get_nowait()
    page.put_nowait(said)
