"""Proof files of every kind: written, checked by programs of their own, refused once a number is changed."""

from __future__ import annotations

import ast
import copy
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import viprchk
from oracles.planted_proofs import parsed
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.errors import InvalidProblem
from privopt.files.json import write_json
from privopt.proof import checker
from privopt.proof.rationals import json_lines
from privopt.proof.vipr import Vipr, vipr
from privopt.proof.write import CHECKERS, FOLDER, Proof, check_file, draft_of, prove

OF_ITS_OWN = {name: 150 for name in CHECKERS.values()} | {"checker.py": 200, "checker_information.py": 190}
"""Lines of each program that stand in no other."""
SMALL = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
ALIKE = po.JointDistribution.normalised([[5, 2, 1, 10, 0, 2], [1, 3, 4, 2, 0, 3]])
"""Of six symbols the first and the fourth say the same of the secret, and the second and the last; the fifth never occurs."""
CHAIN = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])
PARTY = po.JointDistribution.normalised([[3, 5, 1, 2], [3, 1, 5, 2]])
REGION = po.JointDistribution.normalised([[4, 1, 1, 3], [2, 5, 5, 1]])
THREE = po.JointDistribution.normalised([[5, 2, 1, 1], [1, 3, 4, 1], [2, 1, 1, 4]])
HAMMING = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
NEAR = po.JointAmbiguity.total_variation(SMALL, 0.0625, 0.03125)
ROUND = po.JointAmbiguity([po.RowSet.chi2(row, 1.5) for row in SMALL.table / SMALL.p_s[:, None]], [0.5, 0.5])
COUNTED = po.JointAmbiguity.from_counts([[50, 20, 10], [10, 30, 40]])
POSED: dict[str, Any] = {
    "lip": po.LocalInformationPrivacy(SMALL, 0.25, utility=HAMMING),
    "lip-information": po.LocalInformationPrivacy(SMALL, 0.25),
    "pointwise": po.PointwiseMaximalLeakage(SMALL, 0.25),
    "redaction": po.Redaction(CHAIN, 5, 2, epsilon=1.0),
    "redaction-first": po.Redaction(CHAIN, 4, (0, 3), epsilon=2.0),
    "sequence": po.SequenceInformationPrivacy(CHAIN, 0.5, horizon=3),
    "post": po.PostRandomisation(PARTY, "hamming", 0.375, preserve=REGION),
    "post-pairs": po.PostRandomisation([1, 2, 3], "hamming", 0.75, notion=po.Metric.line(3)),
    "funnel": po.PrivacyFunnel(SMALL, min_utility=0.8),
    "bottleneck": po.InformationBottleneck(SMALL, trade_off=0.05),
    "lip-classes": po.LocalInformationPrivacy(ALIKE, 0.25),
    "funnel-classes": po.PrivacyFunnel(ALIKE, min_utility=1.2),
    "capped-classes": po.PrivacyFunnel(ALIKE, max_leakage=0.02),
    "bottleneck-classes": po.InformationBottleneck(ALIKE, trade_off=0.05),
    "mutual": po.DistortionPrivacy(SMALL, HAMMING, max_distortion=0.3),
    "maximal": po.DistortionPrivacy(SMALL, HAMMING, max_leakage=0.2, leakage="maximal_leakage"),
    "metric": po.MetricPrivacy(po.Metric.grid(2, 2), [0.4, 0.3, 0.2, 0.1], "distance", 1.0),
    "metric-table": po.MetricPrivacy(
        po.Metric.line(3), [0.5, 0.25, 0.25], [[0, 1], [1, 0], [2, 2]], 2.0, radius=1.0
    ),
    "edges": po.BoundaryColouring(po.DatasetGraph.line(4, 5), 0.5, 0.01),
    "set-lip": po.LocalInformationPrivacy(NEAR, 0.5, utility=HAMMING),
    "set-ldp": po.LocalInformationPrivacy(NEAR, 0.5, notion="ldp", utility=HAMMING),
    "set-pointwise": po.PointwiseMaximalLeakage(NEAR, 0.5, utility=HAMMING),
    "set-chi2": po.LocalInformationPrivacy(ROUND, 0.5, utility=HAMMING),
    "set-counts": po.LocalInformationPrivacy(COUNTED, 0.75, utility=HAMMING),
    "set-belief": po.BeliefRelease(po.RowSet.total_variation([0.5, 0.25, 0.25], 0.0625), 0.5),
    "set-information": po.LocalInformationPrivacy(NEAR, 0.5),
    "set-within": po.DistortionPrivacy(NEAR, HAMMING, max_distortion=0.5, leakage="lip"),
    "set-maximal": po.DistortionPrivacy(NEAR, HAMMING, max_leakage=0.25, leakage="maximal_leakage"),
    "chain-noise": po.BayesianPrivacy(CHAIN, "count", 1.0, mechanism="discrete_laplace"),
    "chain-reports": po.BayesianPrivacy(CHAIN, "count", 1.0, length=6, mechanism="randomised_response"),
    "group-noise": po.BayesianPrivacy(po.GroupModel(3), "sum", 1.5, clip=(0.0, 1.0)),
    "gaussian-noise": po.BayesianPrivacy(po.GaussianModel([[1, 0.5], [0.5, 1]]), "sum", 1.0, clip=(0.0, 8.0)),
    "exceptions": po.LocalInformationPrivacy(SMALL, 0.25, delta=0.125, utility=HAMMING),
    "exceptions-information": po.LocalInformationPrivacy(SMALL, upper=0.25, lower=0.5, delta=0.125),
    "values": po.LocalInformationPrivacy(SMALL, upper={0: 0.25}, lower=0.5),
    "values-loss": po.LocalInformationPrivacy(SMALL, upper=[0.125, 0.25], utility=HAMMING),
    "l1": po.LocalInformationPrivacy(SMALL, 0.25, notion="l1", utility=HAMMING),
    "chi2": po.LocalInformationPrivacy(THREE, 0.125, notion="chi2"),
    "average": po.LocalInformationPrivacy(THREE, 0.0625, notion="average"),
    "average-loss": po.LocalInformationPrivacy(SMALL, 0.0625, notion="average", utility=HAMMING),
}


