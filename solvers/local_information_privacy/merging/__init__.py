"""Merging observations into blocks that keep the bounds."""
