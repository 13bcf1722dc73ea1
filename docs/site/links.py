"""Check a built site: every link leads to a page and a heading, and no page asks another host for anything."""

from __future__ import annotations

import json
import posixpath
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The names of headings, the links, and what a browser would fetch."""

    def __init__(self, text: str):
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        found = dict(attrs)
        self.names.update(v for k, v in found.items() if k in ("id", "name") and v)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") not in ("canonical", "next", "prev", "alternate"):
            self.fetched.append(found.get("href") or "")
        elif found.get("src"):
            self.fetched.append(found["src"])


def problems(site: Path) -> list[str]:
    """One sentence for everything that is wrong; the reports that pages link to are pages too."""
    pages = {p.relative_to(site).as_posix(): _Page(p.read_text(encoding="utf-8")) for p in site.rglob("*.html")}
    found = []
    for name, page in sorted(pages.items()):
        if name == "404.html":
            continue
        for target in page.fetched:
            if urlsplit(target).netloc:
                found.append(f"{name} asks another host for {target}")
            elif not target.startswith(("data:", "#")) and not _file(site, name, target).exists():
                found.append(f"{name} shows {target}, which does not exist")
        for target in page.links:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            place = (
                posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
            )
            there = place if (site / place).is_file() else posixpath.join(place, "index.html")
            if not (site / there).is_file():
                found.append(f"{name} links to {target}, which does not exist")
            elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].names | {"__top"}:
                found.append(f"{name} links to {target}; there is no such heading")
    return found + _styles(site)


def unsearchable(site: Path, reports: str = "-files/") -> list[str]:
    """Pages that the search of the site does not find; the reports that blocks wrote are not its pages."""
    index = site / "search.json"
    if not index.exists():
        return ["search.json does not exist: the search finds nothing"]
    found = {item["location"].partition("#")[0] for item in json.loads(index.read_text(encoding="utf-8"))["items"]}
    pages = {p.relative_to(site).as_posix() for p in site.rglob("*.html")}
    return sorted(f"{page} is not found by the search" for page in pages - found - {"404.html"} if reports not in page)


def _file(site: Path, page: str, target: str) -> Path:
    return site / posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(urlsplit(target).path)))


def _styles(site: Path) -> list[str]:
    """Style sheets must not fetch fonts or pictures from elsewhere."""
    return [
        f"{p.relative_to(site)} fetches from another host"
        for p in site.rglob("*.css")
        if any(mark in p.read_text(encoding="utf-8") for mark in ("url(http", "url(//", 'url("http', "@import"))
    ]
