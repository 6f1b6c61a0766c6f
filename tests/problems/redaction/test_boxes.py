"""Branch and bound: no private mechanism is cut off, whatever the box, and no bound is below what can be reached."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.arrays import Floats
from privopt.problems.redaction.box_cuts import Boxes, found, leaks, screened
from privopt.problems.redaction.box_model import Stretch
from privopt.problems.redaction.box_worst import worst
from privopt.problems.redaction.boxes import Search, fits

TWO = po.MarkovChain([[0.9, 0.1], [0.4, 0.6]])
THREE = po.MarkovChain([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]])
STARTED = po.MarkovChain([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]], initial=[1, 0, 0])
PROBLEMS = {
    "two": po.Redaction(TWO, 6, 2, 1.0),
    "two-private": po.Redaction(TWO, 6, (1, 4), 1.2),
    "three": po.Redaction(THREE, 5, 2, 0.8),
    "three-private": po.Redaction(THREE, 6, (1, 3), 1.0),
    "started": po.Redaction(STARTED, 5, 2, 1.5),
    "weighted": po.Redaction(THREE, 5, 1, 1.0, weights=[1, 2, 0, 3, 1]),
    "sequential": po.Redaction(TWO, 6, 2, 0.8, form="sequential"),
    "sequential-three": po.Redaction(THREE, 5, 2, 1.0, form="sequential"),
}


def private_tables(problem: po.Redaction, count: int, rng: np.random.Generator) -> list[Floats]:
    """Random redaction tables, repaired to the budget."""
    shape = (problem.length, problem.chain.k)
    tables = [rng.choice([0.0, 0.2, 0.6, 0.9, 1.0], shape) for _ in range(count)]
    tables += [np.where(rng.random(shape) < 0.6, 1.0, rng.random(shape)) for _ in range(count)]
    repaired = [problem.repair(problem.answer(table), 1e-9) for table in tables]
    return [each.probabilities for each in repaired if problem.evaluate(each).feasible]


def hidden_cost(problem: po.Redaction, table: Floats) -> float:
    """The share of weight that a mechanism hides, beside the private records."""
    weights = problem.record_weights
    base = float(weights[list(problem.private)].sum() / weights.sum())
    return 1 - base - problem.evaluate(problem.answer(table)).utility


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_cuts_leave_every_private_mechanism_of_a_box(name: str) -> None:
    problem = PROBLEMS[name]
    stretch = Stretch.of(problem, 0, problem.length)
    assert stretch is not None
    rng = np.random.default_rng(5)
    seen = 0
    for table in private_tables(problem, 30, rng):
        below = np.where(rng.random(table.shape) < 0.5, 0.0, rng.random(table.shape))
        above = np.where(rng.random(table.shape) < 0.5, 1.0, rng.random(table.shape))
        low = np.where(stretch.free, table * below, 1.0)
        high = np.where(stretch.free, table + (1 - table) * above, 1.0)
        shown = stretch.free & (table < 1) & ((rng.random(table.shape) < 0.7) | (high < 1))
        high = np.where(stretch.free & ~shown, 1.0, high)
        box, possible = screened(stretch, Boxes(low[None], high[None], shown[None]))
        assert possible[0]
        assert (box.low[0] <= table).all()
        for part in (0.5, rng.random(box.low.shape)):
            cuts = found(stretch, box, box.low + part * (box.high - box.low))
            assert not cuts.empty[0]
            assert (cuts.low[0] <= table).all()
            assert cuts.bound[0] <= hidden_cost(problem, table) + 1e-12
        seen += 1
    assert seen > 25


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_ratios_are_those_of_the_measure(name: str) -> None:
    problem = PROBLEMS[name]
    stretch = Stretch.of(problem, 0, problem.length)
    assert stretch is not None
    rng = np.random.default_rng(6)
    for _ in range(20):
        table = problem.answer(rng.choice([0.3, 0.7, 1.0], (problem.length, problem.chain.k))).probabilities
        counted = stretch.free & (table < 1)[None]
        largest, _ = leaks(stretch, table[None], counted)
        output = worst(stretch, table[None], counted)
        leakage = problem.evaluate(problem.answer(table)).leakage
        for ratio in (largest[0], output.ratio[0]):
            assert np.log(ratio) == pytest.approx(leakage, abs=1e-9) or (leakage == np.inf and ratio > 1e200)
        assert (counted | ~output.events).all()
        assert stretch.costs(table[None])[0][0] == pytest.approx(hidden_cost(problem, table), abs=1e-12)


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_no_private_mechanism_exceeds_the_bound(name: str) -> None:
    problem = PROBLEMS[name]
    tables = private_tables(problem, 25, np.random.default_rng(7))
    best = max(problem.evaluate(problem.answer(table)).utility for table in tables)
    for cutoff in (1.0, min(hidden_cost(problem, table) for table in tables)):
        dual = {"kind": "boxes", "begin": 0, "end": problem.length, "cutoff": cutoff, "boxes": 300}
        proved = problem.prove_bound(dual)
        assert proved is not None
        assert proved[1] >= best - 1e-12


def test_a_cut_is_exact_where_one_record_is_open() -> None:
    """All records nearer are hidden, so that what the next one shows is linear: the bound is the cost of the best probability."""
    problem = po.Redaction(TWO, 3, 0, 1.2)
    stretch = Stretch.of(problem, 0, 3)
    assert stretch is not None
    low, high, shown = np.where(stretch.free, 0.0, 1.0), np.ones((3, 2)), stretch.free.copy()
    low[1, 1], shown[1, 1], high[2] = 1.0, False, 0.0
    cuts = found(stretch, Boxes(low[None], high[None], shown[None]), (low + high)[None] / 2)
    costs = []
    for r in np.linspace(0, 1, 2001)[:-1]:
        mechanism = problem.answer([[1, 1], [r, 1], [0, 0]])
        if problem.evaluate(mechanism).leakage <= problem.epsilon:
            costs.append(hidden_cost(problem, mechanism.probabilities))
    assert min(costs) - 1e-3 <= cuts.bound[0] <= min(costs)


@pytest.mark.parametrize("name", ["two", "started", "two-private", "sequential"])
def test_points_of_the_search_are_private_and_meet_the_bound(name: str) -> None:
    problem = PROBLEMS[name]
    stretch = Stretch.of(problem, 0, problem.length)
    assert stretch is not None
    search = Search(stretch, 1.0)
    while not search.done and search.boxes < 3000:
        search.advance(3000)
    assert search.point is not None
    reached = problem.evaluate(problem.repair(problem.answer(search.point), 1e-10)).utility
    bound = reached + hidden_cost(problem, search.point) - search.bound
    assert reached - 1e-9 <= bound <= reached + 0.03


KNOWN = [e for e in po.Redaction.examples() if e.optimum is not None and not e.problem.robust]


@pytest.mark.parametrize("example", KNOWN, ids=lambda e: str(e.name))
def test_known_optima_are_below_the_bound_and_near_it(example: po.Example[Any]) -> None:
    """The optima come from the control problem of a binary chain, which shares nothing with the search."""
    problem, optimum = example.problem, example.optimum
    assert isinstance(problem, po.Redaction)
    assert optimum is not None
    if problem.epsilon == 0 or problem.length < 2 or not fits(problem, 0, problem.length):
        return
    hidden = 1 - len(problem.private) / problem.length - optimum
    for cutoff in (1.0, hidden + 0.01):
        dual = {"kind": "boxes", "begin": 0, "end": problem.length, "cutoff": cutoff, "boxes": 600}
        proved = problem.prove_bound(dual)
        assert proved is not None
        assert proved[1] >= optimum - 1e-9
        if problem.length <= 9 and cutoff < 1:
            assert proved[1] <= optimum + 0.02


@pytest.mark.parametrize("above", [0.0, 2e-13, 5e-13, 9e-13])
def test_a_cutoff_just_above_the_optimum_proves_no_more_than_the_optimum(above: float) -> None:
    """Boxes that could save less than 1e-12 are left out, which a bound must not forget."""
    optima = 0
    for example in KNOWN:
        problem, optimum = example.problem, example.optimum
        assert isinstance(problem, po.Redaction)
        if optimum is None or not example.name.startswith(
            "steps"
        ):  # the others are not known to the last digit
            continue
        cutoff = 1 - len(problem.private) / problem.length - optimum + above
        dual = {"kind": "boxes", "begin": 0, "end": problem.length, "cutoff": cutoff, "boxes": 600}
        proved = problem.prove_bound(dual)
        assert proved is not None
        assert proved[1] >= optimum
        optima += proved[1] <= optimum + 1e-11
    assert optima >= 4


def test_relabelling_and_reversing_change_nothing() -> None:
    order = [2, 0, 1]
    relabelled = po.MarkovChain(THREE.transition[np.ix_(order, order)])
    backward = po.MarkovChain(THREE.reversed(1))
    problem = po.Redaction(THREE, 6, 2, 0.9)
    dual = {"kind": "boxes", "begin": 0, "end": 6, "cutoff": 1.0, "boxes": 1500}
    other = (replace(problem, chain=relabelled), po.Redaction(backward, 6, 3, 0.9))
    bounds = [p.prove_bound(dual) for p in (problem, *other)]
    assert all(bound is not None for bound in bounds)
    highs = [bound[1] for bound in bounds if bound is not None]
    assert highs == pytest.approx([highs[0]] * 3, abs=1e-6)


def test_more_boxes_and_more_records_never_loosen_the_bound() -> None:
    problem = po.Redaction(THREE, 9, 4, 0.7)
    dual = {"kind": "boxes", "begin": 0, "end": 9, "cutoff": 1.0, "boxes": 0}
    bounds = [problem.prove_bound({**dual, "boxes": count}) for count in (0, 1, 64, 1024)]
    highs = [bound[1] for bound in bounds if bound is not None]
    assert len(highs) == 4
    assert highs == sorted(highs, reverse=True)
    part = problem.prove_bound({**dual, "begin": 2, "end": 7, "boxes": 1024})
    assert part is not None
    assert part[1] >= highs[-1] - 0.02


def test_a_search_that_is_cut_short_proves_what_it_came_to() -> None:
    example = next(e for e in KNOWN if e.name == "binary-8")
    problem, optimum = example.problem, example.optimum
    assert isinstance(problem, po.Redaction)
    assert optimum is not None
    dual = {"kind": "boxes", "begin": 0, "end": problem.length, "cutoff": 1.0, "boxes": 1 << 22}
    unsearched, short = problem.prove_bound({**dual, "boxes": 0}), problem.prove_bound(dual, 0.3)
    assert unsearched is not None
    assert short is not None
    assert optimum - 1e-9 <= short[1] < unsearched[1]


@pytest.mark.parametrize(
    "change",
    [
        {"begin": -1},
        {"begin": 3},
        {"end": 99},
        {"end": 2.5},
        {"boxes": -1},
        {"boxes": 1 << 40},
        {"cutoff": -0.5},
        {"cutoff": "all"},
        {"cutoff": float("nan")},
        {"more": 1},
    ],
)
def test_damaged_duals_prove_nothing(change: dict[str, Any]) -> None:
    problem = PROBLEMS["three"]
    dual = {"kind": "boxes", "begin": 0, "end": 5, "cutoff": 0.5, "boxes": 10}
    assert problem.prove_bound(dual) is not None
    assert problem.prove_bound({**dual, **change}) is None
    assert problem.prove_bound(dual, 0.0) is None
