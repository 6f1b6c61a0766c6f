"""Explanations: short, plain, and with the numbers of the certificate, for every example of every problem."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.core.problem import Example
from privopt.core.registry import problem_types
from privopt.errors import FileRefused, InvalidProblem
from privopt.measures.sequence.total import stream_total
from privopt.publication import guesses
from privopt.publication.guesses import of_redaction
from privopt.publication.words import times
from privopt.publication.worst import chance

JARGON = (
    "nats", "epsilon", "ε", "lift", "log", "ratio", "posterior", "prior", "mutual", "entropy", "channel", "kernel", "adversary",
    "stochastic", "Sibson", "distribution", "Bayes", "Markov", "leakage", "mechanism", "symbol", "alphabet", "certificate", "None",
    "inf", "nan", "delta", "scope",
)  # fmt: skip
EXAMPLES = [
    pytest.param(example, id=f"{name}-{example.name}")
    for name, kind in problem_types().items()
    for example in kind.examples()
]
ROUNDED = 1e-2
"""Three digits, rounded up, are off by at most this, relatively."""


def factors(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"(?:at most|more than) ([\d.]+) times", text)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_explained_in_plain_sentences_with_its_own_numbers(example: Example[Any]) -> None:
    anchor = example.problem.anchor()
    certificate = example.problem.certify(anchor)
    solution = po.Solution[Any](
        po.Status.FEASIBLE,
        answer=anchor,
        certificate=certificate,
        problem=example.problem.fingerprint,
        instance=example.problem,
    )
    explanation = solution.explain()
    sentences, numbers = explanation.sentences, explanation.numbers
    assert 5 <= len(sentences) <= 8
    text = " ".join(sentences)
    assert not [word for word in JARGON if re.search(rf"\b{word}\b", text)], text
    assert all(
        sentence[0].isupper() and sentence.endswith(".") and ". " not in sentence for sentence in sentences
    ), sentences
    shown = factors(text)
    bounds = sorted(
        {numbers[name] for name in ("factor", "total") if name in numbers and 1 <= numbers[name] < 1e6}
    )
    if isinstance(example.problem, po.LocalInformationPrivacy) and example.problem.notion == "lip":
        sides = (example.problem.lower, example.problem.upper)
        bounds = [math.exp(side) for side in sides if math.isfinite(side)] if min(sides) > 0 else [1.0]
    for bound in bounds:
        assert any(bound * (1 - 1e-12) <= factor <= bound * (1 + ROUNDED) for factor in shown), (bound, text)
    if "utility" in numbers:
        low, high = certificate.utility
        assert low - 1e-12 <= numbers["utility"] <= high + 1e-12
    if "guessed after" in numbers:
        assert 0 <= numbers["guessed before"] <= numbers["guessed after"] + 1e-2 <= 1.01


def test_factors_are_never_below_what_is_proved() -> None:
    for nats in np.random.default_rng(0).uniform(0, 13, 500).tolist():
        assert math.exp(nats) <= float(times(nats)) * (1 + 1e-12) <= math.exp(nats) * 1.02


def test_guesses_of_a_redacted_record_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(1)
    for sequential in (None, 2):
        chain = po.MarkovChain(rng.dirichlet([1, 1, 1], size=3))
        table = rng.uniform(size=(5, 3))
        table[2] = 1.0
        mechanism = po.RedactionMechanism(table, sequential=sequential)
        told: dict[tuple[int | None, ...], np.ndarray[Any, Any]] = {}
        for path in np.ndindex(*(3,) * 5):
            weight = chain.initial[path[0]] * math.prod(chain.transition[a, b] for a, b in pairwise(path))
            for hidden in np.ndindex(*(2,) * 5):
                chance = math.prod(
                    table[t, v] if h else 1 - table[t, v]
                    for t, (v, h) in enumerate(zip(path, hidden, strict=True))
                )
                seen = tuple(None if h else v for v, h in zip(path, hidden, strict=True))
                told.setdefault(seen, np.zeros(3))[path[2]] += weight * chance
        best = of_redaction(chain, 2, mechanism)
        assert best is not None
        assert best.after == pytest.approx(max(sum(p.max() for p in told.values()), best.before), abs=1e-12)


VOTE = po.JointDistribution([[0.3, 0.1], [0.2, 0.4]], ["red", "blue"], ["young", "old"])


def test_guesses_of_a_table_are_those_of_the_best_reader() -> None:
    solution = po.solve(po.LocalInformationPrivacy(VOTE, 0.3))
    joint = VOTE.table @ solution.mechanism.matrix
    numbers = solution.explain().numbers
    assert numbers["guessed after"] == pytest.approx(joint.max(axis=0).sum())
    assert numbers["guessed before"] == pytest.approx(0.6)


def beliefs(table: list[list[Fraction]], channel: po.Channel) -> list[tuple[Fraction, Fraction]]:
    """Every belief in a private value without and with every release that occurs, in rationals."""
    rows = channel.exact()
    found = []
    for y in range(len(channel.outputs)):
        chances = [row.fraction(y) for row in rows]
        column = [sum((p * q for p, q in zip(line, chances, strict=True)), Fraction(0)) for line in table]
        total = sum(column, Fraction(0))
        found += [(sum(line), part / total) for line, part in zip(table, column, strict=True) if total]
    return [(Fraction(before), after) for before, after in found if before]


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_single_release_is_that_of_brute_force_in_rationals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = po.JointDistribution.normalised(rng.integers(1, 60, (3, 5)))
    places = po.MetricPrivacy(po.Metric.line(5), rng.dirichlet(np.ones(5)), "distance", 50.0)
    problems: list[tuple[po.Problem[Any], Any]] = [
        (po.LocalInformationPrivacy(joint, 20.0), joint.table),
        (po.PrivacyFunnel(joint, max_leakage=9.0), joint.table),
        (po.DistortionPrivacy(joint, 1 - np.eye(5), max_distortion=1.0), joint.table),
        (places, np.diag(places.p)),
    ]
    for problem, table in problems:
        labels = problem.anchor().inputs
        channel = po.Channel(rng.dirichlet(np.ones(5), 5), labels, labels).quantised()
        explanation = explained(problem, channel)
        found, numbers = beliefs(exact_table(table), channel), explanation.numbers
        most = max(after / before for before, after in found)
        assert numbers["single"] == pytest.approx(float(most), rel=1e-9)
        assert numbers["belief after"] / numbers["belief before"] == pytest.approx(float(most), rel=1e-9)
        rise = max(after - before for before, after in found)
        assert numbers["other belief after"] - numbers["other belief before"] == pytest.approx(
            float(rise), abs=1e-9
        )
        said = next(text for text in explanation.sentences if "rises most by the release" in text)
        assert f"from {chance(numbers['belief before'])} to {chance(numbers['belief after'])}" in said


def exact_table(table: Any) -> list[list[Fraction]]:
    """A table of floats as rationals that sum to 1."""
    rows = [[Fraction(p) for p in row] for row in np.asarray(table).tolist()]
    total = sum(map(sum, rows))
    return [[p / total for p in row] for row in rows]


def test_the_sentence_on_the_worst_release_names_it_as_it_is_written() -> None:
    channel = po.Channel([[0.9, 0.1], [0.5, 0.5]], ["young", "old"], ["low", "high"])
    said = next(s for s in certified(po.LocalInformationPrivacy(VOTE, 1.0), channel) if "rises most" in s)
    # P(red, low) = 0.32, P(low) = 0.7; P(blue, high) = 0.22, P(high) = 0.3
    assert said == (
        'The belief in a value of the secret rises most by the release "high": that it is "blue", from 60 % to 73.3 % (1.22 times).'
    )
    constant = po.Channel([[1.0], [1.0]], ["young", "old"], ["any"])
    assert "No single release raises the belief in a value of the secret." in certified(
        po.LocalInformationPrivacy(VOTE, 1.0), constant
    )


@pytest.mark.long
def test_text_page_and_pdf_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    explanation = po.solve(po.LocalInformationPrivacy(VOTE, 0.3)).explain()
    for name, start in (("a.txt", "What this"), ("a.html", "<!doctype"), ("a.pdf", "%PDF")):
        explanation.save(tmp_path / name)
        explanation.save(tmp_path / f"again-{name}")
        content = (tmp_path / name).read_bytes()
        assert content.startswith(start.encode())
        if name != "a.html":  # matplotlib names the parts of an SVG at random
            assert content == (tmp_path / f"again-{name}").read_bytes()
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "1.35 times" in page
    assert "<svg" in page
    assert "http" not in re.sub(
        r'(xmlns(:\w+)?="[^"]*")|<metadata>.*?</metadata>|<!--.*?-->', "", page, flags=re.DOTALL
    ).replace("http://www.w3.org", "")
    with pytest.raises(FileRefused, match=r"\.txt, \.html or \.pdf"):
        explanation.save(tmp_path / "a.doc")


def test_labels_are_escaped_in_the_page() -> None:
    joint = po.JointDistribution(VOTE.table, ["<script>", "b"], ["x", "y"])
    assert "<script>" not in po.solve(po.LocalInformationPrivacy(joint, 0.3)).explain().html()


def test_a_solution_from_a_file_needs_its_problem(tmp_path: Path) -> None:
    problem = po.LocalInformationPrivacy(VOTE, 0.3)
    solution = po.solve(problem)
    solution.save(tmp_path / "solution.json")
    loaded = po.Solution[Any].load(tmp_path / "solution.json")
    assert loaded == solution
    with pytest.raises(InvalidProblem, match="does not hold its problem"):
        loaded.explain()
    assert loaded.explain(problem) == solution.explain()
    with pytest.raises(InvalidProblem, match="answers another problem"):
        loaded.explain(problem.with_budget(0.2))


def test_what_is_not_proved_is_said_to_be_so() -> None:
    problem = po.LocalInformationPrivacy(VOTE, 0.3)
    assert "must not be used" in str(po.solve(problem, certify=False).explain())
    refused = replace(po.solve(problem), answer=None, status=po.Status.FAILED, reason="it stopped")
    assert "no release to explain: it stopped" in str(refused.explain())


WEATHER = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], states=["dry", "wet"])


def explained(problem: po.Problem[Any], mechanism: Any) -> Any:
    """The explanation of a mechanism that is proved."""
    certificate = problem.certify(mechanism)
    assert certificate.ok, certificate.reason
    solution = po.Solution[Any](
        po.Status.FEASIBLE,
        answer=mechanism,
        certificate=certificate,
        problem=problem.fingerprint,
        instance=problem,
    )
    return solution.explain()


def certified(problem: po.Problem[Any], mechanism: Any) -> list[str]:
    """The sentences on a mechanism."""
    return list(explained(problem, mechanism).sentences)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guesses against policies are simulated from few sequences."""
    monkeypatch.setattr(guesses, "SEQUENCES", 3)


