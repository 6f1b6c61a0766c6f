"""Algorithms for local redaction on a Markov chain."""
