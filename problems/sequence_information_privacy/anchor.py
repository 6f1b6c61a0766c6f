"""The rule of a policy that leaks nothing: the release that costs least on average, whatever is read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms.policy.fixed import means
from privopt.mechanisms.policy.rules import Setting, register_rule


@dataclass(frozen=True)
class ConstantRule:
    """One release for every input.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> setting = Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1, 1.0, "hamming")
    >>> ConstantRule().propose(setting, np.array([[0.6, 0.4]])).tolist()
    [[[1.0, 0.0], [1.0, 0.0]]]
    """

    name: str = "constant"

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels (M, n, m) for beliefs (M, n)."""
        best = means(beliefs, setting.cost).argmin(axis=1)
        table = np.eye(setting.cost.shape[1])[best]
        return np.repeat(table[:, None, :], beliefs.shape[1], axis=1)


CONSTANT = register_rule(ConstantRule())
