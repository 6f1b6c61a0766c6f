"""First answers for the joint search: windows, the relaxation, and 3R forms with given shares and values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._joint import HIDDEN, PARTIAL, WHOLE, Support
from privopt.solvers.redaction._reach import both_sides, influences, possible_values
from privopt.solvers.redaction._zone import Zone
from privopt.solvers.redaction.relaxation import Relaxation
from privopt.solvers.redaction.windows import Windows

Form = tuple[float, int, int]
"""Left share of epsilon, and which values are released early on the left and on the right."""

_MOST = 24
_SHARES = (0.5, 0.25, 0.75, 0.0, 1.0)


def starts(
    problem: Redaction, zone: Zone, budget: Budget, rng: np.random.Generator
) -> Iterator[tuple[Support, Floats]]:
    """Supports with redaction tables to start from, at most a few dozen; each is private near its table of ones."""
    for solver in (Windows(), Relaxation()):
        mechanism = solver.run(problem, budget).mechanism
        if isinstance(mechanism, RedactionMechanism):
            table = np.array(mechanism.probabilities)
            table[list(problem.private)] = 1.0
            yield _support(table), np.where(table < 1, table, 0.9)
    known = {p: _told(problem, p) for p in problem.private}
    for form in _forms(problem, len(zone.choices) - 2, rng):
        support = np.full((problem.length, problem.chain.k), WHOLE, np.int8)
        for p, (share, one, other) in zip(problem.private, form, strict=True):
            parts = (share * problem.epsilon, (1 - share) * problem.epsilon)
            for rows, told, part, choice in zip(
                (support[:p][::-1], support[p + 1 :]), known[p], parts, (one, other), strict=True
            ):
                _restrict(rows, told, part, np.flatnonzero(zone.choices[2 + choice] == PARTIAL))
            support[p] = HIDDEN
        yield _valid(support), np.full(support.shape, 0.9)


def _forms(problem: Redaction, choices: int, rng: np.random.Generator) -> list[list[Form]]:
    """A share and the values of both sides for each private record: the same for all, and random ones."""
    forms = list(itertools.product(_SHARES, range(choices), range(choices)))
    count, plain = len(problem.private), (0.5, choices - 1, choices - 1)
    same = [[form] * count for form in [plain, *(forms[i] for i in rng.permutation(len(forms)).tolist())]]
    if count == 1:
        return same[:_MOST]
    mixed = [[forms[i] for i in rng.integers(len(forms), size=count).tolist()] for _ in range(_MOST)]
    return [form for pair in zip(same, mixed, strict=False) for form in pair][:_MOST]


def _told(problem: Redaction, p: int) -> list[Floats]:
    possible = possible_values(problem, p)
    k = problem.chain.k
    return [influences(s, possible, 1e-6 * problem.epsilon).reshape(-1, k) for s in both_sides(problem, p)]


def _restrict(rows: Support, told: Floats, part: float, values: np.ndarray) -> None:
    """Keep, nearest first, what one private record allows: some values, then everything."""
    within = told <= part
    whole = within.all(axis=1)
    small = int(np.argmax(whole)) if whole.any() else len(told)
    allowed = np.full(told.shape, HIDDEN, np.int8)
    allowed[:, values] = np.where(within[:, values], PARTIAL, HIDDEN)
    allowed[small:] = WHOLE
    rows[: len(told)] = np.minimum(rows[: len(told)], allowed)
    if small == len(told):
        rows[len(told) :] = HIDDEN


def _support(table: Floats) -> Support:
    return _valid(np.where(table == 0, WHOLE, np.where(table < 1, PARTIAL, HIDDEN)).astype(np.int8))


def _valid(support: Support) -> Support:
    """A record released whole is so in all its values."""
    rows = ~(support == WHOLE).all(axis=1)
    support[rows] = np.minimum(support[rows], PARTIAL)
    return support
