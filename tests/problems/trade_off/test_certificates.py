"""What certificates of funnels and bottlenecks say: averages, ties, slack, symbols that hardly or never occur."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.core.certificate import ONE_RELEASE
from privopt.errors import InvalidProblem
from privopt.problems.exact_joint import leaking_joint, worst_log_lift
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel

LN2 = math.log(2)
from instances.funnels import noisy, solved

LN2 = math.log(2)


def disease() -> po.JointDistribution:
    """One of a thousand is ill, and a tenth of these show a mark that nobody else has."""
    return po.JointDistribution(
        [[0.0, 0.0009, 0.0001], [0.9, 0.099, 0.0]], sensitive=["well", "ill"][::-1], useful=["a", "b", "mark"]
    )


def test_an_average_is_never_called_private_without_the_worst_release_beside_it() -> None:
    problem = PrivacyFunnel(
        po.JointDistribution([[0.001, 0.0], [0.0, 0.999]], sensitive=["ill", "well"]), max_leakage=0.01
    )
    everyone = problem.certify(problem.everything())
    assert everyone.ok  # the average is below 0.01 nats although every ill person is published
    assert everyone.kind == "average"
    text = str(everyone)
    assert "PROVED (average)" in text
    assert "'ill' 1000 times as likely as before, and leaves no other" in text
    assert "worst log-lift inf" in text
    assert "inf times less likely" in text
    assert everyone.worst[0] in ("ill", "well")
    assert problem.is_worst(problem.everything(), everyone.worst, everyone.where) is True
    assert "promises nothing of a single release" in everyone.statement
    marked = PrivacyFunnel(disease(), max_leakage=0.01)
    assert "'ill' 1000 times as likely" in str(marked.certify(marked.everything()))


@pytest.mark.long
def test_every_mode_says_what_it_claims() -> None:
    joint = po.JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]], sensitive=["yes", "no"])
    kinds = {}
    for problem in (
        PrivacyFunnel(joint, min_utility=0.4),
        PrivacyFunnel(joint, max_leakage=0.05),
        PrivacyFunnel(joint, trade_off=0.2),
        InformationBottleneck(joint, max_rate=0.4),
        InformationBottleneck(joint, trade_off=0.1),
    ):
        for form in ("stochastic", "merging"):
            other = type(problem)(joint, form=form, **{problem.mode: problem.budget})  # type: ignore[call-arg]
            solution = solved(other)
            certificate = solution.certificate
            assert certificate is not None
            kinds[type(problem).__name__, problem.mode] = certificate.kind
            lo, hi = worst_log_lift(leaking_joint(other.observation, solution.mechanism))[0]
            assert certificate.where.startswith(f"worst log-lift in [{lo:.9g}") or hi == 0
            assert "log-lift" in certificate.statement or hi == 0
            assert certificate.adversary
            assert certificate.unit
            assert certificate.uncovered[0] == ONE_RELEASE
            assert any("single releases" in line for line in certificate.uncovered)
            assert "'yes'" in str(certificate) or "'no'" in str(certificate) or hi == 0
    assert kinds == {
        ("PrivacyFunnel", "min_utility"): "utility",
        ("PrivacyFunnel", "max_leakage"): "average",
        ("PrivacyFunnel", "trade_off"): "utility",
        ("InformationBottleneck", "max_rate"): "average",
        ("InformationBottleneck", "trade_off"): "utility",
    }


def test_ties_for_the_worst_release_count() -> None:
    joint = noisy(0.1)
    problem = PrivacyFunnel(joint, trade_off=0.5)
    everything = problem.everything()
    pairs = list(itertools.product((0, 1), (0, 1)))
    # lifts 1.8 on the diagonal and 0.2 off it: ln 5 is the worst, twice
    assert [problem.is_worst(everything, pair, "") for pair in pairs] == [False, True, True, False]
    assert problem.is_worst(everything, (), "") is None
    assert problem.is_worst(everything, ("nobody", 0), "") is False


def test_a_floor_states_its_slack() -> None:
    problem = PrivacyFunnel(noisy(0.1), min_utility=0.3)
    certificate = problem.certify(problem.everything())
    assert certificate.claim == "utility >= budget - 1e-12"
    assert "1e-12" in certificate.reason
    half = po.Channel([[0.5, 0.5], [0.5, 0.5]])
    assert not problem.certify(half).ok
    assert not PrivacyFunnel(noisy(0.1), min_utility=LN2 + 2e-12).certify(problem.everything()).ok
    assert PrivacyFunnel(noisy(0.1), min_utility=LN2 + 5e-13).certify(problem.everything()).ok


def test_caps_are_kept_without_any_slack() -> None:
    problem = PrivacyFunnel(noisy(0.1), max_leakage=0.1)
    for solver in ("column-generation", "zero-leakage", "greedy", "difference-of-convex"):
        certificate = solved(problem, solver).certificate
        assert certificate is not None
        assert certificate.leakage[1] <= 0.1


# ---------------------------------------------------------------- symbols that never or hardly occur


PADDED = {
    "impossible": [[5, 0, 2, 1], [1, 0, 3, 4]],
    "secret that never occurs": [[5, 2, 1, 3], [1, 3, 4, 2], [0, 0, 0, 0]],
    "symbol of 1e-20": [[0.3, 0.2, 1e-20], [0.1, 0.4, 0.0]],
    "cell of 1e-307": [[0.3, 0.2, 0.1], [0.1, 0.3, 1e-307]],
}
MODES: list[tuple[Any, dict[str, float]]] = [
    (PrivacyFunnel, {"min_utility": 0.3}),
    (PrivacyFunnel, {"max_leakage": 0.01}),
    (PrivacyFunnel, {"max_leakage": 0.0}),
    (PrivacyFunnel, {"trade_off": 0.3}),
    (InformationBottleneck, {"max_rate": 0.2}),
    (InformationBottleneck, {"trade_off": 0.05}),
]


@pytest.mark.parametrize("name", PADDED)
@pytest.mark.parametrize("form", [pytest.param("stochastic", marks=pytest.mark.long), "merging"])
def test_symbols_that_hardly_or_never_occur(name: str, form: str) -> None:
    joint = po.JointDistribution.normalised(PADDED[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind, options in MODES:
            problem = kind(joint, form=form, **options)
            for candidate in po.candidates(problem):
                if candidate.refusal is None:
                    solution = solved(problem, candidate.name, seconds=2.0)
                    assert math.isfinite(solution.objective or 0.0)
                    assert solution.certificate is not None
                    said = " ".join(solution.certificate.uncovered)
                    assert "may give them away" not in said, (candidate.name, said)
                    assert ("probability 0" in said) == (name == "impossible")


def test_a_row_that_gives_an_impossible_symbol_away_is_named() -> None:
    problem = PrivacyFunnel(po.JointDistribution.normalised([[5, 0, 2], [1, 0, 3]]), trade_off=0.3)
    telling = problem.certify(po.Channel(np.eye(3)))
    assert telling.ok
    assert "(1): their releases are not covered and may give them away" in " ".join(telling.uncovered)
    harmless = problem.certify(problem.everything())
    assert "released as the average symbol is" in " ".join(harmless.uncovered)


def test_what_floats_cannot_hold_is_refused_in_a_sentence() -> None:
    for tiny in (Fraction(1, 10**400), 5e-324):
        joint = po.JointDistribution.normalised(
            [[Fraction(1, 2), Fraction(1, 4), tiny], [Fraction(1, 8), Fraction(1, 8), 0]]
        )
        with pytest.raises(InvalidProblem, match="the symbol 2 has probability"):
            PrivacyFunnel(joint, trade_off=0.2)


@pytest.mark.parametrize("seed", range(4))
def test_a_cap_is_read_outward_by_its_last_digit(seed: int) -> None:
    """What leaks just what is written as the cap is within it, and the claim says how; one digit less is a smaller cap."""
    joint = po.JointDistribution.normalised(np.random.default_rng(seed).dirichlet(np.ones(15)).reshape(3, 5))
    merging = PrivacyFunnel(joint, max_leakage=1.0, form="merging").merging([0, 0, 1, 2, 2])
    low, high = PrivacyFunnel(joint, max_leakage=1.0).certify(merging).leakage
    assert math.nextafter(low, math.inf) == high
    claims = {}
    for cap in (math.nextafter(low, 0.0), low, high):
        certificate = PrivacyFunnel(joint, max_leakage=cap, form="merging").certify(merging)
        claims[cap] = certificate.claim if certificate.ok else None
    assert [*claims.values()] == [
        None,
        "leakage <= budget, read outward by its last digit",
        "leakage <= budget",
    ]


def test_nothing_and_everything_as_caps() -> None:
    joint = po.JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]])
    assert PrivacyFunnel(joint, max_leakage=0.0).cap == 0.0
    assert PrivacyFunnel(joint, max_leakage=math.inf).cap == math.inf
    for form in ("merging", "stochastic"):
        best = []
        entropy = InformationBottleneck(joint, max_rate=1.0).entropies[1][0]
        for rate in (math.nextafter(entropy, 0.0), entropy, math.nextafter(entropy, 2.0), 2.0):
            problem = InformationBottleneck(joint, max_rate=rate, form=form)
            solution = po.solve(problem, time_limit=20.0)
            assert solution.status is po.Status.OPTIMAL
            assert solution.bound is not None
            assert problem.check_bound(solution.bound, solution.dual) is not None
            best.append(solution.utility or 0.0)
        assert best == pytest.approx(sorted(best), abs=1e-13)
        assert best[1] == pytest.approx(best[3], abs=1e-13)
