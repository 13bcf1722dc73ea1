"""The page on monitoring: its example prints what it says."""

import contextlib
import io
import re
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "monitoring.md"


def test_the_example_prints_what_the_page_says():
    code, said = re.search(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.S
    ).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, DOCUMENT.name, "exec"), {})
    assert printed.getvalue() == said
