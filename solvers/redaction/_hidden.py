"""The expected weight that a table of redaction probabilities hides, with its slopes: record by record, or while nothing nearer was released."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats
from privopt.measures.redaction.leakage import steps_away
from privopt.problems.redaction.problem import Redaction


class Hidden(ABC):
    """The expected weight of the records that a mechanism hides."""

    @abstractmethod
    def value(self, table: Floats) -> float:
        """The weight that a table of redaction probabilities hides, shape (n, k)."""

    @abstractmethod
    def slopes(self, table: Floats) -> Floats:
        """Its derivatives by the probabilities, shape (n, k)."""


@dataclass(frozen=True, eq=False)
class Records(Hidden):
    """Every record by itself.

    Examples
    --------
    >>> Records(np.array([[0.25, 0.25], [0.5, 0.5]])).value(np.array([[1.0, 1.0], [0.5, 0.0]]))
    0.75
    """

    weights: Floats

    def value(self, table: Floats) -> float:
        """The weight that a table of redaction probabilities hides."""
        return float((self.weights * table).sum())

    def slopes(self, table: Floats) -> Floats:
        """Its derivatives by the probabilities."""
        return self.weights


@dataclass(frozen=True, eq=False)
class Away(Hidden):
    """A record stays hidden while nothing was released between it and the one private record, or by itself.

    With a the chances of the values of a record while all up to it are hidden, a' = (a S) r is that of the next one, S being the
    step away from the private record and r the redaction probabilities; and c = w + S' (r' c') is what each hides from there on.
    So the slope by r' is (a S) c'.

    Parameters
    ----------
    problem : Redaction
        In the sequential form.
    """

    problem: Redaction
    _steps: list[list[Floats]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        (p,) = self.problem.private
        n = self.problem.length
        sources, counts = steps_away(self.problem.utility_chain, p, n), (p, n - 1 - p)
        self._steps.extend(list(itertools.islice(s, m)) for s, m in zip(sources, counts, strict=True))

    def value(self, table: Floats) -> float:
        """The weight that a table of redaction probabilities hides."""
        (p,) = self.problem.private
        weights = self.problem.record_weights
        total = float(weights[p])
        for side in (0, 1):
            for t, reached in self._reached(table, side):
                total += float(weights[t] * (reached @ table[t]))
        return total

    def slopes(self, table: Floats) -> Floats:
        """Its derivatives by the probabilities; those of the private record count as none."""
        weights, slopes = self.problem.record_weights, np.zeros(table.shape)
        for side in (0, 1):
            reached, onwards = list(self._reached(table, side)), np.zeros(table.shape[1])
            for distance in range(len(reached), 0, -1):
                t, chances = reached[distance - 1]
                ahead = self._steps[side][distance] @ onwards if distance < len(reached) else 0.0
                worth = weights[t] + ahead
                slopes[t] = chances * worth
                onwards = table[t] * worth
        return slopes

    def _reached(self, table: Floats, side: int) -> list[tuple[int, Floats]]:
        """The records of a side, nearest first, with the chances of their values while all nearer ones are hidden."""
        (p,) = self.problem.private
        alive, found = np.array(self.problem.utility_chain.marginal(p)), list[tuple[int, Floats]]()
        for distance, step in enumerate(self._steps[side], start=1):
            t = p + distance if side else p - distance
            chances = alive @ step
            found.append((t, chances))
            alive = chances * table[t]
            if not alive.any():
                break
        return found


def hidden(problem: Redaction) -> Hidden:
    """What tables hide in the form of a problem.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> chain = MarkovChain([[0.5, 0.5], [0.25, 0.75]])
    >>> away = hidden(Redaction(chain, 3, 0, 1.0, form="sequential"))
    >>> away.value(np.array([[1.0, 1.0], [0.5, 0.5], [1.0, 1.0]]))
    2.0
    """
    return Away(problem) if problem.form == "sequential" else Records(problem.weighted_marginals)
