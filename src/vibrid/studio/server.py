"""The server of the studio: the page, its questions and actions."""

from __future__ import annotations

import asyncio
import contextlib
import json
import mimetypes
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute

from vibrid.core.errors import InputError, VibridError
from vibrid.core.files import whole_file
from vibrid.core.version import __version__
from vibrid.studio import editing, templates
from vibrid.studio.calculator import Calculator
from vibrid.studio.guard import REPORT_POLICY, Guard
from vibrid.studio.jobs import Jobs
from vibrid.studio.limits import ReadingLimits
from vibrid.studio.live import Live
from vibrid.studio.looking import Looks
from vibrid.studio.workspace import Conflict, Workspace, mark, texts_of

PAGE = Path(__file__).with_name("page")
LARGEST_UPLOAD = 512 * 1024 * 1024
"""Bytes of one file that is brought to the workspace."""
LARGEST_REQUEST = 4 * 1024 * 1024
MOST_COMPARED = 8
"""Runs whose predictions are drawn over each other."""
TICKET_SECONDS = 60.0
"""For which the address of a report or a download is valid; it is used once."""
_TEND = 0.3  # s between two looks at the jobs


@dataclass(frozen=True)
class Settings:
    """How a studio is set up: where it works, what it accepts."""

    workspace: Workspace
    token: str
    hosts: frozenset[str]
    at_once: int = 1
    watch_only: bool = False
    largest_upload: int = LARGEST_UPLOAD
    reading: ReadingLimits = field(default_factory=ReadingLimits)
    announce: Callable[[], None] = lambda: None
    """Called when requests are answered."""


@dataclass(frozen=True)
class _Ticket:
    """A file that may be fetched once, without the token: by a frame, or by the browser's own download."""

    path: Path
    shown: bool
    until: float


