"""Where batches are computed. An engine never changes a number: it computes the batches of a study as they are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any, Protocol, TypeAlias

import numpy as np

from vibrid.core.device import accelerated, cores
from vibrid.core.linalg import one_blas_thread


class AnyBatch(Protocol):
    """A batch, as an engine sees it.

    runs: (size, dimensions) the place of every run in the study; labels: (size,) what else is written of every run, by
    name; shape: the same for batches that one compiled program computes, None where nothing is gained by computing one
    before the others.
    """

    @property
    def runs(self) -> np.ndarray: ...

    @property
    def labels(self) -> dict[str, np.ndarray]: ...

    @property
    def size(self) -> int: ...

    @property
    def shape(self) -> tuple | None: ...


class BatchProgram(Protocol):
    """All that a worker needs to compute batches of a study; it is sent to other processes."""

    def compute(self, batch: Any) -> dict[str, np.ndarray]:
        """The kept numbers of every run of a batch, by name, with a leading axis over its runs."""
        ...

    def inputs(self, batch: Any) -> dict[str, np.ndarray]:
        """What a batch that cannot be computed is kept with, by name."""
        ...


Answer: TypeAlias = tuple[Any, dict[str, np.ndarray] | Exception]
"""A batch (see `AnyBatch`) and its arrays, or the reason why it was set aside."""


class Engine:
    """Computes batches somewhere. The first batch of every shape is computed alone: it compiles for all others."""

    def begin(self, program: BatchProgram) -> None:
        """Get ready to compute batches of a program."""
        raise NotImplementedError

    def results(self, batches: Iterable[AnyBatch]) -> Iterator[Answer]:
        """The answers of batches as they come, in any order; few batches are under way at a time."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what `begin` took; batches under way are given up."""
        raise NotImplementedError


class InProcess(Engine):
    """Computes in this process, a batch on each processor core, or one at a time on an accelerator.

    Arguments
        threads: batches at a time; by default as many as there are cores.
    """

    def __init__(self, threads: int | None = None):
        self.threads = (1 if accelerated() else cores()) if threads is None else threads
        self._program: BatchProgram | None = None

    def begin(self, program: BatchProgram) -> None:
        self._program = program

    def results(self, batches: Iterable[AnyBatch]) -> Iterator[Answer]:
        program = self._program
        assert program is not None, "begin comes first"
        with one_blas_thread(), ThreadPoolExecutor(self.threads) as pool:
            yield from answers_of(
                batches,
                lambda batch: pool.submit(program.compute, batch),
                lambda waiting: wait(waiting, return_when=FIRST_COMPLETED).done,
                lambda future: future.result(),
                lambda: 2 * self.threads,
            )

    def close(self) -> None:
        self._program = None


def answers_of(batches, submit, finished, result, most: Callable[[], int]) -> Iterator[Answer]:
    """Keep at most `most()` batches under way; the first of every shape is alone, so that it is compiled once.

    Arguments
        submit: a batch to a future; finished: futures to those that are done, waiting for one at least; result: a
            future to its arrays, or to the exception that set it aside.
    """
    under_way: dict = {}
    seen: set[tuple | None] = set()

    def collect():
        for future in finished(list(under_way)):
            yield under_way.pop(future), result(future)

    try:
        for batch in batches:
            alone = batch.shape is not None and batch.shape not in seen
            seen.add(batch.shape)
            while under_way and (alone or len(under_way) >= most()):
                yield from collect()
            under_way[submit(batch)] = batch
            while alone and under_way:
                yield from collect()
        while under_way:
            yield from collect()
    finally:
        for future in under_way:
            future.cancel()
