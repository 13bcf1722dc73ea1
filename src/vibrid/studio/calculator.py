"""The server's side of the process that computes: one request at a time, ended when it takes too long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

from vibrid.core.errors import VibridError

SECONDS = 120.0
"""For one request, with compilation."""
START = 90.0
"""For the start of the process, which loads JAX."""
_LONGEST = 64 * 1024 * 1024


class Calculator:
    """A process that answers questions about projects (`studio.calculating`); it is started again after a crash."""

    def __init__(self, seconds: float = SECONDS):
        self.seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self._ready: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    def start(self) -> None:
        """Start the process, so that it is ready when the first question comes."""
        if self._ready is None:
            self._ready = asyncio.create_task(self._begin())

    async def ask(self, what: str, **request: Any) -> Any:
        """The answer; VibridError with its sentence where there is none."""
        async with self._lock:
            if self._process is not None and self._process.returncode is not None:
                await self.stop()  # it crashed between two questions
            self.start()
            try:
                if self._ready is not None:
                    await asyncio.wait_for(asyncio.shield(self._ready), START)
                line = json.dumps({"what": what, **request}).encode() + b"\n"
                answer = await asyncio.wait_for(self._exchange(line), self.seconds)
            except TimeoutError:
                await self.stop()
                raise VibridError(
                    f"This took more than {self.seconds:g} s and was ended; try a shorter record."
                ) from None
            except (OSError, ValueError):
                await self.stop()
                raise VibridError("The process that computes has ended; ask again.") from None
            except asyncio.CancelledError:  # the answer to this question must not be taken for that to the next
                await self.stop()
                raise
        if "problem" in answer:
            raise VibridError(answer["problem"])
        return answer["answer"]

    async def stop(self) -> None:
        """End the process."""
        if self._ready is not None:
            self._ready.cancel()
            with contextlib.suppress(BaseException):
                await self._ready
        process, self._process, self._ready = self._process, None, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _begin(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "from vibrid.studio.calculating import main; main()",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST, start_new_session=True,
        )  # fmt: skip
        await self._line()

    async def _exchange(self, line: bytes) -> dict[str, Any]:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(line)
        await self._process.stdin.drain()
        return await self._line()

    async def _line(self) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        return json.loads(await self._process.stdout.readline())
