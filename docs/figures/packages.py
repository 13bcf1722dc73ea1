"""Draws docs/figures/packages.svg, the packages of vibrid in the order in which they may import each other.

python docs/figures/packages.py
"""

from pathlib import Path
from xml.sax.saxutils import escape

PACKAGES = (
    ("core", "shared by all: errors, paths, registries, files", "#5a6672"),
    ("records", "measurements: readers, filters, spectra, motions", "#0072b2"),
    ("laws", "force laws of parts, one per file", "#0072b2"),
    ("structures", "buildings, beams, frames …; sensors, modes, reduction", "#0072b2"),
    ("simulation", "time integration: one integrator per file", "#0072b2"),
    ("modal", "modes from measurements: ambient vibration, free decays", "#0072b2"),
    ("networks", "layers, training, export", "#0072b2"),
    ("identification", "problem, result, identifiability, one method per file", "#0072b2"),
    ("hybrid", "coordinator, actuators, device models, network protocol", "#0072b2"),
    ("studies", "many runs: what varies, batches, engines, datasets, fragility", "#0072b2"),
    ("monitor", "a structure watched for years: series, alarms, location", "#0072b2"),
    ("conformance", "checks of laws, methods, devices …", "#007a5a"),
    ("extend", "stable names for authors of plugins", "#007a5a"),
    ("report", "figures and the HTML report", "#007a5a"),
    ("papers", "published tables and figures, reproduced", "#007a5a"),
    ("project", "user interface: the project file", "#b35a00"),
    ("bridge", "models of other programs: OpenSees in and out", "#b35a00"),
    ("commands, studio", "user interface: thin commands, and a page in the browser", "#b35a00"),
)
ROW, WIDTH, LEFT = 34, 640, 64


def picture() -> str:
    height = ROW * len(PACKAGES) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="13" role="img">',
        "<title>The packages of vibrid: each imports only those above it</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<defs><marker id="head" viewBox="0 0 10 10" refX="5" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="#26303a"/></marker></defs>',
        f'<line x1="34" y1="{height - 16}" x2="34" y2="20" stroke="#26303a" stroke-width="1.5" '
        'marker-end="url(#head)"/>',
        f'<text x="22" y="{height / 2}" fill="#26303a" text-anchor="middle" '
        f'transform="rotate(-90 22 {height / 2})">imports only packages above</text>',
    ]
    for i, (name, contents, colour) in enumerate(PACKAGES):
        top = 12 + ROW * i
        parts += [
            f'<rect x="{LEFT}" y="{top}" width="150" height="{ROW - 6}" rx="4" fill="{colour}"/>',
            f'<text x="{LEFT + 75}" y="{top + 19}" fill="#ffffff" text-anchor="middle" '
            f'font-weight="bold">{name}</text>',
            f'<text x="{LEFT + 164}" y="{top + 19}" fill="#26303a">{escape(contents)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), encoding="utf-8")
