"""Benchmarks: suites of problems, a runner that keeps every outcome as a row, and a report."""
