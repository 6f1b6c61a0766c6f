"""Graphs of datasets."""
