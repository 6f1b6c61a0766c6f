"""Leakage of a private record of a Markov chain through a local redaction mechanism, and its gradient."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Bools, Floats
from privopt.errors import InvalidMechanism
from privopt.measures.redaction.directional import Directional, directional_leakage, first_release_blocks
from privopt.measures.redaction.informed import informed_leakage
from privopt.models import MarkovChain


@dataclass(frozen=True)
class RedactionReading:
    """Where a redaction mechanism leaks most about one private record.

    ``pair`` are the positions of the two states, ``left`` and ``right`` the (distance, value) of the
    first release on each side, value -1 for none; distance 0 is an empty side, or the private record.
    ``shares`` are the contributions of the two sides to the leakage; ``known`` names on each side the (distance,
    value) of the record that the adversary knows beside the release, value -1 for none.
    """

    leakage: float
    pair: tuple[int, int] | None
    left: tuple[int, int]
    right: tuple[int, int]
    shares: tuple[float, float] = (0.0, 0.0)
    known: tuple[tuple[int, int], tuple[int, int]] = ((0, -1), (0, -1))


def redaction_leakage(
    chain: MarkovChain, private: int, probabilities: ArrayLike, side_information: str | None = None
) -> float:
    """Largest log-ratio of the probabilities of an output under two values of a private record.

    The local differential privacy leakage of X_p into the released sequence, in nats (Massny, Bitar,
    Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section II), computed
    exactly in O(n k^3) instead of by their bound.

    Parameters
    ----------
    chain : MarkovChain
    private : int
        0-based position of the private record.
    probabilities : array (length, k)
        Pr(record t is redacted | its value is v).
    side_information : None or "any"
        With "any" the largest such ratio against an adversary who also knows the values of any other records, as
        Pr(output | X_p = a, known) / Pr(output | X_p = b, known) over all sets of records and values that both a and
        b admit.

    Returns
    -------
    float
        At least 0, and inf where an output rules a value out.

    Raises
    ------
    InvalidMechanism
        If the shape does not fit the chain, an entry is outside [0, 1], ``private`` is outside or
        ``side_information`` is neither None nor "any".

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> rows = [(.5, 1), (1, .2), (1, 1), (.3, 1), (0, .6), (0, 0)]
    >>> round(redaction_leakage(chain, 2, rows), 10)
    2.2468024532
    >>> round(redaction_leakage(chain, 2, rows, side_information="any"), 10)
    2.9022093058
    """
    if side_information not in (None, "any"):
        raise InvalidMechanism(f'side_information must be None or "any", got {side_information!r}')
    table = checked_table(chain, private, probabilities)
    can = None if side_information is None else supports(chain, len(table))
    return read_redaction(chain, private, table, possible_values(chain, private), can).leakage


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
    reading = read_redaction(chain, private, table, possible_values(chain, private))
    gradient = np.zeros_like(table)
    if reading.pair is not None and np.isfinite(reading.leakage):
        left, right = gradient[:private][::-1], gradient[private + 1 :]
        back, ahead = steps_away(chain, private, len(table))
        _fill(left, back, table[:private][::-1], reading.pair, reading.left)
        _fill(right, ahead, table[private + 1 :], reading.pair, reading.right)
    return reading.leakage, gradient


def checked_table(chain: MarkovChain, private: int, probabilities: ArrayLike) -> NDArray[np.float64]:
    """Redaction probabilities as an array, if they and the private position fit the chain."""
    table = np.array(probabilities, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != chain.k or not ((table >= 0) & (table <= 1)).all():
        raise InvalidMechanism(
            f"probabilities must be a (length, {chain.k}) table in [0, 1], got shape {table.shape}"
        )
    if not 0 <= private < len(table):
        raise InvalidMechanism(f"private must be in 0 .. {len(table) - 1}, got {private}")
    return table


def worst_reading(
    chain: MarkovChain, records: Sequence[int], table: Floats, can: Bools, side_information: str | None
) -> tuple[int, RedactionReading]:
    """The private record about which a mechanism leaks most, and its reading; see :func:`read_redaction`.

    ``can`` says which values each record can have, ``side_information`` what the adversary knows beside the release.
    """
    known = None if side_information is None else can
    first = _first_shown(table)
    ends = (first, 0) if first == len(table) else (first, len(table) - _first_shown(table[::-1]))
    readings = [(p, read_redaction(chain, p, table, np.flatnonzero(can[p]), known, ends)) for p in records]
    return max(readings, key=lambda item: item[1].leakage)


def _first_shown(table: Floats) -> int:
    """The first record that is ever released; the number of records where none is. Far ones are looked at only if needed."""
    begin, width = 0, 64
    while begin < len(table):
        shown = np.flatnonzero((table[begin : begin + width] < 1).any(axis=1))
        if len(shown):
            return begin + int(shown[0])
        begin, width = begin + width, 4 * width
    return len(table)


def read_redaction(
    chain: MarkovChain,
    private: int,
    table: Floats,
    possible: NDArray[np.intp],
    known: Bools | None = None,
    ends: tuple[int, int] | None = None,
) -> RedactionReading:
    """The leakage about one private record, with the pair and the output that attain it.

    ``possible`` are the values that it can have. With ``known``, the values that each record can have, the adversary
    may know other records. Outside of ``ends``, a range of records, all are hidden: they tell nothing.
    """
    shown = table[private][possible] < 1
    if len(possible) > 1 and shown.any():
        v = int(possible[np.flatnonzero(shown)[0]])
        other = int(next(x for x in possible if x != v))
        return RedactionReading(np.inf, (v, other), (0, v), (0, v))
    if known is not None:
        return _worst_informed(chain, private, table, possible, known)
    back, ahead = steps_away(chain, private, len(table))
    begin, end = (0, len(table)) if ends is None else ends
    left = directional_leakage(back, table[begin:private][::-1], equal_steps(chain, -1))
    right = directional_leakage(ahead, table[private + 1 : max(end, private + 1)], equal_steps(chain, 1))
    return _worst(left, right, possible)


def supports(chain: MarkovChain, length: int) -> NDArray[np.bool_]:
    """Whether record t can have value v, shape (length, k), from the exact chain: floats may underflow to 0.

    Examples
    --------
    >>> supports(MarkovChain([[0.5, 0.5], [1.0, 0.0]], initial=[0, 1]), 2)
    array([[False,  True],
           [ True, False]])
    """
    now = np.array([weight > 0 for weight in chain.exact_initial.weights])
    if chain.stationary:
        return np.broadcast_to(now, (length, chain.k))
    table, seen = np.empty((length, chain.k), dtype=np.bool_), dict[bytes, int]()
    for t in range(length):
        table[t] = now
        before = seen.setdefault(now.tobytes(), t) if chain.homogeneous else t
        if before < t:  # equal steps lead the same way again
            table[t:] = table[before + np.arange(length - t) % (t - before)]
            break
        if t + 1 < length:
            moves = np.array([[weight > 0 for weight in row.weights] for row in chain.exact_step(t)])
            now = moves[now].any(axis=0)
    table.setflags(write=False)
    return table


def possible_values(chain: MarkovChain, record: int) -> NDArray[np.intp]:
    """The states that a record can have, in increasing order."""
    shown = chain.marginal(record) > 0
    return np.flatnonzero(shown if shown.all() else supports(chain, record + 1)[record])


def release_probabilities(
    chain: MarkovChain, table: NDArray[np.float64], sequential: int | None = None
) -> NDArray[np.float64]:
    """Pr(record t is released) for every record, shape (length,).

    Parameters
    ----------
    chain : MarkovChain
    table : array (length, k)
        Redaction probabilities by record and value.
    sequential : int, optional
        Position from which a sequential mechanism walks; by default the mechanism is local.

    Examples
    --------
    >>> chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> table = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    >>> release_probabilities(chain, table), release_probabilities(chain, table, 0)
    (array([0. , 0.5, 0. ]), array([0. , 0.5, 0.5]))
    """
    marginals = chain.marginals(len(table))
    released: NDArray[np.float64] = (marginals * (1.0 - table)).sum(axis=1)
    if sequential is None:
        return released
    views = slice(sequential - 1 if sequential else None, None, -1), slice(sequential + 1, None)
    for i, steps in enumerate(steps_away(chain, sequential, len(table))):
        if not i and not sequential:
            continue
        rows, chances = table[views[i]], released[views[i]]
        shown = np.flatnonzero((rows < 1).any(axis=1))
        last = int(shown[-1]) + 1 if len(shown) else 0  # what is always hidden beyond changes nothing
        hidden, d = marginals[sequential], 0
        for d, (step, row) in enumerate(zip(steps, rows[:last], strict=False), start=1):
            hidden = (hidden @ step) * row
            chances[d - 1] = 1.0 - hidden.sum()
            if not hidden.any():
                break
        chances[d:] = chances[d - 1] if d else 0.0
    return released


def released_share(
    chain: MarkovChain, table: Floats, weights: Sequence[float] | None, sequential: int | None = None
) -> float:
    """The utility: the share of records released, by weight (1 for each by default).

    Examples
    --------
    >>> chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> released_share(chain, np.array([[1.0, 1.0], [0.0, 1.0]]), [1, 3])
    0.375
    """
    if weights is None and sequential is None:  # most records of a long sequence are always released
        free, hidden = _everywhere(table == 0.0), _everywhere(table == 1.0)
        some = np.flatnonzero(~(free | hidden))
        shown = chain.marginals(len(table))[some] * (1.0 - table[some])
        return (int(np.count_nonzero(free)) + math.fsum(shown.sum(axis=1).tolist())) / len(table)
    released = release_probabilities(chain, table, sequential)
    if weights is None:
        return math.fsum(released.tolist()) / len(table)
    values = np.array(weights, dtype=np.float64)
    return math.fsum((values * released).tolist()) / math.fsum(values.tolist())


def _everywhere(cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether all cells of a row are true; over columns, of which there are few."""
    return np.asarray(np.logical_and.reduce([cells[:, v] for v in range(cells.shape[1])]))


