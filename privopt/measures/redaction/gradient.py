"""How the leakage of a redaction mechanism changes with each of its probabilities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.measures.redaction.leakage import checked_table, left_steps, read_redaction, right_steps
from privopt.models import MarkovChain


def redaction_gradient(
    chain: MarkovChain, private: int, probabilities: ArrayLike
) -> tuple[float, NDArray[np.float64]]:
    """Leakage about a private record, and its gradient in the redaction probabilities.

    The leakage (Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to
    Protect", Section II) is the largest of finitely many smooth log-ratios; the gradient is that of one
    which attains it: one forward and one backward sweep a side, O(n k^2). Lowering an entry from exactly
    1 opens a new output, which the gradient does not see. Below 1 no entry is positive where the
    maximum is attained once: raising a redaction probability never raises the leakage.

    Parameters
    ----------
    chain : MarkovChain
    private : int
        0-based position of the private record.
    probabilities : array (length, k)
        Pr(record t is redacted | its value is v).

    Returns
    -------
    leakage : float
        In nats, at least 0, perhaps inf.
    gradient : array (length, k)
        Nats per unit of probability, with absolute rounding errors of about 1e-16 of its largest terms;
        0 for the private record and wherever the worst output does not depend on the entry. All zeros
        where the leakage is infinite.

    Raises
    ------
    InvalidMechanism
        If the shape does not fit the chain, an entry is outside [0, 1] or ``private`` is outside.

    Examples
    --------
    >>> chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    >>> leakage, gradient = redaction_gradient(chain, 0, [(1, 1), (0.125, 1)])
    >>> round(leakage, 6), gradient.round(6)
    (0.492476, array([[ 0.      ,  0.      ],
           [-1.292929,  0.161616]]))
    """
    table = checked_table(chain, private, probabilities)
    reading, gradient = read_redaction(chain, private, table), np.zeros_like(table)
    if reading.pair is not None and np.isfinite(reading.leakage):
        left, right = gradient[:private][::-1], gradient[private + 1 :]
        _fill(left, left_steps(chain, private), table[:private][::-1], reading.pair, reading.left)
        steps = right_steps(chain, private, len(table))
        _fill(right, steps, table[private + 1 :], reading.pair, reading.right)
    return reading.leakage, gradient


def _fill(
    gradient: Floats,
    steps: Iterator[Floats],
    redaction: Floats,
    pair: tuple[int, int],
    release: tuple[int, int],
) -> None:
    """Gradient of log Pr(first release | x) / Pr(first release | x'), rows by distance."""
    distance, value = release
    if distance == 0:
        return
    used = [step for step, _ in zip(steps, range(distance), strict=False)]
    rows, ahead = np.eye(redaction.shape[1])[list(pair)], []
    for step, r in zip(used, redaction, strict=False):
        ahead.append(rows @ step)  # [x or x', value here], all nearer records redacted
        rows = ahead[-1] * r
        # Each row may be scaled by itself: only its own ratios are used. A row of zeros is past the release.
        rows = rows / np.where(rows.max(axis=1) > 0, rows.max(axis=1), 1.0)[:, None]
    last, back = distance - 1, np.ones(redaction.shape[1])
    if value >= 0:
        back, last = used[-1][:, value], distance - 2
    for d in range(last, -1, -1):
        told = (ahead[d] * (redaction[d] * back)).sum(axis=1)
        gradient[d] = (ahead[d][0] / told[0] - ahead[d][1] / told[1]) * back
        back = used[d] @ (redaction[d] * back)
        back = back / back.max()