BY_NAME = {
    "lip": "direct-lp", "lip-information": "vertices-exact", "pointwise": "vertices-exact", "funnel": "column-generation",
    "lip-classes": "column-generation", "funnel-classes": "column-generation", "capped-classes": "column-generation",
    "bottleneck-classes": "column-generation", "bottleneck": "column-generation", "set-lip": "cuts", "set-ldp": "cuts", "set-pointwise": "cuts", "set-chi2": "cuts",
    "set-counts": "cuts", "set-belief": "cuts", "set-information": "cuts", "set-within": "cuts", "redaction": "optimal", "redaction-first": "windows", "sequence": "structure-lp",
    "exceptions-information": "randomised-boosting", "values": "column-generation", "values-loss": "vertices-systems", "l1": "vertices-systems",
    "chi2": "cuts", "average": "cuts", "average-loss": "cuts",
}  # fmt: skip
"""Solvers that prove what a test needs, however busy the machine is."""


@cache
def solved(name: str) -> tuple[Any, Any]:
    """A problem with its solution."""
    return POSED[name], po.solve(POSED[name], BY_NAME.get(name), time_limit=30.0)


@cache
def proof(name: str) -> Proof:
    """Its proof file."""
    return prove(*solved(name))


def parts(name: str) -> dict[str, str]:
    """The functions and classes of a program, by name."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    defined = (n for n in ast.parse(text).body if isinstance(n, (ast.FunctionDef, ast.ClassDef)))
    return {n.name: ast.get_source_segment(text, n) or "" for n in defined}


def test_a_tree_whose_boxes_are_cut_down_is_written_whole() -> None:
    rng = np.random.default_rng(5)
    problem = po.LocalInformationPrivacy(
        po.JointDistribution.normalised(rng.integers(1, 60, size=(3, 8))), 0.3
    )
    solution = po.solve(problem, "column-generation")
    assert isinstance(solution.dual, dict)
    assert any("enough" in node for node in solution.dual["tree"])
    made = prove(problem, solution)
    assert made.left_out == ()
    assert '"cuts"' in made.text


@pytest.mark.parametrize("name", [name for name in POSED if name.endswith("-classes")])
def test_a_bound_of_classes_is_written_whole(name: str) -> None:
    problem, solution = solved(name)
    assert isinstance(solution.dual, dict)
    assert solution.dual["kind"] == "classes"
    made = prove(problem, solution)
    line = parsed(made.text)[4]
    assert line["classes"] == [0, 1, 2, 0, 0, 1]
    assert made.left_out == ()
    if name == "lip-classes":
        assert Fraction(line["bound"]) == pytest.approx(solution.bound, abs=1e-7)
    elif name == "capped-classes":  # -I(S;Y) + m I(X;Y) <= bound, for every m > 0
        most = (Fraction(line["bound"]) + Fraction(0.02)) / Fraction(line["useful"])
        assert most == pytest.approx(solution.bound, abs=1e-7)


@pytest.mark.parametrize("name", sorted(OF_ITS_OWN))
def test_a_sceptic_reads_each_checker_in_minutes(name: str) -> None:
    before = ["checker.py", "checker_information.py", "checker_gaussian_noise.py", "checker_redaction.py"]
    read = before[: before.index(name)] if name in before else before
    known = {part: text for other in reversed(read) for part, text in parts(other).items()}
    text, own = (FOLDER / name).read_text(encoding="utf-8"), parts(name)
    read_before = [part for part in own if part in known and part not in ("check", "least_cost")]
    assert [part for part in read_before if own[part] != known[part]] == [], "word for word"
    copied = sum(len(own[part].splitlines()) + 2 for part in read_before)
    assert len(text.splitlines()) - copied <= OF_ITS_OWN[name]
    assert "float(" not in text, "numbers are exact"


@pytest.mark.parametrize("name", sorted(OF_ITS_OWN))
def test_a_checker_imports_the_standard_library_only(name: str) -> None:
    tree = ast.walk(ast.parse((FOLDER / name).read_text(encoding="utf-8")))
    modules = {n.module for n in tree if isinstance(n, ast.ImportFrom)}
    tree = ast.walk(ast.parse((FOLDER / name).read_text(encoding="utf-8")))
    modules |= {alias.name for n in tree if isinstance(n, ast.Import) for alias in n.names}
    assert modules <= {
        "__future__",
        "bisect",
        "collections.abc",
        "fractions",
        "functools",
        "itertools",
        "json",
        "math",
        "operator",
        "sys",
        "typing",
    }


@pytest.mark.parametrize("name", POSED)
def test_a_file_is_accepted_by_a_program_that_stands_alone(name: str, tmp_path: Path) -> None:
    said = []
    for part in parts_of(name):
        shutil.copy(part.checker, tmp_path)
        (tmp_path / "proof.txt").write_text(part.text, encoding="utf-8")
        command = [sys.executable, "-I", "-S", part.checker.name, "proof.txt"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        (tmp_path / part.checker.name).unlink()
        said += ended.stdout.splitlines()
        assert len(part.text.splitlines()) >= 4
    assert said
    assert all(line.startswith("PROVED: ") for line in said)
    assert said == list(proof(name).check().said)


def parts_of(name: str) -> list[Proof]:
    """A proof, and the file beside it."""
    whole = proof(name)
    return [whole] if whole.beside is None else [whole, whole.beside]


@pytest.mark.parametrize("name", [n for n in POSED if n not in ("mutual", "maximal")])
def test_a_smaller_budget_or_a_better_claim_is_refused(name: str, tmp_path: Path) -> None:
    for part in parts_of(name):
        for wrong in _worse(parsed(part.text)):
            assert not _accepted(wrong, part.kind, tmp_path)


def _worse(lines: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The same with a claim, a level or a bound out of reach."""
    for key, value in lines[3].items():
        wrong = copy.deepcopy(lines)
        most = 10**6 if key in ("information", "released") else -1
        wrong[3][key] = ["5/1", "6/1"] if isinstance(value, list) else most
        yield wrong
    if lines[2] and "levels" in lines[1]:
        wrong = copy.deepcopy(lines)
        for entry in wrong[1]["levels"].values():
            entry.update(level="1/1000", below=1, above=2)
        wrong[1].update({"delta": 0} if "delta" in lines[1] else {})
        yield wrong
    if lines[0]["kind"] == "lift_family" and "bound" in lines[1]:
        wrong = copy.deepcopy(lines)
        wrong[1]["bound"] = "1/1000"
        yield wrong
    for place in range(4, len(lines)):
        wrong = copy.deepcopy(lines)
        if "bound" in lines[place]:
            wrong[place]["bound"] = 10**6 if "loss" in lines[1] else -1
            yield wrong


