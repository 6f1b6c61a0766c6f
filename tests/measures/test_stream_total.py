"""All releases of a stream together: the sum always, less but for a small chance, against every output."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import privopt as po
from privopt.errors import InvalidProblem
from privopt.measures.sequence.total import stream_total

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])


@pytest.mark.parametrize("delta", [0.02, 0.2])
def test_both_levels_hold_over_every_sequence_and_output(delta: float) -> None:
    policy, length = po.SequencePolicy(CHAIN, 0.7), 6
    words = np.array(list(itertools.product(range(2), repeat=length)))
    odds = CHAIN.initial[words[:, 0]] * np.prod(
        [CHAIN.transition[words[:, t], words[:, t + 1]] for t in range(length - 1)], axis=0
    )
    total = stream_total(policy, length, delta)
    assert total.always == pytest.approx(length * 0.7)
    over, mass = 0.0, 0.0
    for path in itertools.product(range(2), repeat=length):
        likelihood, state = np.ones(len(words)), policy.start()
        for t, y in enumerate(path):
            likelihood = likelihood * policy.kernel(state.belief).matrix[words[:, t], y]
            state = policy.advance(state, y)
        joint = odds * likelihood
        levels = np.log(likelihood / joint.sum())
        assert np.abs(levels).max() <= total.always + 1e-12
        over += joint[levels > total.usually].sum()
        mass += joint.sum()
    assert mass == pytest.approx(1)
    assert over <= delta


def test_words_count_once_and_the_last_may_be_shorter() -> None:
    policy = po.SequencePolicy(CHAIN, 0.25, 4, rule="randomised-response")
    total = stream_total(policy, 11)
    assert (total.releases, total.each, total.always) == (3, 1.0, 2.75)
    assert stream_total(policy, 0).always == 0


def test_the_sentence_names_both_levels() -> None:
    policy = po.SequencePolicy(CHAIN, 0.1)
    total = stream_total(policy, 1000)
    assert total.usually < total.always / 2
    assert total.sentence().startswith(
        "1000 releases of at most 0.1 nats tell at most 100 nats about a course"
    )
    assert "but for a chance of 1e-06 at most" in total.sentence()
    assert "but for" not in stream_total(policy, 3).sentence()
    assert stream_total(po.SequencePolicy(CHAIN, math.inf), 2).sentence().endswith("no limit")


@pytest.mark.parametrize("records", [-1, 1.5, True])
def test_bad_numbers_of_records_are_refused(records: object) -> None:
    with pytest.raises(InvalidProblem, match="whole number"):
        stream_total(po.SequencePolicy(CHAIN, 0.1), records)  # type: ignore[arg-type]  # what a user may write