def steps_away(chain: MarkovChain, private: int, length: int) -> tuple[Iterator[Floats], Iterator[Floats]]:
    """Steps away from the private record, to the first one and to the last one."""
    return left_steps(chain, private), right_steps(chain, private, length)


def first_releases(
    chain: MarkovChain, private: int, length: int
) -> tuple[Iterator[Floats], Iterator[Floats]]:
    """To the left and to the right of a private record: blocks of log-ratios [d, v, x, x'] of a first release."""
    left, right = steps_away(chain, private, length)
    return first_release_blocks(left, equal_steps(chain, -1)), first_release_blocks(
        right, equal_steps(chain, 1)
    )


def equal_steps(chain: MarkovChain, direction: int) -> bool:
    """Whether all steps away from a private record are equal, to the left (direction < 0) or to the right."""
    # Equal marginals alone do not make the reversed steps equal: the steps themselves may differ.
    return chain.homogeneous and (direction > 0 or chain.stationary)


def left_steps(chain: MarkovChain, private: int) -> Iterator[Floats]:
    """Time-reversed steps from the private record to the first one."""
    if private > 0 and chain.homogeneous and chain.stationary:
        return itertools.repeat(chain.reversed(private), private)
    return (chain.reversed(t) for t in range(private, 0, -1))


