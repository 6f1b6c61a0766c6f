"""What is said of releases that do not depend on the data, and the least budget at which one does."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.files.json import write_json
from privopt.mechanisms.policy.constant import is_constant
from privopt.mechanisms.policy.constant import least_epsilon as least_of_policy
from privopt.problems.redaction.least import least_epsilon
from privopt.publication.constant import SAID, constant_sentence

CHAIN = po.MarkovChain([[0.95, 0.05], [0.1, 0.9]])
DAY = po.MarkovChain.periodic(
    [[[0.9, 0.1], [0.4, 0.6]], [[0.75, 0.25], [0.5, 0.5]], [[0.8, 0.2], [0.25, 0.75]]]
)
PROBLEMS = [
    po.Redaction(CHAIN, 5, 1, 0.0),
    po.Redaction(CHAIN, 6, (0, 5), 0.0),
    po.Redaction(DAY, 8, 1, 0.0, period=3),
    po.Redaction(CHAIN, 5, 2, 0.0, form="sequential"),
    po.Redaction(po.MarkovChain([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]]), 4, 0, 0.0),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=range(len(PROBLEMS)))
def test_below_the_least_epsilon_no_release_is_feasible_and_above_it_one_is(problem: po.Redaction) -> None:
    """Every single release of a value with a small chance, alone: any other mechanism leaks at least as much as one."""
    least = least_epsilon(problem)
    assert least is not None
    levels: list[float] = []
    best = problem.safe()
    for t, v in itertools.product(range(problem.length), range(problem.chain.k)):
        if t not in problem.private:
            table = np.ones((problem.length, problem.chain.k))
            table[t, v] = 1 - 2.0**-40
            levels.append(problem.evaluate(problem.answer(table)).leakage)
            if levels[-1] == min(levels):
                best = problem.answer(table)
    assert least == pytest.approx(min(levels), rel=1e-9)
    assert problem.with_budget(least * (1 + 1e-9)).certify(best).ok
    assert not problem.with_budget(least * (1 - 1e-9)).certify(best).ok
    rng = np.random.default_rng(0)
    for _ in range(20):
        mechanism = problem.answer(rng.choice([0.0, 0.5, 1.0, 1.0], (problem.length, problem.chain.k)))
        if (mechanism.probabilities < 1).any():
            assert problem.evaluate(mechanism).leakage >= least - 1e-12


def test_the_sentence_of_a_redaction() -> None:
    problem = po.Redaction(CHAIN, 5, 1, 0.2)
    least = least_epsilon(problem)
    assert least is not None
    solution = po.solve(problem, time_limit=2.0)
    sentence = constant_sentence(problem, solution.mechanism)
    assert sentence.startswith(f"{SAID}; the least epsilon at which anything is released is ")
    assert float(sentence.split()[-2]) == pytest.approx(least, rel=1e-6)
    enough = problem.with_budget(float(sentence.split()[-2]) * (1 + 1e-6))
    better = po.solve(enough, time_limit=2.0)
    assert better.utility is not None
    assert better.utility > 0
    assert constant_sentence(enough, better.mechanism) == ""
    assert constant_sentence(enough, enough.safe()).endswith("this budget allows more: give it more time")
    informed = po.Redaction(CHAIN, 5, 1, 0.2, side_information="any")
    assert constant_sentence(informed, informed.safe()) == SAID
    cycle = po.Redaction(po.MarkovChain([[0.0, 1.0], [1.0, 0.0]]), 3, 0, 1.0)
    assert "no finite epsilon" in constant_sentence(cycle, cycle.safe())


@pytest.mark.parametrize("rare", [0.1, 0.3])
def test_a_policy_of_independent_letters_is_constant_up_to_a_known_budget(rare: float) -> None:
    """A release of the rarer letter pays once its posterior can reach one half."""
    chain = po.MarkovChain([[1 - rare, rare]] * 2)
    policy = po.SequencePolicy(chain, 0.1)
    bounds = least_of_policy(policy, 5)
    assert bounds is not None
    assert bounds[0] <= math.log(0.5 / rare) <= bounds[1] <= bounds[0] * 1.01
    assert is_constant(policy, 5)
    problem = po.SequenceInformationPrivacy(chain, 0.1, horizon=5)
    sentence = constant_sentence(problem, policy)
    assert sentence.startswith(f"{SAID}; the least epsilon at which anything is released lies between")
    assert constant_sentence(problem, po.SequencePolicy(chain, 3.0)) == ""


def test_a_policy_that_depends_on_letters_at_one_hour_of_the_day_only_is_not_constant() -> None:
    night, dawn = [[0.99, 0.01], [0.99, 0.01]], [[0.5, 0.5], [0.5, 0.5]]
    chain = po.MarkovChain.periodic([night, night, dawn])
    assert not is_constant(po.SequencePolicy(chain, 0.5), 6)
    assert is_constant(po.SequencePolicy(po.MarkovChain(night), 0.5), 6)


def test_a_constant_channel_is_said_to_be_one() -> None:
    joint = po.JointDistribution([[0.25, 0.25], [0.125, 0.375]])
    problem = po.LocalInformationPrivacy(joint, 0.0)
    assert constant_sentence(problem, po.Channel([[0.5, 0.5], [0.5, 0.5]])) == SAID
    assert constant_sentence(problem, po.Channel([[0.5, 0.5], [0.25, 0.75]])) == ""


def test_the_command_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_json(Path("problem.json"), po.Redaction(CHAIN, 5, 1, 0.2).to_dict())
    result = CliRunner().invoke(app, ["solve", "problem.json", "--time-limit", "2"])
    assert f"note         {SAID}; the least epsilon at which anything is released is " in result.output
