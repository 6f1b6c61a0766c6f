"""Example 1 of the paper: two letters, and how their noise is correlated; by enumeration, with printed formulas beside.

Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Example 1, Appendices
D and E. X1 = 1 with probability P1, X2 differs from X1 with probability phi, N = 1 where a release is wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privopt.benchmarks.papers.sequences import leakages, printed
from privopt.mechanisms._hamming_cases import Floats


@dataclass(frozen=True)
class Example:
    """Two letters released by the printed kernel with budgets e1 and e2.

    Examples
    --------
    >>> example = Example(0.5, 0.2, 2.0, 2.0)
    >>> [round(v, 7) for v in (example.data, example.noise1, example.noise2, example.noise)]
    [0.6, 0.0676676, 0.0494547, 0.048803]
    >>> round(example.information, 8)
    0.00098982
    """

    p1: float
    phi: float
    e1: float
    e2: float

    @cached_property
    def prior(self) -> Floats:
        """Law of the first letter."""
        return np.array([1 - self.p1, self.p1])

    @cached_property
    def transition(self) -> Floats:
        """Law of the second letter given the first."""
        return np.array([[1 - self.phi, self.phi], [self.phi, 1 - self.phi]])

    @cached_property
    def first(self) -> Floats:
        """Kernel of the first step, [x1, y1]."""
        return np.asarray(printed(self.e1)(self.prior[None, :])[0])

    @cached_property
    def beliefs(self) -> Floats:
        """Belief of the second letter, [y1, x2]."""
        posterior = (self.prior[:, None] * self.first).T
        return np.asarray((posterior / posterior.sum(axis=1, keepdims=True)) @ self.transition)

    @cached_property
    def second(self) -> Floats:
        """Kernels of the second step, [y1, x2, y2]."""
        return np.asarray(printed(self.e2)(self.beliefs))

    @cached_property
    def law(self) -> Floats:
        """Joint law, [x1, x2, y1, y2]."""
        return np.asarray(
            np.einsum("a,ab,ac,cbd->abcd", self.prior, self.transition, self.first, self.second)
        )

    @cached_property
    def wrong(self) -> Floats:
        """Law of the two errors, [n1, n2]."""
        table = np.zeros((2, 2))
        for (x1, x2, y1, y2), chance in np.ndenumerate(self.law):
            table[int(x1 != y1), int(x2 != y2)] += chance
        return table

    @property
    def noise1(self) -> float:
        """Pr(Y1 != X1)."""
        return float(self.wrong[1].sum())

    @property
    def noise2(self) -> float:
        """Pr(Y2 != X2)."""
        return float(self.wrong[:, 1].sum())

    @property
    def data(self) -> float:
        """Correlation of the letters."""
        return correlation(self.law.sum(axis=(2, 3)))

    @property
    def noise(self) -> float:
        """Correlation of the errors."""
        return correlation(self.wrong)

    @property
    def information(self) -> float:
        """Mutual information of the errors, in nats."""
        apart = np.outer(self.wrong.sum(axis=1), self.wrong.sum(axis=0))
        used = self.wrong > 0
        return float((self.wrong[used] * np.log(self.wrong[used] / apart[used])).sum())

    @property
    def leakage(self) -> float:
        """Largest leakage of the second step."""
        return float(leakages(self.beliefs, self.second).max())

    @property
    def private(self) -> bool:
        """Whether both steps keep their budgets."""
        begun = float(leakages(self.prior[None, :], self.first[None])[0])
        return begun <= self.e1 + 1e-9 and self.leakage <= self.e2 + 1e-9


def correlation(table: Floats) -> float:
    """Correlation coefficient of two binary variables with a joint law, [0..1, 0..1].

    Examples
    --------
    >>> correlation(np.array([[0.5, 0.0], [0.0, 0.5]]))
    1.0
    """
    a, b = float(table[1].sum()), float(table[:, 1].sum())
    return (float(table[1, 1]) - a * b) / math.sqrt(a * (1 - a) * b * (1 - b))


def printed_correlation(p1: float, phi: float) -> float:
    """Equation (16)."""
    top = (1 - 2 * phi) * math.sqrt(p1 * (1 - p1))
    return top / math.sqrt((p1 * phi + (1 - p1) * (1 - phi)) * ((1 - p1) * phi + p1 * (1 - phi)))


def printed_posteriors(p1: float, phi: float, e1: float) -> Floats:
    """Equations (49) to (52), [x1, x2] given y1 = 1, with epsilon_1 throughout."""
    low = math.exp(-e1)
    rows = np.array([(1 - p1) * low, (math.exp(e1) - 1 + p1) * low])
    return np.asarray(rows[:, None] * np.array([[1 - phi, phi], [phi, 1 - phi]]))


def printed_second(p1: float, phi: float, e1: float, e2: float) -> Floats:
    """The four entries of Appendix D: q(1) for x2 = 0, then q(0) for x2 = 1, given y1 = 1, then y1 = 0."""
    e, scale = math.exp(e1), math.exp(-e1 - e2)
    entries = (
        phi * (1 - p1) + (1 - phi) * (e - 1 + p1),
        (1 - phi) * (1 - p1) + phi * (e - 1 + p1),
        phi * (e - p1) + (1 - phi) * p1,
        (1 - phi) * (e - p1) + phi * p1,
    )
    return scale * np.array(entries)


def printed_noise(example: Example) -> tuple[float, float]:
    """Pr(N2 = 1 | N1 = 1) by Equations (54) to (56), and the noise correlation by Appendix E, its roots left out."""
    p1, phi = example.p1, example.phi
    to_one, to_zero = printed(example.e1)(example.prior[None, :])[0][[0, 1], [1, 0]]
    after_one, after_zero = example.second[1], example.second[0]
    zero = ((1 - phi) * after_one[0, 1] + phi * after_one[1, 0]) * (1 - p1) * to_one
    one = (phi * after_zero[0, 1] + (1 - phi) * after_zero[1, 0]) * to_zero * p1
    given = float((zero + one) / ((1 - p1) * to_one + p1 * to_zero))
    n1, n2 = example.noise1, example.noise2
    return given, (given * n1 - n1 * n2) / (n1 * (1 - n1) * n2 * (1 - n2))
