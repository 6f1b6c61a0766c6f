"""Machinery that the solvers of several problems share."""
