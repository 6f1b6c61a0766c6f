"""Solvers of one step of sequence information privacy."""