@pytest.mark.long
@pytest.mark.usefixtures("few")
def test_an_error_that_was_simulated_is_said_to_be_about_what_it_was() -> None:
    problem = po.SequenceInformationPrivacy(WEATHER, 1.0, horizon=24)
    policy = po.SequencePolicy(WEATHER, 1.0, rule="structure-lp")
    assert problem.certify(policy).utility == (-1.0, 0.0)
    error = -problem.evaluate(policy).utility
    (said,) = [s for s in certified(problem, policy) if "A released letter" in s]
    assert said == f"A released letter is wrong in about {100 * error:.3g} % of cases on average."
    assert error < 0.25
    proved = po.SequenceInformationPrivacy(WEATHER, 1.0, horizon=7)
    assert any("is wrong in 16.5 % of" in s for s in certified(proved, po.SequencePolicy(WEATHER, 1.0)))


@pytest.mark.usefixtures("few")
def test_all_releases_of_a_stream_together_but_for_a_small_chance() -> None:
    problem = po.SequenceInformationPrivacy(WEATHER, 0.1, horizon=48)
    total = stream_total(po.SequencePolicy(WEATHER, 0.1), 48)
    assert total.usually < total.always
    assert certified(problem, po.SequencePolicy(WEATHER, 0.1))[-1] == (
        "The bounds of all releases multiply: over 48 records a course of the data can become at most "
        f"{times(total.always)} times as likely, and save in one case in a million at most {times(total.usually)} times."
    )


