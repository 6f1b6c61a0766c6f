"""The curve of one tab of the page: counted and computed by a thread of its own, which can be stopped."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

from privopt.errors import InvalidProblem, PrivoptError
from privopt.files.text import number
from privopt.studio.analysis import Analysis, Point
from privopt.studio.choice import Choice
from privopt.studio.table import Table

BROKEN = "The computation failed; the window of the command says how."


class Job:
    """A curve; every method may be called from any thread.

    Parameters
    ----------
    number : int
        By which the page asks for it.
    choice : Choice
    table : Table
    """

    def __init__(self, number: int, choice: Choice, table: Table) -> None:
        self.number, self.choice, self.table = number, choice, table
        self.analysis: Analysis | None = None
        self.points: dict[float, Point] = {}
        self._facts: dict[str, Any] | None = None
        self._shown: list[dict[str, Any]] = []
        self._budgets: list[float] = []
        self._seconds: float | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._turn, self._fraction, self._since = 0, 0.0, time.monotonic()
        self._message = self._error = ""
        self._undone = False

    def begin(self) -> None:
        """Count, and compute the curve."""
        self._start([], None)

    def add(self, epsilon: float, seconds: float | None) -> None:
        """Compute one more point, or look longer for a better one.

        Raises
        ------
        InvalidProblem
            If the curve is still being computed.
        """
        if not self.ended:
            raise InvalidProblem("the curve is still being computed; add a point when it is there")
        if epsilon not in self.points or seconds is not None:
            self._start([epsilon], seconds)

    def stop(self) -> None:
        """End after what is being computed; the points that are there stay."""
        self._stopped.set()

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._thread is None or not self._thread.is_alive()

    @property
    def counted(self) -> Analysis:
        """What was counted.

        Raises
        ------
        InvalidProblem
            If it is still being counted, or could not be.
        """
        if self.analysis is None:
            raise InvalidProblem("the rows were not counted yet")
        return self.analysis

    def point(self, epsilon: float) -> Point:
        """The release of the curve for a budget.

        Raises
        ------
        InvalidProblem
            If there is none.
        """
        point = self.points.get(epsilon)
        if point is None or not point.solution.status.ok:
            raise InvalidProblem(
                f"there is no release for ε = {number(epsilon)} on the curve; choose a point of it"
            )
        return point

    def _start(self, budgets: list[float], seconds: float | None) -> None:
        self._stopped.clear()
        self._budgets, self._seconds, self._error, self._undone = budgets, seconds, "", True
        self._turn, self._fraction, self._message = 0, 0.0, "counting the rows"
        self._thread = threading.Thread(target=self._run, name="privopt-studio", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            if self.analysis is None:
                analysis = Analysis.of(self.choice, self.table)
                self._facts = analysis.facts()
                self._budgets = list(analysis.budgets)
                self.analysis = analysis
            for i, epsilon in enumerate(self._budgets):
                if self._stopped.is_set():
                    return
                self._turn, self._fraction, self._since = i, 0.0, time.monotonic()
                self._message = f"looking for the best release for ε = {number(epsilon)}"
                self._solve(self.analysis, epsilon)
            self._undone = False
        except (PrivoptError, ArithmeticError, MemoryError) as cause:
            self._error = str(cause) or type(cause).__name__

    def _solve(self, analysis: Analysis, epsilon: float) -> None:
        point = analysis.point(
            epsilon, self._smaller(epsilon), partial(self._told, self._turn), self._seconds
        )
        old = self.points.get(epsilon)
        if old is None or point.told > old.told:
            shown = analysis.shown(point)
            self.points[epsilon] = point
            self._shown.append(shown)

    def _told(self, turn: int, fraction: float) -> None:
        if turn == self._turn:
            self._fraction = fraction

    def _smaller(self, epsilon: float) -> Point | None:
        """The point of the largest budget up to this one that was solved."""
        solved = [p for p in self.points.values() if p.epsilon <= epsilon and p.solution.status.ok]
        return max(solved, key=lambda p: p.epsilon, default=None)

    @property
    def _limit(self) -> float:
        return self.choice.seconds if self._seconds is None else self._seconds

    def _part(self) -> float:
        """The part of the present point that is done, by what the solver says or by the clock."""
        return min(0.95, max(self._fraction, (time.monotonic() - self._since) / self._limit))

    def progress(self, since: int) -> dict[str, Any]:
        """How far it is, and what was found after the first ``since`` points, as plain JSON values."""
        ended = self.ended  # before the points are read, so that none comes after
        error = self._error
        if ended and self._undone and not self._stopped.is_set() and not error:
            error = BROKEN
        state = "failed" if error else "running" if not ended else "stopped" if self._undone else "done"
        count, part = max(1, len(self._budgets)), self._part() if self._budgets else 0.0
        left = (count - self._turn - part) * self._limit if self._budgets else None
        return {
            "job": self.number,
            "state": state,
            "fraction": 1.0 if ended else (self._turn + part) / count,
            "left": None if ended else left,
            "stopping": self._stopped.is_set() and not ended,
            "message": "" if ended else self._message,
            "error": error,
            "facts": self._facts,
            "points": self._shown[max(0, since) :],
        }
