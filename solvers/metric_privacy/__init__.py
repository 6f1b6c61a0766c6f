"""Solvers of metric privacy: linear programs, a first-order method, published mechanisms."""
