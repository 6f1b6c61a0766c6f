"""Published redaction mechanisms, their closed forms and searches, against each other and the optimum."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import privopt as po
from privopt.measures import data_independent_bound
from privopt.solvers.redaction.constant import ConstantClosedForm, ConstantSearch
from privopt.solvers.redaction.joint_search import JointSearch
from privopt.solvers.redaction.optimal import Optimal
from privopt.solvers.redaction.windows import MarkovQuilt

# alpha, beta, length, private (1-based), epsilon; best window; bound as printed, corrected; optimum
WINDOWS = [
    (0.25, 0.5, 2, 1, 0.5, 0, 0, 0, 0.2935891381),
    (0.25, 0.5, 4, 1, 0.5, 0.5, 0.5, 0.5, 0.6269224714),
    (0.25, 0.5, 5, 3, 1, 0.6, 0.4, 0.6, 0.6510699824),
    (0.25, 0.5, 8, 4, 0.3, 0.5, 0.375, 0.5, 0.5569618883),
    (0.25, 0.5, 20, 10, 0.25, 0.8, 0.75, 0.8, 0.8088584346),
    (0.01, 0.8, 20, 5, 1, 0.75, 0.75, 0.8, 0.8108003358),
    (0.05, 0.3, 30, 12, 0.25, 0.4, 0.3667, 0.4, 0.4150547439),
    (0.6, 0.99, 12, 6, 1.2, 7 / 12, 5 / 12, None, 0.6022510886),
    (0.9, 0.95, 20, 8, 3, 0.7, 0.65, None, 0.7246532041),
]

# epsilon; medium records; window; closed form q, utility; exact constant q, utility; optimum
FIGURE = [
    (0.25, (1, 2, 3), 0.6, 0.9513805518, 0.6144057624, 0.7711911726, 0.6677952081, 0.6890602868),
    (0.5, (1, 2), 0.7, 0.9725397864, 0.7054242397, 0.9320516656, 0.7134218932, 0.7383689491),
    (1.0, (1, 2), 0.7, 0.7574147472, 0.7479180746, 0.5469264811, 0.7894960037, 0.7957304177),
    (2.0, (1,), 0.8, 0.5458902181, 0.8448503488, 0.3871258168, 0.8605307835, 0.8618255147),
]

JOINT = [
    (0.05, 0.3, (1, 5), 1.0, 0.105252, 0.0),
    (0.05, 0.3, (1, 5), 1.5, 0.2258, 0.0583),
    (0.01, 0.8, (0, 6), 1.0, 0.5413, 0.4354),
]


def binary(alpha: float, beta: float) -> po.MarkovChain:
    return po.MarkovChain([[1 - alpha, alpha], [beta, 1 - beta]])


def solved(problem: po.Redaction, solver: str | po.Solver[po.Redaction]) -> float:
    """Utility of a certified answer that needed no repair to speak of."""
    solution = po.solve(problem, solver, time_limit=60)
    assert solution.certified, solution.reason
    assert solution.stats["repaired"] <= 2**-44
    assert solution.utility is not None
    return solution.utility


@pytest.mark.parametrize("row", WINDOWS)
def test_windows_and_theorem_2(row: tuple[float, ...]) -> None:
    alpha, beta, length, private, epsilon, window, printed, corrected, optimum = row
    chain, n, p = binary(alpha, beta), int(length), int(private) - 1
    problem = po.Redaction(chain, n, p, epsilon)
    assert solved(problem, "windows") == pytest.approx(window, abs=1e-9)
    bound = data_independent_bound(chain, n, p, epsilon, corrected=False)
    assert bound == pytest.approx(printed, abs=5e-5)
    assert bound == data_independent_bound(chain, n, n - 1 - p, epsilon, corrected=False)
    if corrected is not None:
        assert data_independent_bound(chain, n, p, epsilon) == pytest.approx(corrected, abs=1e-9)
    quilts = [solved(problem, MarkovQuilt(corrected=c)) for c in (False, True)]
    assert quilts[0] <= quilts[1] + 1e-12 <= window + 1e-9
    assert solved(problem, "constant-search") <= optimum + 1e-9


def test_theorem_2_as_printed_is_exceeded() -> None:
    for alpha, beta, n, p, epsilon, hidden, leakage in (
        (0.25, 0.5, 8, 3, 0.3, slice(2, 6), 0.228842),
        (0.6, 0.99, 12, 5, 1.2, slice(4, 9), 1.193153),
    ):
        chain, table = binary(alpha, beta), np.zeros((n, 2))
        table[hidden] = 1.0
        read = po.measures.redaction_leakage(chain, p, table)
        assert read == pytest.approx(leakage, abs=1e-6)
        assert read <= epsilon
        assert (
            1 - table[:, 0].mean() > data_independent_bound(chain, n, p, epsilon, corrected=False) + 0.9 / n
        )


@pytest.mark.parametrize("row", FIGURE)
def test_the_figure(row: tuple[float, tuple[int, ...], *tuple[float, ...]]) -> None:
    epsilon, medium, window, closed, closed_utility, constant, constant_utility, optimum = row
    chain = binary(0.01, 0.8)
    problem = po.Redaction(chain, 10, 0, epsilon)
    assert po.measures.regions(chain, 10, 0, 0, epsilon)[1] == medium
    assert data_independent_bound(chain, 10, 0, epsilon) == pytest.approx(window)
    assert solved(problem, "constant-closed-form") == pytest.approx(closed_utility, abs=1e-9)
    for solver, q in (("constant-closed-form", closed), (ConstantSearch(all_regions=False), constant)):
        answer = po.solve(problem, solver).answer
        assert answer is not None
        assert answer.probabilities[list(medium), 0] == pytest.approx([q] * len(medium), abs=1e-9)
    published = solved(problem, ConstantSearch(all_regions=False))
    assert published == pytest.approx(constant_utility, abs=1e-9)
    assert published - 1e-12 <= solved(problem, "constant-search") <= optimum
    assert solved(problem, "joint-search") == pytest.approx(optimum, abs=1e-8)


def test_smaller_regions_are_tried() -> None:
    problems = [po.Redaction(binary(0.01, 0.8), 10, 0, epsilon) for epsilon in (0.2, 0.2131)]
    published = [solved(problem, ConstantSearch(all_regions=False)) for problem in problems]
    assert published == pytest.approx([0.662817, 0.654754], abs=1e-6)
    assert solved(problems[0], "constant-search") <= solved(problems[1], "constant-search")


def test_a_constant_need_not_solve_the_relaxation() -> None:
    problem = po.Redaction(binary(0.001, 0.04), 6, 0, 3.0)
    assert solved(problem, "constant-closed-form") == pytest.approx(0.230571, abs=1e-6)
    assert solved(problem, "relaxation") == pytest.approx(0.305430, abs=1e-6)


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(n, marks=pytest.mark.long) for n in range(20, 60))]
)
def test_the_chain_of_inequalities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alpha, beta = rng.uniform(0.02, 0.98, 2).tolist()
    n = int(rng.integers(2, 9))
    p, epsilon = int(rng.integers(n)), float(np.exp(rng.uniform(-2, 1.2)))
    problem = po.Redaction(binary(alpha, beta), n, p, epsilon)
    of = functools.cache(functools.partial(solved, problem))
    optimum, constant = of(Optimal(bound=False)), of("constant-search")
    assert of("constant-closed-form") <= of("relaxation") + 1e-9
    assert of("constant-closed-form") <= constant + 1e-9
    assert of("windows") <= constant + 1e-9
    assert constant <= optimum + 1e-9
    assert of("relaxation") <= optimum + 1e-9
    quilts = [of(MarkovQuilt()), of(MarkovQuilt(corrected=True))]
    assert quilts[0] <= quilts[1] + 1e-9 <= of("windows") + 2e-9
    positive = alpha + beta <= 1
    assert of("windows") - quilts[1] <= (1 if positive else 2) / n + 1e-9
    if positive:
        bound = data_independent_bound(problem.chain, n, p, epsilon)
        assert bound - 1 / n - 1e-9 <= of("windows") <= bound + 1e-9
    if seed % 4 == 0:
        assert of("joint-search") == pytest.approx(optimum, abs=1e-7)


def test_the_corrected_bound_on_many_windows() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        alpha = float(rng.uniform(0.01, 0.5))
        chain, n = binary(alpha, float(rng.uniform(0.01, 1 - alpha))), int(rng.integers(1, 30))
        p, epsilon = int(rng.integers(n)), float(rng.exponential(0.5))
        window = solved(po.Redaction(chain, n, p, epsilon), "windows")
        assert window <= data_independent_bound(chain, n, p, epsilon) + 1e-9


@pytest.mark.parametrize(("alpha", "beta", "private", "epsilon", "expected", "alone"), JOINT)
def test_several_private_records(
    alpha: float, beta: float, private: tuple[int, ...], epsilon: float, expected: float, alone: float
) -> None:
    problem = po.Redaction(binary(alpha, beta), 7, private, epsilon)
    solution = po.solve(problem, "joint-search")
    assert solution.certified
    assert solution.utility == pytest.approx(expected, abs=1e-5 if epsilon == 1 and expected < 0.2 else 6e-5)
    singles = [po.solve(po.Redaction(problem.chain, 7, p, epsilon), Optimal(bound=False)) for p in private]
    tables = [np.array(s.answer.probabilities) for s in singles if s.answer is not None]
    mechanism = po.RedactionMechanism(np.maximum(*tables))
    assert problem.evaluate(mechanism).utility == pytest.approx(alone, abs=6e-5)


def test_the_middle_record_of_two_private_ones() -> None:
    answer = po.solve(po.Redaction(binary(0.05, 0.3), 7, (1, 5), 1.0), "joint-search").answer
    assert answer is not None
    expected = np.ones((7, 2))
    expected[3, 0] = 1 - 0.8596
    assert answer.probabilities == pytest.approx(expected, abs=5e-5)


@pytest.mark.long
def test_joint_search_of_three_states_beats_what_it_starts_from() -> None:
    chain = po.MarkovChain([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]], initial=[0.3, 0.4, 0.3])
    for private in (1, (0, 3)):
        problem = po.Redaction(chain, 5, private, 1.0)
        utility = solved(problem, "joint-search")
        assert utility == solved(problem, "joint-search")
        assert utility >= max(solved(problem, name) for name in ("windows", "relaxation")) - 1e-9


@pytest.mark.long
def test_joint_search_equals_the_oracle_on_three_states() -> None:
    chain = po.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    problem = po.Redaction(chain, 3, 0, 0.8)
    assert solved(problem, "joint-search") >= solved(problem, "oracle") - 1e-6


def test_what_is_refused() -> None:
    two, three = binary(0.1, 0.4), po.MarkovChain(np.full((3, 3), 1 / 3))
    slow = binary(0.001, 0.002)
    for problem, solver, words in (
        (po.Redaction(two, 5, (1, 3), 1.0), "markov-quilt", "one private record"),
        (po.Redaction(three, 5, 1, 1.0), "markov-quilt", "2 states"),
        (po.Redaction(two, 5, (1, 3), 1.0), "constant-closed-form", "one private record"),
        (po.Redaction(two, 5, 1, 1.0), ConstantClosedForm(share=1.5), "share must be"),
        (po.Redaction(two, 5, (1, 3), 1.0), "constant-search", "one private record"),
        (po.Redaction(slow, 500, 250, 1.0), "joint-search", "more than 60 records"),
        (po.Redaction(two, 50_000, 250, 1.0), "joint-search", "20000 records"),
        (po.Redaction(two, 5, 1, 1.0, form="sequential"), "joint-search", "local mechanisms"),
        (po.Redaction(two, 5, 1, 1.0, form="sequential"), "constant-search", "local mechanisms"),
    ):
        solution = po.solve(problem, solver)
        assert solution.status is po.Status.REFUSED
        assert words in solution.reason


@pytest.mark.long
@pytest.mark.parametrize("name", ["markov-quilt", "constant-closed-form", "constant-search", "joint-search"])
def test_edges(name: str) -> None:
    independent, two = po.MarkovChain([[0.7, 0.3], [0.7, 0.3]]), binary(0.1, 0.4)
    assert solved(po.Redaction(two, 1, 0, 1.0), name) == 0
    assert solved(po.Redaction(two, 4, 1, 0.0), name) == 0
    assert solved(po.Redaction(two, 6, 2, float("inf")), name) >= (3 / 6 if name == "markov-quilt" else 5 / 6)
    expected = {"markov-quilt": 3 / 6}.get(name, 5 / 6)
    assert solved(po.Redaction(independent, 6, 2, 0.0), name) == pytest.approx(expected)
    assert 0.3 < solved(po.Redaction(two, 30, 15, 0.05), name) < 0.7
    assert solved(po.Redaction(two, 20, 10, 1e-15), name) == 0
    flipping = binary(1.0, 1.0)
    assert solved(po.Redaction(flipping, 5, 2, 3.0), name) == 0


def test_joint_search_stops_at_the_deadline() -> None:
    problem = po.Redaction(binary(0.1, 0.15), 60, (20, 40), 1.0)
    solution = po.solve(problem, JointSearch(runs=10**6), time_limit=1.0)
    assert solution.certified
    assert solution.seconds < 15


def test_other_kinds_of_chains() -> None:
    rng = np.random.default_rng(3)
    stepwise = po.MarkovChain.normalised([rng.dirichlet([2, 2], 2) for _ in range(6)], initial=[0.2, 0.8])
    weights = [1, 2, 0, 1, 3, 1, 0.5]
    for p, solver in itertools.product(
        (0, 3, 6), ("constant-closed-form", "constant-search", "joint-search")
    ):
        problem = po.Redaction(stepwise, 7, p, 0.8, weights=weights)
        assert solved(problem, solver) <= solved(problem, Optimal(bound=False)) + 1e-9
