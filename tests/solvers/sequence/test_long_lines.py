"""Lines of letters that are merged before they are solved: against the whole program, other solvers, and other orders."""

from __future__ import annotations

import numpy as np
import pytest

import privopt as po
from privopt.core.judge import judge
from privopt.core.registry import find_solver
from privopt.core.solver import Budget, Guarantee
from privopt.problems.belief_release import BeliefRelease
from privopt.solvers.sequence._fine_line import refined
from privopt.solvers.sequence._merged_line import merged
from privopt.solvers.sequence._near_cells import near_cells
from privopt.solvers.sequence.prices import priced, step_of


def solved(problem: BeliefRelease, name: str) -> po.Solution[po.Channel]:
    return judge(problem, find_solver(problem, name).run(problem, Budget()), certify=True)


@pytest.mark.parametrize("distortion", ["l1", "squared"])
@pytest.mark.parametrize("impossible", [[], [2, 5]])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
def test_where_nothing_is_merged_the_answer_is_the_optimum(
    distortion: str, impossible: list[int], epsilon: float
) -> None:
    rng = np.random.default_rng(3)
    belief = rng.dirichlet(np.ones(9))
    belief[impossible] = 0.0
    letters = rng.permutation(9) * 1.5
    problem = BeliefRelease(belief / belief.sum(), epsilon, distortion, letters.tolist())
    answer = merged(step_of(problem), 60.0)
    assert answer is not None
    solution, best = judge(problem, priced(problem, answer), certify=True), solved(problem, "structure-lp")
    assert solution.certificate is not None
    assert solution.certificate.ok
    assert best.objective is not None
    assert solution.objective is not None
    assert solution.bound is not None
    assert solution.objective <= best.objective + 1e-9
    assert solution.bound >= best.objective - 1e-9
    if not impossible:  # letters that cannot be read may be released, but stand for no class
        assert solution.objective == pytest.approx(best.objective, abs=1e-8)
        assert solution.bound == pytest.approx(best.objective, abs=1e-8)


@pytest.mark.parametrize("distortion", ["l1", "squared"])
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_few_releases_on_finer_and_finer_grids_are_the_optimum(distortion: str, epsilon: float) -> None:
    rng = np.random.default_rng(5)
    belief = rng.dirichlet(np.full(24, 0.4))
    belief[[3, 11]] = 0.0
    letters = rng.permutation(24) * 0.5
    problem = BeliefRelease(belief / belief.sum(), epsilon, distortion, letters.tolist())
    answer = refined(step_of(problem), 60.0, np.array([0, 23]))
    assert answer is not None
    solution, best = judge(problem, priced(problem, answer), certify=True), solved(problem, "structure-lp")
    assert solution.certificate is not None
    assert solution.certificate.ok
    assert solution.objective == pytest.approx(best.objective, rel=1e-6)
    assert solution.bound == pytest.approx(best.objective, rel=1e-6)


def test_lines_of_hundreds_of_letters_are_proved() -> None:
    belief = np.random.default_rng(6).dirichlet(np.ones(160))
    problem = BeliefRelease(belief, 1.0, "squared")
    solution = solved(problem, "structure-lp")
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified


@pytest.mark.parametrize("distortion", ["l1", "squared"])
@pytest.mark.parametrize("shape", ["uniform", "one hump"])
def test_grids_and_programs_of_few_pairs_meet_at_larger_budgets(distortion: str, shape: str) -> None:
    """Where theta is the mass of few letters programs are nearly degenerate, and rounding ends interior points early."""
    places = np.arange(90)
    mass = np.ones(90) if shape == "uniform" else np.exp(-((places - 45) ** 2) / 200) + 1e-5
    problem = BeliefRelease(mass / mass.sum(), 3.0, distortion)
    values = []
    for answer in (refined(step_of(problem), 60.0), near_cells(step_of(problem), 60.0)):
        assert answer is not None
        solution = judge(problem, priced(problem, answer), certify=True)
        assert solution.certified
        assert solution.status is po.Status.OPTIMAL
        values.append(solution.objective)
    assert values[0] == pytest.approx(values[1], rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("distortion", ["l1", "squared"])
@pytest.mark.parametrize("epsilon", [2.0, 3.0, 4.0])
def test_three_hundred_letters_are_proved_at_any_budget(distortion: str, epsilon: float) -> None:
    for mass in (np.ones(300), 1.0 / np.arange(1, 301), np.exp(-((np.arange(300) - 150) ** 2) / 3200) + 1e-6):
        problem = BeliefRelease(mass / mass.sum(), epsilon, distortion)
        solution = po.solve(problem, time_limit=60.0)
        assert solution.certified
        assert solution.gap is not None
        assert solution.objective is not None
        assert solution.gap <= 1e-6 * abs(solution.objective)


@pytest.mark.long
@pytest.mark.parametrize("distortion", ["l1", "squared"])
def test_long_lines_are_private_and_nearly_optimal(distortion: str) -> None:
    rng = np.random.default_rng(8)
    belief = rng.dirichlet(np.ones(400))
    belief[:7] = 0.0
    belief /= belief.sum()
    problem = BeliefRelease(belief, 0.8, distortion)
    assert find_solver(problem, "structure-lp").guarantee(problem) is Guarantee.BOUNDED
    solution, groups = solved(problem, "structure-lp"), solved(problem, "interval")
    assert solution.certificate is not None
    assert solution.certificate.ok
    assert solution.objective is not None
    assert solution.bound is not None
    assert groups.objective is not None
    assert groups.objective <= solution.bound
    assert solution.bound - solution.objective <= 0.01 * abs(solution.objective)
    order = rng.permutation(400)
    shuffled = BeliefRelease(belief[order], 0.8, distortion, order.tolist())
    again = solved(shuffled, "structure-lp")
    assert again.objective == pytest.approx(solution.objective, rel=1e-9)


def test_other_distortions_of_many_letters_are_refused() -> None:
    problem = BeliefRelease(np.full(400, 1 / 400), 1.0, "hamming")
    assert find_solver(problem, "structure-lp").refuse(problem) is not None
