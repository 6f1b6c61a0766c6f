"""Leakage of released sequences."""
