"""Solvers of problems of Bayesian differential privacy."""