def _accepted(lines: list[dict[str, Any]], kind: str, folder: Path) -> bool:
    path = folder / "wrong.txt"
    path.write_text(json_lines(lines), encoding="utf-8")
    return check_file(path, kind).ok


def test_a_kernel_of_a_policy_that_tells_more_is_refused(tmp_path: Path) -> None:
    lines = parsed(proof("sequence").text)
    lines[2]["kernels"][-1]["rows"] = [[3, 1], [1, 3]]
    assert not _accepted(lines, "sequence", tmp_path)


def test_bounds_of_information_need_comparisons_without_slack_of_secrets(tmp_path: Path) -> None:
    for field in ({"slack": "1/8"}, {"notion": "pairs", "pairs": []}):
        lines = parsed(proof("lip-information").text)
        lines[1].update(field)
        assert not _accepted(lines, "information", tmp_path)


def test_the_bound_of_a_funnel_follows_from_the_weighed_one() -> None:
    problem, solution = solved("funnel")
    line = parsed(proof("funnel").text)[4]
    bound, price = (float(_rational(line[key])) for key in ("bound", "useful"))
    assert bound - price * problem.budget == pytest.approx(solution.bound, abs=1e-9)


def _rational(value: int | str) -> float:
    top, _, under = str(value).partition("/")
    return int(top) / int(under or 1)


