"""Finished fits as lines of JSON, shares of the work, and tables of how many intervals hold."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.stats import binomtest


class Lines:
    """Finished pieces of work, one JSON object a line, each found again by the values of its keys."""

    def __init__(self, path: Path | None, keys: tuple[str, ...]) -> None:
        self.path, self.keys = path, keys
        text = path.read_text(encoding="utf-8") if path and path.exists() else ""
        self.done = {self.key(line): line for line in map(json.loads, text.splitlines())}

    def key(self, line: dict) -> tuple:
        return tuple(line.get(name) for name in self.keys)

    def add(self, line: dict) -> None:
        self.done[self.key(line)] = line
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def share(text: str) -> tuple[int, int]:
    """ "2/3" as (2, 3): the second of three parts of the work."""
    k, n = (int(part) for part in text.split("/"))
    if not 1 <= k <= n:
        raise ValueError(text)
    return k, n


def each(make: Callable[..., dict], given: Sequence[tuple], jobs: int = 1) -> Iterator[dict]:
    """What `make` gives for each tuple of arguments, in their order, on so many processes."""
    if jobs == 1:
        yield from (make(*arguments) for arguments in given)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(make, *zip(*given, strict=True))


def exact_interval(held: int, count: int, level: float = 0.99) -> list[float]:
    """Clopper and Pearson's interval of a probability."""
    found = binomtest(held, count).proportion_ci(level, method="exact")
    return [round(float(found.low), 4), round(float(found.high), 4)]


def named(fits: Sequence[dict]) -> dict[str, int]:
    """In how many fits each finding was named."""
    return {name: sum(name in f["said"] for f in fits) for name in sorted({n for f in fits for n in f["said"]})}


def coverage(name: str, lines: Sequence[dict]) -> dict:
    """How many 95 % intervals of these fits hold the true value, and what else they say."""
    fits = [line for line in lines if "failed" not in line]
    row: dict = {"row": name, "fits": len(fits), "failed": len(lines) - len(fits)}
    if not fits:
        return row
    inside = np.concatenate([f["inside"] for f in fits])
    errors = np.concatenate([f["errors"] for f in fits])
    low, high = exact_interval(int(inside.sum()), len(inside))
    return row | {
        "intervals": len(inside),
        "coverage": round(float(inside.mean()), 4),
        "interval_99": [low, high],
        "meets_93_to_97": bool(high >= 0.93 and low <= 0.97),
        "rms_error_in_deviations": round(float(np.sqrt(np.mean(errors**2))), 3),
        "model_fits": round(float(np.mean([f["fits"] for f in fits])), 3),
        "said": named(fits),
        "median_seconds": round(float(np.median([f["seconds"] for f in fits])), 2),
    }
