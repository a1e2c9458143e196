"""Faults on purpose: kills, twins, full disks, broken files, hostile input; `benchmarks/faults.py` for hours."""
