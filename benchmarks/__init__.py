"""Benchmarks: suites of questions, a runner that keeps every outcome as a row, and a report."""
