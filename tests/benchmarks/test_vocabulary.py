"""What problems and instances are called, and that quantities are what a person expects of their names."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from privopt.benchmarks.runner.suite import collect, instance_sets, vocabulary
from privopt.benchmarks.runner.vocabulary import Vocabulary, merged, vocabulary_from_dict
from privopt.core.problem import Problem
from privopt.core.registry import problem_types, solvers_of
from privopt.core.words import SHARE, Words
from privopt.errors import FileRefused

KINDS = {kind: cls for kind, cls in problem_types().items() if cls.__module__.startswith("privopt.problems")}


@pytest.mark.parametrize("kind", KINDS)
def test_every_problem_has_a_title_a_short_one_and_a_sentence(kind: str) -> None:
    words = KINDS[kind].wording
    assert words != Words()
    assert len(words.title) <= 36
    assert len(words.short) <= 18
    assert words.asks.endswith(".")
    assert len(words.asks.split()) <= 25
    assert not re.search(r"[a-z]_[a-z]", words.title + words.short + words.asks)


def test_titles_are_distinct() -> None:
    titles = [cls.wording.title for cls in KINDS.values()]
    shorts = [cls.wording.short for cls in KINDS.values()]
    assert len(set(titles)) == len(set(shorts)) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_quantity_has_the_sign_and_the_range_of_its_name(kind: str) -> None:
    """Of a feasible mechanism a share is between 0 and 1, and what should be small is not negative."""
    for example in KINDS[kind].examples():
        problem: Problem[Any] = example.problem
        evaluation = problem.evaluate(problem.anchor())
        quantity = problem.quantity()
        value = quantity.of(evaluation.objective)
        if quantity.unit == SHARE:
            assert -1e-12 <= value <= 1 + 1e-12
        if quantity.sign < 0:
            assert value >= -1e-9
            assert math.copysign(1.0, value) == 1.0 or value < 0
        assert quantity.name
        assert quantity.budget


def test_the_simple_method_of_a_problem_is_one_of_its_solvers() -> None:
    for kind, instances in instance_sets().items():
        reference = instances.reference
        assert reference.solver in solvers_of(KINDS[kind])
        assert reference.does


def test_instances_of_the_quick_suite_have_titles_that_no_other_one_of_the_problem_has() -> None:
    known = vocabulary(collect("quick"))
    named = [(key.partition("/")[0], words.title, words.note) for key, words in known.instances.items()]
    assert len(set(named)) == len(named)
    assert all(title and not re.search(r"[a-z]_[a-z]", title) for _, title, _ in named)


def test_words_are_read_back_and_put_together() -> None:
    known = vocabulary(collect("quick"))
    assert vocabulary_from_dict(known.to_dict()) == known
    assert merged([Vocabulary(), known, known]) == known
    with pytest.raises(FileRefused, match="malformed"):
        vocabulary_from_dict({"problems": {"redaction": {}}, "instances": {}})
