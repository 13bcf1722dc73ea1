"""The journal of a test that was interrupted: the samples recorded until then."""

from __future__ import annotations

from vibrid.core.errors import InputError
from vibrid.records.journal import SIGNATURE, read_journal, record_of
from vibrid.records.readers.assemble import described_anew
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.record import Record

NAME = "journal"


def recognises(source: Source) -> bool:
    return source.head.startswith(SIGNATURE)


def read(source: Source, layout: Layout) -> list[Record]:
    kept = read_journal(source.content, source.path)
    if len(kept.rows) == 0:
        raise source.problem("nothing was recorded before the test ended.")
    if kept.rows.size > source.limits.numbers:
        raise source.problem(f"more than {source.limits.numbers} numbers; pass larger `limits` to read it.")
    kept = kept._replace(name=layout.name or kept.name)
    try:
        record = record_of(kept, [f"read from {source.name} (journal of a test)"])
    except InputError as problem:
        raise source.problem(str(problem)) from None
    return described_anew(source, [record], layout)


@READERS.register(NAME)
class JournalFile(Reader):
    """The journal of a test that was interrupted: the samples recorded until then."""

    particularity = 110

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
