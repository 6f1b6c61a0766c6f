"""Proving a solution again, from the problem and the integer weights alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from privopt._certificate import Certificate
from privopt._numbers import encode_float
from privopt._problem import Problem
from privopt._solution import Solution, standing
from privopt.errors import InvalidMechanism, PrivoptError

RELATIVE = 1e-9


def verify(problem: Problem[Any], solution: Solution[Any]) -> Certificate:
    """Prove the privacy of a solution afresh and compare with everything it says of itself.

    No solver is imported and no float reading is used: the integer weights are certified in exact
    arithmetic, then the fingerprints, the stored certificate, the stated numbers and the bound are checked.

    Parameters
    ----------
    problem : Problem
    solution : Solution
        Of this problem, perhaps loaded from a file.

    Returns
    -------
    Certificate
        ``ok`` is False, with the reason, if anything does not hold.

    Raises
    ------
    InvalidProblem, InvalidMechanism
        If the arguments are not a problem and a solution.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0)
    >>> po.verify(problem, po.solve(problem)).ok
    True
    """
    if not isinstance(problem, Problem) or not isinstance(solution, Solution):
        raise InvalidMechanism("verify takes a problem and a solution of it")
    if not solution.status.ok or solution.answer is None:
        return _refused(problem, f"there is no mechanism to verify: {solution.status.name}")
    if solution.problem != problem.fingerprint:
        return _refused(
            problem, "the solution answers another problem (its fingerprint differs): a changed question?"
        )
    try:
        mechanism = problem.check(solution.answer).validated(solution.answer.simulation_only)
    except PrivoptError as cause:
        return _refused(problem, f"the mechanism does not fit the problem: {cause}")
    fresh = problem.certify(mechanism)
    fault = _fault(problem, fresh, solution)
    return replace(fresh, ok=False, reason=fault) if fault and fresh.ok else fresh


def _refused(problem: Problem[Any], reason: str) -> Certificate:
    return Certificate(
        False, "the solution is what it says", reason, problem.budget, problem=problem.fingerprint
    )


def _fault(problem: Problem[Any], fresh: Certificate, solution: Solution[Any]) -> str:
    """What the solution says of itself that is not so; empty if all holds."""
    stored = solution.certificate
    if stored is None:
        return "the solution carries no certificate (it was made with certify=False)"
    if stored.mechanism != fresh.mechanism:
        return "the mechanism is not the one that was certified (its fingerprint differs): a changed weight or label?"
    if stored != fresh:
        changed = [name for name, value in fresh.to_dict().items() if stored.to_dict()[name] != value]
        return f"the stored certificate differs from the fresh one in {', '.join(changed)}"
    return _false_number(fresh, solution) or _false_standing(problem, solution)


def _false_number(fresh: Certificate, solution: Solution[Any]) -> str:
    """A stated utility or leakage outside its proved enclosure."""
    for name, value, (lo, hi) in (
        ("utility", solution.utility, fresh.utility),
        ("leakage", solution.leakage, fresh.leakage),
    ):
        if value is None or not (_reaches(value, lo) and _reaches(hi, value)):
            return (
                f"the stated {name} {None if value is None else encode_float(value)} is not in [{lo}, {hi}]"
            )
    return ""


def _reaches(value: float, other: float) -> bool:
    """Whether a value is at least another, to a relative tolerance; infinities compare as they are."""
    return value >= other or abs(value - other) <= RELATIVE * max(1.0, abs(other))


def _false_standing(problem: Problem[Any], solution: Solution[Any]) -> str:
    """A stated objective, bound, gap, status or guarantee that is not so."""
    objective = solution.objective
    if objective is None or solution.utility is None or solution.leakage is None:
        return "the solution states no objective"
    if not problem.is_objective(objective, solution.utility, solution.leakage):
        return f"the stated objective {objective} does not follow from the utility and the leakage"
    if (solution.gap, solution.status, solution.guarantee) != standing(objective, solution.bound):
        return "the stated gap, status and guarantee do not follow from the objective and the bound"
    if solution.bound is None:
        return ""
    proved = problem.check_bound(solution.bound, solution.dual)
    if proved is None or proved > solution.bound + RELATIVE * max(1, abs(solution.bound)):
        return f"the stated bound {solution.bound} is not proved by its dual"
    return ""
