"""Proofs that hold for every distribution of a set: the kind of file that checker_sets.py checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from privopt.errors import InvalidProblem
from privopt.mechanisms import Channel
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.models.channel_data import Observation, observation
from privopt.models.codec import decode_numbers
from privopt.problems.belief_release.data import BeliefData
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.distortion_privacy.over_set import worst_distortion
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.robust import itself_over
from privopt.problems.trade_off.data import TradeOffData
from privopt.proof import checker, checker_set_bounds, checker_sets
from privopt.proof.draft import Draft, Line, Solved, release_line, rows_of, weights_of
from privopt.proof.linear import enclose
from privopt.proof.prices import Program
from privopt.proof.rationals import GUARD, floor, rows_written, written

BITS = 192
"""Bits of the logarithms of an information."""

AVERAGE = (
    "proof files do not cover mutual information over a set of distributions: privopt verify proves it, or choose a bound on ratios, "
    'or "maximal_leakage"'
)
"""Why there is no file of an information that is bounded over a set."""

EXCEPTIONS = "proof files do not cover delta > 0 over a set of distributions: privopt verify proves it, or set delta to 0"
"""Why there is no file of a release that may break its bounds now and then."""

UNPROVED = "how much better any mechanism that is private on the whole set could be"


def local_information(data: LocalInformationPrivacyData, solution: Solved) -> Draft:
    """A channel under bounds of lifts or ratios, whichever distribution of the set the data follow."""
    if data.delta > 0:
        raise InvalidProblem(EXCEPTIONS)
    named = {"upper": data.upper, "lower": data.lower} if data.notion == "lip" else {"upper": data.budget}
    draft = _draft(_set_of(data.ambiguity), data.observation, data.notion, solution)
    if data.matrix is not None:
        draft.problem["loss"] = rows_written(data.matrix.tolist())
    _enclose(draft, named)
    if data.matrix is not None:
        _cost(draft, solution.dual)
        return draft
    draft.bits = max(draft.bits, BITS)
    draft.claim["information"] = written(max(Fraction(0), Fraction(solution.certificate.utility[0])))
    draft.left_out.append(UNPROVED)
    return draft


def belief(data: BeliefData, solution: Solved) -> Draft:
    """One step of a sequence at every belief of a set."""
    assert data.beliefs is not None
    allowed = itself_over(data.beliefs, data.letters)
    draft = _draft(allowed, observation(allowed.nominal), "lip", solution)
    draft.problem["loss"] = rows_written(data.matrix.tolist())
    _enclose(draft, {"upper": data.epsilon, "lower": data.epsilon})
    _cost(draft, solution.dual)
    return draft


def distortion(data: DistortionData, solution: Solved) -> Draft:
    """A bound on the leakage at every distribution of the set, and on the mean loss at each where that is asked for."""
    allowed = _set_of(data.ambiguity)
    if data.order == 1:
        raise InvalidProblem(AVERAGE)
    notion = "maximal" if data.order is not None else data.leakage
    draft = _draft(allowed, data.observation, notion, solution)
    draft.problem["loss"] = rows_written(data.matrix.tolist())
    within = data.max_leakage is not None
    level: float | Fraction = data.budget if within else Fraction(solution.certificate.leakage[1])
    _enclose(draft, dict.fromkeys(("upper", "lower") if notion == "lip" else ("upper",), level))
    if within and notion != "maximal":
        _cost(draft, solution.dual)
        return draft
    _claim_cost(draft)
    if not within:
        draft.claim["worst"] = written(worst_distortion(data, allowed, solution.mechanism))
    draft.left_out.append(UNPROVED)
    return draft


def trade_off(data: TradeOffData, solution: Solved) -> Draft:
    """Informations over a set have no file.

    Raises
    ------
    InvalidProblem
        Always.
    """
    raise InvalidProblem(AVERAGE)


def _set_of(ambiguity: JointAmbiguity | None) -> JointAmbiguity:
    if ambiguity is None:
        raise InvalidProblem("the problem is on one distribution, not on a set")
    return ambiguity


def _draft(allowed: JointAmbiguity, observed: Observation, notion: str, solution: Solved) -> Draft:
    """The sets, the nominal distribution and the mechanism."""
    secret, useful = weights_of(observed)
    if useful is not None:
        raise InvalidProblem("proof files for a set cover mechanisms that read the useful symbol itself")
    release = solution.mechanism
    rows = rows_of(list(release.exact())) if isinstance(release, Channel) else release_line(observed, release)
    problem: Line = {
        "notion": notion,
        "distribution": secret,
        "rows": [set_line(row) for row in allowed.rows],
        "prior": set_line(allowed.prior),
    }
    return Draft("sets", problem, rows, {}, GUARD)


def set_line(allowed: RowSet) -> Line:
    """A set of distributions as its checker reads it.

    Examples
    --------
    >>> set_line(RowSet.all(2))
    {'kind': 'interval', 'lower': [0, 0], 'upper': [1, 1]}
    """
    if allowed.kind == "all":
        return {"kind": "interval", "lower": [0] * allowed.size, "upper": [1] * allowed.size}
    if allowed.kind == "interval":
        ends = {"lower": allowed.lower, "upper": allowed.upper}
        return {"kind": "interval", **{side: [written(v) for v in row] for side, row in ends.items()}}
    center = [written(v) for v in allowed.center]
    return {"kind": allowed.kind, "center": center, "radius": written(allowed.radius)}


def _enclose(draft: Draft, named: Mapping[str, float | Fraction]) -> None:
    """Give the problem its finite levels, enclosed so closely that the mechanism is private over the set."""
    enclose(draft, {name: level for name, level in named.items() if level < math.inf}, _keeps_the_set)


def _keeps_the_set(draft: Draft) -> None:
    checker_sets.check(draft.problem, draft.mechanism, {}, [], draft.bits)


def _claim_cost(draft: Draft) -> None:
    """Claim the exact cost of the mechanism at the nominal distribution."""
    share = checker.prior(draft.problem)
    rows, total = checker.channel(draft.mechanism, len(share))
    loss = [[checker.number(v) for v in row] for row in draft.problem["loss"]]
    each = [checker.dot(*pair) / total for pair in zip(loss, rows, strict=True)]
    draft.claim["cost"] = written(checker.dot(share, each) / sum(share))


def _cost(draft: Draft, dual: object) -> None:
    """Claim the cost, and prove the least one from the distributions that a dual names."""
    _claim_cost(draft)
    if not isinstance(dual, dict) or dual.get("kind") != "set":
        draft.left_out.append(UNPROVED)
        return
    above = checker.levels(draft.problem["levels"], draft.bits)[1]
    pool, allowed = (
        [_fractions(row) for row in dual["pool"]],
        [draft.problem["prior"], *draft.problem["rows"]],
    )
    entries = [
        [_member(which) if p < 0 else pool[p] for p, which in zip(entry, allowed, strict=True)]
        for entry in dual["members"]
    ]
    members = checker_set_bounds.Members(draft.problem, [rows_written(entry) for entry in entries])
    wanted = [
        (m, s, t) if members.ldp else (m, *((s, None) if t > 0 else (None, s))) for m, s, t in dual["cuts"]
    ]
    wanted = [cut for cut in wanted if members.possible >= {s for s in cut[1:] if s is not None}]
    share, loss = checker.prior(draft.problem), draft.problem["loss"]
    program = Program(
        np.array(
            [
                [float(p * checker.number(v) / sum(share)) for v in row]
                for p, row in zip(share, loss, strict=True)
            ]
        ),
        [_coefficients(*members.compared(*cut), above) for cut in wanted],
    )
    marginals = program.marginals()
    if marginals is None:
        draft.left_out.append(UNPROVED)
        return
    prices = [[*wanted[p], values] for p, values in program.prices(marginals)]
    used = sorted({entry[0] for entry in prices})
    line: Line = {
        "members": [rows_written(entries[m]) for m in used],
        "prices": [[used.index(m), *rest] for m, *rest in prices],
    }
    draft.beside = Draft("set_bounds", draft.problem, {}, {}, draft.bits)
    least = checker_set_bounds.least_cost(draft.problem, above, line)
    draft.beside.proofs.append({**line, "bound": written(floor(least))})


def _coefficients(
    first: list[Fraction], second: list[Fraction], name: str, above: dict[str, Fraction]
) -> dict[int, float]:
    """Coefficients of P(y | w) in a comparison: at most 0."""
    return {w: float(a - above[name] * b) for w, (a, b) in enumerate(zip(first, second, strict=True))}


def _fractions(values: object) -> list[Fraction]:
    """A distribution of a dual."""
    numbers = decode_numbers(values, "a distribution", 1)
    return [Fraction(v) for v in numbers if isinstance(v, (int, float, Fraction))]


def _member(allowed: Line) -> list[Fraction]:
    """Some distribution of a set."""
    if allowed["kind"] != "interval":
        return [checker.number(v) for v in allowed["center"]]
    low, high = ([checker.number(v) for v in allowed[side]] for side in ("lower", "upper"))
    return list(RowSet.interval(low, high).nominal)
