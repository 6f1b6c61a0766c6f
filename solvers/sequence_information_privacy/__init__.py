"""Solvers of sequence information privacy."""
