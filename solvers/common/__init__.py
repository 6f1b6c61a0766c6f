"""Machinery that the solvers of several questions share."""
