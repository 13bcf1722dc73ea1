"""The cost of reading: processor time in proportion to the length of a heading, memory to the size of the file."""

import contextlib
import importlib.util
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from vibrid.core.errors import VibridError
from vibrid.project.quantities import in_si
from vibrid.records import read_records
from vibrid.records.readers.assemble import split_unit
from vibrid.records.units import parse_unit

_SPEC = importlib.util.spec_from_file_location(
    "record_files", Path(__file__).resolve().parents[2] / "benchmarks" / "faults" / "record_files.py"
)
record_files = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(record_files)


def _csmip(line: str) -> str:
    first = record_files._csmip()[0].decode().split("\n")
    return "\n".join([first[0], line, *first[1:]])


def _cosmos(line: str) -> str:
    first, *rest = record_files._cosmos()[0].decode().split("\n")
    announced = next(i for i, text in enumerate(rest) if " pts" in text)
    return "\n".join([first, line, *rest[:announced], line, *rest[announced:]])


def _peer(line: str) -> str:
    return f"PEER\n{line}\nACCELERATION TIME SERIES IN UNITS OF G\n{line}\nNPTS= 4, DT= .01 SEC\n1 2 3 4\n"


# headings that a pattern could match in many ways, for a length
HEADINGS = {
    "spaces in a unit": lambda n: f"time [s],a{' ' * n}[mm]{' ' * n}x\n0,1\n1,2\n",
    "brackets": lambda n: f"time [s],a{'[' * n},b\n0,1,2\n1,2,3\n",
    "pairs of brackets": lambda n: f"time [s],a{'(x)[' * (n // 4)}\n0,1\n1,2\n",
    "brackets in one word": lambda n: "[" * n + "\n1 2 3\n4 5 6\n",
    "delimiters": lambda n: f"time,a{',' * n}\n" + f"0,1{',' * n}\n" * 3,
    "equal names": lambda n: "a" + ",a" * (n // 30) + "\n" + ("1" + ",1" * (n // 30) + "\n") * 2,
    "quotes and commas": lambda n: f'"{" " * n}1,5{" " * n}x;2\n' * 3,
    "digits": lambda n: f"{'1' * n}x;2,5\n" * 3,
    "columns of titles": lambda n: f"# {'a ' * (n // 2)}\n1 2\n3 4\n",
    "PEER, spaces": lambda n: _peer(f"NPTS= 1{' ' * n},{' ' * n}x"),
    "PEER, units": lambda n: _peer(f"UNITS OF{' ' * n}({' ' * n}."),
    "PEER, component": lambda n: _peer(f", 90{' ' * n}({'(' * n}"),
    "PEER, formats": lambda n: _peer(f"1 F 1.1{' ' * n}(1{' ' * n}"),
    "PEER, digits": lambda n: _peer(f"(1F1.1 {'1' * n} "),
    "CSMIP, channels": lambda n: _csmip(f"CHAN 1:{' ' * n}x{'x ' * n}"),
    "CSMIP, places": lambda n: _csmip("CHAN 1: 90  LOCATION:" + " " * n),
    "CSMIP, places again": lambda n: _csmip("LOCATION:" * (n // 9)),
    "CSMIP, start": lambda n: _csmip("Start time:" + " " * n),
    "CSMIP, accession": lambda n: _csmip("a-a-1" * (n // 5)),
    "CSMIP, points": lambda n: _csmip(f"60 points of accel{'a' * n}{' ' * n}"),
    "COSMOS, points": lambda n: _cosmos(f"60 {'a ' * n}pts"),
    "COSMOS, units": lambda n: _cosmos("60 pts, " + "units=a, " * (n // 9)),
    "COSMOS, formats": lambda n: _cosmos(f"60 pts, units={'a' * n}Format={' ' * n}"),
    "COSMOS, channels": lambda n: _cosmos("Chan" * (n // 4)),
    "universal file": lambda n: "    -1" + "\n" * n + "x",
    "universal file, spaces": lambda n: " " * n + "-1\n" + " " * n + "58\n",
}
SHORT, LONG, FLOOR = 12_000, 48_000, 0.05


def _seconds(work) -> float:
    start = time.process_time()
    with contextlib.suppress(VibridError):
        work()
    return time.process_time() - start


def _grows_linearly(work_of) -> None:
    """Four times the length takes less than nine times the processor time (sixteen where the cost is quadratic)."""
    _seconds(lambda: work_of(100)())
    short = min(_seconds(work_of(SHORT)) for _ in range(2))
    long = min(_seconds(work_of(LONG)) for _ in range(2))
    assert long < 9 * max(short, FLOOR), (short, long)


@pytest.mark.parametrize("kind", HEADINGS)
def test_a_heading_takes_time_in_proportion_to_its_length(tmp_path, kind):
    path = tmp_path / "file"

    def work_of(length):
        text = HEADINGS[kind](length)

        def work():
            path.write_text(text)
            read_records(path, step=0.01)

        return work

    _grows_linearly(work_of)


@pytest.mark.parametrize(
    "text",
    ["1 a{s}b", "1{s}", "{d}x", "1 {p}", "a{s}(m{s}", "{b}", "1 m^{d}"],
)
def test_a_unit_takes_time_in_proportion_to_its_length(text):
    def work_of(length):
        given = text.format(s=" " * length, d="9" * length, p="m*" * (length // 2), b="(" * length)

        def work():
            for function in (lambda: in_si(given, "m"), lambda: split_unit(given), lambda: parse_unit(given)):
                with contextlib.suppress(VibridError):
                    function()

        return work

    _grows_linearly(work_of)


# -- memory -----------------------------------------------------------------------------------------------------------

COUNT = 40_000


def _values() -> np.ndarray:
    return np.random.default_rng(1).standard_normal(COUNT)


def _rows(form: str, width: int) -> str:
    values = _values()
    return "".join("".join(form % v for v in values[i : i + width]) + "\n" for i in range(0, len(values), width))


def _large_csmip() -> str:
    head, rest = record_files._csmip()[0].decode().split(" 60 Acc", 1)
    return f"{head} {COUNT} Acc{rest.split(chr(10), 1)[0]}\n" + _rows("%9.6f", 8)


def _large_cosmos() -> str:
    head = record_files._cosmos()[0].decode().split("      60 acc", 1)[0]
    head = head.replace(f"{0.6:13.6f}", f"{0.01 * COUNT:13.6f}")
    return f"{head}{COUNT:8d} acceleration pts, units=cm/sec2(04), Format=(8F10.5)\n{_rows('%10.5f', 8)}End-of-data\n"


def _large_knet() -> str:
    head = record_files._knet()[0].decode().split("Memo.", 1)[0].replace("  0.6", f"  {0.01 * COUNT:g}")
    return (
        head
        + "Memo.\n"
        + "".join("".join(f"{int(1e4 * v):9d}" for v in row) + "\n" for row in _values().reshape(-1, 8))
    )


def _short_peer() -> str:
    """Numbers of two characters, which take eight bytes each in memory."""
    return (
        f"PEER\nKobe, 1995, KJMA, 90\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS={4 * COUNT:8d}, DT= .01 SEC\n"
        + "".join(f"{i % 10}{chr(10) if i % 8 == 7 else ' '}" for i in range(4 * COUNT))
    )


LARGE = {
    "PEER, short numbers": _short_peer,
    "PEER, touching numbers": lambda: (
        f"PEER (8F10.5)\nKobe, 1995, KJMA, 90\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS={COUNT:8d}, DT= .01 SEC\n"
        + ("-100.12345" * 8 + "\n") * (COUNT // 8)
    ),
    "PEER": lambda: (
        f"PEER\nKobe, 1995, KJMA, 90\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS={COUNT:8d}, DT= .01 SEC\n"
        + _rows("%15.7E", 5)
    ),
    "CSMIP": _large_csmip,
    "COSMOS": _large_cosmos,
    "K-NET": _large_knet,
    "CSV": lambda: "time [s],a [g]\n" + "".join(f"{0.01 * i:.2f},{v:.6f}\n" for i, v in enumerate(_values())),
    "columns": lambda: "".join(f"{0.01 * i:.2f} {v:.6f}\n" for i, v in enumerate(_values())),
}


@pytest.mark.parametrize("kind", LARGE)
def test_reading_takes_at_most_ten_times_the_size_of_the_file(tmp_path, kind):
    path = tmp_path / "file"
    path.write_text(LARGE[kind]())
    read_records(path)  # what is imported and compiled once is not counted
    tracemalloc.start()
    record = read_records(path)[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(record) in (COUNT, 4 * COUNT)
    assert peak < 10 * path.stat().st_size, f"{peak / path.stat().st_size:.1f} times"
