"""The worst single release: where the belief in a private value rises most, from what to what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.files.labels import Label
from privopt.publication.words import one, plain

ALIKE = 1e-9
"""Rises as near to each other, relatively, are the same but for rounding."""

UNCHANGED = 1e-12
"""A belief that rises by less, relatively, does not rise."""


@dataclass(frozen=True)
class Rise:
    """What whoever sees a release believes of a private value, without it and with it.

    Parameters
    ----------
    value, release : int
        Positions of the private value and of the release.
    before, after : float
        Pr(S = s), and Pr(S = s | Y = y).
    """

    value: int
    release: int
    before: float
    after: float

    @property
    def factor(self) -> float:
        """How many times as likely the value is."""
        return self.after / self.before


def largest_rises(joint: Floats) -> tuple[Rise, Rise] | None:
    """Where a belief rises most as a factor, and where it does as a difference, in a joint distribution [s, y].

    Of factors that are alike but for rounding that with the largest difference counts. None where no belief rises.

    Examples
    --------
    >>> import numpy as np
    >>> by_factor, by_difference = largest_rises(np.array([[0.04, 0.01, 0.05], [0.36, 0.49, 0.05]]))
    >>> [(rise.value, rise.release, round(rise.before, 6), round(rise.after, 6)) for rise in (by_factor, by_difference)]
    [(0, 2, 0.1, 0.5), (0, 2, 0.1, 0.5)]
    >>> largest_rises(np.full((2, 2), 0.25)) is None
    True
    """
    seen = np.flatnonzero(joint.sum(axis=0) > 0)
    known = np.flatnonzero(joint.sum(axis=1) > 0)
    kept = joint[np.ix_(known, seen)]
    before = kept.sum(axis=1, keepdims=True)
    after = kept / kept.sum(axis=0)
    factors, differences = after / before, after - before
    if factors.max() <= 1.0 + UNCHANGED:
        return None
    most = np.where(factors >= factors.max() * (1.0 - ALIKE), differences, -np.inf)

    def rise(scores: Floats) -> Rise:
        s, y = np.unravel_index(int(scores.argmax()), scores.shape)
        return Rise(int(known[s]), int(seen[y]), float(before[s, 0]), float(after[s, y]))

    by_factor, by_difference = rise(most), rise(differences)
    alike = by_difference.after - by_difference.before <= (by_factor.after - by_factor.before) * (1 + ALIKE)
    return by_factor, by_factor if alike else by_difference


def worst_sentence(
    joint: Floats, what: str, values: Sequence[Label], releases: Sequence[str]
) -> tuple[str, dict[str, float]]:
    """Which release raises the belief in which private value most, and the numbers in that sentence.

    Parameters
    ----------
    joint : float array [s, y]
    what : str
        What the private value is called.
    values : sequence of labels
    releases : sequence of str
        How releases are written.

    Examples
    --------
    >>> import numpy as np
    >>> print(worst_sentence(np.array([[0.3, 0.1], [0.2, 0.4]]), "vote", ["red", "blue"], ["young", "old"])[0])
    The belief in a value of vote rises most by the release "young": that it is "red", from 40 % to 60 % (1.5 times)
    """
    rises = largest_rises(joint)
    if rises is None:
        return f"No single release raises the belief in a value of {what}", {"single": 1.0}
    factor, difference = rises
    said = (
        f'The belief in a value of {what} rises most by the release "{one(releases[factor.release])}": that it is '
        f'"{one(values[factor.value])}", from {chance(factor.before)} to {chance(factor.after)} ({plain(factor.factor)} times)'
    )
    if difference is not factor:
        said += (
            f'; in percentage points by "{one(releases[difference.release])}": that it is "{one(values[difference.value])}", from '
            f"{chance(difference.before)} to {chance(difference.after)}"
        )
    return said, {
        "single": factor.factor,
        "belief before": factor.before,
        "belief after": factor.after,
        "other belief before": difference.before,
        "other belief after": difference.after,
    }


CASES = ("value", "before", "at most", "by the release", "times", "at least", "by the release")
"""What the columns of :func:`each_value` hold."""

MOST_VALUES = 6
"""Private values that have a row each."""


def each_value(
    joint: Floats, values: Sequence[Label], releases: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """A row for each private value: its chance before, the largest and the least that a release leaves, and by which.

    Nothing where there are more than six values.

    Parameters
    ----------
    joint : float array [s, y]
    values : sequence of labels
    releases : sequence of str
        How releases are written.

    Examples
    --------
    >>> import numpy as np
    >>> for row in each_value(np.array([[0.3, 0.1], [0.2, 0.4]]), ["red", "blue"], ["young", "old"]):
    ...     print(row)
    ('red', '40 %', '60 %', 'young', '1.5', '20 %', 'old')
    ('blue', '60 %', '80 %', 'old', '1.333', '40 %', 'young')
    """
    known = np.flatnonzero(joint.sum(axis=1) > 0)
    if not 0 < len(known) <= MOST_VALUES:
        return ()
    seen = np.flatnonzero(joint.sum(axis=0) > 0)
    before = joint.sum(axis=1) / joint.sum()
    after = joint[:, seen] / joint[:, seen].sum(axis=0)
    rows = []
    for s in known.tolist():
        high, low = int(after[s].argmax()), int(after[s].argmin())
        if after[s, high] <= before[s] * (1.0 + UNCHANGED):
            rows.append(
                (one(values[s]), chance(before[s]), chance(before[s]), "any", "1", chance(before[s]), "any")
            )
            continue
        by = [one(releases[int(seen[y])]) for y in (high, low)]
        factor = plain(after[s, high] / before[s], 4)
        rows.append(
            (
                one(values[s]),
                chance(before[s]),
                chance(after[s, high]),
                by[0],
                factor,
                chance(after[s, low]),
                by[1],
            )
        )
    return tuple(rows)


def chance(probability: float) -> str:
    """A probability in per cent, in three digits also where it is small, and in as many more as keep it from 100.

    Examples
    --------
    >>> chance(0.123456), chance(0.000123), chance(0.99999), chance(1.0)
    ('12.3 %', '0.0123 %', '99.999 %', '100 %')
    """
    digits = 3
    while probability < 1 and float(f"{100 * probability:.{digits}g}") >= 100 and digits < 15:
        digits += 1
    return f"{plain(100 * probability, digits)} %"
