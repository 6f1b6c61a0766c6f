"""Solvers for local information privacy: which channel says most about X and little about S."""