class Studio:
    """The state of a running studio: its workspace, jobs, the process that computes, and the pages that listen."""

    def __init__(self, settings: Settings):
        self.settings, self.workspace = settings, settings.workspace
        self.jobs = Jobs(settings.workspace, settings.at_once)
        self.calculator, self.looks = Calculator(), Looks(settings.reading)
        self.live = Live(self.jobs, self._simulated, self._visited)
        self._tickets: dict[str, _Ticket] = {}

    # -- life ----------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def life(self, _: Starlette) -> AsyncIterator[None]:
        """What runs beside the answers to requests: the queue of jobs, and the process that computes."""
        tending = asyncio.create_task(self._tend())
        self.settings.announce()
        try:
            yield
        finally:
            tending.cancel()
            await self.calculator.stop()
            self.jobs.close()

    def _visited(self) -> None:
        """A page is there, and drawn: JAX is loaded behind it, not before."""
        if not self.settings.watch_only:
            self.calculator.start()

    async def _tend(self) -> None:
        while True:
            self.jobs.tend()
            self.live.tell_jobs()
            await asyncio.sleep(_TEND)

    # -- the page ------------------------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """A file of the page, from a list: no path is followed."""
        name = request.path_params.get("name") or "index.html"
        path = _FILES.get(name)
        if path is None:
            return PlainTextResponse("There is no such page.", 404)
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        return Response(await run_in_threadpool(path.read_bytes), media_type=kind)

    async def ticket(self, request: Request) -> Response:
        """A report or a download, by a ticket."""
        found = self._tickets.pop(request.path_params["ticket"], None)
        if found is None or found.until < time.monotonic() or not found.path.is_file():
            return PlainTextResponse("This address has been used or is too old; ask again on the page.", 404)
        if found.shown:
            headers = {"content-security-policy": REPORT_POLICY}
            return FileResponse(found.path, media_type="text/html; charset=utf-8", headers=headers)
        return FileResponse(found.path, filename=found.path.name, media_type="application/octet-stream")

    # -- questions and actions -----------------------------------------------------------------------------------

    async def state(self, request: Request) -> Any:
        return {
            "version": __version__,
            "watch_only": self.settings.watch_only,
            "workspace": self.workspace.folder.name,
            "files": self.workspace.files(),
            "jobs": self.jobs.all(),
            "templates": templates.template_names(),
            "largest_upload": self.settings.largest_upload,
        }

    async def upload(self, request: Request) -> Any:
        path, size, most = self.workspace.path(request.path_params["name"]), 0, self.settings.largest_upload
        if path.suffix.lower() in (".py", ".pkl", ".pickle"):
            raise InputError("Programs and pickles are not brought to the workspace: they could be executed.")
        if path.exists():
            raise Conflict(f"There is a file '{path.name}' already; remove it first, or give the new one another name.")
        with whole_file(path) as stream:  # a file that is too large is not left behind
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise TooLarge(f"'{path.name}' has more than the {most / 1e6:.0f} MB that are accepted.")
                stream.write(part)
        self.jobs.note(_who(request), f"brought {path.name}")
        return {"files": self.workspace.files()}

    async def remove(self, request: Request) -> Any:
        path = self.workspace.existing(request.path_params["name"])
        path.unlink()
        self.jobs.note(_who(request), f"removed {path.name}")
        return {"files": self.workspace.files()}

    async def look(self, request: Request) -> Any:
        given = await _body(request)
        path, reading = self.workspace.existing(given.get("file")), given.get("reading") or {}
        if not isinstance(reading, dict):
            raise InputError("How a file is read is a table.")
        return await run_in_threadpool(self.looks.look, path, reading)

    async def read_project(self, request: Request) -> Any:
        text = self.workspace.read_project(request.path_params["name"])
        return {"text": text, "mark": mark(text.encode())}

    async def write_project(self, request: Request) -> Any:
        given = await _body(request)
        text, known = given.get("text"), given.get("mark")
        if not isinstance(text, str) or not isinstance(known, str | None):
            raise InputError("A project is a text.")
        return {"mark": self.workspace.write_project(request.path_params["name"], text, known)}

    async def edit(self, request: Request) -> Any:
        given = await _body(request)
        text, operations = given.get("text"), given.get("operations")
        if not isinstance(text, str) or not isinstance(operations, list):
            raise InputError("A change needs the text and what to do.")
        return {"text": await run_in_threadpool(editing.edited, text, operations)}

    async def begin(self, request: Request) -> Any:
        given = await _body(request)
        if given.get("template"):
            known = given["template"] in templates.template_names()
            structures = [] if known else (await self.calculator.ask("schema"))["structure"]
            text = templates.template(given["template"], structures)
        else:
            text = await run_in_threadpool(templates.building, given)
        old = given.get("text")
        return {"text": templates.merged(text, old) if isinstance(old, str) else text}

    async def calculate(self, request: Request) -> Any:
        return await self.computed(await _body(request))

    async def computed(self, given: dict[str, Any]) -> Any:
        """The answer of the process that computes, for a project of the workspace."""
        what = str(given.get("what", ""))
        rest = {key: value for key, value in given.items() if key not in ("what", "results")}
        if what != "schema":
            text = self.workspace.read_project(rest.get("project"))
            self.workspace.refuse_outside(text)
            if what != "describe":  # which reads no measured file
                named = [self.workspace.folder / name for name in (*texts_of(text), str(rest.get("record") or ""))]
                await run_in_threadpool(self.looks.refuse_unbounded, named)
            rest["project"] = str(self.workspace.existing(rest["project"]))
        if what == "predict":
            rest |= self._to_predict(rest)
        known = ("project", "values", "count", "measured", "results", "record", "drive")
        return await self.calculator.ask(what, **{k: rest[k] for k in known if k in rest})

    def _to_predict(self, given: dict[str, Any]) -> dict[str, Any]:
        """The files of the chosen runs and of the record to predict for."""
        runs = given.get("runs")
        if not isinstance(runs, list) or not 0 < len(runs) <= MOST_COMPARED or any(type(n) is not int for n in runs):
            raise InputError(f"Choose 1 to {MOST_COMPARED} runs to predict with.")
        results = {str(number): str(self.jobs.file(number, "result.h5")) for number in runs}
        return {"results": results, "record": str(self.workspace.existing(given.get("record")))}

    async def _simulated(self, given: dict[str, Any]) -> Any:
        return await self.computed({**given, "what": "simulate"})

    async def add_job(self, request: Request) -> Any:
        given = await _body(request)
        options = given.get("options") or {}
        if not isinstance(options, dict):
            raise InputError("The options of a job are a table.")
        number = self.jobs.add(str(given.get("kind")), given.get("project"), options, _who(request))
        self.jobs.tend()
        self.live.tell_jobs()
        return {"job": number}

    async def job(self, request: Request) -> Any:
        return self.jobs.one(request.path_params["number"])

    async def change_job(self, request: Request) -> Any:
        number, what = request.path_params["number"], request.path_params["what"]
        if what not in ("cancel", "again"):
            raise InputError("A job can be cancelled or run again.")
        (self.jobs.cancel if what == "cancel" else self.jobs.again)(number, _who(request))
        self.jobs.tend()
        self.live.tell_jobs()
        return {"job": number}

    async def events(self, request: Request) -> Any:
        return {"events": self.jobs.events()}

    async def give_ticket(self, request: Request) -> Any:
        """An address for a file of a job, or of the workspace: to be shown in a frame, or downloaded."""
        given = await _body(request)
        number, name, shown = given.get("job"), given.get("file"), given.get("show") is True
        path = self.jobs.file(number, name) if type(number) is int else self.workspace.existing(name)
        if shown and path.suffix != ".html":
            raise InputError("Only a report can be shown.")
        now = time.monotonic()
        self._tickets = {k: t for k, t in self._tickets.items() if t.until > now}
        key = secrets.token_urlsafe(24)
        self._tickets[key] = _Ticket(path, shown, now + TICKET_SECONDS)
        return {"address": f"/ticket/{key}"}


