"""Public benchmarks: problems, data and scores that others published, with rules that are fixed before the test data
are read. They are registered by name and imported when asked for, as the papers are."""

from vibrid.papers.public.benchmark import (
    BENCHMARKS,
    Benchmark,
    BenchmarkTrial,
    DataFile,
    PublishedScore,
    load_benchmark,
)
from vibrid.papers.public.ledger import Ledger
from vibrid.papers.public.pages import scored, write_public_page

BENCHMARKS.announce("bouc-wen", "vibrid.papers.public.bouc_wen.entries:BENCHMARK")
BENCHMARKS.announce("rths", "vibrid.papers.public.rths.entries:BENCHMARK")
BENCHMARKS.announce("black-box", "vibrid.papers.public.black_box.entries:BENCHMARK")
BENCHMARKS.announce("silverbox", "vibrid.papers.public.collection.entries:SILVERBOX")
BENCHMARKS.announce("cascaded-tanks", "vibrid.papers.public.collection.entries:TANKS")
BENCHMARKS.announce("wiener-hammerstein", "vibrid.papers.public.collection.entries:WIENER_HAMMERSTEIN")
BENCHMARKS.announce("f16", "vibrid.papers.public.collection.entries:F16")

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "BenchmarkTrial",
    "DataFile",
    "Ledger",
    "PublishedScore",
    "load_benchmark",
    "scored",
    "write_public_page",
]
