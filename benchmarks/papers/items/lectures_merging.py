"""The lectures: pairwise merging for the privacy funnel, and its example step by step."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np

from privopt.benchmarks.data.joints import lecture
from privopt.benchmarks.papers.item import Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _lectures
from privopt.benchmarks.papers.verdicts import compared, invariant, refuted
from privopt.core.solver import Budget
from privopt.measures import entropy, mutual_information
from privopt.models import JointDistribution
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.trade_off.mergings import merging_table
from privopt.solvers.trade_off.pairs import PairRule, merge_path
from privopt.solvers.trade_off.pairwise import Greedy

SYMBOLS = 9
_MERGES = ((1, 8), (4, 9), (3, 6), (2, 5))
_NAMES = (
    "The slides exchange the names x3 and x4, whose first cells are equal: with the two exchanged back both merges and "
    "values are those of the algorithm."
)


@cache
def _path() -> tuple[tuple[tuple[int, int], ...], tuple[tuple[float, float], ...]]:
    """The merges of the example (1-based) and both informations after each, bits."""
    problem = PrivacyFunnel(lecture(), theta_fraction=0.7, form="merging")
    path = merge_path(merging_table(problem), PairRule(floor=problem.budget), Budget())
    pairs = tuple((int(a) + 1, int(b) + 1) for a, b in path.pairs.tolist())
    levels = zip(
        (path.secret / _lectures.BITS).tolist(), (path.useful / _lectures.BITS).tolist(), strict=True
    )
    return pairs, tuple(levels)


def _bits(*blocks: tuple[int, ...]) -> tuple[float, float]:
    """Both informations of a merging of the example by their definitions, bits."""
    told = _lectures.informations(lecture().table, _lectures.block_matrix(SYMBOLS, blocks))
    return told[0] / _lectures.BITS, told[1] / _lectures.BITS


@reproduces("F-N1")
def table(setting: Setting) -> Reproduced:
    """The 36 cells."""
    cells = [p for row in _lectures.PRINTED for p in row]
    ours = [p * 1.0002 for p in lecture().table.ravel().tolist()]
    comparison = compared([*cells, 1.0002], [*ours, sum(ours)], 0.0, "")
    why = "The cells sum to 1.0002; everywhere the table is divided by that."
    return Reproduced(f"36 cells, sum {sum(ours):.4f}", comparison.finding, why)


@reproduces("F-N2")
def informations(setting: Setting) -> Reproduced:
    """I(S;X) and H(X)."""
    joint = lecture()
    ours = [mutual_information(joint, unit="bits"), entropy(joint.p_x, unit="bits")]
    return _lectures.as_printed([".2233", "3.11"], ours, "In bits, of the table divided by its sum.", 9)


@reproduces("F-N3")
def floor(setting: Setting) -> Reproduced:
    """The utility floor."""
    budget = PrivacyFunnel(lecture(), theta_fraction=0.7).budget / _lectures.BITS
    other = PrivacyFunnel(lecture(), min_utility=2.17 * _lectures.BITS, form="merging")
    path = merge_path(merging_table(other), PairRule(floor=other.budget), Budget())
    same = tuple(map(tuple, (path.pairs + 1).tolist())) == _path()[0]
    why = f"Cut to 2.17, not rounded to 2.18; the merges are {'the same' if same else 'others'} at 2.17."
    return _lectures.as_printed(["2.17"], [budget], why)


@reproduces("F-N4")
def merged_table(setting: Setting) -> Reproduced:
    """The merged column."""
    first = _lectures.block_matrix(SYMBOLS, [_path()[0][0]])
    column = (lecture().table @ first)[:, 0] * 1.0002
    return compared(
        [0.0711, 0.0521, 0.0402, 0.0456], column.tolist(), 0.0, "Sums of printed cells of x1 and x8."
    )


def _step(k: int, texts: list[str], why: str) -> Reproduced:
    """A step of the example, whose values are computed by their definitions too."""
    pairs, levels = _path()
    direct = _bits(*pairs[:k])
    if max(abs(a - b) for a, b in zip(direct, levels[k], strict=True)) > 1e-12:
        raise ValueError("the path and the definitions differ")
    return _lectures.as_printed(texts, list(levels[k]), why)


@reproduces("F-N5")
def step_one(setting: Setting) -> Reproduced:
    """The first merge."""
    a, b = _path()[0][0]
    return _step(1, ["0.1637", "2.9127"], f"The best pair is {{x{a}, x{b}}}, as printed.")


@reproduces("F-N6")
def step_two(setting: Setting) -> Reproduced:
    """The second merge."""
    step = _step(2, ["0.1073", "2.7500"], "")
    other = _bits((1, 8), (3, 9))
    return refuted(
        _path()[0][1] == (4, 9) and abs(other[0] - 0.1073) > 1e-3 and step.finding.value == "rounding",
        f"W = {{4, 9}}; {step.ours}",
        f"The printed values are those of {{4, 9}}; {{3, 9}} gives {other[0]:.4f} and {other[1]:.4f}. {_NAMES}",
    )


@reproduces("F-N7")
def step_three(setting: Setting) -> Reproduced:
    """The third merge."""
    step = _step(3, ["0.0516", "2.4853"], "")
    other = _bits((1, 8), (3, 9), (4, 6))
    return refuted(
        _path()[0][2] == (3, 6) and abs(other[0] - 0.0516) > 1e-3 and step.finding.value == "rounding",
        f"W = {{3, 6}}; {step.ours}",
        f"The printed values are those of {{3, 6}}; the printed merges give {other[0]:.4f} and {other[1]:.4f}. {_NAMES}",
    )


@reproduces("F-N8")
def step_four(setting: Setting) -> Reproduced:
    """The last merge, and the best merging at the floor."""
    other = _bits((1, 8), (3, 9), (4, 6), (2, 5))
    best = _lectures.answer(PrivacyFunnel(lecture(), theta_fraction=0.7, form="merging"), "exact-merging")
    a, b = _path()[0][3]
    why = (
        f"The merge is {{x{a}, x{b}}}, and no merging at all leaks less than {best.leakage / _lectures.BITS:.6f} bits at this floor; "
        f"with the merges as printed it would be {other[0]:.4f} and {other[1]:.4f}. {_NAMES}"
    )
    return _step(4, ["0.0286", "2.2788"], why)


@reproduces("F-N9")
def release_matrix(setting: Setting) -> Reproduced:
    """The release of the first step."""
    rows = (
        "00000010",
        "10000000",
        "01000000",
        "00100000",
        "00010000",
        "00001000",
        "00000100",
        "00000010",
        "00000001",
    )
    printed = np.array([[float(digit) for digit in row] for row in rows])
    ours = _lectures.block_matrix(SYMBOLS, [_path()[0][0]])[:, [1, 2, 3, 4, 5, 6, 0, 7]]
    comparison = compared(
        printed.ravel().tolist(), ours.ravel().tolist(), 0.0, "Outputs in the printed order."
    )
    return Reproduced("x1 and x8 share the seventh output", comparison.finding, comparison.why)


@reproduces("F-A1")
def pairwise(setting: Setting) -> Reproduced:
    """Our merges against every pair tried at every step."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.random_joint(rng, int(rng.integers(2, 5)), int(rng.integers(3, 8)))
        problem = PrivacyFunnel(joint, theta_fraction=float(rng.uniform(0.3, 0.95)), form="merging")
        ours = _lectures.answer(problem, Greedy())
        secret, useful = _lectures.informations(joint.table, _exhaustive(joint, problem.budget))
        return max(abs(ours.leakage - secret), abs(ours.utility - useful))

    _, levels = _path()
    literal = merge_path(merging_table(PrivacyFunnel(lecture(), trade_off=0.0)), PairRule(), Budget())
    after = float(literal.useful[len(levels)]) / _lectures.BITS
    why = (
        "The release is that of an exhaustive check of pairs that keep the floor. Read to the letter, 'while I(X;Y) >= floor' "
        f"merges once more, on the example down to {after:.4f} bits; the slides stop before, and so do we."
    )
    return invariant(check, setting, setting.count(5, 60), why)


