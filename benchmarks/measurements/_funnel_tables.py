"""Tables for the funnel's measurements, and leakage in the unit they are shown in."""

from __future__ import annotations

import math

import numpy as np

from privopt.models import JointDistribution
from privopt.problems.privacy_funnel import PrivacyFunnel

MILLIBITS = 1000 / math.log(2)
"""Thousandths of a bit in a nat."""


def random_table(seed: int, secrets: int, symbols: int) -> JointDistribution:
    """A table drawn uniformly from all of them."""
    law = np.random.default_rng((seed, secrets, symbols)).dirichlet(np.ones(secrets * symbols))
    return JointDistribution(law.reshape(secrets, symbols))


def floored(seed: int, secrets: int, symbols: int, fraction: float) -> PrivacyFunnel:
    """The least leakage of a merging that keeps a share of H(X)."""
    return PrivacyFunnel(random_table(seed, secrets, symbols), theta_fraction=fraction, form="merging")
