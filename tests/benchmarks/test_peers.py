"""Peers: who is asked, what is read of an answer, the mean of ratios, and known leaks of other tools."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.data.external import FOLDER
from privopt.benchmarks.peers import run as _peer_run
from privopt.benchmarks.peers.instances import left_out, line_of, peer_instances
from privopt.benchmarks.peers.page import page, sentences
from privopt.benchmarks.peers.peer import Peer, PeerAnswer, attempt, find_peer, judged
from privopt.benchmarks.peers.rows import PeerRow, filled, geometric_mean, summaries
from privopt.benchmarks.peers.run import chosen_peers, compare_with
from privopt.benchmarks.runner.suite import Instance
from privopt.benchmarks.suites.metric_privacy import airports, town
from privopt.cli import app
from privopt.errors import InvalidProblem

ROW = PeerRow(
    "q", "p", "i", 3, 1.0, "answered", "", 2.0, 0.5, 1.5, None, 1.0, "OPTIMAL", "ours", True, 1.0, 0.0, True
)


def made(ratios: Sequence[float]) -> list[PeerRow]:
    return [replace(ROW, seconds=r, our_seconds=1.0) for r in ratios]


# who is asked


def test_every_instance_has_a_peer() -> None:
    for one in peer_instances(True):
        peers = chosen_peers(kinds=(one.problem.kind,))
        assert any(peer.refusal(one.problem) is None for peer in peers), one.name


def test_an_absent_package_is_a_refusal_and_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = replace(find_peer("boundary_colouring/igraph"), requires=("no_such_package_here",))
    monkeypatch.setattr(_peer_run, "Server", None)
    rows = compare_with([absent], peer_instances(True), 1.0)
    assert {r.status for r in rows} == {"refused"}
    assert all(
        "no_such_package_here is not installed; pip install 'privopt[peers]'" in r.reason for r in rows
    )
    (line,) = summaries(rows)
    assert (line.answered, line.ratio, line.excess) == (0, None, None)
    assert "no_such_package_here" in page(rows, "now", 0.0, {})


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidProblem, match="no peer 'gurobi'"):
        chosen_peers(names=("gurobi",))
    with pytest.raises(InvalidProblem, match="no problem 'sorting'"):
        chosen_peers(kinds=("sorting",))


# what rows add up to


def test_the_geometric_mean_is_that_of_scipy() -> None:
    from scipy.stats import gmean

    ratios = np.random.default_rng(0).lognormal(0.0, 3.0, 40).tolist()
    assert geometric_mean(ratios) == pytest.approx(float(gmean(ratios)), rel=1e-13)
    (line,) = summaries([*made(ratios), replace(ROW, status="failed", objective=None)])
    assert line.ratio == pytest.approx(float(gmean(ratios)), rel=1e-13)
    assert (line.instances, line.answered) == (41, 40)


def test_a_row_keeps_what_its_process_told() -> None:
    labels = {"question": "q", "peer": "p", "instance": "i", "size": 2, "budget": 1.0}
    ours = {"seconds": 0.5, "objective": 1.0, "certified": True, "status": "OPTIMAL", "solver": "s"}
    told = {
        "ours": ours,
        "seconds": 2.0,
        "claimed": None,
        "judged": {"objective": 3.0, "leakage": "inf", "excess": "inf"},
    }
    row = filled(labels, told)
    assert (row.status, row.ratio, row.difference, row.excess) == ("answered", 4.0, 2.0, math.inf)
    assert filled(labels, {"ours": ours, "fault": "broke"}).status == "failed"
    assert filled(labels, {"ours": ours}).status == "ended"
    json.dumps(row.to_dict(), allow_nan=False)


# what is read of an answer


def test_a_peer_that_raises_is_a_failure_with_its_words() -> None:
    def broken(problem: object, seconds: float) -> PeerAnswer:
        raise ArithmeticError("ended with status 'unbounded'")

    problem = po.BeliefRelease([0.5, 0.5], 1.0)
    mechanism, told = attempt(Peer("belief_release", "broken", broken), lambda: problem, 1.0)
    assert mechanism is None
    assert "unbounded" in told["fault"]
    assert "fault" in judged(problem, po.Merging([[0], [1]]))


def test_a_mechanism_that_misses_the_budget_is_not_private() -> None:
    problem = po.BeliefRelease([0.5, 0.5], 1.0)
    verdict = judged(problem, po.Channel([[0.95, 0.05], [0.05, 0.95]]))
    assert verdict["proved"] is False
    assert verdict["excess"] == pytest.approx(math.log(0.5 / 0.05) - 1.0)


def test_the_published_release_leaks_in_the_run_and_ours_is_certified() -> None:
    (peer,) = chosen_peers(("belief_release/paper: published",))
    (row,) = compare_with([peer], [Instance("rare", 2, po.BeliefRelease([0.9, 0.1], math.log(2)))], 2.0)
    assert (row.status, row.proved, row.our_certified) == ("answered", False, True)
    # P(1 | 1) = 1 - 0.9 / 2 = 0.55 and P(1) = 0.1, by hand
    assert row.leakage == pytest.approx(math.log(0.55 / 0.1))
    assert row.excess == pytest.approx(math.log(0.55 / 0.1) - math.log(2))


@pytest.mark.parametrize("name", ["highs", "cvxpy-scs", "qif"])
def test_metric_privacy_leaks_though_the_tool_says_optimal(name: str) -> None:
    """Leakage is read off the matrix here: the largest |ln P(y|u) / P(y|v)| of neighbours u, v."""
    problem = po.BoundaryColouring(line_of(20), 1.0, boundary=None)
    answer = find_peer(f"boundary_colouring/{name}").work(problem, 10.0)
    assert isinstance(answer.mechanism, po.Colouring)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(answer.mechanism.probabilities)
        apart = np.nan_to_num(np.abs(np.diff(logs, axis=0)), nan=0.0, posinf=math.inf).max()
    verdict = judged(problem, answer.mechanism)
    assert apart > 1.05
    assert verdict["proved"] is False
    assert float(verdict["leakage"]) == pytest.approx(apart)
    ours = po.solve(problem)
    assert ours.certified
    assert ours.objective == pytest.approx(answer.claimed, abs=1e-5)


@pytest.mark.parametrize("name", ["highs", "highs-ipm", "cvxpy-scs", "cvxpy-clarabel", "qif"])
def test_places_reach_the_optimum_and_broken_pairs_are_counted(name: str) -> None:
    """Pairs are counted here in fractions of the integers that were judged, with e^(epsilon d) in floats, which nothing is next to."""
    problem = town(3)
    answer = find_peer(f"metric_privacy/{name}").work(problem, 10.0)
    assert isinstance(answer.mechanism, po.Channel)
    ours = po.solve(problem, "direct-lp")
    assert ours.certified
    assert answer.claimed == pytest.approx(ours.objective, abs=1e-4)
    rows = [
        [row.fraction(y) for y in range(len(row.weights))] for row in answer.mechanism.quantised().exact()
    ]
    pairs, broken = problem.pairs, 0
    for x, other, far in zip(pairs.first, pairs.second, pairs.distance, strict=True):
        most = Fraction(math.exp(problem.epsilon * float(far)))
        both = list(zip(rows[x], rows[other], strict=True))
        apart = [
            a > most * b * (1 + Fraction(1, 2**49)) or b > most * a * (1 + Fraction(1, 2**49))
            for a, b in both
        ]
        broken += any(apart)
    verdict = judged(problem, answer.mechanism)
    if broken:
        assert not verdict["proved"]
        assert broken <= int(verdict["where"].split(" of ")[0]) <= len(pairs)


def test_nodes_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert "rome" in left_out()
    names = [one.name for one in peer_instances(False) if one.problem.kind == "metric_privacy"]
    assert names == ["town-4x4", "town-6x6", "airports-205"]


def test_a_radius_has_no_form_in_qif() -> None:
    peer = find_peer("metric_privacy/qif")
    assert "radius" in str(peer.refusal(airports()))
    assert "more than 40" in str(peer.refusal(town(7)))


@pytest.mark.parametrize("name", ["networkx", "igraph", "scipy", "highs", "cvxpy-clarabel"])
def test_graph_peers_reach_the_optimum(name: str) -> None:
    problem = next(one.problem for one in peer_instances(True) if one.name == "regions-12x12")
    answer = find_peer(f"boundary_colouring/{name}").work(problem, 10.0)
    reading, best = problem.evaluate(answer.mechanism), po.solve(problem).objective
    assert reading.objective == pytest.approx(best, abs=1e-7)
    assert answer.claimed == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("name", ["cddlib", "pplpy"])
def test_vertices_by_other_tools_give_our_optimum(name: str) -> None:
    problem = next(one.problem for one in peer_instances(True) if one.name == "information-2x6")
    answer = find_peer(f"local_information_privacy/{name}").work(problem, 10.0)
    assert answer.claimed == pytest.approx(po.solve(problem).objective, abs=1e-8)


# the command


@pytest.mark.long
def test_the_command_writes_rows_and_a_page(tmp_path: Path) -> None:
    command = ["bench", "peers", "--quick", "--output", str(tmp_path), "--peer", "opendp", "--json"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    (line,) = document["peers"]
    assert (line["peer"], line["answered"], line["proved"]) == ("opendp", 1, 1)
    with (tmp_path / "peers.csv").open() as stream:
        (row,) = csv.DictReader(stream)
    assert float(row["difference"]) < 0
    text = (tmp_path / "report.html").read_text()
    assert "rare-letters-8" in text
    assert "<script src" not in text


def test_sentences_count_what_is_not_private() -> None:
    said = sentences([ROW, replace(ROW, proved=False, excess=0.5), replace(ROW, proved=False, excess=1e-16)])
    assert said[1] == "2 of these answers are not proved to keep the budget; 1 miss it by more than 1e-9."
