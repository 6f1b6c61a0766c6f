"""Solvers of the problem PostRandomisation."""
