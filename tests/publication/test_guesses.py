"""Guesses against policies: exact before any release, and after them in the interval that is stated."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
import pytest

import privopt as po
from privopt.publication import guesses
from privopt.publication.guesses import of_policy
from privopt.publication.parts import guess_sentence

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], states=["in", "out"])


def by_enumeration(policy: po.SequencePolicy, length: int) -> float:
    """The share that is guessed right, over all releases of all letters."""
    seen: dict[tuple[int, ...], float] = defaultdict(float)
    for outputs in product(range(2), repeat=length):
        state, rows = policy.start(), []
        for y in outputs:
            kernel = policy.kernel(state.belief, state.step)
            rows.append(kernel.matrix[:, y])
            if not (np.array(state.belief) @ rows[-1]) > 0:
                break  # never released after those before it
            state = policy.advance(state, kernel.outputs[y])
        if len(rows) < length or not (np.array(rows[-1]) > 0).any():
            continue
        for path in product(range(2), repeat=length):
            chance = float(policy.chain.initial[path[0]])
            for t in range(length):
                chance *= float(rows[t][path[t]])
                chance *= 1.0 if t == 0 else float(policy.chain.step(t - 1)[path[t - 1], path[t]])
            for t in range(length):
                seen[*outputs, t, path[t]] += chance
    places = [(*outputs, t) for outputs in product(range(2), repeat=length) for t in range(length)]
    return sum(max(seen[*place, 0], seen[*place, 1]) for place in places) / length


@pytest.mark.parametrize(("epsilon", "length"), [(0.3, 3), (1.0, 4), (2.0, 5)])
def test_the_share_that_is_guessed_is_in_the_interval_that_is_stated(epsilon: float, length: int) -> None:
    policy = po.SequencePolicy(CHAIN, epsilon)
    told = of_policy(policy, length)
    assert told.interval is not None
    assert told.before == pytest.approx(float(CHAIN.marginals(length).max(axis=1).mean()))
    assert told.interval[0] <= by_enumeration(policy, length) <= told.interval[1]
    assert told.interval[1] - told.interval[0] < 0.15
    assert "with a confidence of 99 %)" in guess_sentence("the letters", told)


def test_few_kernels_are_computed_whatever_the_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each letter may cost a linear program."""
    released: list[int] = []

    def attack(policy: po.SequencePolicy, letters: list[object]) -> object:
        released.append(len(letters))
        return real(policy, letters)

    real = guesses.adversary
    monkeypatch.setattr(guesses, "adversary", attack)
    for horizon in (1, 7, 1000):
        released.clear()
        of_policy(po.SequencePolicy(CHAIN, 1.0), horizon)
        assert sum(released) <= guesses.RELEASES
        assert len(released) >= guesses.SEQUENCES


def test_constant_releases_help_nobody_and_nothing_is_called_simulated() -> None:
    told = of_policy(po.SequencePolicy(CHAIN, 0.0), 6)
    assert told.after == pytest.approx(told.before, abs=1e-12)
    assert guess_sentence("the letters", told).endswith("and the release does not help")


def test_words_are_drawn_whole() -> None:
    policy = po.SequencePolicy(CHAIN, 1.0, 2, rule="randomised-response")
    told = of_policy(policy, 5)
    assert told.interval is not None
    assert told.before <= told.interval[0] <= told.after <= told.interval[1] <= 1.0
    assert np.isfinite(told.after)
