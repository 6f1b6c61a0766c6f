"""Solvers for the information bottleneck: compressions of X that keep what it says of S."""
