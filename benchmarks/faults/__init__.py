"""Injected faults: damaged files, a damaged wire, killed processes, full disks. `python benchmarks/faults.py`."""
