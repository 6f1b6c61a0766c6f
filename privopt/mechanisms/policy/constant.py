"""Policies whose releases do not depend on the letters, and the budget from which on they do.

While kernels are constant there is one path of releases, and along it beliefs go forward by the chain alone. So a policy
is constant over some releases if each kernel on that path is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privopt.errors import InvalidMechanism
from privopt.mechanisms.policy.policy import SequencePolicy

LARGEST = 16.0
"""A budget a letter beyond which nothing is looked for."""
PRECISION = 1e-3
"""The least budget is told to this part of itself."""


def is_constant(policy: SequencePolicy, releases: int) -> bool:
    """Whether the first releases of a policy are the same whatever the letters are.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.9, 0.1]])
    >>> is_constant(SequencePolicy(chain, 0.5), 4), is_constant(SequencePolicy(chain, 2.0), 4)
    (True, False)
    """
    state, seen = policy.start(), set[tuple[tuple[float, ...], int]]()
    for _ in range(releases):
        key = state.belief, policy.chain.phase(policy.record(state.step))
        if key in seen:
            return True
        seen.add(key)
        weights, _ = policy.kernels(np.array([state.belief]), state.step)
        possible = np.array(
            policy.part(policy.batch).filter.inputs(np.array([state.belief]), policy.record(state.step))[0]
            > 0
        )
        rows = weights[0][possible]
        if (rows != rows[0]).any():
            return False
        if policy.chain.max_length is not None and (state.step + 1) * policy.batch >= policy.chain.max_length:
            return True
        state = policy.skip(1, state)
    return True


def least_epsilon(policy: SequencePolicy, releases: int) -> tuple[float, float] | None:
    """Budgets of a letter between which a policy of this rule begins to depend on the letters; found by halving.

    At the first it is constant over so many releases, at the second it is not. A rule whose kernels are best at each
    belief is constant below the first as well, as a smaller budget allows less. None where no budget up to 16 nats does, or
    the policy carries kernels of its own.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> low, high = least_epsilon(SequencePolicy(MarkovChain([[0.9, 0.1], [0.9, 0.1]]), 0.5), 4)
    >>> bool(low <= np.log(5) <= high)  # a release of the rarer letter is worth it from here on
    True
    """
    if policy.prepared:
        return None
    try:
        low, high = policy.epsilon, max(2 * policy.epsilon, 0.01)
        while is_constant(replace(policy, epsilon=high), releases):
            low, high = high, 2 * high
            if high > LARGEST:
                return None
        if not is_constant(replace(policy, epsilon=low), releases):
            low = 0.0
        while high - low > PRECISION * high:
            middle = (low + high) / 2
            low, high = (
                (middle, high) if is_constant(replace(policy, epsilon=middle), releases) else (low, middle)
            )
    except InvalidMechanism:
        return None
    return low, high
