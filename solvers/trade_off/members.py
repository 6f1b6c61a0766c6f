"""Joints of a set at which a release says much of the secret, among those that spread the useful symbol as the nominal one does."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import silent_highs
from privopt.core.solver import Budget
from privopt.models import JointDistribution
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.problems.local_information_privacy.members import Demand, written
from privopt.problems.trade_off.over_set import as_spread

CLIMBS = 8
"""Programs from one start at most."""

STARTS = 3
"""Starts beside the nominal joint."""

SHARES = (1 - 2.0**-24, 1 - 2.0**-10, 0.9)
"""How far towards what a program says a joint is tried, so that it lies in the set exactly."""

GRID = 2**50
"""Changes of cells are rounded to fractions of this."""

LEAST = 1e-12
"""Cells that are empty at the nominal joint stay so where they would hold less."""


@dataclass
class Spread:
    """The joints of a set with P(x) as at the nominal one: a polytope, over which I(S;Y) of a release is convex.

    Programs climb: each seeks the joint at which the tangent at the last one is largest. Rows and priors that are points, or lie in
    balls of the chi-squared divergence, stay as they are.
    """

    ambiguity: JointAmbiguity
    frozen: list[bool] = field(init=False)
    fixed: bool = field(init=False)
    nominal: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.frozen = [_rigid(row) for row in self.ambiguity.rows]
        self.fixed = _rigid(self.ambiguity.prior)
        self.nominal = np.asarray(self.ambiguity.nominal.table)
        self._highs = _program(self.ambiguity, self.nominal, self.frozen, self.fixed)

    def most_telling(self, matrix: Floats, budget: Budget) -> JointDistribution | None:
        """A joint at which a channel, shape (n_x, n_y), says more of the secret than at the nominal one; None if none was found."""
        rng = np.random.default_rng(budget.seed)
        best, most = self.nominal, _information(self.nominal @ matrix)
        starts = [
            _slopes(self.nominal, matrix),
            *(rng.normal(size=self.nominal.shape) for _ in range(STARTS)),
        ]
        for slopes in starts:
            now = -np.inf
            for _ in range(CLIMBS):
                table = self._farthest(slopes) if budget.remaining > 0 else None
                if table is None or (told := _information(table @ matrix)) <= now + 1e-12:
                    break
                slopes, now = _slopes(table, matrix), told
                best, most = (table, told) if told > most else (best, most)
        return None if best is self.nominal else self._exact(best)

    def _farthest(self, slopes: Floats) -> Floats | None:
        import highspy

        n = self.nominal.size
        self._highs.changeColsCost(n, np.arange(n, dtype=np.int32), -slopes.ravel())
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        values = np.array(self._highs.getSolution().col_value)[:n]
        return np.asarray(np.maximum(values, 0.0).reshape(self.nominal.shape))

    def _exact(self, table: Floats) -> JointDistribution | None:
        """The joint in fractions, drawn a little towards the nominal one."""
        exact, (secrets, n) = self.ambiguity.nominal.exact, table.shape
        cells = [[Fraction(exact.weights[s * n + x], exact.total) for x in range(n)] for s in range(secrets)]
        moved = _balanced(table - self.nominal, self.nominal, self.frozen, self.fixed)
        if moved is None:
            return None
        for share in SHARES:
            tried = [
                [c + Fraction(share) * Fraction(m, GRID) for c, m in zip(row, change, strict=True)]
                for row, change in zip(cells, moved, strict=True)
            ]
            if min(map(min, tried)) >= 0 and self._holds(tried):
                return as_spread(self.ambiguity, tried)
        return None

    def _holds(self, cells: list[list[Fraction]]) -> bool:
        rows = zip(self.ambiguity.rows, cells, strict=True)
        return self.ambiguity.prior.contains([sum(row) for row in cells]) and all(
            allowed.contains(row) for allowed, row in rows if any(row)
        )


def between(joint: JointDistribution, other: JointDistribution, weight: int) -> JointDistribution:
    """The average of two joints, the first one counted so many times."""
    one, two, n = joint.exact, other.exact, len(joint.useful)
    mixed = [
        weight * Fraction(a, one.total) + Fraction(b, two.total)
        for a, b in zip(one.weights, two.weights, strict=True)
    ]
    table = [mixed[i : i + n] for i in range(0, len(mixed), n)]
    return JointDistribution.normalised(table, joint.sensitive, joint.useful)


def dual_at(joint: JointDistribution, proof: object) -> dict[str, object]:
    """A bound proved at a joint of the set, as one over the set."""
    exact, n = joint.exact, len(joint.useful)
    rows = [exact.weights[i : i + n] for i in range(0, len(exact.weights), n)]
    demand = Demand(tuple(map(sum, rows)), tuple(row if any(row) else None for row in rows), 0, 0)
    places = written([], [(0.0, demand)])
    return {"kind": "member", "pool": places["pool"], "members": places["members"], "proof": proof}


def _rigid(row: RowSet) -> bool:
    return row.is_point or row.kind == "chi2"


def _information(of_y: Floats) -> float:
    """I(S;Y) of P(s, y), in floats."""
    secrets, releases = np.nonzero(of_y > 0)
    used = of_y[secrets, releases]
    marginals = np.log(of_y.sum(axis=1)[secrets]) + np.log(of_y.sum(axis=0)[releases])
    return float((used * (np.log(used) - marginals)).sum())


def _slopes(table: Floats, matrix: Floats) -> Floats:
    """How I(S;Y) changes with the cells while P(x) stays."""
    of_y = np.maximum(table @ matrix, 1e-15)
    prior = np.maximum(table.sum(axis=1, keepdims=True), 1e-15)
    return np.asarray(np.log(of_y / prior) @ matrix.T)


def _balanced(change: Floats, nominal: Floats, frozen: list[bool], fixed: bool) -> list[list[int]] | None:
    """Changes as integers that leave P(x), rows that are frozen, and a fixed prior as they are; None where nothing may move."""
    change = np.where((nominal == 0) & (change < LEAST), 0.0, change)
    moving = [s for s, still in enumerate(frozen) if not still]
    if len(moving) < 2:
        return None
    whole = [[0 if frozen[s] else round(v * GRID) for v in row] for s, row in enumerate(change.tolist())]
    base, wide = max(moving, key=lambda s: nominal[s].sum()), int(nominal.sum(axis=0).argmax())
    for s in moving:
        if s != base and fixed:
            whole[s][wide] -= sum(whole[s])
    for x in range(nominal.shape[1]):
        whole[base][x] = -sum(whole[s][x] for s in moving if s != base)
    return whole


def _program(ambiguity: JointAmbiguity, nominal: Floats, frozen: list[bool], fixed: bool) -> Any:
    """Cells with the sums of the nominal joint, rows and prior in their sets; balls of total variation by what is added to their centers."""
    import highspy

    secrets, n = nominal.shape
    lines: list[tuple[dict[int, float], float, float]] = []
    extra = nominal.size
    for x, p in enumerate(nominal.sum(axis=0).tolist()):
        lines.append(({s * n + x: 1.0 for s in range(secrets)}, p, p))
    for s, row in enumerate(ambiguity.rows):
        cells = [s * n + x for x in range(n)]
        if not frozen[s]:
            new, extra = _within(row, [{c: 1.0} for c in cells], dict.fromkeys(cells, 1.0), extra)
            lines += new
    sums = [dict.fromkeys(range(s * n, s * n + n), 1.0) for s in range(secrets)]
    if fixed:
        lines += [(line, p, p) for line, p in zip(sums, nominal.sum(axis=1).tolist(), strict=True)]
    else:
        new, extra = _within(ambiguity.prior, sums, {}, extra)
        lines += new
    highs: Any = silent_highs({})
    for place in range(extra):
        cell = place < nominal.size and frozen[place // n]
        value = float(nominal.ravel()[place]) if cell else 0.0
        highs.addVar(value, value if cell else np.inf)
    for line, low, high in lines:
        highs.addRow(
            low, high, len(line), np.array(list(line), dtype=np.int32), np.array(list(line.values()))
        )
    assert isinstance(highs, highspy.Highs)
    return highs


def _within(
    row: RowSet, entries: list[dict[int, float]], total: dict[int, float], extra: int
) -> tuple[list[tuple[dict[int, float], float, float]], int]:
    """Rows that hold entries, which sum to a total (1 if none is given), in a set, and the variables so far."""
    lines: list[tuple[dict[int, float], float, float]] = []

    def against(
        entry: dict[int, float], share: float, more: dict[int, float], low: float, high: float
    ) -> None:
        """Entry less a share of the total, and more."""
        line = dict(entry)
        for place, weight in total.items():
            line[place] = line.get(place, 0.0) - share * weight
        shift = 0.0 if total else share
        lines.append(({**line, **more}, low + shift, high + shift))

    if row.kind == "interval":
        for entry, low, high in zip(entries, row.lower, row.upper, strict=True):
            against(entry, float(low), {}, 0.0, np.inf)
            against(entry, float(high), {}, -np.inf, 0.0)
    if row.kind == "total_variation":
        added = list(range(extra, extra + len(entries)))
        for place, entry, center in zip(added, entries, row.center, strict=True):
            against(entry, float(center), {place: -1.0}, -np.inf, 0.0)
        against(dict.fromkeys(added, 1.0), float(row.radius), {}, -np.inf, 0.0)
        extra += len(added)
    return lines, extra
