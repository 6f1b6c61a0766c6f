"""Leakage and utility of a mechanism under a model: pure functions, in nats."""

from privopt.measures.redaction import redaction_leakage as redaction_leakage

__all__ = ["redaction_leakage"]
