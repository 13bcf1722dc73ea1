"""Entries to public files of the nonlinear-benchmark collection, read from the folder of `nonlinear_benchmarks`."""
