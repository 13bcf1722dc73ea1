"""The order of the pages in the site. Every page of docs/ stands in exactly one place (a test compares)."""

from __future__ import annotations

TUTORIALS = [
    "first-fit",
    "logger-to-report",
    "ambient-to-model",
    "your-own-law",
    "virtual-hybrid-test",
    "device-network",
]

HOW_TO = [
    "read-a-file",
    "choose-sensors",
    "compare-methods",
    "unknown-load",
    "predict-another-earthquake",
    "check-a-fit",
    "online",
    "fragility",
    "import-opensees",
    "fit-a-cyclic-test",
    "rehearse-a-hybrid-test",
    "watch-a-structure",
]

COMING_FROM = ["opensees", "matlab", "pyoma2", "pysindy", "filterpy", "deepxde"]

EXPLANATION = {
    "Models": ["laws", "structures", "fiber-frame", "simulation", "masing"],
    "Measurements": ["records", "project-file", "check", "modal", "monitoring"],
    "Identification": [
        "identification",
        "theory",
        "uncertainty",
        "loads",
        "cyclic",
        "siva",
        "pidynnet",
        "pidynnet-network",
    ],
    "Hybrid tests": ["hybrid", "hybrid-wire", "safety", "device-networks"],
    "Work": ["studies", "studio", "report", "notebooks", "result-files", "process", "opensees"],
    "The package": ["what-is-proved", "extending", "architecture", "making-the-site"],
}

NOTEBOOKS = ["first-fit", "records", "compare-methods", "modes", "loads", "hybrid-test"]


def navigation(generated: dict[str, str], gallery: list[str]) -> list:
    """The menu: titles come from the pages. `generated` are the reference pages: {title: page}."""

    def folder(name: str, pages: list[str]) -> list:
        return [f"{name}/index.md", *(f"{name}/{p}.md" for p in pages)]

    explanation = [{title: [f"{p}.md" for p in pages]} for title, pages in EXPLANATION.items()]
    return [
        {"Start": ["index.md", "commands.md", "glossary.md", "repository/CHANGELOG.md"]},
        {"Tutorials": folder("tutorials", TUTORIALS)},
        {"How to": folder("how-to", HOW_TO)},
        {"Explanation": explanation},
        {"Reference": [{title: page} for title, page in generated.items()]},
        {"Gallery": ["gallery/index.md", *(f"gallery/{p}.md" for p in gallery)]},
        {"Notebooks": folder("notebooks", NOTEBOOKS)},
        {"Coming from": folder("coming-from", COMING_FROM)},
    ]