class TooLarge(InputError):
    """An upload or a request with too many bytes."""


def _who(request: Request) -> str:
    return request.client.host if request.client else "?"


async def _body(request: Request) -> dict[str, Any]:
    """The JSON of a request, which is a table."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_REQUEST:
            raise TooLarge(f"A request may have at most {LARGEST_REQUEST // 1024**2} MB.")
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InputError("The request is not a table in JSON.")
    return given


def _answered(handle: Callable[[Request], Awaitable[Any]]):
    """A handler whose answer is sent as JSON, and whose refusal is a sentence."""

    async def answer(request: Request) -> Response:
        try:
            return JSONResponse(await handle(request))
        except VibridError as problem:
            status = 409 if isinstance(problem, Conflict) else 413 if isinstance(problem, TooLarge) else 400
            return JSONResponse({"problem": str(problem)}, status)

    return answer


_FILES = {
    path.relative_to(PAGE).as_posix(): path
    for path in PAGE.rglob("*")
    if path.suffix in (".html", ".css", ".js", ".svg") or path.name == "LICENSE"
}


def make_app(settings: Settings) -> Guard:
    """The guarded application of a studio."""
    studio = Studio(settings)

    def route(path: str, handle, *methods: str) -> Route:
        return Route(f"/api/{path}", _answered(handle), methods=list(methods or ("GET",)))

    app = Starlette(
        routes=[
            Route("/", studio.page),
            Route("/page/{name:path}", studio.page),
            Route("/ticket/{ticket}", studio.ticket),
            route("state", studio.state),
            route("files/{name}", studio.upload, "PUT"),
            route("files/{name}", studio.remove, "DELETE"),
            route("look", studio.look, "POST"),
            route("projects/{name}", studio.read_project),
            route("projects/{name}", studio.write_project, "PUT"),
            route("edit", studio.edit, "POST"),
            route("begin", studio.begin, "POST"),
            route("calculate", studio.calculate, "POST"),
            route("jobs", studio.add_job, "POST"),
            route("jobs/{number:int}", studio.job),
            route("jobs/{number:int}/{what}", studio.change_job, "POST"),
            route("events", studio.events),
            route("ticket", studio.give_ticket, "POST"),
            WebSocketRoute("/live", studio.live.serve),
        ],
        lifespan=studio.life,
    )
    app.add_middleware(GZipMiddleware, minimum_size=500)
    guard = Guard(app, settings.hosts, settings.token)
    app.state.guard = guard
    return guard
