"""How often somebody who knows the model guesses what is private: without the release, and with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.measures.sequence.adversary import adversary
from privopt.mechanisms import RedactionMechanism, SequencePolicy
from privopt.models import MarkovChain

EXACT, BOUND, SIMULATED = "exact", "bound", "simulated"
LETTERS = 20
"""Letters of the longest sequences from which the guesses against a policy are simulated."""
RELEASES = 200
"""Letters of all simulated sequences together; each may cost a linear program."""
SEQUENCES = 10
"""Simulated sequences, at least."""
CONFIDENCE = 0.99
"""Of the interval around a simulated share."""
MOST_PAIRS = 2**24
"""Pairs of what is seen on both sides of a redacted record beyond which guesses are only bounded."""


@dataclass(frozen=True)
class Guesses:
    """The chance of the best guess, before and after, and how it was had.

    Parameters
    ----------
    before, after : float
    how : "exact", "bound" or "simulated"
        Exact; an upper bound on ``after``; or simulated from a seed.
    interval : (low, high), optional
        Where ``after`` lies with a confidence of 99 %, if it was simulated.
    """

    before: float
    after: float
    how: str = EXACT
    interval: tuple[float, float] | None = None


def of_joint(joint: Floats) -> Guesses:
    """The best guess of S from Y, from their joint distribution [s, y].

    Examples
    --------
    >>> import numpy as np
    >>> of_joint(np.array([[0.5, 0.1], [0.1, 0.3]]))
    Guesses(before=0.6, after=0.8, how='exact', interval=None)
    """
    before = float(joint.sum(axis=1).max())
    after = float(joint.max(axis=0).sum())
    return Guesses(before, max(before, min(1.0, after)))


def from_odds(epsilon: float, before: float = 0.5, delta: float = 0.0) -> Guesses:
    """The most that odds changed by at most e^epsilon can give who is right with probability ``before`` at first.

    Examples
    --------
    >>> import math
    >>> from_odds(math.log(3))
    Guesses(before=0.5, after=0.75, how='bound', interval=None)
    """
    other = 1.0 - before
    if epsilon == math.inf or other <= 0:
        return Guesses(before, 1.0, BOUND)
    reached = before / (before + other * math.exp(-epsilon))
    return Guesses(before, min(1.0, reached + delta * (1.0 - reached)), BOUND)


def of_redaction(chain: MarkovChain, private: int, mechanism: RedactionMechanism) -> Guesses | None:
    """The best guess of a private record from the other records that are shown; None where that is too much to sum.

    Beyond the first record that is shown on a side, nothing says more of the private one.

    Examples
    --------
    >>> chain = MarkovChain([[0.9, 0.1], [0.1, 0.9]])
    >>> of_redaction(chain, 0, RedactionMechanism([[1, 1], [0, 0]])).after
    0.9
    """
    prior = chain.marginal(private)
    length, k = mechanism.probabilities.shape
    if (private * k + 1) * ((length - 1 - private) * k + 1) > MOST_PAIRS:
        return None
    hidden = mechanism.exact() / 2.0**52
    left = _seen(chain, private, -1, hidden)
    right = _seen(chain, private, +1, hidden)
    shown = 1.0 - hidden[private]
    after = float((prior * shown).sum())
    weight = prior * (1.0 - shown)
    for column in left.T:
        after += float(((weight * column)[:, None] * right).max(axis=0).sum())
    before = float(prior.max())
    return Guesses(before, max(before, min(1.0, after)))


def _seen(chain: MarkovChain, private: int, way: int, hidden: Floats) -> Floats:
    """Probabilities of what is shown first on one side, given each value of the private record: a column an outcome."""
    length, k = hidden.shape
    columns: list[Floats] = []
    still: Floats = np.eye(k)
    t = private
    while 0 <= t + way < length and still.any():
        moved = still @ (chain.step(t) if way > 0 else _back(chain, t))
        t += way
        columns.append(moved * (1.0 - hidden[t]))
        still = moved * hidden[t]
    columns.append(still.sum(axis=1, keepdims=True))
    return np.hstack(columns)


def _back(chain: MarkovChain, t: int) -> Floats:
    """Pr(record t - 1 | record t), a row a value of record t; zeros where that has probability 0."""
    together = chain.marginal(t - 1)[:, None] * chain.step(t - 1)
    total = together.sum(axis=0)
    backwards: Floats = np.divide(together, total, out=np.zeros_like(together), where=total > 0).T
    return backwards


def of_policy(policy: SequencePolicy, horizon: int) -> Guesses:
    """The mean share of letters that are guessed right: without the releases exactly, from all of them simulated from a seed.

    Given releases, the share that the best guess gets right is exact as well; only the releases are drawn, and the interval is that
    of Student's t over independent sequences.

    Examples
    --------
    >>> guesses = of_policy(SequencePolicy(MarkovChain([[0.7, 0.3], [0.3, 0.7]]), epsilon=1.0), horizon=8)
    >>> low, high = guesses.interval
    >>> guesses.before, low < guesses.after < high
    (0.5, True)
    """
    from scipy.special import stdtrit

    length = min(horizon, LETTERS)
    length -= length % policy.batch if length > policy.batch else 0
    count = max(SEQUENCES, RELEASES // length)
    rng = np.random.default_rng(0)
    sequences = [_drawn(policy.chain, length, rng) for _ in range(count)]
    attacks = [adversary(policy, list(policy.release(letters, rng))) for letters in sequences]
    before = attacks[0].expected_prior_accuracy
    shares = np.array([attack.expected_accuracy for attack in attacks])
    after = max(before, float(shares.mean()))
    wide = float(stdtrit(count - 1, 0.5 + CONFIDENCE / 2) * shares.std(ddof=1) / math.sqrt(count))
    return Guesses(before, after, SIMULATED, (max(before, after - wide), min(1.0, after + wide)))


def _drawn(chain: MarkovChain, length: int, rng: np.random.Generator) -> list[object]:
    """Letters of one sequence of the chain."""
    state = int(rng.choice(chain.k, p=chain.initial / chain.initial.sum()))
    states = [state]
    for t in range(length - 1):
        row = chain.step(t)[state]
        state = int(rng.choice(chain.k, p=row / row.sum()))
        states.append(state)
    words = [chain.states[i] for i in states]
    return [word[-1] if chain.order > 1 and isinstance(word, tuple) else word for word in words]