def test_a_release_that_does_not_depend_on_the_data_is_said_to_be_one() -> None:
    chain = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    nothing = po.Redaction(chain, 3, 0, 0.01)
    (said,) = [s for s in certified(nothing, nothing.safe()) if "does not depend" in s]
    assert said.startswith("Every record is hidden: ")
    (least,) = map(float, re.findall(r"another one is ([\d.]+) times", said))
    assert 1.1 <= least <= 1.1011
    policy = po.SequenceInformationPrivacy(po.MarkovChain([[0.9, 0.1], [0.9, 0.1]]), 0.5, horizon=4)
    assert any("is about 5.0" in s for s in certified(policy, po.SequencePolicy(policy.chain, 0.5)))
    table = po.LocalInformationPrivacy(VOTE, 0.3)
    flat = po.Channel([[0.5, 0.5], [0.5, 0.5]], VOTE.useful, VOTE.useful)
    assert any("does not depend on the data at all." in s for s in certified(table, flat))
    assert not any("does not depend" in s for s in po.solve(table).explain().sentences)


def test_private_records_of_every_period_are_said_by_their_place_in_it() -> None:
    day = po.Redaction(WEATHER, 720, 22, 1.0, period=24)
    assert (
        "What is protected is record 22 of every 24, counted from 0, in 720 records, against"
        in (certified(day, day.safe())[0])
    )
    two = po.Redaction(WEATHER, 48, (3, 22), 1.0, period=24)
    assert "each of the records 3 and 22 of every 24," in certified(two, two.safe())[0]


