"""The headlines of the README."""

from __future__ import annotations

import math
import time

import numpy as np

from privopt.benchmarks.data.joints import lecture
from privopt.benchmarks.papers import redaction_figures as frames
from privopt.benchmarks.timings.headline import Headline, register_headline
from privopt.benchmarks.timings.measurement import clock
from privopt.benchmarks.timings.measurements.graph import distances
from privopt.benchmarks.timings.measurements.redaction import program
from privopt.core.dispatch import solve
from privopt.core.problem import M, Problem
from privopt.files.text import number
from privopt.measures import composition
from privopt.mechanisms import SequencePolicy
from privopt.models import GaussianModel, MarkovChain
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.redaction.conic import solve_side
from privopt.solvers.redaction.relaxation import pooled


def _noise_error(problem: BayesianPrivacy, solver: str | None = None) -> float:
    solution = solve(problem, solver)
    if solution.utility is None or not solution.certified:
        raise ValueError(f"{solver} on {problem!r}: {solution.status.name}, {solution.reason}")
    return -solution.utility


@register_headline("bayesian-chain")
def chain() -> Headline:
    """The count of active intervals of an activity stream at 10 nats."""
    activity = MarkovChain.normalised([[0.882, 0.118], [0.305, 0.695]])
    problem = BayesianPrivacy(activity, "count", 10.0, length=17_568)
    best, published, general = (_noise_error(problem, name) for name in (None, "markov-published", "general"))
    return Headline(
        "bayesian-chain",
        "mean error of a count over 17 568 records of a chain (activity stream of Lange et al.) at 10 nats (certified)",
        number(best, 3),
        f"{number(published, 3)} published bound, {number(general, 3)} general bound",
    )


@register_headline("bayesian-family")
def family() -> Headline:
    """Noise for families of three with correlation 0.275."""
    rho = 0.275
    model = GaussianModel([[1.0 if i == j else rho for j in range(3)] for i in range(3)])
    problem = BayesianPrivacy(model, "sum", 1.0, clip=(0.0, 1.0))
    best, published, general = (
        _noise_error(problem, name) for name in (None, "gaussian-published", "general")
    )
    return Headline(
        "bayesian-family",
        "noise for a sum over families of three with correlation 0.275, against differential privacy (certified)",
        f"{number(best, 4)} times",
        f"{number(published, 4)} times by the published theorem, {number(general, 4)} times by the general bound",
    )


@register_headline("belief-published")
def published() -> Headline:
    """What the published conditional randomised response leaks."""
    problem = BeliefRelease([0.9, 0.1], math.log(2))
    ours, theirs = solve(problem), solve(problem, "published")
    kept, claimed = (
        number(-value, 3) for value in (ours.objective or 0.0, float(theirs.stats["raw_utility"]))
    )
    return Headline(
        "belief-published",
        "error of one release that may leak 0.693 nats, belief (0.9, 0.1)",
        f"{kept}, certified",
        f"{claimed} as printed, which leaks {number(float(theirs.stats['raw_leakage']), 4)}: not private",
    )


@register_headline("colouring")
def colouring() -> Headline:
    """Distances to the boundary of a graph of datasets."""
    (row,) = distances((250_000,))
    return Headline(
        "colouring",
        "distances to the boundary, grid of 250 000 datasets, time of networkx over ours",
        f"{number(row.ratio or 0.0, 2)} times faster",
        "the same distances",
        True,
    )


_BIT = math.log(2)


def _objective(problem: Problem[M], solver: str | None = None) -> float:
    solution = solve(problem, solver, time_limit=20.0)
    if solution.objective is None or not solution.certified:
        raise ValueError(f"{solver} on {problem!r}: {solution.status.name}, {solution.reason}")
    return solution.objective


@register_headline("lip")
def lip() -> Headline:
    """Mutual information on the lectures' table at 1 nat."""
    problem = LocalInformationPrivacy(lecture(), 1.0)
    best, merged = (_objective(problem, name) / _BIT for name in (None, "watchdog-merge"))
    return Headline(
        "lip",
        "bits released of the lectures' 4 x 9 table under 1-LIP (certified optimum)",
        number(best, 4),
        f"{number(merged, 4)} watchdog with merging",
    )


