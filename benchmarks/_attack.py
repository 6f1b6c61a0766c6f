"""How often an adversary who knows the model guesses the letters behind what a sequence policy releases."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt._problem import Problem
from privopt._solution import Solution
from privopt.measures.adversary import adversary
from privopt.mechanisms.sequence_policy import SequencePolicy
from privopt.models import MarkovChain
from privopt.problems._sequence_reading import QUICK
from privopt.problems.sequence_information_privacy import SequenceInformationPrivacy

SEQUENCES, LETTERS = 20, 48
"""Of the simulation: sequences, and the most letters of one."""
CELLS = 2**10
"""Of a kernel: rules that are no formulas take too long at more."""


def attack_accuracy(problem: Problem[Any], solution: Solution[Any], seed: int) -> float | None:
    """Share of letters that the best guess from all releases gets right, by a seeded simulation.

    For given releases the best guess is right with the largest posterior probability of each letter; that
    is averaged, over sequences drawn from the chain and released in simulation. It needs no guess to be drawn, and so
    has less error than counting.

    Returns
    -------
    float or None
        None unless the solution is a sequence policy whose kernels are quickly made: by a formula, or small.

    Examples
    --------
    >>> import privopt as po
    >>> question = po.BeliefRelease([0.6, 0.4], 0.5)
    >>> attack_accuracy(question, po.solve(question), 0) is None
    True
    """
    policy = solution.mechanism if solution.status.ok else None
    if not isinstance(problem, SequenceInformationPrivacy) or not isinstance(policy, SequencePolicy):
        return None
    if policy.rule not in QUICK and len(policy.setting.inputs) * len(policy.setting.outputs) > CELLS:
        return None
    rng = np.random.default_rng([seed, 0x5EC])
    length = min(LETTERS, problem.horizon)
    guessed = []
    for _ in range(SEQUENCES):
        letters = [policy.letters[i] for i in drawn(policy.chain, length, rng).tolist()]
        guessed.append(adversary(policy, policy.release(letters, rng)).expected_accuracy)
    return float(np.mean(guessed))


def drawn(chain: MarkovChain, length: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions of the letters of a simulated sequence.

    Examples
    --------
    >>> drawn(MarkovChain([[0.0, 1.0], [1.0, 0.0]], initial=[1, 0]), 4, np.random.default_rng(0)).tolist()
    [0, 1, 0, 1]
    """
    place = {letter: i for i, letter in enumerate(chain.letters)}
    letter = [place[s[-1] if chain.order > 1 and isinstance(s, tuple) else s] for s in chain.states]
    found, law = [], chain.initial
    for t in range(length):
        state = int(rng.choice(chain.k, p=law / law.sum()))
        found.append(letter[state])
        law = chain.step(t)[state] if t + 1 < length else law
    return np.array(found, dtype=np.int64)