@pytest.mark.parametrize("kind", ["local", "distortion"])
def test_nothing_is_assumed_of_people_where_the_value_itself_is_protected_by_ratios(kind: str) -> None:
    """The bound on rows is checked for other people, who are spread in any way."""
    whole = po.JointDistribution(np.diag([0.5, 0.3, 0.2]), list("abc"), list("abc"))
    mixed = po.JointDistribution([[0.3, 0.1], [0.2, 0.4]])

    def problem(joint: po.JointDistribution, notion: str) -> po.Problem[Any]:
        if kind == "local":
            return po.LocalInformationPrivacy(joint, 1.0, notion=notion)
        return po.DistortionPrivacy(joint, 1 - np.eye(len(joint.useful)), max_leakage=1.0, leakage=notion)

    solution = po.solve(problem(whole, "ldp"))
    text = " ".join(solution.explain().sentences)
    assert "Nothing is assumed of how people are spread" in text
    assert "knows how it was made, and anything at all of how people are spread" in text
    assert "It is assumed" not in text
    others = po.JointDistribution(np.diag([0.01, 0.09, 0.9]), list("abc"), list("abc"))
    assert problem(others, "ldp").certify(solution.mechanism).ok
    for joint, notion in ((whole, "lip"), (mixed, "ldp")):
        told = " ".join(po.solve(problem(joint, notion)).explain().sentences)
        assert "It is assumed that people are spread exactly as the table" in told


def test_factors_are_those_that_certificates_write() -> None:
    problem = po.LocalInformationPrivacy(VOTE, 1.0, notion="ldp")
    solution = po.solve(problem)
    assert "2.719 times" in solution.explain().sentences[1]
    assert solution.certificate is not None
    assert "2.719 times" in solution.certificate.statement


def test_a_distance_is_said_in_its_unit() -> None:
    joint = po.JointDistribution(np.diag([0.5, 0.3, 0.2]), [20, 30, 40], [20, 30, 40])
    table = [[0, 10, 20], [10, 0, 10], [20, 10, 0]]
    problem = po.DistortionPrivacy(joint, table, max_distortion=4.0, unit="years")
    text = " ".join(po.solve(problem).explain().sentences)
    assert "years on average, where at most 4 years was asked for" in text
    assert "table of costs" not in text
