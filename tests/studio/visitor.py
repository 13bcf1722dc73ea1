"""A visitor of the studio in a real browser.

VIBRID_PICTURES=docs/figures/studio makes the pictures of docs/studio.md.
"""

import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PICTURES = os.environ.get("VIBRID_PICTURES")
SLOW = 300_000  # ms, on a machine that is busy; nothing waits longer than it needs


class Visitor:
    """A page of the studio, and what it did: requests, errors."""

    def __init__(self, browser, studio, width=1280, height=800):
        self.page = browser.new_page(viewport={"width": width, "height": height})
        self.page.set_default_timeout(SLOW)
        self.requested, self.errors = set(), []
        self.page.on("request", lambda request: self.requested.add(urlsplit(request.url).netloc))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.goto(f"{studio.address}/#token={studio.token}")
        self.page.wait_for_selector("html[data-ready]")

    def step(self, name):
        self.page.get_by_role("tab", name=name).click()

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def picture(self, name, top=True):
        if PICTURES:
            if top:
                self.page.evaluate("scrollTo(0, 0)")
            self.page.mouse.move(2, 2)
            self.page.screenshot(path=Path(PICTURES) / f"{name}.png")

    def is_accessible(self):
        """No violation of the rules of axe-core: names, labels, contrast, roles."""
        found = axe.Axe().run(self.page)
        assert found.violations_count == 0, found.generate_report()

    def fits(self):
        """Nothing is wider than the window."""
        width = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert width <= 0
