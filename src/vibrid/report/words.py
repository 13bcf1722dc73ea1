"""Numbers, tables and boxes as HTML. Everything that comes from a user passes through `escape`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape as _escape

from vibrid.core.digits import with_uncertainty
from vibrid.report.style import unit_text

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Html(str):
    """Text that is already HTML; any other text is escaped before it enters the page."""


def escape(text) -> str:
    """Text made safe for a page; `Html` stays as it is."""
    return text if isinstance(text, Html) else _escape(str(text))


def number(value: float | None, digits: int = 4) -> str:
    """A number as written by hand: 0.0123, 49.93, 1.8 × 10¹¹; a dash for NaN and None. No line breaks inside it."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        text = f"{value:.{digits}g}"
        text = f"{float(text):.0f}" if "e" in text else text
    else:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{mantissa}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10{str(int(exponent)).translate(_RAISED)}"
    return text.replace("-", "−")


def rounded(value: float, deviation: float) -> str:
    """A value with the digits that its standard deviation supports: as many decimals as two digits of 2σ have."""
    if not (math.isfinite(deviation) and deviation > 0 and math.isfinite(value) and value != 0):
        return number(value, 5)
    text = with_uncertainty(value, 2 * deviation)[0]
    if "e" not in text:
        return text.replace("-", "−")
    return number(value, len(text.partition("e")[0].strip("-").replace(".", "")))


def breakable(name: str) -> Html:
    """A name that a narrow column breaks between its parts: `storeys[0].` and `stiffness`."""
    return Html(re.sub(r"([._])(?=.)", r"\1<wbr>", escape(name)))


def percent(share: float, digits: int = 2) -> str:
    return f"{number(100 * share, digits)}\N{NO-BREAK SPACE}%" if math.isfinite(share) else number(share)


def unit(text: str) -> str:
    return unit_text(text).replace(" ", "\N{NO-BREAK SPACE}") or "–"


def table(headings: Sequence[str], rows: Iterable[Sequence], *, numbers: Sequence[int] = (), caption: str = "") -> Html:
    """A table; `numbers` are the right-aligned columns."""

    def row(cells, tag):
        tags = [f"<{tag}{' class=n' if i in numbers else ''}>{escape(c)}</{tag}>" for i, c in enumerate(cells)]
        return f"<tr>{''.join(tags)}</tr>"

    head = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(row(cells, "td") for cells in rows)
    return Html(f"<div class=wide><table>{head}<thead>{row(headings, 'th')}</thead><tbody>{body}</tbody></table></div>")


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """A list of names and values."""
    return Html(f"<dl>{''.join(f'<dt>{escape(k)}</dt><dd>{escape(v)}</dd>' for k, v in pairs)}</dl>")


def bullets(items: Iterable, kind: str = "") -> Html:
    items = list(items)
    mark = f' class="{kind}"' if kind else ""
    return Html(f"<ul{mark}>{''.join(f'<li>{escape(i)}</li>' for i in items)}</ul>" if items else "")


def paragraph(text, kind: str = "") -> Html:
    return Html(f"<p{f' class={kind}' if kind else ''}>{escape(text)}</p>")


def badge(good: bool, yes: str = "yes", no: str = "no") -> Html:
    return Html(f'<span class="{"good" if good else "bad"}">{escape(yes if good else no)}</span>')


def counted(count: int, thing: str) -> str:
    """`1 record`, `3 records`."""
    return f"{count} {thing}{'' if count == 1 else 's'}"
