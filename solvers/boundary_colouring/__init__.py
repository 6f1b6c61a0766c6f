"""Solvers for randomised colourings of a graph of datasets."""
