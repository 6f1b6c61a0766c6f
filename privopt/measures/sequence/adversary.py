"""What an adversary who knows the model learns of a released sequence: posteriors, guesses, and whose it is."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels
from privopt.measures.sequence.hidden_words import (
    Impossible,
    Reading,
    backward,
    forward,
    letter_posteriors,
    letters_of,
    likeliest,
    read,
)
from privopt.mechanisms import Channel
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.models import MarkovChain

T = TypeVar("T")
User = TypeVar("User", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Attack:
    """What the releases of one sequence tell of its letters.

    Parameters
    ----------
    letters : tuple
        Names of the columns of the distributions below, which have a row for each of T letters.
    prior : array (T, n)
        Before anything is released.
    filtered : array (T, n)
        Given the releases up to the one that covers the letter.
    smoothed : array (T, n)
        Given all releases.
    guess : tuple of T labels
        The likeliest letter at each place, given all releases.
    path : tuple of T labels
        The letters of the likeliest sequence of states given all releases.
    accuracy, path_accuracy, prior_accuracy : float or None
        Share of letters that ``guess``, ``path`` and the likeliest letters before any release get right; None
        without the truth.
    """

    letters: Labels
    prior: Floats
    filtered: Floats
    smoothed: Floats
    guess: Labels
    path: Labels
    accuracy: float | None = None
    path_accuracy: float | None = None
    prior_accuracy: float | None = None

    @property
    def expected_accuracy(self) -> float:
        """Share of letters that ``guess`` is expected to get right given these releases: no guess does better."""
        return float(self.smoothed.max(axis=1).mean())

    @property
    def expected_prior_accuracy(self) -> float:
        """Share of letters that is expected to be guessed right without any release."""
        return float(self.prior.max(axis=1).mean())

    def __repr__(self) -> str:
        told = (
            ""
            if self.accuracy is None
            else f", right {self.accuracy:.1%}, without releases {self.prior_accuracy:.1%}"
        )
        return f"Attack({len(self.guess)} letters, expected right {self.expected_accuracy:.1%}{told})"


def adversary(
    policy: SequencePolicy, released: Sequence[Label], truth: Sequence[Label] | None = None
) -> Attack:
    """The Bayesian adversary who knows chain and policy, and reads all releases.

    Each kernel depends on the releases before it only, and these are public; so letters and releases are a
    hidden Markov model whose emissions are known at each step. Posteriors are those of the filter and of the forward-backward
    recursion, the likeliest path is Viterbi's. If each letter leaks at most epsilon, no sequence of letters becomes more than
    e^(T epsilon) times as likely as it was.

    The adversary is that of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy",
    Section II.

    Parameters
    ----------
    policy : SequencePolicy
    released : sequence of T labels
        As ``policy.release`` gives them: letters, words being laid end to end. Whole words may stand for their letters.
    truth : sequence of T labels, optional
        The letters themselves.

    Returns
    -------
    Attack

    Raises
    ------
    InvalidMechanism
        If a release is not one of the policy's or cannot occur after those before it, or the truth has another length.

    Examples
    --------
    >>> chain = MarkovChain([[0.7, 0.3], [0.3, 0.7]])
    >>> policy = SequencePolicy(chain, epsilon=1.0)
    >>> attack = adversary(policy, [0, 0, 1], truth=[0, 0, 0])
    >>> attack.guess, attack.smoothed[0].round(3).tolist()
    ((0, 0, 1), [0.8..., 0.1...])
    """
    seen = read(policy, released)
    blocks = list(forward(policy.chain, seen.releases, seen.letters))
    n = len(seen.letters)
    filtered = letter_posteriors(blocks, [block.posterior for block in blocks], n)
    smoothed = letter_posteriors(blocks, backward(policy.chain, blocks), n)
    prior = _prior(policy.chain, len(filtered), seen.letters)
    guess = _named(smoothed, seen.letters)
    path = tuple(seen.letters[i] for i in likeliest(policy.chain, blocks).tolist())
    shares: tuple[float | None, ...] = (None, None, None)
    if truth is not None:
        if len(truth) != len(guess):
            raise InvalidMechanism(f"the truth has {len(truth)} letters, the releases cover {len(guess)}")
        shares = tuple(_share(g, truth) for g in (guess, path, _named(prior, seen.letters)))
    return Attack(seen.letters, prior, filtered, smoothed, guess, path, *shares)


def _prior(chain: MarkovChain, count: int, letters: Labels) -> Floats:
    """Distributions of the first letters before any release, shape (count, n)."""
    present = letters_of(chain, letters)
    return np.asarray(chain.marginals(count) @ (present[:, None] == np.arange(len(letters))))


def _named(posteriors: Floats, letters: Labels) -> Labels:
    return tuple(letters[i] for i in posteriors.argmax(axis=1).tolist())


def _share(guess: Labels, truth: Sequence[Label]) -> float:
    return float(np.mean([g == t for g, t in zip(guess, truth, strict=True)])) if guess else 1.0


def hmm_reidentify(
    chains: Mapping[User, MarkovChain],
    policy: SequencePolicy | Channel | Mapping[User, SequencePolicy | Channel],
    released: Sequence[Label],
    prior: Mapping[User, float] | None = None,
) -> dict[User, float]:
    """The probability that a released sequence is that of each user, by how each user's letters move.

    The likelihood of the releases under each user's chain, by the forward recursion with the kernels in force, and
    Bayes' rule.

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
    >>> answer = hmm_reidentify(users, response, [0, 0, 0, 0, 1, 1])
    >>> {user: round(p, 4) for user, p in answer.items()}
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
    weights = np.exp(logs - logs.max())
    return dict(zip(chains, (weights / weights.sum()).tolist(), strict=True))


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