def test_the_bound_in_a_file_is_that_of_the_solution() -> None:
    for name, sign in (("lip", -1), ("lip-information", 1)):
        _, solution = solved(name)
        assert sign * _rational(parsed(proof(name).text)[4]["bound"]) == pytest.approx(
            solution.bound, abs=1e-7
        )


def test_directions_that_leave_out_what_is_allowed_are_refused(tmp_path: Path) -> None:
    for name in ("l1", "chi2", "average"):
        lines = parsed(proof(name).text)
        for entry in lines[4]["directions"]:
            wrong = copy.deepcopy(lines)
            place = lines[4]["directions"].index(entry)
            wrong[4]["directions"][place]["far"] = str(Fraction(entry["far"]) - Fraction(1, 10**9))
            assert not _accepted(wrong, "lift_family", tmp_path)


@pytest.mark.parametrize("name", ["values", "values-loss", "l1", "chi2", "average", "average-loss"])
def test_the_bound_of_a_bound_by_value_or_on_a_divergence_is_that_of_the_solution(name: str) -> None:
    problem, solution = solved(name)
    sign = 1 if problem.matrix is None else -1
    assert sign * _rational(parsed(proof(name).text)[4]["bound"]) == pytest.approx(solution.bound, abs=1e-7)
    assert proof(name).left_out == ()


def test_at_a_bound_of_0_all_divergences_are_one_file() -> None:
    posed = [po.LocalInformationPrivacy(SMALL, 0.0, notion=notion) for notion in ("l1", "chi2", "average")]
    texts = {prove(p, po.solve(p, "perfect-privacy", time_limit=30.0)).text for p in posed}
    assert len(texts) == 1


