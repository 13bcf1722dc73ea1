"""Numbered cases of a benchmark, each run once: in several processes, and kept in a file of JSON lines, which grows.

Whoever kills a run loses the cases that were being run, and no other.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

Case = Callable[[int], dict]
"""What one case gives, by its number; a function that other processes can import."""


def lines_of(kept: Path | None, name: str) -> dict[int, dict]:
    """What a file of JSON lines holds, by the number of this name in each; a last line that was cut off is left out."""
    if kept is None or not kept.exists():
        return {}
    lines = kept.read_text(encoding="utf-8").splitlines(keepends=True)
    return {line[name]: line for line in map(json.loads, (text for text in lines if text.endswith("\n")))}


def run_cases(
    case: Case, numbers: Iterable[int], name: str, kept: Path | None = None, jobs: int = 1
) -> dict[int, dict]:
    """The cases of these numbers, by number; those of the file `kept` are not run again, and others are added to it.

    jobs: processes, each on one processor.
    """
    done = lines_of(kept, name)
    if kept is not None and kept.exists() and not kept.read_bytes().endswith(b"\n"):
        kept.write_text("".join(json.dumps(line) + "\n" for line in done.values()), encoding="utf-8")
    for number, found in _run(case, [n for n in numbers if n not in done], jobs):
        done[number] = {name: number} | found
        if kept is not None:
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[number]) + "\n")
    return done


def _run(case: Case, numbers: list[int], jobs: int) -> Iterator[tuple[int, dict]]:
    if jobs == 1 or len(numbers) < 2:
        yield from ((number, case(number)) for number in numbers)
        return
    os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    context = multiprocessing.get_context("spawn")
    taken = context.Value("i", 0)
    with context.Pool(min(jobs, len(numbers)), _on_one_processor, (taken,)) as pool:
        yield from pool.imap_unordered(_Numbered(case), numbers)


def _on_one_processor(taken) -> None:
    """The next processor for this process: programs of JAX would begin a thread on each."""
    if not hasattr(os, "sched_setaffinity"):
        return
    there = sorted(os.sched_getaffinity(0))
    with taken.get_lock():
        os.sched_setaffinity(0, {there[taken.value % len(there)]})
        taken.value += 1


class _Numbered:
    def __init__(self, case: Case):
        self.case = case

    def __call__(self, number: int) -> tuple[int, dict]:
        return number, self.case(number)
