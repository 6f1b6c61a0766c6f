"""Whether a released table can be what a mechanism drew: bounds on false alarms that hold at every size, no approximations.

Rows that are drawn independently are counted by binomial distributions, whose tails are exact; the relative entropy of all counts
together is bounded by Agrawal, "Finite-sample concentration of the multinomial in relative entropy" (IEEE Trans. Inf. Theory 2020).
Draws from records that are known are counted by sums of Bernoulli variables, bounded by Chernoff; sums over a stream by Freedman's
inequality for martingales.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints

ALARM = 1e-6
"""The probability that a table that was released as it should be is refused, at most."""

SCREEN = 3.0
"""Standard deviations within which a count is not looked at more closely."""


@dataclass(frozen=True)
class Odd:
    """A count that is not plausible: which, how many there are, and how many there should be about."""

    place: int
    count: int
    expected: float
    together: bool = False


def odd_count(counts: Ints, probabilities: Floats, alarm: float = ALARM) -> Odd | None:
    """The count that is least plausible for independent draws, if any is refused at this rate of false alarms.

    Examples
    --------
    >>> import numpy as np
    >>> odd_count(np.array([52, 48]), np.array([0.5, 0.5]))
    >>> odd_count(np.array([90, 10]), np.array([0.5, 0.5])).count
    90
    """
    from scipy.special import bdtr, bdtrc

    n, k = int(counts.sum()), len(counts)
    if n == 0 or k < 2:
        return None
    p = np.clip(probabilities / probabilities.sum(), 0.0, 1.0)
    tails = np.minimum(bdtr(counts, n, p), bdtrc(counts - 1, n, p))
    alike = tails <= tails.min() * (1 + 1e-9)  # of two values both are as odd: the one that is seen is named
    worst = int(np.argmax(np.where(alike, counts, -1)))
    if tails[worst] < alarm / (4 * k):
        return Odd(worst, int(counts[worst]), n * float(p[worst]))
    seen = counts > 0
    divergence = float((counts[seen] * np.log(counts[seen] / (n * p[seen]))).sum())
    free = k - 1
    if divergence > free and free * math.log(math.e * divergence / free) - divergence < math.log(alarm / 2):
        far = np.abs(counts - n * p) / np.sqrt(n * p * (1 - p) + 1e-300)
        place = int(np.argmax(far))
        return Odd(place, int(counts[place]), n * float(p[place]), together=True)
    return None


def odd_count_of(counts: Ints, people: Ints, matrix: Floats, alarm: float = ALARM) -> Odd | None:
    """The same where the symbols that were drawn from are known: ``people`` counts them, ``matrix`` has a row for each.

    Examples
    --------
    >>> import numpy as np
    >>> odd_count_of(np.array([6, 4]), np.array([6, 4]), np.eye(2))
    >>> odd_count_of(np.array([5, 5]), np.array([6, 4]), np.eye(2)).expected
    6.0
    """
    mean = people @ matrix
    spread = np.sqrt(people @ (matrix * (1.0 - matrix)))
    room = 1e-9 * counts.sum()
    far = np.flatnonzero(np.abs(counts - mean) > SCREEN * spread + room)
    for y in far[np.argsort(-np.abs(counts - mean)[far])].tolist():
        if _log_tail(int(counts[y]), people, matrix[:, y]) < math.log(alarm / (2 * len(counts))):
            return Odd(y, int(counts[y]), float(mean[y]))
    return None


def _log_tail(count: int, people: Ints, chances: Floats) -> float:
    """A bound on the logarithm of the probability of a count as far from its mean as this, on its side."""
    from scipy.optimize import minimize_scalar

    used = (people > 0) & (chances > 0)
    n, p = people[used], np.minimum(chances[used], 1.0)
    if count > n.sum() or count < n[p >= 1.0].sum():
        return -math.inf

    def exponent(theta: float) -> float:
        with np.errstate(divide="ignore"):
            return float((n * np.logaddexp(np.log1p(-p), np.log(p) + theta)).sum() - theta * count)

    above = count > float((n * p).sum())
    return float(
        minimize_scalar(exponent, bounds=(0.0, 80.0) if above else (-80.0, 0.0), method="bounded").fun
    )


def odd_total(
    counts: Sequence[float], expected: Sequence[float], variance: Sequence[float], alarm: float = ALARM
) -> int | None:
    """Which of several sums over a stream is further from its prediction than Freedman's inequality lets it be.

    Each step adds a difference between what was seen and what was predicted, of size at most 1; ``variance`` is the sum of the
    predicted variances. As that is itself random, the bound is taken at its next power of two, of at most 64.

    Examples
    --------
    >>> odd_total([55.0], [50.0], [25.0]), odd_total([95.0], [50.0], [25.0])
    (None, 0)
    """
    rate = math.log(2 * 64 * len(counts) / alarm)
    for place, (seen, predicted, spread) in enumerate(zip(counts, expected, variance, strict=True)):
        level = 2.0 ** math.ceil(math.log2(max(1.0, spread)))
        if abs(seen - predicted) > rate / 3 + math.sqrt(rate * rate / 9 + 2 * level * rate):
            return place
    return None


def hidden_counts(chain_steps: Sequence[Floats], start: Floats, hidden: Floats) -> Floats:
    """The probabilities of how many records of one sequence are hidden, exactly, shape (length + 1,).

    Parameters
    ----------
    chain_steps : sequence of (k, k) arrays
        Transitions, one fewer than records.
    start : array (k,)
    hidden : array (length, k)

    Examples
    --------
    >>> hidden_counts([np.full((2, 2), 0.5)], np.array([0.5, 0.5]), np.full((2, 2), 0.5)).tolist()
    [0.25, 0.5, 0.25]
    """
    length, k = hidden.shape
    table = np.zeros((length + 1, k))
    table[0] = start
    for t in range(length):
        if t:
            table = table @ chain_steps[t - 1]
        shown = table * (1.0 - hidden[t])
        shown[1:] += table[:-1] * hidden[t]
        table = shown
    return np.asarray(table.sum(axis=1))


def tail(chances: Floats, count: int) -> float:
    """The smaller tail probability of a count.

    Examples
    --------
    >>> tail(np.array([0.25, 0.5, 0.25]), 2)
    0.25
    """
    return float(min(chances[: count + 1].sum(), chances[count:].sum()))


def summed(chances: Floats, times: int) -> Floats:
    """The probabilities of the sum of so many independent counts.

    Examples
    --------
    >>> summed(np.array([0.5, 0.5]), 3).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """
    total, power = np.ones(1), chances
    while times:
        if times % 2:
            total = np.convolve(total, power)
        power, times = (np.convolve(power, power), times // 2) if times > 1 else (power, 0)
    return total
