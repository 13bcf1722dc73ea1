"""Injected faults: damaged files, a damaged wire, killed processes, full disks. `python benchmarks/faults.py`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "hybrid"))  # its servers, clients and devices
