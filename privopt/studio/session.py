"""A session of the studio: the table, the curve that is being computed, and what was drawn from it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from privopt.errors import InvalidProblem, PrivoptError
from privopt.files.text import number
from privopt.studio.analysis import Analysis, Point
from privopt.studio.choice import Choice, budget_of
from privopt.studio.export import Release, notebook, release, script
from privopt.studio.table import Table, read_table

AGAIN = (
    "A release of rows of this table was already drawn in this session, with other settings. Whoever sees both learns more about the secret "
    "than was proved for either: give out one of them only, or draw again if you threw the first away."
)
CHANGED = "The curve on this page is not the newest one, perhaps because of another tab; compute it again."

BROKEN = "The computation failed; the window of the command says how."


class Drawn(PrivoptError):
    """A release was drawn before, with other settings."""


class Session:
    """What one page works on; every method may be called from any thread.

    Parameters
    ----------
    path : Path
        The table.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._drawing = threading.Lock()
        self._table: Table | None = None
        self._job: Job | None = None
        self._count = 0
        self._reading = 0
        self._releases: dict[tuple[object, ...], Release] = {}

    def table(self, again: bool = False) -> Table:
        """The table, read when it is first asked for, or again.

        Raises
        ------
        FileRefused
            If it cannot be used.
        """
        with self._lock:
            if self._table is None or again:
                self._table = None
                self._stop()
                self._table = read_table(self.path)
                self._reading += 1
            return self._table

    def describe(self, again: bool = False) -> dict[str, Any]:
        """What the page shows of the table, as plain JSON values."""
        table = self.table(again)
        return {
            "file": self.path.name,
            "rows": table.rows,
            "columns": [column.to_dict() for column in table.columns],
            "minimum_count": table.minimum_count,
        }

    def start(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to compute a curve, in place of the one that was there; what was chosen is checked first.

        Raises
        ------
        FileRefused, InvalidProblem, InvalidModel
            If the choice does not fit the table.
        """
        choice = Choice.from_dict(fields)
        table = self.table()
        analysis = Analysis.of(choice, table)
        with self._lock:
            self._stop()
            self._count += 1
            self._job = Job(self._count, self._reading, analysis, table, list(analysis.budgets))
            self._job.begin()
            return {"job": self._count, **analysis.facts()}

    def add(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to compute one more point of the curve that is there.

        Raises
        ------
        InvalidProblem
            If the budget is none, or the curve is still being computed.
        """
        epsilon = budget_of(fields.get("epsilon"))
        with self._lock:
            old = self._of(fields.get("job"))
            if not old.ended:
                raise InvalidProblem("the curve is still being computed; add a point when it is there")
            job = Job(old.number, old.reading, old.analysis, old.table, [epsilon], old.points)
            self._job = job
            if all(point.epsilon != epsilon for point in job.points):
                job.begin()
            return {"job": job.number}

    def progress(self, since: int) -> dict[str, Any]:
        """How far the curve is, and its points after the first ``since``."""
        with self._lock:
            job = self._job
        return {"job": 0, "state": "none", "points": []} if job is None else job.progress(since)

    def stop(self) -> dict[str, Any]:
        """End the computation after the point that is being solved; the points that are there stay."""
        with self._lock:
            self._stop()
        return {}

    def _stop(self) -> None:
        if self._job is not None:
            self._job.stopped.set()

    def _of(self, number_of_job: object) -> Job:
        with self._lock:
            if self._job is None or self._job.number != number_of_job:
                raise InvalidProblem(CHANGED)
            return self._job

    def _point(self, fields: Mapping[str, Any]) -> tuple[Job, Point]:
        job, epsilon = self._of(fields.get("job")), budget_of(fields.get("epsilon"))
        for point in list(job.points):
            if point.epsilon == epsilon and point.solution.status.ok:
                return job, point
        raise InvalidProblem(
            f"there is no release for ε = {number(epsilon)} on the curve; choose a point of it"
        )

    def script(self, fields: Mapping[str, Any]) -> str:
        """The script of a point of the curve."""
        job, point = self._point(fields)
        return script(job.analysis.choice, point.epsilon, self.path.resolve())

    def notebook(self, fields: Mapping[str, Any]) -> str:
        """The notebook of a point of the curve."""
        job, point = self._point(fields)
        return notebook(job.analysis.choice, point.epsilon, self.path.resolve())

    def release(self, fields: Mapping[str, Any]) -> Release:
        """The release of a point of the curve: drawn once, and given out again whenever it is asked for.

        Raises
        ------
        Drawn
            If another release was drawn in this session and ``again`` is not set.
        """
        job, point = self._point(fields)
        choice = job.analysis.choice
        bins = tuple(sorted(choice.bins.items()))
        key = (job.reading, choice.secret, choice.columns, bins, choice.minimum_count, point.epsilon)
        with self._drawing:
            if key not in self._releases:
                if self._releases and fields.get("again") is not True:
                    raise Drawn(AGAIN)
                self._releases[key] = release(job.analysis, point.epsilon, job.table)
            return self._releases[key]


class Job:
    """A curve, computed by a thread of its own."""

    def __init__(
        self,
        count: int,
        reading: int,
        analysis: Analysis,
        table: Table,
        budgets: list[float],
        points: list[Point] | None = None,
    ) -> None:
        self.number, self.reading = count, reading
        self.analysis, self.table, self.budgets = analysis, table, budgets
        self.points: list[Point] = list(points or [])
        self.shown: list[dict[str, Any]] = [analysis.shown(point) for point in self.points]
        self.stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._fraction = 0.0
        self._message = ""
        self._error = ""

    def begin(self) -> None:
        """Start."""
        self._thread = threading.Thread(target=self._run, name="privopt-studio", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._thread is None or not self._thread.is_alive()

    def _run(self) -> None:
        try:
            for i, epsilon in enumerate(self.budgets):
                if self.stopped.is_set():
                    return
                self._message = f"computing the best release for ε = {number(epsilon)}"
                point = self.analysis.point(epsilon, self._smaller(epsilon), partial(self._told, i))
                shown = self.analysis.shown(point)
                self.points.append(point)
                self.shown.append(shown)
        except (PrivoptError, ArithmeticError, MemoryError) as cause:
            self._error = str(cause) or type(cause).__name__

    def _told(self, i: int, fraction: float) -> None:
        self._fraction = (i + fraction) / len(self.budgets)

    def _smaller(self, epsilon: float) -> Point | None:
        """The point of the largest smaller budget that was solved."""
        solved = [p for p in self.points if p.epsilon < epsilon and p.solution.status.ok]
        return max(solved, key=lambda p: p.epsilon, default=None)

    def progress(self, since: int) -> dict[str, Any]:
        """How far it is, and the points after the first ``since``."""
        ended = self.ended  # before the points are read, so that none comes after
        if ended and self._short and not self.stopped.is_set() and not self._error:
            self._error = BROKEN
        state = "failed" if self._error else "running" if not ended else "stopped" if self._short else "done"
        return {
            "job": self.number,
            "state": state,
            "fraction": 1.0 if ended else self._fraction,
            "message": "" if ended else self._message,
            "error": self._error,
            "points": self.shown[max(0, since) :],
        }

    @property
    def _short(self) -> bool:
        there = {point.epsilon for point in self.points}
        return any(epsilon not in there for epsilon in self.budgets)


def refusal(cause: PrivoptError) -> str:
    """What went wrong, as a sentence.

    Examples
    --------
    >>> refusal(PrivoptError("there is no file a.csv"))
    'There is no file a.csv.'
    """
    text = " ".join(str(cause).split())
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
