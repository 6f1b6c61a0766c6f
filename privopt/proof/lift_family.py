"""Proofs about bounds by value, and on a divergence of every release: the kind of file that checker_lift_family.py checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from privopt.errors import InvalidProblem
from privopt.problems.local_information_privacy import divergences
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.proof import checker, checker_information, checker_lift_family
from privopt.proof.draft import Draft, Line, Solved, release_line, weights_of
from privopt.proof.information import Places, Tree, note_weaker, of_vertices, whole_entropy
from privopt.proof.linear import NO_BOUND, claim_cost, enclose
from privopt.proof.prices import Program
from privopt.proof.rationals import GUARD, PRECISIONS, floor, levels, rows_written, written

BITS = 192
"""Bits of the logarithms of an information."""

GRID = 100
"""Bits behind the point of how far a direction reaches."""

UNPROVED = "how much better any mechanism that keeps these bounds could be"


def lift_family(data: LocalInformationPrivacyData, solution: Solved) -> Draft:
    """Bounds of single values of the secret, or on a divergence of every release.

    Raises
    ------
    InvalidProblem
        If no bound is asked for, the cost is a function, or the mechanism is nearer to a bound than can be written.
    """
    if data.cost is not None:
        raise InvalidProblem("a cost that is a function of yours is not covered by proof files")
    if data.unbounded:
        raise InvalidProblem(f"{NO_BOUND}: no bound was asked for")
    secret, useful = weights_of(data.observation)
    named = "l1" if data.divergence == 0 else data.notion  # at 0 all divergences say the same
    problem: Line = {
        "notion": "values" if data.per_value is not None else named,
        "distribution": [row for row in secret if any(row)],
    }
    if useful is not None:
        problem["useful"] = useful
    draft = Draft("lift_family", problem, release_line(data.observation, solution.mechanism), {}, GUARD)
    if data.per_value is not None:
        _by_value(draft, [each for each, row in zip(data.per_value, secret, strict=True) if any(row)])
    else:
        problem["bound"] = written(data.divergence)
        _as_close_as_needed(draft)
    if data.matrix is not None:
        problem["loss"] = rows_written(data.matrix.tolist())
        claim_cost(draft)
    else:
        draft.bits = max(draft.bits, BITS)
        draft.claim["information"] = written(max(Fraction(0), Fraction(solution.certificate.utility[0])))
    _add_bound(data, draft, solution)
    return draft


def _keeps(draft: Draft) -> None:
    """Let the checker see whether the mechanism keeps the bounds."""
    checker_lift_family.check(draft.problem, draft.mechanism, {}, [], draft.bits)


def _by_value(draft: Draft, each: Sequence[tuple[float, float]]) -> None:
    """The bounds of each value, levels that are equal under one name."""
    sides = [
        (s, side, level)
        for s, (low, high) in enumerate(each)
        for side, level in ((1, high), (-1, low))
        if level < math.inf
    ]
    names = {level: f"level_{i}" for i, level in enumerate(sorted({level for *_, level in sides}))}
    draft.problem["bounds"] = [[s, side, names[level]] for s, side, level in sides]
    enclose(draft, {name: level for level, name in names.items()}, _keeps)


def _as_close_as_needed(draft: Draft) -> None:
    """Give logarithms as many bits as it takes to see that the mechanism keeps its bound."""
    reason = ""
    for bits in PRECISIONS:
        draft.bits = bits + GUARD
        try:
            _keeps(draft)
        except ValueError as cause:
            reason = str(cause)
            continue
        return
    raise InvalidProblem(
        f"the mechanism is not proved private with logarithms of {PRECISIONS[-1]} bits: {reason}"
    )


def _above(draft: Draft) -> dict[str, Fraction]:
    """Numbers above e^level by name, where there are levels."""
    return checker.levels(draft.problem.get("levels", {}), draft.bits)[1]


def _add_bound(data: LocalInformationPrivacyData, draft: Draft, solution: Solved) -> None:
    """Prices about finitely many directions, those of the solution where it has some."""
    dual = solution.dual if isinstance(solution.dual, dict) else {}
    along = dual.get("directions", []) if dual.get("kind") == "directions" else []
    line: Line = {} if data.per_value is not None else {"directions": _directions(data, draft, along)}
    rows = checker_lift_family.half_spaces(draft.problem, _above(draft), line, draft.bits)
    if data.matrix is not None:
        prices = _prices(draft, rows)
        if prices is None:
            draft.left_out.append(UNPROVED)
            return
        line["prices"] = prices
        least = checker_lift_family.least_cost(draft.problem, rows, line)
        draft.proofs.append({**line, "bound": written(floor(least))})
        return
    inner = dual.get("proof") if dual.get("kind") == "directions" else dual
    told = _information(data, draft, rows, inner if isinstance(inner, dict) else {}, along)
    line = {**line, **(whole_entropy(draft) if told is None else told)}
    most = -floor(-checker_lift_family.most_said(draft.problem, rows, line, draft.bits))
    note_weaker(draft, most, solution)
    draft.proofs.append({**line, "bound": written(most)})


def _directions(
    data: LocalInformationPrivacyData, draft: Draft, along: Sequence[Sequence[int]]
) -> list[Line]:
    """The directions that every problem begins with, then those of a solution, with how far each reaches, rounded up."""
    notion, secrets = draft.problem["notion"], [sum(row) for row in draft.problem["distribution"]]
    found = []
    for way in [*divergences.first_directions(notion, len(secrets)), *along]:
        far = divergences.reach(notion, way, secrets, data.divergence)
        up = Fraction(math.ceil(far * 2**GRID) + 1, 2**GRID)
        entry: Line = {"along": [written(Fraction(v, divergences.SCALE)) for v in way], "far": written(up)}
        if notion == "average":
            around = levels({str(v): Fraction(v, divergences.SCALE) for v in set(way)}, PRECISIONS[0])
            entry["powers"] = [around.entries[str(v)]["above"] for v in way]
            draft.bits = max(draft.bits, around.bits)
        found.append(entry)
    return found


def _prices(draft: Draft, rows: list[list[Fraction]]) -> list[list[Any]] | None:
    """The dual of the least cost, by row and release; None if the program is too large."""
    total = checker.prior(draft.problem)
    occurs = [w for w, weight in enumerate(total) if weight]
    shares = [total[w] / sum(total) for w in occurs]
    comparisons = [
        {w: float(v) * share for w, share, v in zip(occurs, shares, row, strict=True)} for row in rows
    ]
    kept = [place for place, row in enumerate(comparisons) if any(row.values())]
    program = Program(
        np.array([[float(c) for c in row] for row in checker.costs(draft.problem)]),
        [comparisons[place] for place in kept],
    )
    marginals = program.marginals()
    if marginals is None:
        return None
    return [[kept[place], values] for place, values in program.prices(marginals)]


def _information(
    data: LocalInformationPrivacyData,
    draft: Draft,
    rows: list[list[Fraction]],
    dual: dict[str, Any],
    along: Sequence[Sequence[int]],
) -> Line | None:
    """The proof of a solution in the words of the checker; None if it is of another kind."""
    posteriors = partial(_posteriors, draft, rows)
    if dual.get("kind") in ("vertices", "pairs"):
        return of_vertices(dual["pi"], posteriors)
    if dual.get("kind") != "pricing":
        return None
    return Tree(draft, _places(data, draft, along), posteriors).line(dual)


def _posteriors(
    draft: Draft, rows: list[list[Fraction]], prices: Sequence[Any]
) -> checker_information.Posteriors:
    """What the checker makes of the problem."""
    plain = {**draft.problem, "notion": "ldp", "levels": ["upper"], "slack": 0}
    allowed = checker_information.Posteriors(plain, {"upper": Fraction(1)}, prices, draft.bits)
    allowed.rows = rows
    return allowed


def _places(data: LocalInformationPrivacyData, draft: Draft, along: Sequence[Sequence[int]]) -> Places:
    """The rows of the package among those of the checker; a multiplier is worth the same there.

    Further rows of the package stand in the order of the directions. Where a bound is 0 its rows are those of the secrets.
    """
    if data.beyond:
        polytope = data.relaxed(tuple(map(data.cut, along))).polytope
        return [(-1 - polytope.names[row][0], Fraction(1)) for row in polytope.kept]
    values = len(draft.problem["distribution"])
    ways = divergences.first_directions(draft.problem["notion"], values)
    names = [data.polytope.names[row] for row in data.polytope.kept]
    return [(ways.index(_event(ways, s, side)), Fraction(1)) for s, side in names]


def _event(ways: Sequence[tuple[int, ...]], s: int, side: int) -> tuple[int, ...]:
    """The direction of a value of the secret, or the one away from it: that of all others where there is no negative one."""
    values = len(ways[0])
    to = tuple(side * divergences.SCALE * (i == s) for i in range(values))
    return to if to in ways else tuple(divergences.SCALE * (i != s) for i in range(values))
