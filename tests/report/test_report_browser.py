"""The report in a real browser: it loads without an error and its figures are not empty."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from matplotlib.image import imread

from vibrid.report.html import document
from vibrid.report.sections import estimates_table

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars",
)  # fmt: skip

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the PATH"),
]

WATCH = """<script>
window.problems = []; window.alerts = 0; window.alert = () => { window.alerts += 1; };
addEventListener("error", (e) => window.problems.push(String(e.message)));
addEventListener("securitypolicyviolation", (e) => window.problems.push(e.blockedURI));
</script>"""
LOOK = """<script>
addEventListener("load", () => {
  const canvas = document.querySelector("#explore canvas"), output = document.querySelector("#explore output");
  const say = () => output.textContent;
  const ink = () => {
    const copy = document.createElement("canvas");
    copy.width = canvas.width; copy.height = canvas.height;
    const pen = copy.getContext("2d", { willReadFrequently: true });
    pen.drawImage(canvas, 0, 0);
    const p = pen.getImageData(0, 0, copy.width, copy.height).data;
    let n = 0;
    for (let i = 0; i < p.length; i += 4) if (p[i] + p[i + 1] + p[i + 2] < 720) n += 1;
    return n;
  };
  const seen = { ink: ink(), before: say() };
  const edge = canvas.getBoundingClientRect();
  const where = { clientX: edge.left + 400, clientY: edge.top + 50 };
  canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, bubbles: true, ...where }));
  seen.after = say();
  const choice = document.querySelector("[data-choose=channel]");
  choice.value = 4; choice.dispatchEvent(new Event("change"));
  seen.inkOther = ink();
  seen.channels = choice.options.length;
  seen.figures = [...document.querySelectorAll("figure")].map((f) => {
    const box = (f.querySelector("svg") || f.querySelector("img")).getBoundingClientRect();
    const marks = f.querySelectorAll("path, use, image").length + 100 * f.querySelectorAll("img").length;
    return [marks, box.width, box.height];
  });
  seen.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;

  seen.problems = window.problems; seen.alerts = window.alerts;
  const out = document.createElement("pre");
  out.id = "seen"; out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
</script>"""


def chromium(page, tmp_path, *options):
    command = [CHROMIUM, *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def test_it_loads_and_draws(report, tmp_path):
    text = report.read_text(encoding="utf-8").replace("<head>", "<head>" + WATCH).replace("</body>", LOOK + "</body>")
    page = tmp_path / "watched.html"
    page.write_text(text, encoding="utf-8")
    done = chromium(page, tmp_path, "--window-size=1200,900", "--enable-logging=stderr", "--dump-dom")
    seen = json.loads(unescape(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)[1]))
    assert seen["problems"] == [] and seen["alerts"] == 0
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert len(seen["figures"]) >= 10
    for marks, width, height in seen["figures"]:
        assert marks > 10 and width > 200 and height > 80
    assert seen["ink"] > 3000 and seen["inkOther"] > 3000
    assert seen["channels"] == 5
    assert seen["before"] != seen["after"]
    assert seen["overflow"] <= 0


def test_the_table_of_estimates_fits_the_page(tmp_path):
    """Numbers of the size of a real building, in SI units, and long names, on pages of 1200 and of 1400 px."""
    names = ("storeys[0].stiffness", "storeys[*].post_yield_ratio", "sections[0].reinforcement[12].hardening_ratio_top")
    row = {"unit": "N s^2/m^3", "estimate": 2.600551e7, "standard_deviation": 1.165e4, "at_bound": False}
    row |= {"interval_95": [2.5982e7, 2.6028e7], "bounds": [2.345e6, 2.345e8], "cramer_rao_bound": 1.16e4}
    rows = [{"name": name, "identifiable": False, **row} for name in names]
    text = document("t", "", [("parameters", "Parameters", estimates_table(rows, [2.0512e7] * 3, [4.46e-4] * 3))], "")
    measure = """<script>const box = document.querySelector(".wide");
document.body.dataset.widths = [box.scrollWidth, box.clientWidth];</script></body>"""
    page = tmp_path / "table.html"
    page.write_text(text.replace("</body>", measure), encoding="utf-8")
    for width in (1200, 1400):
        done = chromium(page, tmp_path, f"--window-size={width},900", "--dump-dom")
        needed, available = map(int, re.search(r'data-widths="(\d+),(\d+)"', done.stdout).groups())
        assert available > 800 and needed <= available


def test_its_picture_is_not_blank(report, tmp_path):
    picture = tmp_path / "report.png"
    chromium(report, tmp_path, "--window-size=1200,4000", f"--screenshot={picture}")
    pixels = imread(picture)[..., :3]
    assert pixels.shape[:2] == (4000, 1200)
    for band in range(0, 4000, 1000):
        assert pixels[band : band + 1000].std() > 0.03
    assert not pixels.mean() < 0.5


def test_it_prints(report, tmp_path):
    paper = tmp_path / "report.pdf"
    chromium(report, tmp_path, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    content = paper.read_bytes()
    assert content.startswith(b"%PDF") and len(content) > 50_000
