"""Solvers for the trade-off of distortion against leakage."""
