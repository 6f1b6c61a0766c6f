"""Explanations call the secret and the columns by their names, and say what a receipt adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privopt as po
from privopt.core.problem import Problem
from privopt.mechanisms.codebook import codebook
from privopt.models.columns import Column, TableColumns
from privopt.publication.explain import MOST, explain
from privopt.publication.receipt import make_receipt

RNG = np.random.default_rng(0)
INCOME = RNG.choice(["low", "high"], 300, p=[0.7, 0.3])
FRAME = pd.DataFrame(
    {
        "income": INCOME,
        "education": np.where(RNG.random(300) < np.where(INCOME == "low", 0.7, 0.3), "school", "master"),
        "age group": RNG.choice(["young", "old"], 300),
    }
)
JOINT = po.JointDistribution.from_frame(FRAME, "income", ["education", "age group"])
SQUARE = 1 - np.eye(len(JOINT.useful))
PROBLEMS: dict[str, Problem[Any]] = {
    "lip": po.LocalInformationPrivacy(JOINT, 0.3),
    "one side": po.LocalInformationPrivacy(JOINT, upper=0.3),
    "ldp": po.LocalInformationPrivacy(JOINT, 0.3, notion="ldp"),
    "nothing": po.LocalInformationPrivacy(JOINT, 0.0),
    "pointwise": po.PointwiseMaximalLeakage(JOINT, 0.3),
    "average": po.DistortionPrivacy(JOINT, SQUARE, max_leakage=0.1),
    "ratio": po.DistortionPrivacy(JOINT, SQUARE, max_leakage=0.1, leakage="lip"),
    "guessing": po.DistortionPrivacy(JOINT, SQUARE, max_leakage=0.1, leakage="maximal_leakage"),
    "funnel": po.PrivacyFunnel(JOINT, max_leakage=0.01),
    "bottleneck": po.InformationBottleneck(JOINT, max_rate=0.3),
}


def solution_of(problem: Problem[Any]) -> po.Solution[Any]:
    anchor = problem.anchor()
    return po.Solution(
        po.Status.FEASIBLE,
        answer=anchor,
        certificate=problem.certify(anchor),
        problem=problem.fingerprint,
        instance=problem,
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_secret_and_the_columns_have_their_names(name: str) -> None:
    text = " ".join(solution_of(PROBLEMS[name]).explain().sentences)
    assert "income" in text
    assert "the secret" not in text
    assert "the useful value" not in text
    if name not in ("average", "ratio", "guessing"):
        assert "education and age group" in text
    assert "of cases" in text  # the best guess, before and after


def test_without_columns_it_is_the_secret() -> None:
    joint = po.JointDistribution(JOINT.table, JOINT.sensitive, JOINT.useful)
    text = " ".join(solution_of(po.LocalInformationPrivacy(joint, 0.3)).explain().sentences)
    assert "the secret" in text
    assert "the useful value" in text


def test_many_columns_are_not_all_named() -> None:
    columns = [Column(f"c{i}", "categorical", ("a", "b")) for i in range(9)]
    assert TableColumns((columns[0],), tuple(columns)).reads_names[0] == "c0"
    frame = pd.DataFrame({f"c{i}": ["a", "b"] for i in range(9)} | {"s": ["x", "y"]})
    joint = po.JointDistribution.from_frame(frame, "s", [f"c{i}" for i in range(9)])
    assert "About c0, c1, c2 and 6 more" in str(solution_of(po.LocalInformationPrivacy(joint, 0.3)).explain())


def test_streams_are_called_by_their_column() -> None:
    chain = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]], states=["out", "in"])
    text = str(solution_of(po.Redaction(chain, 5, 2, 1.0)).explain())
    assert "What is protected is record 2 of 5" in text


def test_a_receipt_adds_what_is_kept_and_groups_of_equal_rows(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    problem = PROBLEMS["lip"]
    solution = solution_of(problem)
    place = tmp_path_factory.mktemp("a") / "out.csv"
    place.write_text("released,town\nB0,N\nB0,S\n", encoding="utf-8")
    receipt = make_receipt(
        solution.mechanism,
        solution.certificate,
        {"education": ["school", "master"]},
        place,
        {"released": ["B0", "B0"]},
        kept=["town"],
        copied={"town": ["N", "S"]},
        how="drawn",
        kept_leakage=0.6,
        accepted_leakage=0.7,
        kept_how="counted from the 2 rows of this table",
    )
    assert receipt.smallest == (1, 1)
    sentences = explain(problem, solution, receipt).sentences
    assert len(sentences) <= MOST
    text = " ".join(sentences)
    assert "'town' was copied as it is: together they leak a factor of 1.823 (0.6 nats) about income" in text
    assert "a factor of 2.014 (0.7 nats) was accepted" in text
    assert "1 row before the release and 1 row after it" in text


def test_the_codebook_of_several_columns_is_checked_in_public_too(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = tmp_path_factory.mktemp("b") / "public.zip"
    problem = PROBLEMS["lip"]
    solution = po.solve(problem)
    book = codebook(solution.mechanism, JOINT.useful, JOINT.p_x)
    po.bundle(place, problem, solution, codebook=book, public=True)
    told = po.verify_bundle(place)
    assert "the parts of the bundle belong together" in told.reason
    po.bundle(place, problem, solution, codebook=book)
    assert po.verify_bundle(place).ok


def test_verify_and_audit_call_releases_as_the_table_does() -> None:
    matrix = np.where(np.eye(len(JOINT.useful)) > 0, 0.4, 0.6 / (len(JOINT.useful) - 1))
    channel = po.Channel(matrix, JOINT.useful, columns=JOINT.columns)
    written = {cells[0] for cells in channel.cells}
    assert written == {"B0", "B1", "B2", "B3"}
    problem = PROBLEMS["lip"]
    certificate = problem.certify(channel)
    named = certificate.where.split("'")[1]
    assert named in written
    assert channel.cells[channel.outputs.index(certificate.worst[1])] == (named,)
    assert problem.evaluate(channel).where == certificate.where
    solution = replace(solution_of(problem), answer=channel, certificate=certificate)
    told = solution.audit(FRAME)
    assert {told.worst[1], told.fewest_of_release[1][0], told.fewest_of_pair[1][1]} <= written
    bare = po.Channel(channel.matrix, JOINT.useful)
    assert problem.certify(bare).where.startswith(f"the release {certificate.worst[1]!r} shifts")


def test_each_value_of_the_secret_has_a_row_with_its_extremes() -> None:
    solution = po.solve(PROBLEMS["lip"])
    told = solution.explain()
    after = JOINT.table @ solution.mechanism.matrix
    assert [row[0] for row in told.cases] == list(JOINT.sensitive)
    for s, (_, before, most, _, times, least, _) in enumerate(told.cases):
        posterior = after[s] / after.sum(axis=0)
        percent = [float(text.removesuffix(" %")) / 100 for text in (before, most, least)]
        assert percent == pytest.approx([after[s].sum(), posterior.max(), posterior.min()], rel=6e-3)
        assert float(times) == pytest.approx(posterior.max() / after[s].sum(), rel=1e-3)
    assert str(told).count("\n") > len(told.sentences) + len(told.cases)
    assert "<table" in told.html()
    many = po.JointDistribution.normalised(np.arange(1, 22).reshape(7, 3))
    assert po.solve(po.LocalInformationPrivacy(many, 0.5)).explain().cases == ()
    assert po.solve(po.Redaction(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 4, 1, 1.0)).explain().cases == ()


def test_what_is_proved_is_said_beside_a_budget_that_is_not_used_up() -> None:
    problem = po.LocalInformationPrivacy(JOINT, 2.0)
    solution = solution_of(problem)
    assert solution.certificate is not None
    sentence = solution.explain().sentences[1]
    assert "at most 7.39" in sentence
    assert sentence.endswith("that is the budget, and of this release 1 times is proved.")
    full = po.solve(PROBLEMS["lip"]).explain().sentences[1]
    assert "is the budget" not in full
