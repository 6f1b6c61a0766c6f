"""From a proposal to a solution: evaluate, quantise, certify, repair; check the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from privopt.core.certificate import Certificate
from privopt.core.exact import ensure_nearest
from privopt.core.isolate import describe
from privopt.core.problem import Evaluation, M, Problem
from privopt.core.solution import Solution, Status, standing
from privopt.core.solver import Guarantee, Proposal
from privopt.errors import InvalidMechanism
from privopt.files.text import number

MARGINS = (2.0**-44, 2.0**-36, 2.0**-24)

READING = 1e-12
"""Relative error of a float reading."""
NOTHING = 1e-12
"""Objectives of this size are read with the errors of larger numbers that cancel."""

LONG = 0.1
"""Seconds of judging, as predicted, from which no certificate is tried that a reading says will fail."""

BEATEN = "not certified: another answer is better"

PROMISE = 1e-6
"""A published formula that misses its budget by more than this, relative to max(1, budget), is shown as it is."""


@dataclass
class Verdict(Generic[M]):
    """What judging a mechanism gave; ``mechanism`` is None if nothing of it is private."""

    mechanism: M | None = None
    evaluation: Evaluation | None = None
    certificate: Certificate | None = None
    reason: str = ""
    stats: dict[str, float | int | str] = field(default_factory=dict)


def judge(
    problem: Problem[M],
    proposal: Proposal,
    *,
    certify: bool,
    seconds: float = math.inf,
    repairable: bool = True,
    least: float = -math.inf,
) -> Solution[M]:
    """The solution that a proposal deserves.

    Nothing of the proposal is believed: the mechanism is rebuilt and judged by the problem, the bound
    is what ``problem.check_bound`` proves, within ``seconds``, from the dual that came with it.
    A mechanism that is not ``repairable`` and breaks its promise by more than rounding is shown as it is: repaired,
    a published formula would be another algorithm. One that is private by its exact reading and below ``least`` will not be
    the answer, or is certified later: it stays uncertified, and must not leave the search so.
    """
    try:
        ensure_nearest()
        verdict = _judge_mechanism(problem, proposal, certify, repairable, least)
        bound = _checked_bound(problem, proposal, verdict, seconds)
    except Exception as cause:  # noqa: BLE001 - a proposal may hold anything; the reason is kept in the solution
        return Solution(Status.FAILED, reason=f"the proposal cannot be judged: {describe(cause)}")
    stats = {**_plain(proposal.stats), **verdict.stats}
    if verdict.mechanism is None or verdict.evaluation is None:
        status = Status.NOT_PRIVATE if "raw_leakage" in verdict.stats else Status.FAILED
        if proposal.mechanism is None and proposal.infeasible is not None:
            status = Status.INFEASIBLE if verdict.reason.startswith("infeasible") else Status.FAILED
        dual = None if bound is None else proposal.dual
        return Solution(status, reason=verdict.reason, bound=bound, dual=dual, stats=stats)
    solution = Solution(
        Status.FEASIBLE,
        answer=verdict.mechanism,
        reason=verdict.reason,
        utility=verdict.evaluation.utility,
        leakage=verdict.evaluation.leakage,
        objective=verdict.evaluation.objective,
        certificate=verdict.certificate,
        guarantee=Guarantee.FEASIBLE,
        stats=stats,
        instance=problem,
    )
    if bound is None:
        return solution
    if contradicts(problem, solution, bound):
        if certify and solution.certificate is None:  # a reading may be off by more than an enclosure
            return judge(problem, proposal, certify=True, seconds=seconds, repairable=repairable)
        told = f"its own mechanism reaches {solution.objective!r}, above the bound {bound!r} that its dual proves"
        return replace(solution, stats={**stats, "contradiction": told}, reason=f"CONTRADICTION: {told}")
    return with_bound(problem, solution, bound, proposal.dual)


def with_bound(problem: Problem[M], solution: Solution[M], bound: float, dual: object) -> Solution[M]:
    """The same solution with a checked bound and its proof: status, gap and guarantee follow.

    A bound within the rounding of the objective is raised to it.

    Raises
    ------
    ValueError
        If the solution contradicts the bound; see :func:`contradicts`.
    """
    if solution.objective is None:
        return solution
    if contradicts(problem, solution, bound):
        raise ValueError(f"a mechanism reaches {solution.objective!r}, above the bound {bound!r}")
    least = max(bound, solution.objective)
    gap, status, guarantee = standing(solution.objective, least, problem.scale(solution))
    return replace(solution, bound=least, dual=dual, gap=gap, status=status, guarantee=guarantee)


def contradicts(problem: Problem[M], solution: Solution[M], bound: float) -> bool:
    """Whether a judged objective is above a checked bound by more than its own reading may be off."""
    if solution.objective is None or bound >= solution.objective:
        return False
    if solution.certificate is not None:  # what is only simulated contradicts nothing
        return bound < problem.objective_enclosure(solution.certificate)[0]
    # Information that is 0 may be read as some 1e-32.
    return bound < solution.objective - READING * max(abs(solution.objective), NOTHING)


def _judge_mechanism(
    problem: Problem[M], proposal: Proposal, certify: bool, repairable: bool, least: float
) -> Verdict[M]:
    if proposal.mechanism is None:
        why = problem.check_infeasible(proposal.infeasible) if proposal.infeasible is not None else None
        return Verdict(reason=f"infeasible: {why}" if why else "the solver proposed no mechanism")
    try:
        mechanism = problem.named(problem.check(proposal.mechanism)).validated(simulation_only=not certify)
    except InvalidMechanism as cause:
        return Verdict(reason=f"the proposed mechanism is not one for this problem: {cause}")
    raw = problem.evaluate(mechanism)
    verdict: Verdict[M] = Verdict(
        stats={"raw_leakage": raw.leakage, "raw_utility": raw.utility, "raw_violation": raw.violation}
    )
    if raw.exact and raw.feasible and raw.objective < least:
        verdict.mechanism, verdict.evaluation = mechanism, raw
        verdict.reason = BEATEN
        return verdict
    fault = ""
    broken = not repairable and raw.violation > PROMISE * max(1.0, problem.budget)
    if broken:
        fault = "a published mechanism is shown as it is, not repaired"
    # A reading this far out is no rounding: a certificate of the mechanism as it is could not hold.
    hopeless = raw.exact and raw.violation > PROMISE and raw.violation > PROMISE * problem.budget
    doubtful = raw.exact and raw.violation > 0 and problem.judging_seconds > LONG
    margins = MARGINS if hopeless or doubtful else (0.0, *MARGINS)
    for margin in () if broken else margins:
        tried = problem.named(problem.repair(mechanism, margin)) if margin else mechanism
        accepted, fault = _accept(problem, verdict, tried, certify, fault)
        if accepted:
            verdict.stats["repaired"] = margin
            verdict.stats["violation"] = 0.0 if verdict.evaluation is None else verdict.evaluation.violation
            if margin and verdict.evaluation is not None:
                lost = raw.utility - verdict.evaluation.utility
                verdict.stats["utility_lost_by_repair"] = lost
                if lost > PROMISE * abs(raw.utility):
                    verdict.reason = (
                        f"what was proposed broke the budget (leakage {number(raw.leakage, 6)}); repairing it took the "
                        f"utility from {number(raw.utility, 6)} to {number(verdict.evaluation.utility, 6)}"
                    )
            return verdict
    excess = (
        f"leakage {number(raw.leakage, 9)} and utility {number(raw.utility, 9)} miss the budget of "
        f"{number(problem.budget, 9)} by {number(raw.violation, 9)}"
    )
    pair = f", worst pair {raw.worst!r} {raw.where}" if raw.worst else ""
    return Verdict(reason=f"not private: {excess}{pair}; {fault}", stats=verdict.stats)


def _accept(
    problem: Problem[M], verdict: Verdict[M], tried: M, certify: bool, fault: str
) -> tuple[bool, str]:
    """Whether a mechanism passes, recorded in the verdict; else the first reason why not."""
    if not certify:
        evaluation = problem.evaluate(tried)
        verdict.mechanism, verdict.evaluation = tried, evaluation
        verdict.reason = "not certified, as asked (certify=False): it releases only as a simulation"
        return evaluation.feasible, fault or "the float reading is not feasible"
    quantised = tried.quantised()
    certificate = problem.certify(quantised)
    if not certificate.ok:
        return False, fault or certificate.reason
    verdict.mechanism, verdict.certificate = quantised, certificate
    verdict.evaluation = _within(problem, problem.evaluate(quantised), certificate)
    return True, ""


def _within(problem: Problem[M], read: Evaluation, certificate: Certificate) -> Evaluation:
    """The reading, moved into what was proved, to its upper end where only that is proved; a simulated one stays."""
    if not read.exact:
        return read
    if certificate.only_bounded:
        read = replace(read, leakage=certificate.leakage[1])
    utility, leakage = (
        min(max(value, lo), hi)
        for value, (lo, hi) in ((read.utility, certificate.utility), (read.leakage, certificate.leakage))
    )
    return replace(read, utility=utility, leakage=leakage, objective=problem.objective_of(utility, leakage))


def _checked_bound(
    problem: Problem[M], proposal: Proposal, verdict: Verdict[M], seconds: float
) -> float | None:
    """The bound that the problem itself can prove from the dual; a claim without proof is only noted."""
    if proposal.bound is None:
        return None
    verdict.stats["claimed_bound"] = float(proposal.bound)
    if not math.isfinite(proposal.bound):
        return None
    bound = problem.check_bound(float(proposal.bound), proposal.dual, seconds)
    if bound is None:
        verdict.stats["bound_refused"] = "the dual does not prove the claimed bound"
        return None
    return bound


def _plain(stats: Any) -> dict[str, float | int | str]:
    """Statistics that can be written down; the rest as text."""
    return {str(k): v if _writable(v) else repr(v) for k, v in dict(stats).items()}


def _writable(value: object) -> bool:
    return isinstance(value, (int, str)) or (isinstance(value, float) and not math.isnan(value))
