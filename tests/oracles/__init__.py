"""References that are slow and independent of the code under test."""
