"""Solvers of questions on Bayesian differential privacy."""