@register_headline("funnel")
def funnel() -> Headline:
    """Leakage on the lectures' table at a floor of 0.7 H(X)."""
    table = lecture()
    random = -_objective(PrivacyFunnel(table, theta_fraction=0.7)) / _BIT
    merging = -_objective(PrivacyFunnel(table, theta_fraction=0.7, form="merging")) / _BIT
    return Headline(
        "funnel",
        "bits leaked while 70 % of H(X) is kept, lectures' table (certified optimum)",
        number(random, 3),
        f"{number(merging, 3)} best merging, which the printed greedy example reaches",
    )


@register_headline("redaction")
def redaction() -> Headline:
    """Utilities on the chain of the paper's Figure 3."""
    problem = frames.figure_problem(1.0)
    names = ("optimal", "constant-closed-form", "windows")
    best, published, window = (number(frames.proved(problem, name)[0], 4) for name in names)
    return Headline(
        "redaction",
        "share of records released, chain of Maßny et al., Figure 3, at 1 nat (certified)",
        best,
        f"{published} published 3R, {window} best window",
    )


@register_headline("redaction-relaxation")
def relaxation() -> Headline:
    """Isotonic regression against a conic solver, m = 1000."""
    bounds, weights = program(1000)
    solve_side(*program(5), "clarabel")
    _, ours = clock(lambda: pooled(bounds, weights))
    conic, theirs = clock(lambda: solve_side(bounds, weights, "clarabel"))
    worse = float(np.exp(-conic).sum() / np.exp(-pooled(bounds, weights)).sum() - 1)
    return Headline(
        "redaction-relaxation",
        "the convex 3R relaxation, 1000 medium records, time of CVXPY with Clarabel over ours",
        f"{number(theirs / ours, 2)} times faster",
        f"objective within {abs(worse):.0e} of ours",
        True,
    )


_STICKY = MarkovChain([[0.9, 0.1], [0.1, 0.9]], initial=[0.9, 0.1])


def _error(batch: int) -> float:
    solution = solve(SequenceInformationPrivacy(_STICKY, 1.0, batch=batch, horizon=3))
    if solution.utility is None or not solution.certified:
        raise ValueError(f"batch {batch}: {solution.status.name}, {solution.reason}")
    return -solution.utility


@register_headline("sequence")
def sequence() -> Headline:
    """Errors a letter on a chain that stays with probability 0.9."""
    problem = SequenceInformationPrivacy(_STICKY, 1.0, horizon=3)
    response = solve(problem, "randomised-response").utility or 0.0
    return Headline(
        "sequence",
        "error a letter at 1 nat a letter, chain that stays with probability 0.9, three letters at once (certified)",
        number(_error(3), 3),
        f"{number(_error(1), 3)} letter by letter, {number(-response, 3)} randomised response",
    )


@register_headline("sequence-composition")
def composed() -> Headline:
    """What 200 releases of 0.2 nats add up to, and Theorem 2 of the paper."""
    steps, epsilon, delta = 200, 0.2, 1e-5
    printed = steps * epsilon * math.expm1(epsilon) + epsilon * math.sqrt(-2 * steps * math.log(delta))
    return Headline(
        "sequence-composition",
        "what 200 releases of 0.2 nats leak together, with probability 1 - 1e-5",
        f"{number(composition([epsilon] * steps, delta), 4)} nats",
        f"{number(printed, 4)} by Theorem 2 of Jiang et al., {number(steps * epsilon, 4)} by adding",
    )


@register_headline("sequence-speed")
def speed() -> Headline:
    """Microseconds a user-step, simulated and certified."""
    chain = MarkovChain.normalised(np.random.default_rng(0).dirichlet(np.ones(10), size=10))
    policy, users = SequencePolicy(chain, 1.0), np.random.default_rng(1).integers(10, size=(20_000, 5))
    simulated, certified = (_seconds(policy, users, rng) for rng in (np.random.default_rng(2), None))
    steps = users.size * 1e-6
    return Headline(
        "sequence-speed",
        "release for many users at once, 10 letters, a user-step",
        f"{number(certified / steps, 2)} us from integers and the system's generator",
        f"{number(simulated / steps, 2)} us simulated",
        True,
    )


def _seconds(policy: SequencePolicy, users: np.ndarray, rng: np.random.Generator | None) -> float:
    policy.release(users[:100], rng)
    begun = time.perf_counter()
    policy.release(users, rng)
    return time.perf_counter() - begun
