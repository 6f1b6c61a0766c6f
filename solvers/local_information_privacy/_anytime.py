"""The loop of column generation: master programme, walks and exact pricing, until proved or out of time."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from privopt.core.solver import Budget
from privopt.measures.shannon import entropy
from privopt.solvers.local_information_privacy._generation import Generation
from privopt.solvers.local_information_privacy._pricing import LARGEST, Search

ENOUGH = 20
"""Exact pricing pauses for the master programme once a posterior is cheaper than its price by so many tolerances."""

SLICE = 400
"""Boxes of exact pricing between walks at first; twice as many every time."""

PATIENCE = 4
"""Rounds of walks in a row that find nothing before exact pricing begins."""


FINEST = 1e-11
"""No proof in floats is driven further."""


class Anytime:
    """A run with two times on the clock of ``time.monotonic()``: when to turn to the proof, and the end.

    Attributes
    ----------
    best : Search or None
        The search whose bound is best.
    """

    def __init__(
        self, columns: Generation, budget: Budget, times: tuple[float, float], tolerance: float
    ) -> None:
        self.columns, self.budget, self.share = columns, budget, tolerance
        self.whole = (
            float(entropy(columns.law, normalise=True))
            if columns.pricing.matrix is None
            else _useful(columns)
        )
        self.turn, self.end = times
        self.best: Search | None = None
        self.boxes = self.searches = 0

    @property
    def tolerance(self) -> float:
        """Nats that the proof may leave open: a share of the utility reached, or of 1 if that is less."""
        return max(FINEST, self.share * min(1.0, self.whole - self.columns.value))

    def finish(self) -> str:
        """Run to the end, and say why it stopped."""
        while True:
            self._walk()
            search = self.columns.search(self.tolerance)
            self.searches += 1
            if self._overtaken(search):
                continue
            if search.done and search.least >= -self.tolerance:
                return "no other posterior would help"
            if self.columns.look(search) and time.monotonic() < self.turn:
                continue
            self._priced(search, -np.inf, np.inf)
            self.columns.look(search)
            return "out of time" if time.monotonic() >= self.end else _why(search)

    def _walk(self) -> None:
        """Walk until several rounds have found nothing."""
        budget, fruitless = replace(self.budget, deadline=self.turn), 0
        while budget.remaining > 0 and fruitless < PATIENCE:
            fruitless = 0 if self.columns.walk(budget) else fruitless + 1
            self.budget.progress(0.5, f"entropy left {self.columns.value:.6g}")

    def _overtaken(self, search: Search) -> bool:
        """Run a search, with walks in between; whether one of them found what makes it pointless."""
        boxes, enough = SLICE, -ENOUGH * self.tolerance
        while True:
            self._priced(search, enough, boxes)
            late = time.monotonic() >= self.turn
            if search.done or search.least <= enough or late or search.size >= LARGEST:
                return False
            boxes *= 2
            before = self.columns.value
            self.columns.walk(replace(self.budget, deadline=self.turn))
            if self.columns.value < before - self.tolerance:
                return True

    def _priced(self, search: Search, enough: float, boxes: float) -> None:
        """Go on with a search; until the turn, it pauses for the master programme."""
        before = search.nodes
        if time.monotonic() >= self.turn:
            enough, boxes = -np.inf, np.inf
        search.run(replace(self.budget, deadline=self.end), enough, boxes)
        self.boxes += search.nodes - before
        if self.best is None or self.value(search) > self.value(self.best):
            self.best = search

    def value(self, search: Search) -> float:
        """The lower bound on the entropy that is left, proved by a search."""
        return float(self.columns.law @ search.prices) + search.bound

    def stats(self, stop: str) -> dict[str, float | int | str]:
        """What was done."""
        return {
            "iterations": self.columns.rounds,
            "vertices": len(self.columns.master.costs),
            "searches": self.searches,
            "boxes": self.boxes,
            "programmes": self.columns.lp.solved,
            "stop": stop,
        }


def _useful(columns: Generation) -> float:
    """The entropy of X where it is seen through W."""
    matrix = columns.pricing.matrix
    return 0.0 if matrix is None else float(entropy(matrix @ columns.law, normalise=True))


def _why(search: Search) -> str:
    return "rounding hides what else would help" if search.done else "the proof is as long as may be stored"
