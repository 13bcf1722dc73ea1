"""TDMS files of LabVIEW and other programs of National Instruments, read by npTDMS.

Waveform channels are read: they state their step (`wf_increment`), beginning (`wf_start_time`, UTC) and unit. Needs the
extra `vibrid[daq]`.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import InputError, VibridError
from vibrid.records.clock import UtcClock
from vibrid.records.readers.assemble import DOUBT, FileDescription, assemble, stem
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.record import Record

NAME = "TDMS"
_UNITS = ("unit_string", "NI_UnitDescription", "Unit")
_EPOCH = np.datetime64("1970-01-02", "ns")  # LabVIEW writes 1904 where no time was set


@dataclass(frozen=True, eq=False)
class _Waveform:
    name: str
    unit: str | None
    values: np.ndarray
    step: float | None
    start: float
    zero: np.datetime64 | None


def recognises(source: Source) -> bool:
    return source.head.startswith(b"TDSm")


def read(source: Source, layout: Layout) -> list[Record]:
    try:
        import nptdms
    except ImportError:
        raise source.problem(
            "TDMS files are read with npTDMS, which is not installed: pip install 'vibrid[daq]'."
        ) from None
    warned: list[str] = []
    try:
        with _warnings(warned), nptdms.TdmsFile.open(io.BytesIO(source.content)) as file:
            waves = _waveforms(source, file)
    except VibridError:
        raise
    except Exception as problem:  # damaged segments end in errors of many kinds
        raise source.problem(
            f"it is damaged ({type(problem).__name__}: {' '.join(str(problem).split())[:100]})."
        ) from None
    if unknown := [words for words in warned if "scale type" in words]:
        raise source.problem(f"its numbers are scaled in a way that is not known ({unknown[0]}).")
    if not waves:
        raise source.problem("it holds no channel of numbers.")
    groups: dict[tuple, list[_Waveform]] = {}
    for wave in waves:
        groups.setdefault((wave.values.size, wave.step, wave.start, wave.zero), []).append(wave)
    several = len(groups) > 1
    try:
        layout.check_names([wave.name for wave in waves])
    except InputError as problem:
        raise source.problem(str(problem)) from None
    records = []
    for number, group in enumerate(groups.values(), 1):
        first, names = group[0], [wave.name for wave in group]
        axis = None if first.step is None else {"step": first.step, "start": first.start}
        clock = None if first.zero is None else UtcClock(first.zero, "TDMS header")
        name = layout.name or stem(source)
        about = FileDescription(None, axis, name=f"{name} ({number})" if several else name, clock=clock)
        own = layout.within(names) if several else layout
        columns = np.column_stack([wave.values for wave in group])
        record = assemble(source, columns, names, [wave.unit for wave in group], own, kind=NAME, from_file=about)
        doubts = tuple(f"{DOUBT}the file may be cut short or damaged: {words}" for words in dict.fromkeys(warned))
        records.append(record.replace(history=(*record.history, *doubts)))
    return records


@contextlib.contextmanager
def _warnings(told: list[str]) -> Iterator[None]:
    """Warnings of npTDMS in `told`, instead of on the terminal: without the bytes that they quote."""
    from nptdms.log import log_manager

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            words = str(record.msg)
            told.append((words if "%s" in words else record.getMessage())[:100])

    keeper = Keeper()
    level = log_manager.console_handler.level
    loggers = list(log_manager.loggers.values())
    log_manager.console_handler.setLevel(logging.CRITICAL)
    for logger in loggers:
        logger.addHandler(keeper)
    try:
        yield
    finally:
        log_manager.console_handler.setLevel(level)
        for logger in loggers:
            logger.removeHandler(keeper)


def _waveforms(source: Source, file) -> list[_Waveform]:
    channels = [channel for group in file.groups() for channel in group.channels()]
    kept = [c for c in channels if len(c) and c.dtype is not None and np.dtype(c.dtype).kind in "iuf"]
    if sum(len(c) for c in kept) > source.limits.numbers:
        raise source.problem(f"more than {source.limits.numbers} numbers; pass larger `limits` to read it.")
    short = [c.name for c in kept]
    waves = []
    for channel in kept:
        about = channel.properties
        name = channel.name if short.count(channel.name) == 1 else f"{channel.group_name}/{channel.name}"
        unit = next((str(about[key]).strip() for key in _UNITS if str(about.get(key, "")).strip()), None)
        step, start = about.get("wf_increment"), about.get("wf_start_offset", 0.0)
        step = float(step) if isinstance(step, float | int) and step > 0 else None
        if not isinstance(start, float | int) or not np.isfinite(start):
            raise source.problem(f"the beginning of '{name}' is {str(start)[:40]!r}, no number of seconds.")
        waves.append(_Waveform(name, unit, np.asarray(channel[:], float), step, float(start), _zero(about)))
    return waves


def _zero(about) -> np.datetime64 | None:
    zero = about.get("wf_start_time")
    if not isinstance(zero, np.datetime64):
        return None
    try:
        zero = zero.astype("M8[ns]")
    except (OverflowError, InputError):
        return None
    return zero if not np.isnat(zero) and zero > _EPOCH else None


@READERS.register(NAME)
class TDMS(Reader):
    """TDMS files of LabVIEW: waveform channels with step, unit and beginning."""

    particularity = 125

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
