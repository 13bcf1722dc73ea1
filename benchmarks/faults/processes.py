"""Commands of vibrid in processes of their own, which are killed or asked to end at random moments."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

LONGEST = 600.0
"""Seconds after which a process counts as hanging."""
SIGNALS = (signal.SIGKILL, signal.SIGTERM)


class Running:
    """A command in a process, and all that it prints."""

    def __init__(self, folder: Path, *words: str):
        import vibrid

        path = os.pathsep.join([str(Path(vibrid.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vibrid", *words], cwd=folder, text=True, env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.name = " ".join(words[:2])
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def wait_until(self, begun: Callable[[], object]) -> None:
        """Wait until something has happened, or the process has ended."""
        until = time.monotonic() + LONGEST
        while not begun() and self.is_running and time.monotonic() < until:
            time.sleep(0.01)

    def wait_for(self, pattern: str) -> re.Match | None:
        """Wait for a line that matches; None where the process ended without one."""
        self.wait_until(lambda: any(re.search(pattern, line) for line in list(self.lines)))
        matches = (re.search(pattern, line) for line in list(self.lines))
        return next((m for m in matches if m), None)

    def end(self) -> list[str]:
        """Wait for the end; what was wrong with it: a hang, an error without a message."""
        try:
            self.process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return [f"{self.name} hangs"]
        self._reader.join(30)
        raw = [line.strip() for line in self.lines if "Traceback" in line or "Unexpected error" in line]
        return [f"{self.name}: {raw[0]} … {self.lines[-1].strip()}"] if raw else []

    def stop(self, number: signal.Signals, begun: Callable[[], object], seconds: float, generator: random.Random):
        """Send a signal at a random moment up to `seconds` after the work has begun; what was wrong with the end."""
        self.wait_until(begun)
        time.sleep(generator.uniform(0.0, seconds))
        if self.is_running:
            self.process.send_signal(number)
        return self.end()


def half_files(folder: Path) -> list[str]:
    """Temporary files that a command which ended by itself left behind."""
    return [f"'{path.name}' was left behind" for path in folder.rglob("*.part")]
