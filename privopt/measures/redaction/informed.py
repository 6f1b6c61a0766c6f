"""Largest log-ratios of the outputs on one side of a private record, against an adversary who knows other records.

Let K be the records known beside the release. Given the private record x and its nearest known record on a side, at
distance D with value i, everything beyond D is independent of x, and so is what is released of record D itself. With
A[x, v] as in :mod:`privopt.measures.redaction.directional` and M[x, v] the same for the chain alone,

    Pr(first release is v at d < D | x, X_D = i)   is proportional to   A_d[x, v] / M_D[x, i],
    Pr(nothing released before D   | x, X_D = i)      =                 A_D[x, i] / M_D[x, i],

so a side's largest log-ratio is over these for all D, i beside those of an adversary who knows nothing on the side; the
two sides still add by direction, as they are independent given x and what is known. Only values i count that follow the
release v and that both x and x' admit. Once every possible value of record D can follow v and all values of the
private record admit it, farther records cannot tell more (their columns of M mix those of D).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.measures.redaction.directional import Directional

FADED = 4e-15
"""Nats that are a rounding of what was seen."""


@dataclass(frozen=True, eq=False)
class Informed:
    """See :class:`Directional`; ``known`` holds the (distance, value) of the record known, by pair."""

    directional: Directional
    known: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def offer(self, ratios: Floats, event: tuple[int, int], known: tuple[int, int] = (0, -1)) -> None:
        """Take larger ratios [x, x']."""
        side = self.directional
        for x, y in np.argwhere(ratios > side.largest).tolist():
            side.largest[x, y] = ratios[x, y]
            side.distance[x, y], side.value[x, y] = event
            self.known[x, y] = known


@dataclass
class _Waiting:
    """A first release, and which values of the current record can follow it."""

    logs: Floats
    event: tuple[int, int]
    reach: Bools


def informed_leakage(
    steps: Iterable[Floats], redaction: Floats, can: Bools, possible: NDArray[np.intp]
) -> Informed:
    """Directional leakages of one side, at least 0.

    Parameters
    ----------
    steps, redaction
        As for :func:`privopt.measures.redaction.directional.directional_leakage`.
    can : array (m, k)
        Which values each record can have.
    possible
        The values that the private record can have; other rows stay 0.
    """
    k = redaction.shape[1]
    informed = Informed(Directional.none(k))
    among = np.zeros(k, dtype=bool)
    among[possible] = True
    table, plain, waiting = np.eye(k), np.eye(k), list[_Waiting]()
    source = iter(steps)
    shown = np.flatnonzero(((redaction < 1) & can).any(axis=1))
    first, last = (int(shown[0]), int(shown[-1])) if len(shown) else (len(redaction), -1)
    for d, r in enumerate(redaction, start=1):
        if not table.any() and not waiting:
            return informed
        if d - 1 > last and not waiting and (last < 0 or _fades(informed, table, plain, possible)):
            break
        step = next(source)
        table, plain = table @ step, plain @ step
        if d - 1 < first:  # nothing was released yet: what is known shows nothing
            plain = plain / (plain.max() or 1.0)
            table = plain
            continue
        logs, plain_logs = _log(table), _log(plain)
        for i in np.flatnonzero(can[d - 1]):
            informed.offer(
                np.where(_both(plain[:, i], among), _apart(logs[:, i]) - _finite(plain_logs[:, i]), -np.inf),
                (d, -1),
                (d, int(i)),
            )
        for event in waiting:
            _follow(informed, event, step, plain, plain_logs, (d, can[d - 1]), among)
        waiting = [event for event in waiting if not _settled(event.reach, plain, can[d - 1], possible)]
        for v in np.flatnonzero((r < 1) & can[d - 1]):
            if not table[possible, v].any():
                continue
            ratios = np.where(among[:, None] & among, _apart(logs[:, v]), -np.inf)
            informed.offer(ratios, (d, int(v)))
            waiting.append(_Waiting(logs[:, v], (d, int(v)), np.arange(k) == v))
        table = table * r
        table, plain = table / (table.max() or 1.0), plain / (plain.max() or 1.0)
    if last >= 0 and table.any():
        ratios = np.where(among[:, None] & among, _apart(_log(table.sum(axis=1))), -np.inf)
        informed.offer(ratios, (len(redaction), -1))
    return informed


def informed_windows(steps: Iterable[Floats], can: Bools, possible: NDArray[np.intp]) -> Iterator[Floats]:
    """For each distance, the largest log-ratios among possible values when all records from there on are released."""
    k, ahead, source = can.shape[1], list[Floats](), iter(steps)
    plain = np.eye(k)
    among = np.zeros(k, dtype=bool)
    among[possible] = True
    products: list[Floats] = []

    def product(distance: int) -> Floats:
        nonlocal plain
        while len(products) < distance:
            ahead.append(next(source))
            plain = plain @ ahead[-1]
            plain = plain / plain.max()
            products.append(plain)
        return products[distance - 1]

    for d in range(1, len(can) + 1):
        informed = Informed(Directional.none(k))
        logs = _log(product(d))
        for v in np.flatnonzero(can[d - 1]):
            informed.offer(np.where(among[:, None] & among, _apart(logs[:, v]), -np.inf), (d, int(v)))
            event = _Waiting(logs[:, v], (d, int(v)), np.arange(k) == v)
            for later in range(d + 1, len(can) + 1):
                now = product(later)
                _follow(informed, event, ahead[later - 1], now, _log(now), (later, can[later - 1]), among)
                if _settled(event.reach, now, can[later - 1], possible):
                    break
        yield informed.directional.largest[np.ix_(possible, possible)]


def _follow(
    informed: Informed,
    event: _Waiting,
    step: Floats,
    plain: Floats,
    plain_logs: Floats,
    record: tuple[int, Bools],
    among: Bools,
) -> None:
    """Offer what a first release shows when a later record is known."""
    distance, can = record
    event.reach = (step[event.reach] > 0).any(axis=0) & can
    shown = _apart(event.logs)
    for i in np.flatnonzero(event.reach):
        ratios = np.where(_both(plain[:, i], among), shown - _finite(plain_logs[:, i]), -np.inf)
        informed.offer(ratios, event.event, (distance, int(i)))


def _settled(reach: Bools, plain: Floats, can: Bools, possible: NDArray[np.intp]) -> bool:
    """Whether knowing farther records reveals no more."""
    return bool((reach == can).all() and (plain[possible][:, can] > 0).all())


def _fades(informed: Informed, table: Floats, plain: Floats, possible: NDArray[np.intp]) -> bool:
    """Whether farther records, all of them hidden, tell no more when they are known: to the last digits.

    Both tables only mix their columns from here on, so each ratio of theirs is at most the largest of a column now.
    """
    if not (table[possible] > 0).all() or not (plain[possible] > 0).all():
        return False
    logs, plain_logs = np.log(table[possible]), np.log(plain[possible])
    own = (logs[:, None] - logs[None]).max(axis=2)
    known = (plain_logs[None] - plain_logs[:, None]).max(axis=2)
    seen = informed.directional.largest[np.ix_(possible, possible)]
    return bool((own + known <= seen + FADED).all())


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def _apart(logs: Floats) -> Floats:
    """Log-ratios [x, x'] of one output; -inf where x does not show it."""
    with np.errstate(invalid="ignore"):
        ratios = logs[:, None] - logs[None, :]
    return np.where(np.isneginf(logs)[:, None], -np.inf, ratios)


def _finite(logs: Floats) -> Floats:
    """Log-ratios [x, x'] where both are finite, else 0."""
    known = np.where(np.isneginf(logs), 0.0, logs)
    return np.asarray(known[:, None] - known[None, :])


def _both(column: Floats, among: Bools) -> Bools:
    """Ordered pairs of private values that both admit a known value."""
    admit = (column > 0) & among
    return np.asarray(admit[:, None] & admit[None, :] & ~np.eye(len(column), dtype=bool))
