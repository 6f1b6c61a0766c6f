"""Leakage of a private record through redaction."""
