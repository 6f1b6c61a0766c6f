"""Missing records of a stream: the belief goes forward, the bound holds along every path, nothing is drawn twice."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from oracles.policy import random_chain

import privopt as po
from privopt.errors import FileRefused, InvalidMechanism
from privopt.mechanisms.policy.release import release_from

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5], ["home", "away"])
POLICY = po.SequencePolicy(CHAIN, 0.6)
DAY = po.MarkovChain.periodic([[[0.9, 0.1], [0.4, 0.6]], [[0.25, 0.75], [0.5, 0.5]]], states=["home", "away"])


def paths(chain: po.MarkovChain, length: int) -> list[tuple[tuple[int, ...], Fraction]]:
    """Every sequence of states with its exact probability."""
    weighted = []
    for states in itertools.product(range(chain.k), repeat=length):
        chance = chain.exact_initial.fraction(states[0])
        for t, (one, other) in enumerate(itertools.pairwise(states)):
            chance *= chain.exact_step(t)[one].fraction(other)
        if chance:
            weighted.append((states, chance))
    return weighted


@pytest.mark.parametrize("gaps", [p for p in itertools.product((False, True), repeat=4) if any(p)])
@pytest.mark.parametrize("chain", [CHAIN, DAY, random_chain(11, largest=3)], ids=["plain", "day", "three"])
def test_no_release_leaks_more_than_its_budget_whatever_is_missing(
    chain: po.MarkovChain, gaps: tuple[bool, ...]
) -> None:
    """Brute force over all sequences and outputs: each ratio Pr(y | x_t, before) / Pr(y | before), and of the whole."""
    policy, epsilon = po.SequencePolicy(chain, 0.6), 0.6
    sequences = paths(chain, 4)
    outputs = itertools.product(*[(None,) if gap else range(chain.k) for gap in gaps])
    for output in outputs:
        state, weights = policy.start(), [chance for _, chance in sequences]
        for t, release in enumerate(output):
            if release is None:
                state = policy.skip(1, state)
                continue
            kernel, total = policy.kernels(np.array([state.belief]), t)
            factors = [Fraction(int(kernel[0, path[t], release]), total) for path, _ in sequences]
            whole = sum(weights)
            mean = sum(w * f for w, f in zip(weights, factors, strict=True)) / whole
            if mean == 0:
                break
            for letter in range(chain.k):
                known = [i for i, (path, _) in enumerate(sequences) if path[t] == letter and weights[i]]
                if known:
                    assert abs(math.log(factors[known[0]] / mean)) <= epsilon + 1e-12
            weights = [w * f for w, f in zip(weights, factors, strict=True)]
            state = policy.advance(state, chain.letters[release])
        else:
            before = sum(chance for _, chance in sequences)
            ratios = [
                w / chance / (sum(weights) / before)
                for w, (_, chance) in zip(weights, sequences, strict=True)
                if w
            ]
            assert all(abs(math.log(ratio)) <= epsilon * gaps.count(False) + 1e-12 for ratio in ratios)


@pytest.mark.parametrize("chain", [CHAIN, DAY, random_chain(4)], ids=["plain", "day", "more"])
def test_a_gap_moves_the_belief_by_the_chain_alone(chain: po.MarkovChain) -> None:
    policy = po.SequencePolicy(chain, 1.0)
    assert policy.skip(3).belief == pytest.approx(chain.marginal(3), rel=1e-13)
    _, state = policy.step(policy.start(), chain.letters[0], np.random.default_rng(0))
    moved = np.array(state.belief) @ chain.step(1) @ chain.step(2)
    assert policy.skip(2, state).belief == pytest.approx(moved, rel=1e-13)
    assert policy.skip(2, state).step == 3


def test_gaps_in_streams_columns_and_tables_are_none_and_depend_on_no_letter() -> None:
    with_gaps = ["home", None, "away", float("nan"), "away", "away"]
    streamed = list(POLICY.release(iter(with_gaps)))
    assert [r is None for r in streamed] == [False, True, False, True, False, False]
    table = POLICY.release([["home", None, "away"], [None, None, "home"]])
    assert [[r is None for r in row] for row in table.tolist()] == [[False, True, False], [True, True, False]]
    simulated = POLICY.release(with_gaps, np.random.default_rng(1))
    assert simulated.simulated
    assert simulated[1] is None


def test_users_with_gaps_stand_where_skips_lead() -> None:
    codes = [np.array([0, -1, 1]), np.array([-1, -1]), np.array([1, 0, -1, 0])]
    released, states = release_from(POLICY, codes, [POLICY.start()] * 3, None)
    for row, given, end in zip(released, codes, states, strict=True):
        assert ((row < 0) == (given < 0)).all()
        state = POLICY.start()
        for code in row.tolist():
            state = POLICY.skip(1, state) if code < 0 else POLICY.advance(state, CHAIN.letters[code])
        assert state == end


def test_a_word_with_a_missing_letter_is_missing_whole() -> None:
    policy = po.SequencePolicy(CHAIN, 0.5, 2, rule="randomised-response")
    words = list(policy.release(iter(["home", None, "away", "away", None])))
    assert words[0] == (None, None)
    assert None not in words[1]
    assert words[2] == (None,)
    released = policy.release(["home", None, "away", "away"]).tolist()
    assert released[:2] == [None, None]
    assert None not in released[2:]


def test_the_journal_goes_on_after_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "journal.json"
    journal = POLICY.state(path)
    list(POLICY.release(iter(["home", None]), state=journal))
    fields = json.loads(path.read_text())
    assert (fields["version"], fields["step"], fields["last"]) == (2, 2, None)
    again = POLICY.state(path)
    assert (again.step, again.last, again.current) == (2, None, journal.current)
    after = POLICY.skip(4, again)
    assert POLICY.state(path).current == after
    assert after.step == 6
    (last,) = POLICY.release(iter(["away"]), state=again)
    fields = json.loads(path.read_text())
    assert (fields["version"], fields["step"], fields["last"]) == (1, 7, {"release": last})
    stale = POLICY.state(path)
    POLICY.skip(1, POLICY.state(path))
    with pytest.raises(FileRefused, match="another run"):
        POLICY.skip(1, stale)


def test_letters_after_a_gap_are_checked_by_what_can_be() -> None:
    cycle = po.MarkovChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]], [1, 0, 0])
    policy = po.SequencePolicy(cycle, math.inf)
    assert list(policy.release(iter([0, None, 2]))) == [0, None, 2]
    with pytest.raises(InvalidMechanism, match="record 2: the letter cannot follow"):
        list(policy.release(iter([0, None, 1])))
    with pytest.raises(InvalidMechanism, match="record 2"):
        policy.release([0, None, 1])


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_bad_counts_are_refused(count: object) -> None:
    with pytest.raises(InvalidMechanism, match="count must be a whole number"):
        POLICY.skip(count)  # type: ignore[arg-type]  # what a user may write


def test_a_gap_beyond_the_limit_or_the_chain_is_refused_and_nothing_recorded(tmp_path: Path) -> None:
    short = po.SequencePolicy(CHAIN, 0.5, limit=5)
    with pytest.raises(InvalidMechanism, match="larger limit"):
        short.skip(6)
    ended = po.SequencePolicy(CHAIN if CHAIN.period else DAY.unrolled(3), 0.5)
    journal = ended.state(tmp_path / "journal.json")
    with pytest.raises(InvalidMechanism, match="beyond the chain"):
        ended.skip(4, journal)
    assert not (tmp_path / "journal.json").exists()


def test_a_redaction_hides_what_is_missing_where_gaps_are_allowed() -> None:
    mechanism = po.RedactionMechanism([[1, 1], [0, 0], [0.5, 0.5], [0, 0]], ["a", "b"])
    assert mechanism.release(["a", None, "a", "b"], gaps=True).tolist()[1] is None
    with pytest.raises(InvalidMechanism, match="record 1: the letter is missing"):
        mechanism.release(["a", None, "a", "b"])
    walking = po.RedactionMechanism([[1, 1], [0, 0], [1, 1], [1, 1]], ["a", "b"], sequential=0)
    assert walking.release(["a", "b", "a", "b"], gaps=True).tolist() == [None, "b", "a", "b"]
    assert walking.release(["a", None, "a", "b"], gaps=True).tolist() == [None, None, None, None]
    assert walking.release(["a", "b", None, "b"], gaps=True).tolist() == [None, "b", None, "b"]


def test_the_column_that_a_chain_remembers_changes_no_fingerprint() -> None:
    letters = [["home", "home", "away", "away", "home", "away", "home"]]
    named, bare = po.MarkovChain.fit(letters, column="place"), po.MarkovChain.fit(letters)
    assert po.SequencePolicy(named, 1.0).fingerprint == po.SequencePolicy(bare, 1.0).fingerprint
    for problem in (po.Redaction(named, 5, 1, 1.0), po.Redaction(bare, 5, 1, 1.0)):
        assert problem.fingerprint == po.Redaction(bare, 5, 1, 1.0).fingerprint
        assert problem.safe().fingerprint == po.Redaction(bare, 5, 1, 1.0).safe().fingerprint
    written = po.Redaction(named, 5, 1, 1.0).safe().to_dict()
    assert written["stream"] == {
        "record": {"name": "place", "kind": "categorical", "labels": ["away", "home"]}
    }
    assert po.RedactionMechanism.from_dict(written).stream == named.columns
