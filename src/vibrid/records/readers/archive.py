"""Zip archives of strong-motion files: every member of a known text format is read, the traces are gathered.

Protected against archives that expand without end: the stated and the actual size of members, their number and their
compression ratio are bounded, archives inside archives are not opened, and no file is written.
"""

from __future__ import annotations

import io
import zipfile

from vibrid.records.readers import cosmos, csmip, knet
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.readers.strong_motion import gather
from vibrid.records.record import Record

NAME = "zip archive"
_LARGEST_RATIO = 200  # text of numbers compresses about tenfold


def recognises(source: Source) -> bool:
    return source.head.startswith(b"PK\x03\x04")


def open_zip(source: Source) -> zipfile.ZipFile:
    """The archive, checked: member count, sizes and ratios within the limits."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.content))
        members = archive.infolist()
    except Exception as problem:  # damaged directories end in errors of many kinds
        raise source.problem(f"the zip archive is damaged ({str(problem)[:100]}).") from None
    if len(members) > source.limits.members:
        raise source.problem(f"the archive has {len(members)} members; at most {source.limits.members} are read.")
    total = sum(m.file_size for m in members)
    if total > source.limits.expanded_bytes:
        raise source.problem(
            f"the archive would expand to {total / 1e6:.0f} MB; "
            f"at most {source.limits.expanded_bytes / 1e6:.0f} MB are expanded."
        )
    for member in members:
        if member.file_size > 1_000_000 and member.file_size > _LARGEST_RATIO * max(member.compress_size, 1):
            raise source.problem(f"member '{member.filename[:60]}' is compressed too much; it is not expanded.")
    return archive


def read_member(source: Source, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The bytes of one member, never more than it declares."""
    if member.flag_bits & 0x1:
        raise source.problem(f"member '{member.filename[:60]}' is encrypted.")
    try:
        with archive.open(member) as stream:
            content = stream.read(member.file_size + 1)
    except Exception as problem:  # every method of compression has errors of its own
        raise source.problem(f"member '{member.filename[:60]}' is damaged ({str(problem)[:100]}).") from None
    if len(content) != member.file_size:
        raise source.problem(f"member '{member.filename[:60]}' is not as long as it states.")
    return content


def read(source: Source, layout: Layout) -> list[Record]:
    traces, spectra, others = [], 0, 0
    with open_zip(source) as archive:
        for member in archive.infolist():
            if member.filename.endswith("/"):
                continue
            inner = Source(f"{source.path}:{member.filename}", read_member(source, archive, member), source.limits)
            reader = next((r for r in (csmip, cosmos, knet) if r.recognises(inner)), None)
            if reader is None:
                others += 1
            elif reader is csmip and csmip.holds_spectra(inner):
                spectra += 1
            else:
                traces += reader.traces(inner)
    if not traces:
        what = f"{spectra} files of spectra and {others} others" if spectra or others else "nothing"
        raise source.problem(f"the archive holds no record of a known strong-motion format; it has {what}.")
    records = gather(source, traces, layout, f"{NAME}, {len(traces)} components")
    if not (spectra or others):
        return records
    return [r.replace(f"left out: {spectra} files of spectra, {others} of unknown formats") for r in records]


@READERS.register(NAME)
class Archive(Reader):
    """Zip archives of strong-motion files: every member of a known text format is read, the traces are gathered."""

    particularity = 90

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
