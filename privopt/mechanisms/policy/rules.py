"""Rules: how a policy turns a belief into a kernel; anyone may propose one, the policy checks what it gets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism, UnsuitableSolver
from privopt.files.labels import Labels
from privopt.mechanisms.policy.costs import Distortion, costs
from privopt.mechanisms.policy.fixed import means
from privopt.mechanisms.policy.hamming_rows import overlap, rows
from privopt.mechanisms.policy.words import Paths, paths
from privopt.models import MarkovChain

MAX_CELLS = 2**25
LARGEST = 40.0
"""Beyond, e^-epsilon is less than what floats keep of 1."""


@dataclass(frozen=True)
class Setting:
    """What one release of a policy is about; everything a rule may know besides the belief.

    Parameters
    ----------
    chain : MarkovChain
    batch : int
        Letters in one release.
    epsilon : float
        Budget of one release, in nats: ``batch`` times that of a letter.
    distortion : "hamming", "l1", "squared", or a matrix over letters

    Examples
    --------
    >>> setting = Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 2, 1.0, "hamming")
    >>> setting.inputs, setting.cost[0].tolist()
    (((0, 0), (0, 1), (1, 0), (1, 1)), [0.0, 0.5, 0.5, 1.0])
    """

    chain: MarkovChain
    batch: int
    epsilon: float
    distortion: Distortion

    @property
    def letters(self) -> Labels:
        """Labels of the letters."""
        return self.chain.letters

    @property
    def paths(self) -> Paths:
        """How inputs follow from the states of the chain."""
        return paths(self.chain, self.batch)

    @cached_property
    def letter_cost(self) -> Floats:
        """Distortion D[x, y] of single letters, shape (letters, columns)."""
        return costs(self.distortion, self.letters)

    @cached_property
    def inputs(self) -> Labels:
        """Letters; for ``batch`` > 1 the words, tuples of letters, that some state can start."""
        if self.batch == 1:
            return self.letters
        return tuple(tuple(self.letters[i] for i in word) for word in self.paths.words.tolist())

    @cached_property
    def outputs(self) -> Labels:
        """Labels of releases: the inputs, or columns (and words of columns) of a distortion that is not square."""
        n, m = self.letter_cost.shape
        if n == m:
            return self.inputs
        return tuple(range(m)) if self.batch == 1 else tuple(product(range(m), repeat=self.batch))

    @cached_property
    def cost(self) -> Floats:
        """Distortion of inputs (rows) and outputs (columns): the mean over their letters.

        Raises
        ------
        InvalidMechanism
            If the table would have more than 2**25 cells.
        """
        one = self.letter_cost
        if self.batch == 1:
            return one
        words = self.paths.words
        square = one.shape[0] == one.shape[1]
        count = len(words) if square else one.shape[1] ** self.batch
        if len(words) * count > MAX_CELLS:
            raise InvalidMechanism(
                f"words of {self.batch} letters make a table of {len(words)} x {count}, more than {MAX_CELLS} cells: lower batch"
            )
        others = words if square else np.array(self.outputs)
        total = sum(one[words[:, i][:, None], others[:, i][None, :]] for i in range(self.batch))
        return np.asarray(total / self.batch)


class Rule(Protocol):
    """A way to propose kernels. It is never believed: the policy mixes, rounds and checks what it gets."""

    @property
    def name(self) -> str:
        """What policies call it."""
        ...

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Row-stochastic kernels for beliefs over inputs: (M, n) in, (M, n, m) out; deterministic."""
        ...


_rules: dict[str, Rule] = {}
_discover: list[Callable[[], object]] = []


def register_rule(rule: Rule) -> Rule:
    """Enter a rule under its name.

    Raises
    ------
    ValueError
        If the name is taken by a rule of another class.
    """
    taken = _rules.get(rule.name)
    if taken is not None and type(taken).__qualname__ != type(rule).__qualname__:
        raise ValueError(f"rule {rule.name!r} is registered twice, by {taken!r} and {rule!r}")
    _rules[rule.name] = rule
    return rule


def on_missing_rule(discover: Callable[[], object]) -> None:
    """Call this before a rule is given up as unknown; it may register more."""
    _discover.append(discover)


def rule_names() -> tuple[str, ...]:
    """Every known rule, after a search for more."""
    for discover in _discover:
        discover()
    return tuple(sorted(_rules))


def find_rule(name: str) -> Rule:
    """A rule by its name.

    Raises
    ------
    UnsuitableSolver
        If there is none of that name, after a search for more.

    Examples
    --------
    >>> find_rule("closed-form").name
    'closed-form'
    """
    if name not in _rules and name not in rule_names():
        raise UnsuitableSolver(f"no rule is called {name!r}; there are {', '.join(sorted(_rules))}")
    return _rules[name]


def capped(epsilon: float) -> float:
    """The level of the closed form: finite budgets up to 40, for rounding."""
    return epsilon if epsilon == math.inf else min(epsilon, LARGEST)


@dataclass(frozen=True)
class HammingRule:
    """The closed form of least Hamming error, letter by letter."""

    name: str = "closed-form"

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Optimal kernels for all beliefs at once, shape (M, n, n).

        Raises
        ------
        InvalidMechanism
            If the distortion is not "hamming", or a release has more than one letter.

        Examples
        --------
        >>> setting = Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1, 1.0, "hamming")
        >>> HammingRule().propose(setting, np.array([[0.6, 0.4]])).round(4).tolist()
        [[[0.8528, 0.1472], [0.2207, 0.7793]]]
        """
        if setting.distortion != "hamming" or setting.batch != 1:
            raise InvalidMechanism(
                'the rule "closed-form" knows the Hamming distortion of single letters; name another rule for this one'
            )
        mine = rows(beliefs, capped(setting.epsilon))
        shares = overlap(
            mine.start[:, :, None], mine.width[:, :, None], mine.begin[:, None, :], mine.end[:, None, :]
        )
        kernel = shares
        kernel *= (1.0 - mine.keep - mine.side).clip(0.0)[:, :, None]
        at, users = np.arange(beliefs.shape[1]), np.arange(len(beliefs))
        kernel[:, at, at] += mine.keep
        aside = np.flatnonzero(mine.extra >= 0)
        kernel[aside, :, mine.extra[aside]] += mine.side[aside]
        law = means(mine.belief, kernel)
        impossible = mine.belief == 0
        if impossible.any():
            kernel = np.where(impossible[:, :, None], law[:, None, :], kernel)
        kernel *= mine.levels.room
        kernel += mine.levels.low * law[:, None, :]
        place = np.argsort(mine.order, axis=1, kind="stable")
        return np.asarray(kernel[users[:, None, None], place[:, :, None], place[:, None, :]])


register_rule(HammingRule())
