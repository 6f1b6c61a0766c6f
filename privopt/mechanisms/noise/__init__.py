"""Noise on the answer of a query."""