SETS_OF_CHAINS = po.ChainAmbiguity.interval(CHAIN, 0.1)
UNCOVERED: dict[str, tuple[Any, str]] = {
    "count": (po.BayesianPrivacy(po.MarkovChain([[0.2, 0.8], [0.8, 0.2]]), "count", 1.0, length=6), "not proved by a kind"),
    "chains": (po.BayesianPrivacy(SETS_OF_CHAINS, "count", 1.0), "set of chains"),
    "hidden": (po.Redaction(SETS_OF_CHAINS, 4, 1, epsilon=1.0), "set of chains"),
    "cost": (po.LocalInformationPrivacy(SMALL, 0.125, notion="l1", utility=lambda p: float(1 - (p**2).sum())), "function of yours"),
    "unbounded": (po.LocalInformationPrivacy(SMALL, np.inf, notion="chi2"), "nothing is promised"),
    "nothing": (po.MetricPrivacy(po.Metric.line(2), [0.5, 0.5], "distance", np.inf), "nothing is promised"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCOVERED)
def test_what_is_not_covered_is_said_in_a_sentence(name: str) -> None:
    problem, sentence = UNCOVERED[name]
    with pytest.raises(InvalidProblem, match=sentence):
        draft_of(problem, po.solve(problem, time_limit=5.0))


def test_a_solution_writes_its_proof_and_the_command_line_too(tmp_path: Path) -> None:
    problem, solution = solved("lip")
    written = solution.prove(tmp_path / "proof.txt")
    assert (tmp_path / "proof.txt").read_text(encoding="utf-8") == written.text
    write_json(tmp_path / "problem.json", problem.to_dict())
    solution.save(tmp_path / "solution.json")
    command = [
        "prove",
        str(tmp_path / "problem.json"),
        str(tmp_path / "solution.json"),
        "--output",
        str(tmp_path / "again.txt"),
    ]
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 0, told.output
    assert (tmp_path / "again.txt").read_text(encoding="utf-8") == written.text
    linear = CliRunner().invoke(app, [*command[:-1], str(tmp_path / "proof.vipr"), "--format", "vipr"])
    assert linear.exit_code == 0, linear.output
    for output, name in ((told.output, "again.txt"), (linear.output, "proof.vipr")):
        assert "with the counted table where there is one" in " ".join(output.split())
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    program = [sys.executable, "-S", "-E", str(FOLDER / "checker.py"), str(tmp_path / "again.txt")]
    assert subprocess.run(program, check=True, capture_output=True, text=True).stdout.count("PROVED") == 4


def planted(files: Vipr) -> tuple[str, str]:
    """The same files with another mechanism, and with a bound that is out of reach."""
    lines = files.privacy.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("mechanism"))
    lines[place] = "mechanism 3 0 1 4 1 8 1"
    found = re.search(r"RTP range (\S+) inf", files.bound or "")
    assert found is not None
    return "\n".join(lines) + "\n", (files.bound or "").replace(found[1], "1000000")


@pytest.mark.parametrize("name", ["lip", "metric", "metric-table", "edges"])
def test_vipr_files_prove_both_claims_and_changed_ones_do_not(name: str, tmp_path: Path) -> None:
    files, path = vipr(draft_of(*solved(name))), tmp_path / "proof.vipr"
    assert files.bound is not None
    good, bad = (files.privacy, files.bound), planted(files)
    assert all(viprchk.stated(text).holds() for text in good)
    assert not any(viprchk.stated(text).holds() for text in bad)
    try:
        viprchk.program()
    except viprchk.Missing as reason:
        pytest.skip(str(reason))
    for text in (*good, *bad):
        path.write_text(text, encoding="utf-8")
        assert viprchk.accepts(path) == (text in good)


def test_numbers_in_vipr_files_are_on_their_side_of_the_level_and_short() -> None:
    files = vipr(draft_of(*solved("metric-table")))  # of the level 2
    for text, side in ((files.privacy, -1), (files.bound or "", 1)):
        rows = [terms for sense, _, terms in viprchk.stated(text).rows if sense == "L"]
        (factor,) = {-v for terms in rows for v in terms.values() if v < 0}
        assert all(side * (end - 2) > 0 for end in checker.log(factor, 200))
        assert abs(float(factor) - np.exp(2)) < 1e-5
        assert len(str(factor)) < 30


def test_colourings_with_three_colours_and_weights() -> None:
    graph = po.DatasetGraph.grid(np.array([[0, 1, 2], [0, 1, 1]]))
    problem = po.BoundaryColouring(graph, 0.5, boundary=None)
    written = prove(problem, po.solve(problem, "k-colour-lp", time_limit=30.0))
    assert written.check().ok
    assert len(written.text.splitlines()) == 5
