"""Repairs on the support of a channel: certified by integers, with no release where there was none, at hardly any cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.core.dispatch import fitness
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.mechanisms import Channel
from privopt.problems.information_support import information_slopes, sibson_slopes
from privopt.problems.local_information_privacy import divergences
from privopt.problems.local_information_privacy.support import at_vertex
from privopt.problems.robust_reading import SetReader
from privopt.solvers.common.crossover import crossed

SHAPES = [(2, 8), (3, 12), (4, 15)]
SAMPLES = [(shape, seed) for shape in SHAPES for seed in range(3)]


def table(shape: tuple[int, int], seed: int) -> po.JointDistribution:
    n, m = shape
    return po.JointDistribution(np.random.default_rng(seed).dirichlet(np.ones(n * m)).reshape(n, m))


def counted(joint: po.JointDistribution) -> po.JointAmbiguity:
    counts = np.random.default_rng(0).multinomial(20_000, joint.table.ravel()).reshape(joint.table.shape)
    return po.JointAmbiguity.from_counts(counts, confidence=0.95)


def hamming(m: int) -> np.ndarray:
    return 1.0 - np.eye(m)


PROBLEMS: dict[str, Callable[[po.JointDistribution, int], Any]] = {
    "lip": lambda joint, m: po.LocalInformationPrivacy(joint, epsilon=0.7),
    "one side": lambda joint, m: po.LocalInformationPrivacy(joint, upper=0.7, lower=0.2),
    "l1": lambda joint, m: po.LocalInformationPrivacy(joint, epsilon=0.2, notion="l1"),
    "chi2": lambda joint, m: po.LocalInformationPrivacy(joint, epsilon=0.1, notion="chi2"),
    "average": lambda joint, m: po.LocalInformationPrivacy(joint, epsilon=0.1, notion="average"),
    "set": lambda joint, m: po.LocalInformationPrivacy(counted(joint), epsilon=1.0),
    "ldp over a set": lambda joint, m: po.LocalInformationPrivacy(counted(joint), epsilon=1.0, notion="ldp"),
    "ldp": lambda joint, m: po.LocalInformationPrivacy(joint, epsilon=1.0, notion="ldp"),
    "pml": lambda joint, m: po.PointwiseMaximalLeakage(joint, 0.5),
    "distortion": lambda joint, m: po.LocalInformationPrivacy(joint, epsilon=0.5, utility=hamming(m)),
    "cap": lambda joint, m: po.PrivacyFunnel(joint, max_leakage=0.05),
    "floor": lambda joint, m: po.PrivacyFunnel(joint, min_utility=1.6),
    "bounded": lambda joint, m: po.DistortionPrivacy(joint, hamming(m), max_leakage=0.1),
    "sibson": lambda joint, m: po.DistortionPrivacy(
        joint, hamming(m), max_leakage=0.1, leakage="sibson", alpha=2.0
    ),
}


BY_CUTS = ("chi2", "average", "set", "ldp over a set")
"""Solved by rounds of cuts, which take seconds: one sample of each shape."""
CASES = [
    (kind, shape, seed)
    for kind in PROBLEMS
    for shape, seed in SAMPLES
    if kind not in BY_CUTS or (seed == 0 and shape != SHAPES[-1])
]


@pytest.mark.parametrize(("kind", "shape", "seed"), CASES)
def test_certified_releases_have_no_crumbs(kind: str, shape: tuple[int, int], seed: int) -> None:
    problem = PROBLEMS[kind](table(shape, seed), shape[1])
    solution = po.solve(problem, time_limit=20)
    assert solution.certified
    matrix = solution.mechanism.matrix
    assert not ((matrix > 0) & (matrix < 1e-12)).any()
    assert (matrix > 0).sum() < 0.75 * matrix.size


@pytest.mark.parametrize("notion", ["lip", "ldp"])
@pytest.mark.parametrize("off", [1e-15, 1e-12, 1e-9])
def test_a_vertex_out_by_rounding_is_mended_where_it_is(notion: str, off: float) -> None:
    joint = table((3, 10), 7)
    problem = po.LocalInformationPrivacy(joint, epsilon=0.8, notion=notion)
    best = po.solve(problem, time_limit=20).mechanism
    rng = np.random.default_rng(0)
    shaken = best.matrix * (1 + off * rng.uniform(-1, 1, best.matrix.shape))
    broken = Channel(shaken / shaken.sum(axis=1, keepdims=True), best.inputs, best.outputs)
    mended = problem.repair(broken, 2.0**-44)
    assert problem.certify(mended.quantised()).ok
    assert ((mended.matrix > 0) == (best.matrix > 0)).all()
    assert abs(problem.evaluate(mended).utility - problem.evaluate(broken).utility) <= 100 * (off + 2.0**-44)


def test_what_is_far_out_is_mixed_as_before() -> None:
    problem = po.LocalInformationPrivacy(table((3, 10), 7), epsilon=0.3)
    mended = problem.repair(Channel(np.eye(10)), 2.0**-44)
    assert (mended.matrix > 0).all()
    assert problem.certify(mended.quantised()).ok


def test_rows_of_a_single_release_leave_nothing_to_move() -> None:
    """A deterministic release has no other channel on its support: it is mixed."""
    joint = po.JointDistribution([[0.3, 0.2], [0.2, 0.3]])
    problem = po.PrivacyFunnel(joint, max_leakage=0.0199)
    leaks = problem.evaluate(Channel(np.eye(2))).leakage
    assert leaks > 0.0199
    mended = problem.repair(Channel(np.eye(2)), 2.0**-44)
    assert problem.certify(mended.quantised()).ok


@pytest.mark.parametrize("seed", range(4))
def test_slopes_are_those_of_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = table((3, 6), seed)
    observed = po.PrivacyFunnel(joint, max_leakage=0.1).observation
    matrix, towards = rng.dirichlet(np.ones(4), size=6), rng.normal(size=(6, 4))
    towards -= towards.mean(axis=1, keepdims=True)
    step = 1e-6

    def difference(reading: Callable[[np.ndarray], float]) -> float:
        return (reading(matrix + step * towards) - reading(matrix - step * towards)) / (2 * step)

    def secret(at: np.ndarray) -> float:
        return po.measures.mutual_information(joint.table @ at)

    def useful(at: np.ndarray) -> float:
        return po.measures.mutual_information(observed.p_w[:, None] * at)

    def sibson(at: np.ndarray) -> float:
        return po.measures.sibson_mutual_information(joint.table @ at, 3.0)

    for reading, slopes in (
        (secret, information_slopes(observed, matrix, leaking=True)),
        (useful, information_slopes(observed, matrix, leaking=False)),
        (sibson, sibson_slopes(observed, matrix, 3.0)),
    ):
        assert difference(reading) == pytest.approx(float((slopes * towards).sum()), abs=1e-7)


def test_column_generation_leaves_out_what_kept_it_inside() -> None:
    problem = po.LocalInformationPrivacy(table((6, 20), 3), epsilon=1.0)
    assert fitness(find_solver(problem, "column-generation"), problem).refusal is None
    solution = po.solve(problem, solver="column-generation", time_limit=20)
    assert solution.certified
    assert solution.gap is not None
    assert solution.gap < 1e-5
    matrix = solution.mechanism.matrix
    assert not ((matrix > 0) & (matrix < 1e-10)).any()


@pytest.mark.parametrize("notion", ["l1", "chi2", "average"])
@pytest.mark.parametrize("seed", range(3))
def test_slopes_of_divergences_are_those_of_differences(notion: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(4))
    cells, towards, step = rng.random(4) * 0.1, rng.normal(size=4), 1e-7

    def excess(at: np.ndarray) -> float:
        joint = np.stack([at, prior - at], axis=1)
        return float(at.sum() * (divergences.readings(notion, joint)[0] - 0.2))

    difference = (excess(cells + step * towards) - excess(cells - step * towards)) / (2 * step)
    slopes = divergences.slopes(notion, cells, prior, 0.2)
    assert difference == pytest.approx(float(slopes @ towards), abs=1e-6)
    assert excess(cells) == pytest.approx(float(slopes @ cells), abs=1e-12)


@pytest.mark.parametrize("notion", ["lip", "ldp"])
@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_slopes_over_a_set_are_those_of_its_worst_joint(notion: str, rising: bool, seed: int) -> None:
    """They make the bound that is read, and no member of the set makes a larger one."""
    rng = np.random.default_rng(seed)
    ambiguity = counted(table((3, 6), seed))
    reader, column, factor = SetReader.of(ambiguity), rng.random(6), 1.5
    spread = reader.spread(column[:, None], notion)
    pair = spread.rise if rising else spread.fall
    if pair is None:
        pytest.skip("ratios have no second side")
    for s in range(3):
        value = float(pair[0][s, 0] - factor * pair[1][s, 0])
        slopes = reader.slopes(column, s, notion, factor, rising=rising)
        assert float(slopes @ column) == pytest.approx(value, abs=1e-12)
        for member in sampled(ambiguity, rng):
            of_value = member.table[s] / member.table[s].sum()
            others = [row / row.sum() for i, row in enumerate(member.table) if i != s]
            against = (
                min(row @ column for row in others) if notion == "ldp" else member.table.sum(axis=0) @ column
            )
            own = of_value @ column
            assert (own - factor * against if rising else against - factor * own) <= value + 1e-12


def sampled(ambiguity: po.JointAmbiguity, rng: np.random.Generator) -> list[po.JointDistribution]:
    """Members of a set: mixtures of its nominal joint with others, as far as they stay inside."""
    nominal, members = ambiguity.nominal.table, []
    for _ in range(20):
        other = rng.dirichlet(np.ones(nominal.size)).reshape(nominal.shape)
        share = 0.2
        while not ambiguity.contains(po.JointDistribution((1 - share) * nominal + share * other)):
            share /= 2
        members.append(po.JointDistribution((1 - share) * nominal + share * other))
    return members


@pytest.mark.parametrize("notion", ["lip", "ldp"])
@pytest.mark.parametrize("seed", range(4))
def test_interior_points_end_at_the_vertex_of_the_linear_program(notion: str, seed: int) -> None:
    """As few numbers as HiGHS has at its vertex, and as good an answer: with random costs there is one optimum."""
    joint = table((4, 40), seed)
    costs = np.random.default_rng(seed).random((40, 40))
    for problem in (
        po.LocalInformationPrivacy(joint, epsilon=0.7, notion=notion, utility=costs),
        po.DistortionPrivacy(joint, costs, max_leakage=0.7, leakage=notion),
    ):
        best = po.solve(problem, solver="direct-lp", time_limit=20)
        ours = po.solve(problem, solver="interior-point", time_limit=20)
        assert ours.certified
        assert ours.objective == pytest.approx(best.objective, rel=1e-7)
        used = int((ours.mechanism.matrix > 0).sum())
        assert used <= int((best.mechanism.matrix > 0).sum()) + 4


def test_a_release_far_from_any_vertex_stays() -> None:
    problem = po.LocalInformationPrivacy(table((3, 8), 1), epsilon=0.7, utility=hamming(8))
    inside = Channel(np.full((8, 8), 0.125))
    assert at_vertex(problem, inside, 1.0) is inside
    assert crossed(problem, problem, inside, Budget()) is inside