def right_steps(chain: MarkovChain, private: int, length: int) -> Iterator[Floats]:
    """Steps from the private record to the last one."""
    if private >= 0 and chain.homogeneous:
        return itertools.repeat(chain.transition, max(0, length - 1 - private))
    return (chain.step(t) for t in range(private, length - 1))


def _worst_informed(
    chain: MarkovChain, private: int, table: Floats, possible: NDArray[np.intp], can: Bools
) -> RedactionReading:
    back, ahead = steps_away(chain, private, len(table))
    left = informed_leakage(back, table[:private][::-1], can[:private][::-1], possible)
    right = informed_leakage(ahead, table[private + 1 :], can[private + 1 :], possible)
    reading = _worst(left.directional, right.directional, possible)
    if reading.pair is None:
        return reading
    known = tuple(side.known.get(reading.pair, (0, -1)) for side in (left, right))
    return replace(reading, known=(known[0], known[1]))


def _worst(left: Directional, right: Directional, possible: NDArray[np.intp]) -> RedactionReading:
    total = left.largest + right.largest
    pairs = [(int(x), int(y)) for x in possible for y in possible if x != y]
    if not pairs:
        return RedactionReading(0.0, None, (0, -1), (0, -1))
    pair = max(pairs, key=lambda p: total[p])
    names = [(int(side.distance[pair]), int(side.value[pair])) for side in (left, right)]
    shares = (float(left.largest[pair]), float(right.largest[pair]))
    return RedactionReading(float(total[pair]), pair, names[0], names[1], shares)


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
        totals = (ahead[d] * (redaction[d] * back)).sum(axis=1)
        gradient[d] = (ahead[d][0] / totals[0] - ahead[d][1] / totals[1]) * back
        back = used[d] @ (redaction[d] * back)
        back = back / back.max()
