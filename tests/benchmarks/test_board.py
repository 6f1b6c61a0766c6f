"""The first screen in numbers: counted again from the rows, covers by brute force, cells by their definition."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from instances.report_rows import failed, make_row, synthetic

from privopt.benchmarks.report.board import Board, ProblemLine, board
from privopt.benchmarks.report.covers import Candidate, smallest_cover
from privopt.benchmarks.report.entries import Kind, case_lines
from privopt.benchmarks.report.judged import judged
from privopt.benchmarks.report.standings import Standing
from privopt.benchmarks.runner.folder import read_run
from privopt.benchmarks.runner.job import Job
from privopt.benchmarks.runner.rows import AUTO, Row
from privopt.benchmarks.runner.suite import find_suite
from privopt.benchmarks.runner.vocabulary import (
    InstanceWords,
    ProblemWords,
    Reference,
    Vocabulary,
    vocabulary_from_dict,
)
from privopt.core.words import Quantity


def made(*rows: Row, words: Vocabulary | None = None) -> Board:
    return board(judged(rows), words)


def only(*rows: Row, words: Vocabulary | None = None) -> ProblemLine:
    (line,) = made(*rows, words=words).problems
    return line


def reaches(rows: list[Row], solver: str) -> set[tuple[str, float]]:
    """Cases in which a solver has a certified answer within 1e-6 of the best one."""
    cases = {(r.instance, r.budget) for r in rows}
    won = set()
    for case in cases:
        own = [r for r in rows if (r.instance, r.budget) == case and r.verified and r.objective is not None]
        best = max((r.objective or 0.0 for r in own), default=math.nan)
        mine = [r.objective or 0.0 for r in own if r.solver == solver]
        if any(value >= best - 1e-6 * max(1.0, abs(best)) for value in mine):
            won.add(case)
    return won


def fewest(sets: dict[str, set[tuple[str, float]]]) -> int:
    """The least number of sets that hold what all hold together, over all subsets."""
    everything = set().union(*sets.values()) if sets else set()
    for size in range(len(sets) + 1):
        if any(set().union(*(sets[n] for n in names)) == everything for names in combinations(sets, size)):
            return size
    raise AssertionError


def check_against_rows(rows: list[Row]) -> None:
    """Every number of the board, counted again."""
    told = made(*rows)
    for line in told.problems:
        own = [r for r in rows if r.question == line.kind]
        names = {r.solver for r in own} - {AUTO}
        sets = {n: reaches(own, n) for n in names}
        assert {s.solver: s.won for s in line.solvers} == {n: len(won) for n, won in sets.items()}
        oracles = {s.solver for s in line.solvers if s.role == "ORACLE"}
        fit = {n: won for n, won in sets.items() if n not in oracles}
        named = [n.solver for n in line.named]
        assert not oracles & set(named)
        assert set().union(*(fit[n] for n in named)) == set().union(*fit.values())
        assert len(named) == fewest(fit)
        assert sum(n.adds for n in line.named) == len(set().union(*fit.values()))
        for s in line.solvers:
            asked = [r for r in own if r.solver == s.solver]
            assert s.taken == sum(r.status not in ("REFUSED", "INFEASIBLE") for r in asked)
            assert s.won <= s.taken <= s.cases == len(asked)
        cases = {(r.instance, r.budget) for r in own}
        assert line.cases == len(cases)
        assert line.answered == len({(r.instance, r.budget) for r in own if r.verified})
        proved = 0
        for case in cases:
            here = [r for r in own if (r.instance, r.budget) == case]
            best = max((r.objective or 0.0 for r in here if r.verified), default=math.nan)
            bound = min((r.bound for r in here if r.bound is not None), default=math.inf)
            proved += bound - best <= 1e-6 * max(1.0, abs(best))
        assert line.proved == proved
    assert told.counts.held == sum(r.verified for r in rows)
    assert told.counts.over == told.counts.withheld + told.counts.repaired == sum(r.over_budget for r in rows)


def test_the_board_is_what_is_counted_from_the_rows() -> None:
    check_against_rows(synthetic())


@pytest.mark.parametrize("seed", range(30))
def test_a_cover_is_as_small_as_the_smallest_of_all_subsets(seed: int) -> None:
    import numpy as np

    rng = np.random.default_rng(seed)
    sets = {f"s{i}": {("", float(x)) for x in np.flatnonzero(rng.random(9) < 0.35)} for i in range(8)}
    chosen = smallest_cover(
        Candidate(name, frozenset(int(x) for _, x in held), (float(rng.integers(3)),))
        for name, held in sets.items()
    )
    assert set().union(*(sets[n] for n in chosen)) == set().union(*sets.values())
    assert len(chosen) == fewest(sets)


def test_of_covers_as_small_a_baseline_comes_after_and_then_who_proves_less() -> None:
    rows = [
        make_row(solver="a-baseline", role="BASELINE", seconds=0.001),
        make_row(solver="b-heuristic", role="FEASIBLE", seconds=0.001),
        make_row(solver="c-prover", role="OPTIMAL", seconds=9.0, bound=0.5, gap=0.0, status="OPTIMAL"),
        make_row(solver="d-oracle", role="ORACLE", seconds=0.0001, bound=0.5, gap=0.0, status="OPTIMAL"),
    ]
    assert [n.solver for n in only(*rows).named] == ["c-prover"]
    assert [n.solver for n in only(*rows[:2]).named] == ["b-heuristic"]
    assert [n.solver for n in only(rows[0], rows[3]).named] == ["a-baseline"]
    assert only(*rows).seconds == 9.0


def test_a_case_that_only_an_oracle_reaches_is_said_so() -> None:
    oracle = make_row(solver="reference", role="ORACLE", objective=0.9)
    other = make_row(solver="search", role="FEASIBLE", objective=0.5)
    line = only(oracle, other)
    assert [case.instance for case in line.by_oracle] == ["one"]
    assert line.named == ()
    assert only(oracle, other, make_row(solver=AUTO, objective=0.9)).by_oracle == ()


def test_a_case_that_only_solve_reaches_is_said_so() -> None:
    auto, other = (
        make_row(solver=AUTO, objective=0.9),
        make_row(solver="search", role="FEASIBLE", objective=0.5),
    )
    line = only(auto, other)
    assert [case.instance for case in line.by_solve] == ["one"]
    assert (line.named, line.by_oracle, line.answered) == ((), (), 1)
    assert only(auto, replace(other, objective=0.9)).by_solve == ()
    assert only(failed(auto, "TIME_OUT", "late"), failed(other, "TIME_OUT", "late")).by_solve == ()


def test_cells_say_how_much_worse_as_a_share_of_the_larger_of_best_and_median() -> None:
    rows = [
        make_row(solver="best", objective=2.0, bound=2.0, gap=0.0, status="OPTIMAL"),
        make_row(solver="equal", objective=2.0),
        make_row(solver="near", objective=1.99),
        make_row(solver="close", objective=1.85),
        make_row(solver="more", objective=1.0),
        make_row(solver="unproved", objective=3.0, verified=False, claim_holds=False),
        failed(make_row(solver="leaky", status="NOT_PRIVATE"), "NOT_PRIVATE", "it leaks"),
        failed(make_row(solver="late"), "TIME_OUT", "late"),
        failed(make_row(solver="down"), "FAILED", "down"),
        failed(make_row(solver="none"), "INFEASIBLE", "none"),
        failed(make_row(solver="refusing"), "REFUSED", "not for me"),
    ]
    (line,) = case_lines(judged(rows))
    kinds = [Kind.PROVED, Kind.BEST, Kind.NEAR, Kind.CLOSE, Kind.MORE, Kind.CERTIFICATE, Kind.LEAKS]
    kinds += [Kind.LATE, Kind.FAILED, Kind.IMPOSSIBLE, Kind.REFUSED]
    assert [e.kind for e in line.entries.values()] == kinds
    assert line.entries["close"].loss == pytest.approx(0.075)
    assert [e.shown for e in line.entries.values()] == [
        "●", "○", "0.5", "7.5", "50", "!", "✕", "T", "F", "∅", "–",
    ]  # fmt: skip
    assert {s.solver: s.taken for s in only(*rows).solvers}["refusing"] == 0


def test_losses_are_relative_to_the_median_where_the_best_is_nought() -> None:
    rows = [make_row(solver=n, objective=o) for n, o in (("a", 0.0), ("b", -0.2), ("c", -0.4))]
    (line,) = case_lines(judged(rows))
    assert [e.loss for e in line.entries.values()] == [0.0, pytest.approx(1.0), pytest.approx(2.0)]


def test_of_several_seeds_the_lower_median_stands_for_all() -> None:
    seeds = [make_row(solver="a", seed=i, objective=o) for i, o in enumerate((0.9, 0.5, 0.7, 0.1))]
    (line,) = case_lines(judged([*seeds, make_row(solver="b", objective=0.5)]))
    assert line.entries["a"].row.objective == 0.5
    assert line.entries["a"].seeds == 4
    assert not line.entries["a"].kind.best


def test_the_finding_counts_what_solve_does_and_what_it_loses() -> None:
    rows = []
    for budget, auto in ((1.0, 0.8), (2.0, 0.76), (3.0, 0.8)):
        rows += [make_row(budget=budget, objective=0.8), make_row(solver=AUTO, budget=budget, objective=auto)]
    told = made(*rows)
    assert (told.finding.best, told.finding.cases) == (2, 3)
    assert told.finding.worst == pytest.approx(0.05)
    assert told.finding.headline == "`privopt.solve()` gives the best certified answer in 2 of 3 cases"
    assert "at most 5.0 %" in told.finding.detail
    without = made(*(r for r in rows if r.solver != AUTO)).finding
    assert without.headline == "3 of 3 cases have a certified answer, 0 are proved optimal"
    lost = failed(rows[1], "TIME_OUT", "late")
    assert made(rows[0], lost).finding.worst == math.inf


def test_a_claim_that_fails_is_red_and_a_record_that_differs_is_amber() -> None:
    fine = make_row(solver="a")
    differs = make_row(solver="b", claim_holds=True, differs="the stated utility is off by its last digits")
    unlike = make_row(solver="c", verified=False, claim_holds=True, differs="the stated utility is wrong")
    broken = make_row(
        solver="d", verified=False, claim_holds=False, reason="the certified claim does not hold"
    )
    old = make_row(solver="e", verified=False, reason="of a row that says no more")
    assert made(fine).alarms == ()
    amber = made(fine, differs, unlike)
    assert [(a.place, a.red, a.row.solver) for a in amber.alarms] == [(1, False, "b"), (2, False, "c")]
    assert not amber.red
    assert amber.finding.broken == 0
    red = made(differs, broken, old)
    assert [(a.place, a.red, a.row.solver) for a in red.alarms] == [
        (1, True, "d"),
        (2, True, "e"),
        (3, False, "b"),
    ]
    assert red.finding.headline == "2 certified claims do not hold"


def test_an_unproved_answer_and_its_bound_count_for_nothing() -> None:
    broken = make_row(solver="d", objective=0.9, bound=0.5, verified=False, claim_holds=False)
    line = only(make_row(objective=0.6), broken)
    assert line.lines[0].best == 0.6
    assert line.lines[0].bound is None


def words(quantity: Quantity) -> Vocabulary:
    reference = Reference("windows", "hiding a fixed window")
    return Vocabulary(
        {"redaction": ProblemWords("Hide records", "Hide", "Which?", "Redaction", reference)},
        {"redaction/one": InstanceWords("A month", "31 days", quantity)},
    )


def test_a_gain_is_in_points_for_shares_and_relative_for_anything_else() -> None:
    pairs = [(-0.5, -0.8), (-0.1, -0.2)]
    rows = [
        make_row(solver=s, budget=float(i), objective=o)
        for i, pair in enumerate(pairs)
        for s, o in zip(("optimal", "windows"), pair, strict=True)
    ]
    error = only(*rows, words=words(Quantity("error", sign=-1))).gain
    assert error is not None
    assert (error.amount, error.cases) == ("−40 %", 2)
    share = only(*rows, words=words(Quantity("records", "share"))).gain
    assert share is not None
    assert share.amount == "+20.0 pts"
    assert only(*rows).gain is None


def test_instances_of_another_quantity_are_no_part_of_a_gain() -> None:
    known = words(Quantity("error", sign=-1))
    known = replace(
        known,
        instances={
            **known.instances,
            "redaction/two": InstanceWords("Another", quantity=Quantity("leakage", "nats", -1)),
        },
    )
    rows = [
        make_row(solver=s, instance=i, budget=b, objective=o)
        for i, b in (("one", 1.0), ("one", 2.0), ("two", 1.0))
        for s, o in (("optimal", -1.0), ("windows", -2.0 if i == "one" else -100.0))
    ]
    gained = only(*rows, words=known).gain
    assert gained is not None
    assert (gained.cases, gained.change) == (2, -0.5)


def test_solvers_stand_in_the_order_of_what_they_won() -> None:
    rows = [
        *(make_row(solver=s, budget=b, objective=0.5, role=r) for b in (1.0, 2.0) for s, r in (("a", "ORACLE"), ("b", ""))),
        make_row(solver="c", budget=1.0, objective=0.5),
        make_row(solver="c", budget=2.0, objective=0.1),
        *(failed(make_row(solver="d", budget=b), "REFUSED", "no") for b in (1.0, 2.0)),
        *(failed(make_row(solver="e", budget=b), "NOT_PRIVATE", "leaks") for b in (1.0, 2.0)),
    ]  # fmt: skip
    line = only(*rows)
    assert [s.solver for s in line.solvers] == ["b", "a", "c", "e", "d"]
    assert [s.standing for s in line.solvers] == [
        Standing.ALL, Standing.ALL, Standing.SOME, Standing.LEAKS, Standing.REFUSED,
    ]  # fmt: skip


def test_words_survive_their_file() -> None:
    known = words(Quantity("error", "years", -1, "ε"))
    assert vocabulary_from_dict(known.to_dict()) == known


@pytest.mark.long
def test_the_board_of_a_real_run_is_what_is_counted_from_its_rows(tmp_path: Path) -> None:
    names = ("line", "regions-12x12")
    job = Job(find_suite("quick"), tmp_path, tmp_path / "page.html", instances=names)
    job.work()
    rows = list(read_run(tmp_path)[1])
    check_against_rows(rows)
    asked = {(r.instance, r.budget) for r in rows}
    assert {(r.instance, r.budget) for r in rows if r.solver == AUTO} == asked
    assert made(*rows).finding.cases == len(asked)


def test_a_gain_on_what_reaches_nothing_is_from_nought() -> None:
    rows = [make_row(objective=0.4), make_row(solver="windows", objective=0.0)]
    from_nothing = only(*rows, words=words(Quantity("information", "nats"))).gain
    assert from_nothing is not None
    assert from_nothing.amount == "from 0"
    level = only(*(replace(r, objective=0.0) for r in rows), words=words(Quantity("error", sign=-1))).gain
    assert level is not None
    assert level.amount == "+0 %"
