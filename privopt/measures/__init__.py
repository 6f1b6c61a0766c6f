"""Leakage and utility of a mechanism under a model: pure functions, in nats."""

from privopt.measures.data_independent import data_independent_bound as data_independent_bound
from privopt.measures.influence import influence as influence
from privopt.measures.influence import regions as regions
from privopt.measures.redaction import redaction_leakage as redaction_leakage
from privopt.measures.redaction_gradient import redaction_gradient as redaction_gradient

__all__ = [
    "data_independent_bound",
    "influence",
    "redaction_gradient",
    "redaction_leakage",
    "regions",
]
