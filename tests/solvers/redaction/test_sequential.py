"""Sequential redaction: after the first release on a side everything beyond is released."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from oracles.enumeration import fractions, largest_ratio, random_chain, random_table

import privopt as po

KINDS = ("stationary", "started", "stepwise")


def output_distributions(
    chain: po.MarkovChain, private: int, table: list[list[Fraction]]
) -> tuple[dict[int, dict[tuple[int, ...], Fraction]], Fraction]:
    """Pr(output | private value) of the walk, exactly, and the expected number of released records."""
    n, k = len(table), chain.k
    joint: dict[int, dict[tuple[int, ...], Fraction]] = {x: {} for x in range(k)}
    released = Fraction(0)
    for sequence in itertools.product(range(k), repeat=n):
        probability = chain.exact_initial.fraction(sequence[0])
        for t in range(n - 1):
            probability *= chain.exact_step(t)[sequence[t]].fraction(sequence[t + 1])
        sides = (range(private - 1, -1, -1), range(private + 1, n))
        for left, right in itertools.product(
            walk(sequence, table, sides[0]), walk(sequence, table, sides[1])
        ):
            weight = probability * left[1] * right[1]
            if weight:
                shown = left[0] | right[0]
                output = tuple(v if t in shown else -1 for t, v in enumerate(sequence))
                masses = joint[sequence[private]]
                masses[output] = masses.get(output, Fraction(0)) + weight
                released += weight * len(shown)
    return {
        x: {y: w / sum(masses.values()) for y, w in masses.items()} for x, masses in joint.items() if masses
    }, released


def walk(
    sequence: tuple[int, ...], table: list[list[Fraction]], side: range
) -> list[tuple[set[int], Fraction]]:
    """Every stopping place on one side with its probability."""
    places, hidden = [], Fraction(1)
    for t in side:
        r = table[t][sequence[t]]
        places.append(({u for u in side if abs(u - side.start) >= abs(t - side.start)}, hidden * (1 - r)))
        hidden *= r
    return [*places, (set(), hidden)]


@pytest.mark.parametrize("seed", range(40))
def test_judgement_equals_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    length = int(rng.integers(1, 5))
    chain, p = random_chain(rng, k, KINDS[seed % 3], length), int(rng.integers(length))
    table = random_table(rng, length, k)
    table[p] = 1.0
    problem = po.Redaction(chain, length, p, float(rng.exponential(1.0)), form="sequential")
    mechanism = problem.answer(table).quantised()
    distributions, released = output_distributions(chain, p, fractions(mechanism.probabilities))
    ratio = largest_ratio(distributions)
    expected = math.inf if ratio is None else math.log(ratio)
    evaluation, certificate = problem.evaluate(mechanism), problem.certify(mechanism)
    assert evaluation.leakage == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert certificate.ok == (expected <= problem.epsilon)
    assert evaluation.utility == pytest.approx(float(released / length), rel=1e-12, abs=1e-14)
    assert Fraction(certificate.utility[0]) <= released / length <= Fraction(certificate.utility[1])


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "reached"), [(0.25, 0.7925), (0.5, 0.8392), (1.0, 0.8733)])
def test_public_values(epsilon: float, reached: float) -> None:
    chain = po.MarkovChain([[0.99, 0.01], [0.8, 0.2]])
    problem = po.Redaction(chain, 10, 0, epsilon, form="sequential")
    solution = po.solve(problem)
    assert solution.utility is not None
    assert solution.utility >= reached - 5e-5
    assert po.verify(problem, solution).ok


@pytest.mark.long
def test_a_sequential_mechanism_is_never_worse_than_the_local_one_of_the_same_table() -> None:
    chain = po.MarkovChain([[0.95, 0.05], [0.3, 0.7]])
    local = po.solve(po.Redaction(chain, 9, 3, 0.8))
    problem = po.Redaction(chain, 9, 3, 0.8, form="sequential")
    evaluation = problem.evaluate(problem.answer(local.mechanism.probabilities))
    assert evaluation.leakage == pytest.approx(local.leakage, rel=1e-12)
    assert local.utility is not None
    assert evaluation.utility > local.utility
    solution = po.solve(problem)
    assert solution.utility is not None
    assert solution.utility >= evaluation.utility - 1e-9


def test_release_opens_everything_beyond_the_first_release() -> None:
    mechanism = po.RedactionMechanism([[0.5], [0.5], [1], [0.5], [0.5]], ("a",), sequential=2)
    released = mechanism.release(np.full((4000, 5), "a"))
    shown = np.array([[cell is not None for cell in row] for row in released])
    assert not shown[:, 2].any()
    assert (shown[:, 4] >= shown[:, 3]).all()
    assert (shown[:, 0] >= shown[:, 1]).all()
    assert 0.70 < shown[:, 4].mean() < 0.80
    assert type(mechanism).from_dict(mechanism.to_dict()) == mechanism


def test_a_local_mechanism_does_not_answer_a_sequential_question() -> None:
    problem = po.Redaction(po.MarkovChain([[0.9, 0.1], [0.4, 0.6]]), 3, 1, 1.0, form="sequential")
    with pytest.raises(po.errors.InvalidMechanism, match="sequential=1"):
        problem.evaluate(po.RedactionMechanism(np.ones((3, 2))))
    assert po.solve(problem, "optimal").status is po.Status.REFUSED


def test_without_a_budget_nothing_is_hidden_for_its_sake() -> None:
    chain = po.MarkovChain([[1e-300, 1.0], [1.0, 1e-310]], initial=[1.0, 0.0])
    free, bound = (po.Redaction(chain, 4, 2, epsilon, form="sequential") for epsilon in (math.inf, 1.0))
    found = [po.solve(problem, "sequential") for problem in (free, bound)]
    assert found[0].status.ok
    assert found[0].objective is not None
    assert found[1].objective is None or found[0].objective >= found[1].objective


def test_a_state_that_next_to_never_occurs_is_no_division_by_zero() -> None:
    chain = po.MarkovChain([[0.0, 1.0], [1e-100, 1.0]], initial=[1e-300, 1.0])
    problem = po.Redaction(chain, 5, 2, 1e-12, form="sequential")
    solution = po.solve(problem, "sequential", time_limit=60.0)
    assert solution.certified
    assert solution.utility is not None
    assert solution.utility > 0.59


def test_a_step_of_a_denormal_probability_is_no_overflow() -> None:
    problem = po.Redaction(po.MarkovChain([[0.5, 0.5], [1e-310, 1.0]]), 4, 1, 3.5, form="sequential")
    solution = po.solve(problem, "sequential", time_limit=60.0)
    assert solution.certified
    assert solution.bound is not None
