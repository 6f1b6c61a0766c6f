"""Solvers of sequence information privacy and of its single step."""
