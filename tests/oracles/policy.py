"""Sequence policies followed in exact fractions along one path of releases, and a rule that asks for too much."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import privopt as po
from privopt.core.exact import exp_at_least
from privopt.mechanisms.policy.rules import Setting, register_rule

Fractions = list[Fraction]


@dataclass(frozen=True)
class Greedy:
    """Proposes the cheapest output for every input: far too much leakage."""

    name: str = "test-greedy"

    def propose(self, setting: Setting, beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
        n, m = setting.cost.shape
        kernel = np.zeros((len(beliefs), n, m))
        kernel[:, np.arange(n), setting.cost.argmin(axis=1)] = 1.0
        return kernel


@dataclass(frozen=True)
class Broken:
    """Proposes numbers that are no kernel at all."""

    name: str = "test-broken"

    def propose(self, setting: Setting, beliefs: NDArray[np.float64]) -> NDArray[np.float64]:
        rng = np.random.default_rng(len(beliefs))
        kernel = rng.normal(size=(len(beliefs), *setting.cost.shape)) * 10.0 ** rng.integers(-9, 9)
        kernel[rng.random(kernel.shape) < 0.2] = np.nan
        return kernel


GREEDY, BROKEN = register_rule(Greedy()), register_rule(Broken())


def random_chain(seed: int, *, zeros: bool = False, largest: int = 5) -> po.MarkovChain:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, largest + 1))
    table = rng.dirichlet(np.full(n, 0.5), size=n)
    if zeros:
        table[rng.random(table.shape) < 0.4] = 0.0
    table[np.arange(n), (np.arange(n) + 1) % n] += 0.05
    first = np.eye(n)[0] if zeros else rng.dirichlet(np.ones(n))
    return po.MarkovChain.normalised(table, first)


def spelled(chain: po.MarkovChain, state: int) -> object:
    """The letter of a state."""
    label = chain.states[state]
    return label[-1] if chain.order > 1 and isinstance(label, tuple) else label


class Path:
    """The exact belief over states along one path of releases."""

    def __init__(self, policy: po.SequencePolicy) -> None:
        self.policy, self.chain = policy, policy.chain
        self.belief: Fractions = [self.chain.exact_initial.fraction(i) for i in range(self.chain.k)]
        self.state = policy.start()

    def distance(self) -> float:
        """Hilbert distance, or nearly (e^h - 1), of the policy's belief from the exact one, whose supports must agree."""
        pairs = list(zip(self.state.belief, self.belief, strict=True))
        assert all((b > 0) == (exact > 0) for b, exact in pairs)
        ratios = [Fraction(b) / exact for b, exact in pairs if exact]
        return float(max(ratios) / min(ratios) - 1)

    def ways(self) -> list[tuple[tuple[int, ...], Fraction]]:
        """Paths of states that the next release reads, with their exact probabilities."""
        ways = [((i,), p) for i, p in enumerate(self.belief) if p]
        for t in range(self.policy.batch - 1):
            rows = self.chain.exact_step(self.state.step * self.policy.batch + t)
            ways = [
                ((*way, j), p * rows[way[-1]].fraction(j))
                for way, p in ways
                for j in range(self.chain.k)
                if rows[way[-1]].weights[j]
            ]
        return ways

    def place(self, way: tuple[int, ...]) -> int:
        word = tuple(spelled(self.chain, i) for i in way)
        return self.policy.setting.inputs.index(word if self.policy.batch > 1 else word[0])

    def check_and_move(self, rng: np.random.Generator) -> None:
        """Prove the leakage of the next release at the exact belief; then follow one release that is drawn."""
        weights = self.policy.kernels(np.array([self.state.belief]), self.state.step)[0][0].tolist()
        distribution: dict[int, Fraction] = {}
        for way, p in self.ways():
            distribution[self.place(way)] = distribution.get(self.place(way), Fraction(0)) + p
        shares = [
            sum((p * weights[x][y] for x, p in distribution.items()), Fraction(0))
            for y in range(len(weights[0]))
        ]
        epsilon = self.policy.batch * self.policy.epsilon
        for y, share in enumerate(shares):
            if share:
                for ratio in {weights[x][y] / share for x in distribution}:
                    assert exp_at_least(epsilon, ratio.numerator, ratio.denominator)
                    assert exp_at_least(epsilon, ratio.denominator, ratio.numerator)
        odds = np.array([float(share / 2**52) for share in shares])
        y = int(rng.choice(len(odds), p=odds / odds.sum()))
        self._move(weights, y)
        self.state = self.policy.advance(self.state, self.policy.setting.outputs[y])

    def _move(self, weights: list[list[int]], y: int) -> None:
        after = [Fraction(0)] * self.chain.k
        for way, p in self.ways():
            after[way[-1]] += p * weights[self.place(way)][y]
        total = sum(after)
        rows = self.chain.exact_step(self.state.step * self.policy.batch + self.policy.batch - 1)
        moved = [
            sum((p / total * rows[i].fraction(j) for i, p in enumerate(after)), Fraction(0))
            for j in range(self.chain.k)
        ]
        self.belief = [_shortened(p) for p in moved]


def _shortened(p: Fraction) -> Fraction:
    """To 600 significant bits, so that the fractions of long paths stay small."""
    if p.denominator.bit_length() < 4000:
        return p
    bits = p.denominator.bit_length() - p.numerator.bit_length() + 600
    return Fraction((p.numerator << bits) // p.denominator, 1 << bits)
