"""Bayesian differential privacy of records that depend on each other."""
