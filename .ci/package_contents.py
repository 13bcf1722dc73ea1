"""Checks the contents of wheel and sdist: python .ci/package_contents.py TREE WHEEL WHEEL_FROM_SDIST SDIST"""

import sys
import tarfile
import zipfile
from pathlib import Path

LARGEST = 3_000_000
"""Largest size of a wheel in bytes: it holds code and the page of the studio, no data."""
NOTICES = ("LICENSE", "NOTICE")


def problems(tree: Path, wheel: Path, again: Path, sdist: Path) -> list[str]:
    files = {str(p.relative_to(tree / "src")) for p in (tree / "src" / "vibrid").rglob("*") if p.is_file()}
    inside, second = _contents(wheel), _contents(again)
    with tarfile.open(sdist) as archive:
        source = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    package_files = {name for name in inside if ".dist-info/" not in name}
    notices = {name.rpartition("/")[2] for name in inside if ".dist-info/licenses/" in name}
    listed = [f"the wheel lacks {name}" for name in sorted(files - package_files)]
    listed += [f"the wheel holds {name}, which is no file of the package" for name in sorted(package_files - files)]
    listed += [f"the wheel has no {name}" for name in sorted(set(NOTICES) - notices)]
    listed += [f"the sdist has no {name}" for name in sorted({*NOTICES, "README.md", "CHANGELOG.md"} - source)]
    listed += [f"the sdist holds {n}" for n in sorted(source) if n.split("/")[0] in ("tests", "results", "benchmarks")]
    other = [name for name in sorted(inside) if inside[name] != second.get(name)]
    listed += [f"{name} differs in the wheel made from the sdist" for name in other]
    listed += [f"only the wheel made from the sdist holds {name}" for name in sorted(set(second) - set(inside))]
    if wheel.stat().st_size > LARGEST:
        listed.append(f"the wheel has {wheel.stat().st_size} bytes, more than {LARGEST}")
    return listed


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


if __name__ == "__main__":
    listed = problems(*map(Path, sys.argv[1:5]))
    fine = "Every file of the package is in the wheel, nothing else is, and the sdist makes the same one."
    print("\n".join(listed) or fine)
    sys.exit(bool(listed))
