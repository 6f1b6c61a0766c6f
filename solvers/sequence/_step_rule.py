"""A rule that asks a solver of one step for the kernel of each belief."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.errors import InvalidMechanism
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.rules import Setting
from privopt.problems.belief_release.problem import BeliefRelease

KEPT_CELLS = 4096
"""Kernels of more cells are not kept for the next time that a belief comes up."""


def question(setting: Setting, law: Floats, level: float) -> BeliefRelease:
    """The question of one step for a law of letters or words, at a level.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> question(Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1, 0.3, "hamming"), np.array([0.25, 0.75]), 1.0)
    BeliefRelease(2 letters, epsilon=1, distortion='hamming')
    """
    if setting.batch == 1 and isinstance(setting.distortion, str):
        return BeliefRelease(law.tolist(), level, setting.distortion, setting.letters)
    return BeliefRelease(law.tolist(), level, setting.cost)


@dataclass(frozen=True)
class StepRule:
    """The kernel that a solver of :class:`BeliefRelease` proposes for each belief, one at a time."""

    name: str

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels (M, n, m) for beliefs (M, n).

        Raises
        ------
        InvalidMechanism
            If the solver refuses the question, with its sentence.
        """
        cells = setting.cost.size
        ask = _kept if cells <= KEPT_CELLS else _kernel
        return np.array([ask(self.name, setting, tuple(row)) for row in beliefs.tolist()])


def _kernel(name: str, setting: Setting, belief: tuple[float, ...]) -> Floats:
    asked = question(setting, np.array(belief), setting.epsilon)
    solver = find_solver(asked, name)
    refusal = solver.refuse(asked)
    if refusal is not None:
        raise InvalidMechanism(f"the rule {name!r} cannot be used here: {refusal}")
    found = solver.run(asked, Budget()).mechanism
    if not isinstance(found, Channel):
        raise InvalidMechanism(f"the rule {name!r} found no kernel for the belief {belief}")
    return found.matrix


@lru_cache(maxsize=2048)
def _kept(name: str, setting: Setting, belief: tuple[float, ...]) -> Floats:
    return _kernel(name, setting, belief)
