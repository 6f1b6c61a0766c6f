"""Post-randomisation judged: the distribution stays exactly, and the bounds hold, by the definitions written out."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import privopt as po
from privopt.errors import FileRefused, InvalidMechanism, InvalidProblem
from privopt.files.template import problem_template
from privopt.problems.post_randomisation.bound import rounded_costs
from privopt.problems.post_randomisation.data import PostRandomisationData
from privopt.problems.post_randomisation.flow import flow

VOTE = po.JointDistribution.normalised([[3, 5, 1, 2], [3, 1, 5, 3]])
ALIKE = po.JointDistribution.normalised([[4, 2, 2, 3], [2, 4, 4, 2]])
"""Of the same symbols, with a column whose distribution is the same for the second and the third."""
NOTIONS = ("lip", "ldp", po.Metric.line(4))


def released(problem: po.PostRandomisation, channel: po.Channel) -> list[Fraction]:
    """The exact distribution of a release, times the sum of the weights."""
    rows = channel.exact()
    return [
        sum((c * row.fraction(y) for c, row in zip(problem.counts, rows, strict=True)), Fraction(0))
        for y in range(len(rows))
    ]


def leaks(problem: po.PostRandomisation, channel: po.Channel) -> float:
    """The leakage by its definition, in floats, from exact rows."""
    matrix = np.array([[float(row.fraction(y)) for y in range(len(row.weights))] for row in channel.exact()])
    given = problem.joint.table / problem.joint.p_s[:, None] @ matrix
    if isinstance(problem.notion, po.Metric):
        apart = problem.notion.distances
        pairs = [(matrix[a], matrix[b], apart[a, b]) for a in range(4) for b in range(4) if a != b]
    elif problem.notion == "ldp":
        pairs = [(a, b, 1.0) for a in given for b in given]
    else:
        pairs = [(a, problem.joint.p_x, 1.0) for a in given]
    return max(float(np.abs(np.log(a / b)).max()) / d for a, b, d in pairs)


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_repair_keeps_the_distribution_and_the_budget(
    notion: str | po.Metric, epsilon: float, seed: int
) -> None:
    problem = po.PostRandomisation(VOTE, "hamming", epsilon, notion=notion)
    rng = np.random.default_rng(seed)
    proposed = problem.answer(rng.dirichlet(np.full(4, 0.3), size=4))
    assert not problem.certify(proposed).ok
    assert not problem.evaluate(proposed).feasible
    mended = problem.repair(proposed, 2.0**-44)
    assert released(problem, mended) == list(problem.counts)
    assert leaks(problem, mended) <= epsilon + 1e-12
    certificate = problem.certify(mended)
    assert certificate.ok, certificate.reason
    assert certificate.leakage[0] <= leaks(problem, mended) + 1e-12 <= certificate.leakage[1] + 2e-12


@pytest.mark.parametrize("seed", range(8))
def test_a_flow_has_the_sums_of_the_counts_and_is_near(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    counts = rng.integers(1, 1000, n).tolist()
    invariant = np.tile(np.array(counts) / sum(counts), (n, 1)) * 0.3 + 0.7 * np.eye(n)
    noisy = invariant * (1 + 1e-9 * rng.normal(size=(n, n)))
    table = flow(counts, noisy / noisy.sum(axis=1, keepdims=True))
    whole = Fraction(sum(map(sum, table)), sum(counts))
    assert min(map(min, table)) >= 0
    assert [Fraction(sum(row)) for row in table] == [whole * c for c in counts]
    assert [Fraction(sum(column)) for column in zip(*table, strict=True)] == [whole * c for c in counts]
    near = np.array([[float(v / whole / c) for v in row] for row, c in zip(table, counts, strict=True)])
    assert np.abs(near - invariant).max() < 1e-8


def test_a_flow_keeps_probabilities_below_a_float_spacing() -> None:
    tiny = 1e-60
    table = flow((1, 1), np.array([[1.0, tiny], [tiny, 1.0]]))
    assert 0.99 * tiny < float(Fraction(table[0][1], sum(table[0]))) < 1.01 * tiny


@pytest.mark.parametrize("shift", [Fraction(0), Fraction(1, 2**200), -Fraction(1, 2**200)])
def test_the_distribution_is_compared_as_rationals(shift: Fraction) -> None:
    problem = po.PostRandomisation([1, 1], "hamming", 1.0)
    rows = [[Fraction(1, 2) + shift, Fraction(1, 2) - shift], [Fraction(1, 2), Fraction(1, 2)]]
    certificate = problem.certify(problem.answer(rows))
    assert certificate.ok == (shift == 0)
    if shift:
        assert "instead of" in certificate.reason


def test_a_certificate_says_what_stays_and_what_does_not() -> None:
    solution = po.solve(po.PostRandomisation(VOTE, "hamming", 0.2))
    assert solution.instance is not None
    certificate = po.verify(solution.instance, solution)
    assert certificate.ok
    assert "equals the original exactly" in certificate.statement
    assert any("match in expectation" in words for words in certificate.uncovered)


def test_anchors_keep_tables() -> None:
    plain = po.PostRandomisation(VOTE, "hamming", 0.1)
    assert plain.certify(plain.anchor()).leakage == (0.0, 0.0)
    assert released(plain, plain.anchor()) == list(plain.counts)
    kept = po.PostRandomisation(VOTE, "hamming", 5.0, preserve=ALIKE)
    assert kept.classes == [[0], [1, 2], [3]]
    assert kept.certify(kept.anchor()).ok


def test_tables_are_kept_in_rationals_or_said_to_move() -> None:
    problem = po.PostRandomisation(VOTE, "hamming", 0.4, preserve=ALIKE)
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert solution.utility is not None
    assert solution.utility < -0.01
    rows = solution.mechanism.exact()
    weights = np.array(ALIKE.exact.weights, dtype=object).reshape(2, 4)
    for z in range(2):
        for y in range(4):
            assert sum(Fraction(weights[z, x]) * rows[x].fraction(y) for x in range(4)) == weights[z, y]
    moved = po.PostRandomisation(VOTE, "hamming", 0.4).anchor()
    assert "a table that is to be kept" in problem.certify(moved).reason


def test_as_many_rows_as_symbols_leave_only_the_truth() -> None:
    counts = [sum(VOTE.exact.weights[x::4]) for x in range(4)]
    full = po.JointDistribution.normalised(np.diag(counts).tolist())
    assert po.solve(po.PostRandomisation(VOTE, "hamming", 3.0, preserve=full)).utility == 0
    none = po.solve(po.PostRandomisation(VOTE, "hamming", 0.2, preserve=full))
    assert none.status is po.Status.INFEASIBLE
    assert "moves the tables" in none.reason


def test_a_witness_is_checked() -> None:
    problem = po.PostRandomisation(VOTE, "hamming", 0.2, preserve=VOTE)
    idle = {"kind": "bands", "above": [[0.0] * 2] * 4, "below": [[0.0] * 2] * 4}
    for prices in ([[0.0] * 4] * 3, [[1.0] * 4] * 2, [["x"] * 4] * 3, None):
        assert problem.check_infeasible({"kind": "prices", "prices": prices, "proof": idle}) is None
    assert problem.check_infeasible(None) is None


def test_malformed_duals_prove_nothing() -> None:
    problem = po.PostRandomisation(VOTE, "hamming", 0.2)
    idle = {"kind": "bands", "above": [[0.0] * 2] * 4, "below": [[0.0] * 2] * 4}
    assert problem.check_bound(
        0.0, {"kind": "prices", "prices": [[0.0] * 4], "proof": idle}
    ) == pytest.approx(0.0, abs=1e-300)
    for dual in (
        None,
        {"kind": "bands"},
        {"kind": "prices", "prices": [[0.0] * 3], "proof": idle},
        {"kind": "prices", "prices": [[math.inf] * 4], "proof": idle},
        {"kind": "prices", "prices": [[0.0] * 4], "proof": {**idle, "above": [[-1.0] * 2] * 4}},
        {"kind": "prices", "prices": [[0.0] * 4], "proof": {"kind": "analytic"}},
    ):
        assert problem.check_bound(0.0, dual) is None


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_no_multipliers_prove_less_than_a_channel_reaches(notion: str | po.Metric) -> None:
    problem = po.PostRandomisation(VOTE, "hamming", 0.4, notion=notion)
    best = po.solve(problem, "oracle", time_limit=60).objective
    rng = np.random.default_rng(1)
    for _ in range(20):
        prices = rng.normal(size=(1, 4)).tolist()
        if isinstance(notion, po.Metric):
            pairs = rng.integers(0, 4, size=(2, 6))
            first, second = np.minimum(*pairs), np.maximum(*pairs)
            kept = np.abs(first - second) == 1
            proof: dict[str, object] = {
                "kind": "multipliers",
                "first": first[kept].tolist(),
                "second": second[kept].tolist(),
                "outputs": rng.integers(0, 4, int(kept.sum())).tolist(),
                "values": rng.uniform(size=int(kept.sum())).tolist(),
            }
        else:
            above, below = rng.uniform(size=(2, 4, 2)).tolist()
            proof = {"kind": "bands", "above": above, "below": below}
        bound = problem.check_bound(-math.inf, {"kind": "prices", "prices": prices, "proof": proof})
        assert bound is not None
        assert best is not None
        assert bound >= best - 1e-12


def test_arguments_are_checked() -> None:
    with pytest.raises(InvalidProblem, match="probability 0"):
        po.PostRandomisation([1, 0], "hamming", 1.0)
    with pytest.raises(InvalidProblem, match="columns"):
        po.PostRandomisation([1, 1], [[0.0, 1.0, 2.0]] * 2, 1.0)
    with pytest.raises(InvalidProblem, match="notion"):
        po.PostRandomisation([1, 1], "hamming", 1.0, notion="dp")
    with pytest.raises(InvalidProblem, match="exactly the distribution"):
        po.PostRandomisation(VOTE, "hamming", 1.0, preserve=po.JointDistribution.normalised([[1, 1, 1, 1]]))
    with pytest.raises(InvalidProblem, match="points"):
        po.PostRandomisation([1, 1], "hamming", 1.0, notion=po.Metric.line(3))
    with pytest.raises(InvalidProblem, match="points of the metric"):
        po.PostRandomisation({"a": 1, "b": 1}, "hamming", 1.0, notion=po.Metric([[0, 1], [1, 0]], ["b", "a"]))
    with pytest.raises(InvalidProblem, match="hamming"):
        po.PostRandomisation([1, 1], "l1", 1.0)
    with pytest.raises(InvalidProblem, match="how often"):
        po.PostRandomisation("ab", "hamming", 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="joint tables"):
        po.PostRandomisation([1, 1], "hamming", 1.0, preserve="all")
    problem = po.PostRandomisation({"a": 1, "b": 3}, "hamming", 1.0, notion=po.Metric.line(2))
    assert problem.symbols == ("a", "b")
    with pytest.raises(InvalidMechanism, match="symbols"):
        problem.check(po.Channel(np.eye(2), ["b", "a"], ["a", "b"]))
    with pytest.raises(InvalidMechanism, match="outputs"):
        problem.check(po.Channel([[1.0], [1.0]], ["a", "b"]))
    with pytest.raises(InvalidMechanism, match="Channel"):
        problem.check(po.Merging([["a", "b"]]))


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_files(notion: str | po.Metric) -> None:
    problem = po.PostRandomisation(VOTE, np.ones((4, 4)) - np.eye(4), 0.3, notion=notion, preserve=[ALIKE])
    again = po.problem_from_dict(problem.to_dict())
    assert again == problem
    assert again.fingerprint == problem.fingerprint
    assert again.with_budget(0.5).budget == 0.5
    with pytest.raises(FileRefused):
        po.PostRandomisation.from_dict({**problem.to_dict(), "preserve": "all"})
    assert '"hamming"' in problem_template("post_randomisation")


def test_positions_stand_for_names() -> None:
    problem = po.PostRandomisation({"a": 1, "b": 3}, "hamming", 1.0)
    bare = po.Channel([[Fraction(1, 4), Fraction(3, 4)]] * 2)
    assert problem.certify(bare).ok
    assert problem.certify(problem.named(problem.repair(bare, 2.0**-44))).ok


def test_what_is_preserved_is_read_from_exact_weights() -> None:
    thirds = [Fraction(1, 3)] * 3
    data = PostRandomisationData(thirds, "hamming", 1.0)
    assert data.kept_rows == [thirds]
    assert data.counts == (1, 1, 1)


def test_a_table_of_prices_is_rounded_with_its_whole_error() -> None:
    """The sum of two floats and what it misses, against rationals, also where digits cancel or one is far smaller."""
    rng = np.random.default_rng(3)
    data = po.PostRandomisation([3, 1, 2, 5], "hamming", 1.0)
    for size in (1.0, 1e-17, 1e9):
        prices = [Fraction(float(v)) for v in rng.normal(size=4) * size]
        prices[0] = Fraction(float(np.nextafter(-1.0, 0.0)))
        loss, off = rounded_costs(data, data.costs, [prices])
        exact = [[Fraction(float(c)) + v for c, v in zip(row, prices, strict=True)] for row in data.costs]
        missed = [
            abs(e - Fraction(float(f)))
            for es, fs in zip(exact, loss, strict=True)
            for e, f in zip(es, fs, strict=True)
        ]
        assert off == max(missed)