def _exhaustive(joint: JointDistribution, least: float) -> np.ndarray:
    """The pairwise merging by its definition: both informations of the whole table for every pair."""
    matrix = np.eye(len(joint.useful))
    while matrix.shape[1] > 1:
        options = []
        for a, b in combinations(range(matrix.shape[1]), 2):
            then = np.delete(matrix, b, axis=1)
            then[:, a] += matrix[:, b]
            secret, useful = _lectures.informations(joint.table, then)
            if useful >= least - 1e-12:
                options.append((secret, a, b, then))
        if not options:
            break
        matrix = min(options, key=lambda option: option[:3])[3]
    return matrix


@reproduces("F-C1")
def one_iteration(setting: Setting) -> Reproduced:
    """Each pair's loss from its two columns alone."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.any_joint(rng, 8)
        n, off = len(joint.useful), 0.0
        whole = _lectures.informations(joint.table, np.eye(n))
        for a, b in combinations(range(n), 2):
            then = _lectures.informations(joint.table, _lectures.block_matrix(n, [(a + 1, b + 1)]))
            columns = [joint.table[:, a], joint.table[:, b], joint.table[:, a] + joint.table[:, b]]
            inner = [_lectures.entropy(np.array([c.sum()])) - _lectures.entropy(c) for c in columns]
            outer = [_lectures.entropy(np.array([c.sum()])) for c in columns]
            off = max(off, abs(whole[0] - then[0] - (inner[0] + inner[1] - inner[2])))
            off = max(off, abs(whole[1] - then[1] - (outer[0] + outer[1] - outer[2])))
        return off

    why = (
        "There are |X|(|X|-1)/2 pairs, and what a pair loses depends on its two columns only: |S| steps each. If every pair means "
        "both informations of the whole table anew, an iteration costs |X|^3 |S| instead."
    )
    return invariant(check, setting, setting.count(10, 200), why)
