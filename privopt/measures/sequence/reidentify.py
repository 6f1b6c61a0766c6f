"""Who released a sequence, by how each user's letters move."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from privopt.errors import InvalidMechanism
from privopt.files.labels import Label
from privopt.measures.sequence._hidden_words import Impossible, forward
from privopt.measures.sequence._policy_reading import Reading, read
from privopt.mechanisms import Channel
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.models import MarkovChain

T = TypeVar("T")
User = TypeVar("User", bound=Hashable)


def hmm_reidentify(
    chains: Mapping[User, MarkovChain],
    policy: SequencePolicy | Channel | Mapping[User, SequencePolicy | Channel],
    released: Sequence[Label],
    prior: Mapping[User, float] | None = None,
) -> dict[User, float]:
    """The probability that a released sequence is that of each user, by how each user's letters move.

    The likelihood of the releases under each user's chain, by the forward recursion with the kernels in force, and Bayes' rule.

    Parameters
    ----------
    chains : mapping of users to MarkovChain
        Of any order, on letters that the policy reads.
    policy : SequencePolicy or Channel, or a mapping of users to them
        What all users released with, or each with their own. A channel is used at every step.
    released : sequence of labels
        As for :func:`privopt.measures.sequence.adversary`.
    prior : mapping of users to float, optional
        Proportional to their probabilities; equal by default.

    Returns
    -------
    dict of users to float
        In the order of ``chains``; sums to 1.

    Raises
    ------
    InvalidMechanism
        If no user can have released it, or a user has no policy or no prior.

    Examples
    --------
    >>> users = {"stays": MarkovChain([[0.9, 0.1], [0.1, 0.9]]), "moves": MarkovChain([[0.1, 0.9], [0.9, 0.1]])}
    >>> response = Channel([[0.8, 0.2], [0.2, 0.8]])
    >>> found = hmm_reidentify(users, response, [0, 0, 0, 0, 1, 1])
    >>> {user: round(p, 4) for user, p in found.items()}
    {'stays': 0.7769, 'moves': 0.2231}
    """
    logs = np.full(len(chains), -np.inf)
    policies = policy if isinstance(policy, Mapping) else {}
    shared = None if isinstance(policy, Mapping) else read(policy, released)
    for i, (user, chain) in enumerate(chains.items()):
        weight = 1.0 if prior is None else _of(prior, user, "prior")
        if weight > 0:
            seen = shared if shared is not None else read(_of(policies, user, "policy"), released)
            logs[i] = np.log(weight) + _log_likelihood(chain, seen)
    if not len(logs) or logs.max() == -np.inf:
        raise InvalidMechanism("no user of the chains given can have released this sequence")
    found = np.exp(logs - logs.max())
    return dict(zip(chains, (found / found.sum()).tolist(), strict=True))


def _of(known: Mapping[User, T], user: User, what: str) -> T:
    if user not in known:
        raise InvalidMechanism(f"user {user!r} has a chain and no {what}")
    return known[user]


def _log_likelihood(chain: MarkovChain, seen: Reading) -> float:
    """The logarithm of the probability of the releases under a chain; -inf where it is 0."""
    total = 0.0
    try:
        for block in forward(chain, seen.releases, seen.letters):
            total += block.log_likelihood
    except Impossible:
        return -np.inf
    return total
